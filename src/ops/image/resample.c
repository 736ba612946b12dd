/* SPDX-License-Identifier: MIT
 *
 * resample.c: resizing with antialiasing (resample.h), and the taps of its axes. */
#include "resample.h"

#include <stdbool.h>
#include <string.h>

#include "base/check.h"
#include "base/cpu.h"
#include "resample_impl.h"
#include "taps.h"

const char *const leat_resample_names[] = { "bilinear", "nearest", "bicubic", "lanczos", NULL };

enum { LANES = LEAT_RESAMPLE_LANES };

typedef leat_resample_lanes lanes;
typedef leat_resample_block block;

static double scale_of(const leat_dsp_axis *axis)
{
    return (double)axis->n_in / (double)axis->n_out;
}

/* Of the filter: it gets wider when the image shrinks. */
static double width_of(const leat_dsp_axis *axis)
{
    return scale_of(axis) > 1 ? scale_of(axis) : 1;
}

/* Fills the blocks; lanes past the end repeat the last output. Returns the largest number of taps. */
static int32_t find_taps(block *b, const leat_dsp_axis *axis)
{
    const double scale = scale_of(axis), n_in = axis->n_in;
    const double support = width_of(axis) * leat_taps_radius(axis->interpolation);
    const bool is_nearest = axis->interpolation == LEAT_NEAREST;
    lanes most = { 0 };
    double all = 0;
    for (int32_t i = 0; i < axis->n_out; i += LANES, b++) {
        for (int32_t j = 0; j < LANES; j++) {
            const int32_t at = i + j < axis->n_out ? i + j : axis->n_out - 1;
            const double center = (at + 0.5) * scale;
            const double low = center - support + 0.5, high = center + support + 0.5;
            b->center[j] = center;
            b->first[j] = low > 0 ? low : 0;
            b->end[j] = high < n_in ? high : n_in;
        }
        for (int32_t j = 0; is_nearest && j < LANES; j++) {
            b->first[j] = leat_taps_nearest(axis->n_in, axis->n_out,
                                            i + j < axis->n_out ? i + j : axis->n_out - 1);
            b->end[j] = b->first[j] + 1;
        }
        for (int32_t j = 0; j < LANES; j++) {
            b->first[j] = (int32_t)b->first[j];
            b->end[j] = (int32_t)b->end[j];
            const double n = b->end[j] - b->first[j];
            most[j] = n > most[j] ? n : most[j];
        }
    }
    for (int32_t j = 0; j < LANES; j++)
        all = most[j] > all ? most[j] : all;
    return (int32_t)all;
}

/* Every output has the same number of taps, so near the end they start earlier. */
static void find_start(int32_t *restrict start, const block *b, const leat_dsp_axis *axis)
{
    const double last = axis->n_in - axis->n_taps;
    for (int32_t j = 0; j < LANES; j++)
        start[j] = (int32_t)(b->first[j] < last ? b->first[j] : last);
}

/* Weights of the taps and their totals. Taps that an output does not need weigh 0. */
__attribute__((always_inline)) static inline void weigh(lanes *restrict weights,
                                                        double *restrict total, const block *b,
                                                        const leat_dsp_axis *axis,
                                                        const int32_t *start, int32_t interpolation)
{
    const double width = width_of(axis);
    lanes at;
    for (int32_t j = 0; j < LANES; j++) {
        at[j] = start[j];
        total[j] = 0;
    }
    for (int32_t k = 0; k < axis->n_taps; k++)
        for (int32_t j = 0; j < LANES; j++) {
            double weight =
                leat_taps_filter(interpolation, fabs(at[j] - b->center[j] + 0.5) / width);
            weight = at[j] >= b->first[j] ? weight : 0;
            weight = at[j] < b->end[j] ? weight : 0;
            weights[k][j] = weight;
            total[j] += weight;
            at[j] += 1;
        }
}

static void weigh_taps(lanes *restrict weights, double *restrict total, const block *b,
                       const leat_dsp_axis *axis, const int32_t *start)
{
    switch (axis->interpolation) {
    case LEAT_BICUBIC:
        weigh(weights, total, b, axis, start, LEAT_BICUBIC);
        break;
    case LEAT_LANCZOS:
        weigh(weights, total, b, axis, start, LEAT_LANCZOS);
        break;
    case LEAT_NEAREST:
        weigh(weights, total, b, axis, start, LEAT_NEAREST);
        break;
    default:
        weigh(weights, total, b, axis, start, LEAT_BILINEAR);
    }
}

