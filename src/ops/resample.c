/* SPDX-License-Identifier: MIT */
#include "resample.h"

#include <string.h>

#include "taps.h"

static void fill_weights(leat_axis *axis, int32_t i)
{
    const leat_taps taps = leat_taps_of(axis->n_in, axis->n_out, i);
    /* Every output has the same number of taps; near the end they start earlier. */
    const int32_t start =
        taps.first + axis->n_taps <= axis->n_in ? taps.first : axis->n_in - axis->n_taps;
    const size_t at = (size_t)i * (size_t)axis->stride + (size_t)(taps.first - start);
    axis->start[i] = start;
    if (axis->float_weights)
        leat_taps_fill_f32(&taps, axis->float_weights + at);
    else
        leat_taps_fill_u8(&taps, axis->bits, axis->weights + at);
}

int leat_resample_axis(leat_axis *axis, int64_t n_in, int64_t n_out, leat_dtype dtype,
                       leat_scratch *scratch)
{
    *axis = (leat_axis){ .n_in = (int32_t)n_in,
                         .n_out = (int32_t)n_out,
                         .bits = leat_taps_bits(n_in, n_out) };
    for (int32_t i = 0; i < axis->n_out; i++) {
        const int32_t n = leat_taps_of(n_in, n_out, i).n;
        axis->n_taps = n > axis->n_taps ? n : axis->n_taps;
    }
    axis->stride = (axis->n_taps + 1) & ~1;
    const size_t n_weights = (size_t)n_out * (size_t)axis->stride;
    const size_t bytes = n_weights * (dtype == LEAT_F32 ? sizeof(float) : sizeof(int16_t));
    void *weights = leat_scratch_take(scratch, bytes);
    axis->start = leat_scratch_take(scratch, (size_t)n_out * sizeof *axis->start);
    if (!weights || !axis->start)
        return LEAT_E_NOMEM;
    memset(weights, 0, bytes);
    if (dtype == LEAT_F32)
        axis->float_weights = weights;
    else
        axis->weights = weights;
    for (int32_t i = 0; i < axis->n_out; i++)
        fill_weights(axis, i);
    return LEAT_OK;
}

int32_t leat_resample_fraction_bits(const leat_axis *horizontal)
{
    return leat_taps_fraction_bits(horizontal->bits);
}

/* Both axes, and where the box starts. */
typedef struct job {
    leat_axis down, across;
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

static void mix_rows_f32(float *row, const job *j, int32_t y)
{
    const float *weights = j->down.float_weights + (size_t)y * (size_t)j->down.stride;
    const uint8_t *from = j->from + (size_t)j->down.start[y] * j->stride_bytes;
    memset(row, 0, j->n_values * sizeof *row);
    for (int32_t k = 0; k < j->down.n_taps; k++, from += j->stride_bytes) {
        const float *in = (const float *)(const void *)from;
        for (size_t i = 0; i < j->n_values; i++)
            row[i] += weights[k] * in[i];
    }
}

static void sample_row_f32(float *out, const float *row, const job *j)
{
    for (int32_t i = 0; i < j->across.n_out; i++) {
        const float *weights = j->across.float_weights + (size_t)i * (size_t)j->across.stride;
        const float *in = row + (size_t)j->across.start[i] * (size_t)j->channels;
        for (int32_t c = 0; c < j->channels; c++) {
            float sum = 0;
            for (int32_t k = 0; k < j->across.n_taps; k++)
                sum += weights[k] * in[k * j->channels + c];
            *out++ = sum;
        }
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
                  leat_scratch *scratch, leat_error *err)
{
    const size_t pixel = leat_image_pixel_bytes(&in->shape);
    const leat_dtype dtype = in->shape.dtype;
    job j = {
        .stride_bytes = (size_t)in->shape.dims[1] * pixel,
        .n_values = (size_t)box->width * (size_t)in->shape.dims[2],
        .channels = (int32_t)in->shape.dims[2],
    };
    j.from = (const uint8_t *)in->data + (size_t)box->y * j.stride_bytes + (size_t)box->x * pixel;
    int rc = leat_resample_axis(&j.down, box->height, out->shape.dims[0], dtype, scratch);
    if (rc == LEAT_OK)
        rc = leat_resample_axis(&j.across, box->width, out->shape.dims[1], dtype, scratch);
    if (rc == LEAT_OK)
        rc = dtype == LEAT_F32 ? resample_f32(&j, out->data, scratch)
                               : resample_u8(&j, out->data, scratch);
    if (rc != LEAT_OK)
        leat_fail(err, rc, "resize: not enough scratch memory for %d x %d to %d x %d pixels",
                  (int)box->height, (int)box->width, (int)out->shape.dims[0],
                  (int)out->shape.dims[1]);
    return rc;
}
