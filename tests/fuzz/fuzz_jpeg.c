/* SPDX-License-Identifier: MIT
 *
 * fuzz_jpeg.c: the own JPEG decoder against libjpeg-turbo. Whatever the bytes are: "ok" only if
 * libjpeg-turbo decodes them without a complaint, and then to the same pixels; all CPU levels agree;
 * nothing is written behind the picture. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jpeg/jpeg_impl.h"
#include "jpeg_reference.h"

enum { MAX_PIXELS = 1 << 16, GUARD = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int decode(leat_jpeg jpeg, int level, int channels, uint8_t *out, size_t n)
{
    static leat_scratch *scratch;
    if (!scratch && leat_scratch_open(&scratch, 1 << 28, NULL))
        abort();
    jpeg.dsp = leat_jpeg_dsp_at(level);
    leat_scratch_reset(scratch);
    memset(out, 0xa5, n + GUARD);
    const int rc = leat_jpeg_decode(&jpeg, channels, out, scratch, NULL);
    for (size_t i = n; i < n + GUARD; i++)
        if (out[i] != 0xa5)
            abort();
    return rc;
}

static void compare(const leat_jpeg *jpeg, int channels, const uint8_t *data, size_t size)
{
    static uint8_t ours[3 * MAX_PIXELS + GUARD], theirs[3 * MAX_PIXELS];
    const size_t n = (size_t)jpeg->width * (size_t)jpeg->height * (size_t)channels;
    const int rc = decode(*jpeg, 0, channels, ours, n);
    if (!rc &&
        (reference_decode(data, size, channels, theirs, sizeof theirs) || memcmp(ours, theirs, n)))
        abort();
    for (int level = 1; level <= 2; level++)
        if (leat_jpeg_dsp_at(level) &&
            (decode(*jpeg, level, channels, ours, n) != rc || (!rc && memcmp(ours, theirs, n))))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_jpeg jpeg;
    if (leat_jpeg_open(&jpeg, data, size, NULL) || (int64_t)jpeg.width * jpeg.height > MAX_PIXELS)
        return 0;
    compare(&jpeg, 3, data, size);
    compare(&jpeg, 1, data, size);
    return 0;
}
