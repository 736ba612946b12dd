/* SPDX-License-Identifier: MIT
 *
 * decode_jpeg: JPEG bytes to an uint8 image. Most files go through the decoder in jpeg/; those it does
 * not take (progressive, CMYK, damaged, …) through libjpeg-turbo. The pixels are the same. */
#include "jpeg/jpeg.h"
#include "jpeg_turbo.h"
#include "op_list.h"

enum { AS_STORED, GRAY, RGB };
static const char *const channel_choices[] = { "0", "1", "3", NULL };

typedef struct jpeg_options {
    int32_t channels;
    int32_t lenient;
    int64_t max_pixels;
} jpeg_options;

static const leat_option options[] = {
    LEAT_OPTION_ENUM(jpeg_options, channels, "3", channel_choices,
                     "3: RGB, 1: gray, 0: gray where it is stored so, else RGB"),
    LEAT_OPTION_BOOL(jpeg_options, lenient, "false",
                     "keep what could be decoded of a damaged image instead of failing"),
    LEAT_OPTION_I64(jpeg_options, max_pixels, "268435456", 1, 4294836225,
                    "larger images are an error"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const jpeg_options *o = opts;
    const int64_t channels = o->channels == RGB ? 3 : o->channels == GRAY ? 1 : LEAT_UNKNOWN_DIM;
    char text[128];
    if (in->dtype != LEAT_U8 || in->rank != 1)
        return leat_fail(err, LEAT_E_CONFIG, "decode_jpeg expects bytes (uint8[n]), got %s",
                         leat_shape_text(in, text, sizeof text));
    *out = (leat_shape){ LEAT_U8, 3, { LEAT_UNKNOWN_DIM, LEAT_UNKNOWN_DIM, channels } };
    return LEAT_OK;
}

static int measure(const void *opts, const leat_view *in, leat_shape *out, leat_scratch *scratch,
                   leat_error *err)
{
    const jpeg_options *o = opts;
    leat_jpeg_size size;
    (void)scratch;
    const int rc = leat_jpeg_turbo_size(in->data, (size_t)in->shape.dims[0], &size, err);
    if (rc != LEAT_OK)
        return rc;
    if ((int64_t)size.height * size.width > o->max_pixels)
        return leat_fail(err, LEAT_E_DATA,
                         "decode_jpeg: %d x %d pixels are more than max_pixels (%lld)",
                         (int)size.height, (int)size.width, (long long)o->max_pixels);
    const bool is_gray = o->channels == GRAY || (o->channels == AS_STORED && size.components == 1);
    *out = (leat_shape){ LEAT_U8, 3, { size.height, size.width, is_gray ? 1 : 3 } };
    return LEAT_OK;
}

static int apply(const void *opts, const leat_plan64 *plan, const leat_view *in,
                 const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    const jpeg_options *o = opts;
    leat_jpeg jpeg;
    (void)plan;
    int rc = leat_jpeg_open(&jpeg, in->data, (size_t)in->shape.dims[0], NULL);
    if (rc == LEAT_OK)
        rc = leat_jpeg_decode(&jpeg, (int)out->shape.dims[2], out->data, scratch, err);
    if (rc != LEAT_E_UNSUPPORTED)
        return rc;
    return leat_jpeg_turbo_decode(in->data, (size_t)in->shape.dims[0], o->lenient, out, scratch,
                                  err);
}

const leat_op leat_op_decode_jpeg = {
    .name = "decode_jpeg",
    .help = "decode JPEG bytes to an uint8 image [height, width, channels]",
    .options_size = sizeof(jpeg_options),
    .options = options,
    .shape = shape,
    .measure = measure,
    .apply = apply,
};
