/* SPDX-License-Identifier: MIT
 *
 * one_hot: class numbers to rows of float32 that sum to 1. With smoothing s and K classes, the class gets
 * 1 - s + s / K and every other class s / K (Szegedy et al., "Rethinking the Inception Architecture",
 * 2016). The weights are computed in float64 and rounded once. */
#include "op_list.h"

typedef struct one_hot_options {
    int64_t classes;
    float smoothing;
} one_hot_options;

static const leat_option options[] = {
    LEAT_OPTION_I64(one_hot_options, classes, NULL, 1, 1000000,
                    "number of classes; labels are 0 to classes - 1"),
    LEAT_OPTION_F32(one_hot_options, smoothing, "0", 0, 1,
                    "share of the weight spread evenly over all classes"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const one_hot_options *o = opts;
    char text[128];
    if (leat_dtype_is_float(in->dtype) || in->rank >= LEAT_MAX_RANK)
        return leat_fail(err, LEAT_E_CONFIG, "one_hot expects class numbers (integers), got %s",
                         leat_shape_text(in, text, sizeof text));
    *out = *in;
    out->dtype = LEAT_F32;
    out->dims[out->rank++] = o->classes;
    return LEAT_OK;
}

static int64_t label_at(const leat_view *in, int64_t i)
{
    switch (in->shape.dtype) {
    case LEAT_U8:
        return ((const uint8_t *)in->data)[i];
    case LEAT_I32:
        return ((const int32_t *)in->data)[i];
    default:
        return ((const int64_t *)in->data)[i];
    }
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const one_hot_options *o = opts;
    const double share = (double)o->smoothing / (double)o->classes;
    const float on = (float)(1 - (double)o->smoothing + share), off = (float)share;
    float *to = out->data;
    (void)draw;
    (void)scratch;
    for (int64_t i = 0; i < leat_shape_elements(&in->shape); i++, to += o->classes) {
        const int64_t label = label_at(in, i);
        if (label < 0 || label >= o->classes)
            return leat_fail(err, LEAT_E_DATA, "one_hot: label %lld is not one of 0 to %lld",
                             (long long)label, (long long)o->classes - 1);
        for (int64_t k = 0; k < o->classes; k++)
            to[k] = off;
        to[label] = on;
    }
    return LEAT_OK;
}

const leat_op leat_op_one_hot = {
    .name = "one_hot",
    .help = "convert class numbers to rows of weights, with label smoothing",
    .options_size = sizeof(one_hot_options),
    .options = options,
    .shape = shape,
    .apply = apply,
};
