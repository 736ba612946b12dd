/* SPDX-License-Identifier: MIT
 *
 * normalize: (x - mean) / std per channel, as float32. uint8 is scaled to 0 … 1 first:
 * (x / 255 - mean) / std. It computes x * scale + shift in float32 and rounds after each step;
 * scale = 1 / (255 std) and shift = -mean / std come from float64. So all CPU levels and devices give the
 * same bits, within a few units in the last place of the formula. */
#include "normalize.h"

#include "op_list.h"

typedef struct normalize_options {
    leat_f32s mean, std;
} normalize_options;

static const leat_option options[] = {
    LEAT_OPTION_F32S(normalize_options, mean, "0", -1e6, 1e6,
                     "mean of each channel (uint8 pixels count as 0 to 1), or one for all"),
    LEAT_OPTION_F32S(normalize_options, std, "1", 1e-6, 1e6,
                     "standard deviation of each channel, or one for all"),
    LEAT_OPTION_END
};

static int32_t channels_of(const normalize_options *o)
{
    return o->mean.n > o->std.n ? o->mean.n : o->std.n;
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const normalize_options *o = opts;
    const int32_t n = channels_of(o);
    char text[128];
    if (o->mean.n < 1 || o->std.n < 1 || (o->mean.n != n && o->mean.n != 1) ||
        (o->std.n != n && o->std.n != 1))
        return leat_fail(err, LEAT_E_CONFIG,
                         "normalize: mean has %d values and std has %d; give as many as there are "
                         "channels, or one",
                         (int)o->mean.n, (int)o->std.n);
    if (in->dtype != LEAT_U8 && in->dtype != LEAT_F32)
        return leat_fail(err, LEAT_E_CONFIG, "normalize expects uint8 or float32, got %s",
                         leat_shape_text(in, text, sizeof text));
    const int64_t last = in->rank ? in->dims[in->rank - 1] : 1;
    if (n > 1 && last != n && last != LEAT_UNKNOWN_DIM)
        return leat_fail(err, LEAT_E_CONFIG, "normalize: mean and std are for %d channels, got %s",
                         (int)n, leat_shape_text(in, text, sizeof text));
    *out = *in;
    out->dtype = LEAT_F32;
    return LEAT_OK;
}

void leat_normalize_affine(const void *options_, leat_dtype dtype, leat_affine *out)
{
    const normalize_options *o = options_;
    const double unit = dtype == LEAT_U8 ? 255.0 : 1.0;
    out->n_channels = channels_of(o);
    for (int32_t c = 0; c < out->n_channels; c++) {
        const double mean = (double)o->mean.values[o->mean.n > 1 ? c : 0];
        const double std = (double)o->std.values[o->std.n > 1 ? c : 0];
        out->scale[c] = (float)(1.0 / (unit * std));
        out->shift[c] = (float)(-mean / std);
    }
    leat_dsp_affine_fill(out);
}

static void constants(const void *opts, const leat_shape *in, leat_op_constants *out)
{
    leat_affine affine;
    leat_normalize_affine(opts, in->dtype, &affine);
    out->words[0] = affine.n_channels;
    for (int32_t c = 0; c < affine.n_channels; c++) {
        out->values[c] = affine.scale[c];
        out->values[LEAT_AFFINE_MAX + c] = affine.shift[c];
    }
}

static int apply(const void *opts, const leat_plan64 *plan, const leat_view *in,
                 const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    const size_t n = (size_t)leat_shape_elements(&in->shape);
    leat_affine affine;
    (void)plan;
    (void)scratch;
    (void)err;
    leat_normalize_affine(opts, in->shape.dtype, &affine);
    if (in->shape.dtype == LEAT_U8)
        leat_dsp()->affine_u8(out->data, in->data, n, &affine);
    else
        leat_dsp()->affine_f32(out->data, in->data, n, &affine);
    return LEAT_OK;
}

const leat_op leat_op_normalize = {
    .name = "normalize",
    .help = "subtract the mean and divide by the standard deviation, per channel; gives float32",
    .options_size = sizeof(normalize_options),
    .options = options,
    .flags = LEAT_OP_KERNEL,
    .shape = shape,
    .apply = apply,
    .constants = constants,
};
