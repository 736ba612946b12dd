/* SPDX-License-Identifier: MIT
 *
 * decode_jpeg: JPEG bytes to a uint8 image. The decoder in jpeg/ does most files. libjpeg-turbo does the
 * others (CMYK, damaged, …). The pixels are the same. */
#include "base/cpu.h"
#include "base/scratch.h"
#include "decode.h"
#include "ops/jpeg/jpeg.h"
#include "ops/jpeg/jpeg_turbo.h"
#include "ops/op_list.h"
#include "ops/resizing.h"

static const char *const channel_choices[] = { "0", "1", "3", NULL };
static const char *const scale_choices[] = { "1", "2", "4", "8", "auto", NULL };

static const leat_option options[] = {
    LEAT_OPTION_ENUM(leat_decode_options, channels, "3", channel_choices,
                     "3: RGB, 1: gray, 0: gray if stored as gray, else RGB"),
    LEAT_OPTION_BOOL(leat_decode_options, lenient, "false",
                     "keep what could be decoded of a damaged image instead of failing"),
    LEAT_DECODE_MAX_PIXELS,
    LEAT_OPTION_F64(leat_decode_options, device_share, "1", 0.01, 1,
                    "with device: gpu, share of a batch's rows that nvJPEG decodes; the CPU "
                    "decodes the others"),
    LEAT_OPTION_ENUM(leat_decode_options, scale, "1", scale_choices,
                     "decode at 1 / scale of the size, by a smaller DCT; auto: the smallest size "
                     "that is not below the output of the resize right after it; values other "
                     "than 1 need exact: false"),
    LEAT_OPTION_BOOL(
        leat_decode_options, exact, "true",
        "false: scale may change pixels slightly, and the longer side of a resize "
        "that keeps the aspect by about as many pixels as it is times the shorter one, compared "
        "with full decoding and resizing"),
    LEAT_OPTION_END
};

void leat_decode_jpeg_followed_by(leat_decode_options *decode, const leat_op *next,
                                  const void *next_options)
{
    if (next == &leat_op_resize)
        decode->resize_keeps_aspect =
            leat_resize_size(next_options, &decode->resize_height, &decode->resize_width);
}

/* 1, 2, 4 or 8 for an image of this size. */
static int32_t scale_of(const leat_decode_options *o, int64_t height, int64_t width)
{
    int32_t scale = 1;
    if (o->scale != LEAT_DECODE_SCALE_AUTO)
        return 1 << o->scale;
    if (!o->resize_height)
        return 1;
    if (o->resize_keeps_aspect) /* the shorter side decides */
        height = width = height < width ? height : width;
    while (scale < 8 && leat_jpeg_scaled(height, 2 * scale) >= o->resize_height &&
           leat_jpeg_scaled(width, 2 * scale) >= o->resize_width)
        scale *= 2;
    return scale;
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const leat_decode_options *o = opts;
    if (o->scale != LEAT_DECODE_SCALE_1 && o->exact)
        return leat_fail(err, LEAT_E_CONFIG,
                         "decode_jpeg: a scale gives slightly other pixels than decoding "
                         "everything and resizing that; if that will do, add exact: false");
    return leat_decode_shape("decode_jpeg", opts, in, out, err);
}

static int measure(const void *opts, const leat_view *in, leat_shape *out, leat_scratch *scratch,
                   leat_error *err)
{
    leat_jpeg_size size;
    (void)scratch;
    int rc = leat_jpeg_turbo_size(in->data, (size_t)in->shape.dims[0], &size, err);
    if (rc == LEAT_OK)
        rc = leat_decode_size("decode_jpeg", opts, size.height, size.width,
                              size.components == 1 ? 1 : 3, out, err);
    if (rc != LEAT_OK)
        return rc;
    const int32_t scale = scale_of(opts, size.height, size.width);
    out->dims[0] = leat_jpeg_scaled(size.height, scale);
    out->dims[1] = leat_jpeg_scaled(size.width, scale);
    return LEAT_OK;
}

static int decode_eighth(const leat_jpeg *jpeg, const void *channels, void *out,
                         leat_scratch *scratch, leat_error *err)
{
    return leat_jpeg_decode_eighth(jpeg, *(const int *)channels, out, scratch, err);
}

/* By the decoder in jpeg/. */
static int decode_common(const leat_view *in, const leat_view *out, int32_t scale,
                         leat_scratch *scratch, leat_error *err)
{
    leat_jpeg jpeg;
    const bool is_fast = leat_cpu_level() >= LEAT_CPU_AVX2; /* else libjpeg-turbo is faster */
    const int channels = (int)out->shape.dims[2];
    if (scale == 2 || scale == 4 || (scale == 1 && !is_fast))
        return LEAT_E_UNSUPPORTED;
    const int rc = leat_jpeg_open(&jpeg, in->data, (size_t)in->shape.dims[0], NULL);
    if (rc)
        return rc;
    return scale == 1 ? leat_jpeg_decode(&jpeg, channels, out->data, scratch, err)
                      : leat_jpeg_with_seek(&jpeg, in->seek, decode_eighth, &channels, out->data,
                                            scratch, err);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const leat_decode_options *o = opts;
    leat_jpeg_size size;
    (void)draw;
    int rc = leat_jpeg_turbo_size(in->data, (size_t)in->shape.dims[0], &size, err);
    if (rc != LEAT_OK)
        return rc;
    const int32_t scale = scale_of(o, size.height, size.width);
    const size_t mark = leat_scratch_mark(scratch);
    rc = decode_common(in, out, scale, scratch, err);
    if (rc != LEAT_E_UNSUPPORTED)
        return rc;
    leat_scratch_rewind(scratch, mark);
    return leat_jpeg_turbo_decode(in->data, (size_t)in->shape.dims[0], scale, o->lenient, out,
                                  scratch, err);
}

const leat_op leat_op_decode_jpeg = {
    .name = "decode_jpeg",
    .help = "decode JPEG bytes to an uint8 image [height, width, channels]",
    .options_size = sizeof(leat_decode_options),
    .options = options,
    .flags = LEAT_OP_DECODE | LEAT_OP_IMAGE,
    .shape = shape,
    .measure = measure,
    .apply = apply,
};
