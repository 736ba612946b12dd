/* SPDX-License-Identifier: MIT
 *
 * fuzz_decode_image.c: any bytes as an image of the kind they claim to be, to each number of
 * channels. */
#include "fuzz_image_op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const channels[] = { "0", "1", "3", NULL };
    fuzz_image_op("decode_image", channels, NULL, data, size);
    return 0;
}
