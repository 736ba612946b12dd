/* SPDX-License-Identifier: MIT
 *
 * fuzz_decode_png.c: any bytes as a PNG, to each number of channels. */
#include "fuzz_image_op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const channels[] = { "0", "1", "3", "4", NULL };
    fuzz_image_op("decode_png", channels, NULL, data, size);
    return 0;
}
