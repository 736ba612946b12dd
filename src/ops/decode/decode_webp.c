/* SPDX-License-Identifier: MIT
 *
 * decode_webp: WebP bytes to a uint8 image, by libwebp: lossy and lossless, not animated. If the result has
 * no alpha channel, transparency is ignored. libwebp has no allocation hooks, so this op allocates memory
 * for every image. */
#include <string.h>

#include <webp/decode.h>

#include "decode.h"
#include "ops/op_list.h"

static const char *const channel_choices[] = { "0", "1", "3", "4", NULL };

static const leat_option options[] = {
    LEAT_OPTION_ENUM(leat_decode_options, channels, "3", channel_choices,
                     "3: RGB, 1: gray, 4: RGB and alpha, 0: 4 if it has alpha, else 3"),
    LEAT_DECODE_MAX_PIXELS, LEAT_OPTION_END
};

static const char *status_text(VP8StatusCode status)
{
    switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
        return "it ends too early";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return "a feature that libwebp does not support";
    default:
        return "damaged data";
    }
}

static int read_features(const leat_view *in, WebPBitstreamFeatures *features, leat_error *err)
{
    const uint8_t *bytes = in->data;
    const size_t n = (size_t)in->shape.dims[0];
    if (n < 12 || memcmp(bytes, "RIFF", 4) || memcmp(bytes + 8, "WEBP", 4))
        return leat_fail(err, LEAT_E_DATA,
                         "decode_webp: not a WebP: it does not start with RIFF .... WEBP");
    const VP8StatusCode status = WebPGetFeatures(bytes, n, features);
    if (status != VP8_STATUS_OK)
        return leat_fail(err, LEAT_E_DATA, "decode_webp: %s", status_text(status));
    if (features->has_animation)
        return leat_fail(err, LEAT_E_DATA,
                         "decode_webp: an animation, which has more than one image");
    return LEAT_OK;
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    return leat_decode_shape("decode_webp", opts, in, out, err);
}

static int measure(const void *opts, const leat_view *in, leat_shape *out, leat_scratch *scratch,
                   leat_error *err)
{
    WebPBitstreamFeatures features;
    (void)scratch;
    const int rc = read_features(in, &features, err);
    return rc == LEAT_OK ? leat_decode_size("decode_webp", opts, features.height, features.width,
                                            features.has_alpha ? 4 : 3, out, err)
                         : rc;
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const int64_t channels = out->shape.dims[2], decoded = channels == 4 ? 4 : 3;
    const size_t n_px = (size_t)(out->shape.dims[0] * out->shape.dims[1]);
    uint8_t *pixels = channels == 1 ? leat_scratch_take(scratch, n_px * 3) : (uint8_t *)out->data;
    WebPDecoderConfig config;
    (void)opts;
    (void)draw;
    if (!pixels || !WebPInitDecoderConfig(&config))
        return leat_fail(err, LEAT_E_NOMEM, "decode_webp: not enough scratch memory");
    config.output.colorspace = decoded == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = (WebPRGBABuffer){ .rgba = pixels,
                                             .stride = (int)(out->shape.dims[1] * decoded),
                                             .size = n_px * (size_t)decoded };
    const VP8StatusCode status = WebPDecode(in->data, (size_t)in->shape.dims[0], &config);
    if (status == VP8_STATUS_OUT_OF_MEMORY)
        return leat_fail(err, LEAT_E_NOMEM, "decode_webp: libwebp has no memory for %lld x %lld",
                         (long long)out->shape.dims[0], (long long)out->shape.dims[1]);
    if (status != VP8_STATUS_OK)
        return leat_fail(err, LEAT_E_DATA, "decode_webp: %s", status_text(status));
    if (channels == 1)
        leat_decode_put(out->data, pixels, n_px, 1);
    return LEAT_OK;
}

const leat_op leat_op_decode_webp = {
    .name = "decode_webp",
    .help = "decode WebP bytes to an uint8 image [height, width, channels]",
    .options_size = sizeof(leat_decode_options),
    .options = options,
    .flags = LEAT_OP_DECODE | LEAT_OP_IMAGE,
    .shape = shape,
    .measure = measure,
    .apply = apply,
};
