/* SPDX-License-Identifier: MIT
 *
 * normalize: (x - mean) / std per channel, as a float type, with channels last or first. uint8 is first
 * scaled to 0 … 1: (x / 255 - mean) / std. It computes x * scale + shift in float32 and rounds after each step;
 * scale = 1 / (255 std) and shift = -mean / std come from float64. So all CPU levels and devices give the
 * same bits, within a few units in the last place of the formula. float16 and bfloat16 round that once more. */
#include "fused.h"

#include "op_list.h"

static const leat_dtype dtypes[] = { LEAT_F32, LEAT_F16, LEAT_BF16 };
static const char *const dtype_names[] = { "float32", "float16", "bfloat16", NULL };
static const char *const layouts[] = { "channels_last", "channels_first", NULL };

typedef struct normalize_options {
    leat_f32s mean, std;
    int32_t dtype, layout;
} normalize_options;

static const leat_option options[] = {
    LEAT_OPTION_F32S(normalize_options, mean, "0", -1e6, 1e6,
                     "mean of each channel (uint8 pixels count as 0 to 1), or one for all"),
    LEAT_OPTION_F32S(normalize_options, std, "1", 1e-6, 1e6,
                     "standard deviation of each channel, in the unit of `mean`, or one for all"),
    LEAT_OPTION_ENUM(normalize_options, dtype, "float32", dtype_names,
                     "element type of the result; rounded to the nearest"),
    LEAT_OPTION_ENUM(normalize_options, layout, "channels_last", layouts,
                     "order of an image's result: height, width, channels; or channels, height, "
                     "width"),
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
    for (int32_t i = 0; i < 2 * n && in->dtype == LEAT_U8; i++) {
        const leat_f32s *const given = i < n ? &o->mean : &o->std;
        const float value = given->values[given->n > 1 ? i % n : 0];
        if (value > 1)
            return leat_fail(err, LEAT_E_CONFIG,
                             "normalize: uint8 pixels count as 0 to 1, so a %s of %g is none of "
                             "theirs: divide mean and std by 255",
                             i < n ? "mean" : "std", (double)value);
    }
    const int64_t last = in->rank ? in->dims[in->rank - 1] : 1;
    if (n > 1 && last != n && last != LEAT_UNKNOWN_DIM)
        return leat_fail(err, LEAT_E_CONFIG, "normalize: mean and std are for %d channels, got %s",
                         (int)n, leat_shape_text(in, text, sizeof text));
    if (o->layout && in->rank != 3)
        return leat_fail(err, LEAT_E_CONFIG,
                         "normalize: layout channels_first needs an image [height, width, "
                         "channels], got %s",
                         leat_shape_text(in, text, sizeof text));
    *out = *in;
    out->dtype = dtypes[o->dtype];
    if (o->layout)
        leat_output_planar_dims(in, out);
    /* several means or deviations, as many as the last dimension has values, say where the channels are */
    return o->layout && n == 1 ? leat_layout_refuse("normalize", in, true, err) : LEAT_OK;
}

bool leat_normalize_is_planar(const void *options_)
{
    return ((const normalize_options *)options_)->layout != 0;
}

bool leat_normalize_has_channels(const void *options_)
{
    return channels_of(options_) > 1;
}

void leat_normalize_output(const void *options_, const leat_shape *in, leat_output *out)
{
    const normalize_options *o = options_;
    const double unit = in->dtype == LEAT_U8 ? 255.0 : 1.0;
    out->in = in->dtype;
    out->out = dtypes[o->dtype];
    out->is_planar = o->layout != 0;
    out->channels = out->is_planar ? (size_t)in->dims[2] : 0;
    out->n_px = out->is_planar ? (size_t)in->dims[0] * (size_t)in->dims[1] : 0;
    out->affine.n_channels = channels_of(o);
    for (int32_t c = 0; c < out->affine.n_channels; c++) {
        const double mean = (double)o->mean.values[o->mean.n > 1 ? c : 0];
        const double std = (double)o->std.values[o->std.n > 1 ? c : 0];
        out->affine.scale[c] = (float)(1.0 / (unit * std));
        out->affine.shift[c] = (float)(-mean / std);
    }
    leat_output_fill(out);
}

static void constants(const void *opts, const leat_shape *in, leat_op_constants *out)
{
    leat_output output;
    leat_normalize_output(opts, in, &output);
    out->words[0] = output.affine.n_channels;
    out->words[1] = (int32_t)output.n_px;
    for (int32_t c = 0; c < output.affine.n_channels; c++) {
        out->values[c] = output.affine.scale[c];
        out->values[LEAT_AFFINE_MAX + c] = output.affine.shift[c];
    }
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    leat_output output;
    (void)draw;
    (void)scratch;
    (void)err;
    leat_normalize_output(opts, &in->shape, &output);
    leat_output_write(&output, out->data, 0, in->data, (size_t)leat_shape_elements(&in->shape));
    return LEAT_OK;
}

const leat_op leat_op_normalize = {
    .name = "normalize",
    .help = "subtract the mean and divide by the standard deviation, per channel; gives floats",
    .options_size = sizeof(normalize_options),
    .options = options,
    .flags = LEAT_OP_KERNEL,
    .shape = shape,
    .apply = apply,
    .constants = constants,
};
