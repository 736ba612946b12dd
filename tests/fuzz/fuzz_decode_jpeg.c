/* SPDX-License-Identifier: MIT
 *
 * fuzz_decode_jpeg.c: any bytes as a JPEG, strictly and leniently, to each number of channels. */
#include "fuzz_image_op.h"
#include "ops/jpeg/jpeg.h"

/* What is handed to a device's decoder: files that the own one takes too. */
static void look(const uint8_t *data, size_t size)
{
    leat_jpeg jpeg;
    EXPECT(!leat_jpeg_is_plain(data, size) || leat_jpeg_open(&jpeg, data, size, NULL) == LEAT_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const channels[] = { "0", "1", "3", NULL };
    look(data, size);
    fuzz_image_op("decode_jpeg", channels, "yes", data, size);
    fuzz_image_op("decode_jpeg", channels, "no", data, size);
    return 0;
}
