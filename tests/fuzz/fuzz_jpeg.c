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

static uint8_t ours[3 * MAX_PIXELS + GUARD], theirs[3 * MAX_PIXELS];

static int decode(leat_jpeg jpeg, int level, const leat_image_box *box, int channels)
{
    static leat_scratch *scratch;
    const size_t n = (size_t)box->width * (size_t)box->height * (size_t)channels;
    if (!scratch && leat_scratch_open(&scratch, 1 << 28, NULL))
        abort();
    jpeg.dsp = leat_jpeg_dsp_at(level);
    leat_scratch_reset(scratch);
    memset(ours, 0xa5, n + GUARD);
    const int rc = leat_jpeg_decode_box(&jpeg, box, channels, ours, scratch, NULL);
    for (size_t i = n; i < n + GUARD; i++)
        if (ours[i] != 0xa5)
            abort();
    return rc;
}

/* `ours`, a box, is part of `theirs`, the whole. */
static int is_part(const leat_jpeg *jpeg, const leat_image_box *box, int channels)
{
    const size_t n = (size_t)box->width * (size_t)channels;
    const size_t stride = (size_t)jpeg->width * (size_t)channels;
    const uint8_t *from = theirs + (size_t)box->y * stride + (size_t)box->x * (size_t)channels;
    for (int32_t y = 0; y < box->height; y++)
        if (memcmp(ours + (size_t)y * n, from + (size_t)y * stride, n))
            return 0;
    return 1;
}

static void check_whole(const leat_jpeg *jpeg, int channels, const uint8_t *data, size_t size,
                        const leat_image_box *box)
{
    const leat_image_box whole = { 0, 0, jpeg->height, jpeg->width };
    const int rc = decode(*jpeg, 0, &whole, channels);
    if (!rc && (reference_decode(data, size, channels, theirs, sizeof theirs) ||
                !is_part(jpeg, &whole, channels)))
        abort();
    for (int level = 1; level <= 2; level++)
        if (leat_jpeg_dsp_at(level) && (decode(*jpeg, level, &whole, channels) != rc ||
                                        (!rc && !is_part(jpeg, &whole, channels))))
            abort();
    /* A box of a good picture is good; of a bad one, it may be. */
    const int rc_box = decode(*jpeg, 0, box, channels);
    if (!rc && (rc_box || !is_part(jpeg, box, channels)))
        abort();
    for (int level = 1; level <= 2; level++)
        if (leat_jpeg_dsp_at(level) && (decode(*jpeg, level, box, channels) != rc_box ||
                                        (!rc && !is_part(jpeg, box, channels))))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_jpeg jpeg;
    uint32_t state = (uint32_t)size;
    if (leat_jpeg_open(&jpeg, data, size, NULL) || (int64_t)jpeg.width * jpeg.height > MAX_PIXELS)
        return 0;
    for (size_t i = 0; i < size; i++)
        state = state * 16777619u ^ data[i];
    leat_image_box box = { (int32_t)(state % (uint32_t)jpeg.height),
                           (int32_t)(state / 7 % (uint32_t)jpeg.width), 0, 0 };
    box.height = 1 + (int32_t)(state / 31 % (uint32_t)(jpeg.height - box.y));
    box.width = 1 + (int32_t)(state / 127 % (uint32_t)(jpeg.width - box.x));
    check_whole(&jpeg, 3, data, size, &box);
    check_whole(&jpeg, 1, data, size, &box);
    return 0;
}
