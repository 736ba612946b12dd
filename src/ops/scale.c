/* SPDX-License-Identifier: MIT
 *
 * scale: x * factor + offset as float32, for numbers of any type (like Keras' Rescaling). Integers are
 * rounded to float32 first. Product and sum are rounded once each. */
#include "op_list.h"
#include "ops/image/cast_value.h"
#include "ops/image/dsp.h"

typedef struct scale_options {
    float factor, offset;
} scale_options;

static const leat_option options[] = {
    LEAT_OPTION_F32(scale_options, factor, "0.00392156862745098", -1e30, 1e30,
                    "factor of every value; default: 1 / 255"),
    LEAT_OPTION_F32(scale_options, offset, "0", -1e30, 1e30, "number added after that"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    (void)opts;
    (void)err;
    *out = *in;
    out->dtype = LEAT_F32;
    return LEAT_OK;
}

static void constants(const void *opts, const leat_shape *in, leat_op_constants *out)
{
    const scale_options *o = opts;
    (void)in;
    out->words[0] = 1;
    out->values[0] = o->factor;
    out->values[LEAT_AFFINE_MAX] = o->offset;
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const scale_options *o = opts;
    const size_t n = (size_t)leat_shape_elements(&in->shape);
    leat_affine affine = { .n_channels = 1, .scale = { o->factor }, .shift = { o->offset } };
    float *to = out->data;
    (void)draw;
    (void)scratch;
    (void)err;
    leat_dsp_affine_fill(&affine);
    if (in->shape.dtype == LEAT_U8)
        leat_dsp()->affine_u8(to, in->data, n, &affine);
    else if (in->shape.dtype == LEAT_F32)
        leat_dsp()->affine_f32(to, in->data, n, &affine);
    else
        for (size_t i = 0; i < n; i++) {
            const float x = leat_cast_load_f32(in->data, (int32_t)in->shape.dtype, (int64_t)i);
            to[i] = x * o->factor + o->offset;
        }
    return LEAT_OK;
}

const leat_op leat_op_scale = {
    .name = "scale",
    .help = "multiply by one number and add another, in float32, which integers become first",
    .options_size = sizeof(scale_options),
    .options = options,
    .flags = LEAT_OP_KERNEL,
    .shape = shape,
    .apply = apply,
    .constants = constants,
};