/* Rounds the running sum, not each weight, so that the weights of an output sum to 1 << bits. */
static void fill_u8(const leat_dsp_axis *axis, int16_t *to, lanes *weights, const double *total)
{
    const double one = 1 << axis->bits;
    lanes sum = { 0 };
    int32_t before[LANES] = { 0 }, step[LANES];
    for (int32_t k = 0; k < axis->n_taps - 1; k++, to++) {
        for (int32_t j = 0; j < LANES; j++) {
            sum[j] += weights[k][j];
            const int32_t upto = (int32_t)(sum[j] / total[j] * one + 0.5);
            step[j] = upto - before[j];
            before[j] = upto;
        }
        for (int32_t j = 0; j < LANES; j++)
            to[j * axis->stride] = (int16_t)step[j];
    }
    for (int32_t j = 0; j < LANES; j++)
        to[j * axis->stride] = (int16_t)((1 << axis->bits) - before[j]);
}

static void fill_f32(const leat_dsp_axis *axis, float *to, lanes *weights, const double *total)
{
    for (int32_t k = 0; k < axis->n_taps; k++)
        for (int32_t j = 0; j < LANES; j++)
            to[j * axis->stride + k] = (float)(weights[k][j] / total[j]);
}

static void fill_axis(leat_dsp_axis *axis, const block *b, lanes *weights)
{
    lanes total;
#if defined(__x86_64__)
    if (axis->weights && axis->interpolation == LEAT_BILINEAR &&
        leat_cpu_level() >= LEAT_CPU_AVX2) {
        (leat_cpu_level() >= LEAT_CPU_AVX512 ? leat_resample_fill_avx512 : leat_resample_fill_avx2)(
            axis, b, width_of(axis), weights);
        return;
    }
#endif
    for (int32_t i = 0; i < axis->n_out; i += LANES, b++) {
        const ptrdiff_t at = (ptrdiff_t)i * axis->stride;
        find_start(axis->start + i, b, axis);
        weigh_taps(weights, total, b, axis, axis->start + i);
        if (axis->float_weights)
            fill_f32(axis, axis->float_weights + at, weights, total);
        else
            fill_u8(axis, axis->weights + at, weights, total);
    }
}

int leat_resample_axis(leat_dsp_axis *axis, int64_t n_in, int64_t n_out, leat_dtype dtype,
                       int32_t interpolation, leat_scratch *scratch)
{
    const size_t n_blocks = ((size_t)n_out + LANES - 1) / LANES;
    block *blocks = leat_scratch_take(scratch, n_blocks * sizeof *blocks);
    *axis = (leat_dsp_axis){ .n_in = (int32_t)n_in,
                             .n_out = (int32_t)n_out,
                             .bits = leat_taps_bits(n_in, n_out, interpolation),
                             .interpolation = interpolation };
    if (!blocks)
        return LEAT_E_NOMEM;
    axis->n_taps = find_taps(blocks, axis);
    axis->stride = (axis->n_taps + 1) & ~1;
    const size_t n_weights = n_blocks * LANES * (size_t)axis->stride;
    const size_t bytes = n_weights * (dtype == LEAT_F32 ? sizeof(float) : sizeof(int16_t));
    void *filled = leat_scratch_take(scratch, bytes);
    lanes *weights = leat_scratch_take(scratch, (size_t)axis->n_taps * sizeof *weights);
    axis->start = leat_scratch_take(scratch, n_blocks * LANES * sizeof *axis->start);
    if (!filled || !weights || !axis->start)
        return LEAT_E_NOMEM;
    memset(filled, 0, bytes);
    if (dtype == LEAT_F32)
        axis->float_weights = filled;
    else
        axis->weights = filled;
    fill_axis(axis, blocks, weights);
    return LEAT_OK;
}

int32_t leat_resample_crop(leat_dsp_axis *axis, int32_t first, int32_t n)
{
    leat_check(first >= 0 && n >= 1 && n <= axis->n_out - first && axis->weights);
    axis->start += first;
    axis->weights += (ptrdiff_t)first * axis->stride;
    axis->n_out = n;
    const int32_t from = axis->start[0]; /* starts ascend */
    for (int32_t i = 0; i < n; i++)
        axis->start[i] -= from;
    axis->n_in = axis->start[n - 1] + axis->n_taps;
    return from;
}

int32_t leat_resample_fraction_bits(const leat_dsp_axis *horizontal)
{
    return leat_taps_fraction_bits(horizontal->bits, horizontal->interpolation);
}

/* Both axes and the start of the box. */
typedef struct job {
    leat_dsp_axis down, across;
    const uint8_t *from;
    size_t stride_bytes;
    size_t n_values; /* of one row of the box */
    int32_t channels;
} job;

static int resample_u8(const job *j, uint8_t *out, leat_scratch *scratch)
{
    const int32_t fraction = leat_resample_fraction_bits(&j->across);
    const size_t out_stride = (size_t)j->across.n_out * (size_t)j->channels;
    int16_t *row = leat_scratch_take(scratch, (j->n_values + LEAT_DSP_ROW_SLACK) * sizeof *row);
    if (!row)
        return LEAT_E_NOMEM;
    memset(row + j->n_values, 0, LEAT_DSP_ROW_SLACK * sizeof *row);
    for (int32_t y = 0; y < j->down.n_out; y++) {
        leat_dsp()->mix_rows(row, j->from + (size_t)j->down.start[y] * j->stride_bytes,
                             j->stride_bytes, j->n_values,
                             j->down.weights + (size_t)y * (size_t)j->down.stride, j->down.n_taps,
                             j->down.bits - fraction);
        leat_dsp()->sample_row(out + (size_t)y * out_stride, row, &j->across, j->channels,
                               j->across.bits + fraction);
    }
    return LEAT_OK;
}

static void add_row_f32(float *restrict row, const float *in, float weight, size_t n)
{
    for (size_t i = 0; i < n; i++)
        row[i] += weight * in[i];
}

static void mix_rows_f32(float *row, const job *j, int32_t y)
{
    const float *weights = j->down.float_weights + (size_t)y * (size_t)j->down.stride;
    const uint8_t *from = j->from + (size_t)j->down.start[y] * j->stride_bytes;
    memset(row, 0, j->n_values * sizeof *row);
    for (int32_t k = 0; k < j->down.n_taps; k++, from += j->stride_bytes) {
        const float *in = (const float *)(const void *)from;
        if (weights[k] != 0)
            add_row_f32(row, in, weights[k], j->n_values);
    }
}

/* A tap of weight 0 adds nothing, even if its input is NaN or infinite. */
static float sum_f32(const float *weights, int32_t n, const float *in, int32_t stride)
{
    float sum = 0;
    for (int32_t k = 0; k < n; k++)
        sum += weights[k] * in[k * stride];
    if (isfinite(sum))
        return sum;
    sum = 0;
    for (int32_t k = 0; k < n; k++)
        sum += weights[k] != 0 ? weights[k] * in[k * stride] : 0;
    return sum;
}

static void sample_row_f32(float *out, const float *row, const job *j)
{
    for (int32_t i = 0; i < j->across.n_out; i++) {
        const float *weights = j->across.float_weights + (size_t)i * (size_t)j->across.stride;
        const float *in = row + (size_t)j->across.start[i] * (size_t)j->channels;
        for (int32_t c = 0; c < j->channels; c++)
            *out++ = sum_f32(weights, j->across.n_taps, in + c, j->channels);
    }
}

static int resample_f32(const job *j, float *out, leat_scratch *scratch)
{
    const size_t out_stride = (size_t)j->across.n_out * (size_t)j->channels;
    float *row = leat_scratch_take(scratch, j->n_values * sizeof *row);
    if (!row)
        return LEAT_E_NOMEM;
    for (int32_t y = 0; y < j->down.n_out; y++) {
        mix_rows_f32(row, j, y);
        sample_row_f32(out + (size_t)y * out_stride, row, j);
    }
    return LEAT_OK;
}

int leat_resample(const leat_view *in, const leat_image_box *box, const leat_view *out,
                  int32_t interpolation, leat_scratch *scratch, leat_error *err)
{
    const size_t pixel = leat_image_pixel_bytes(&in->shape);
    const leat_dtype dtype = in->shape.dtype;
    job j = {
        .stride_bytes = (size_t)in->shape.dims[1] * pixel,
        .n_values = (size_t)box->width * (size_t)in->shape.dims[2],
        .channels = (int32_t)in->shape.dims[2],
    };
    leat_check(box->y >= 0 && box->x >= 0 && box->y + box->height <= in->shape.dims[0] &&
               box->x + box->width <= in->shape.dims[1]);
    j.from = (const uint8_t *)in->data + (size_t)box->y * j.stride_bytes + (size_t)box->x * pixel;
    int rc;
    if ((rc = leat_resample_axis(&j.down, box->height, out->shape.dims[0], dtype, interpolation,
                                 scratch)) < 0 ||
        (rc = leat_resample_axis(&j.across, box->width, out->shape.dims[1], dtype, interpolation,
                                 scratch)) < 0 ||
        (rc = dtype == LEAT_F32 ? resample_f32(&j, out->data, scratch)
                                : resample_u8(&j, out->data, scratch)) < 0)
        leat_fail(err, rc, "resize: not enough scratch memory for %d x %d to %d x %d pixels",
                  (int)box->height, (int)box->width, (int)out->shape.dims[0],
                  (int)out->shape.dims[1]);
    return rc;
}
