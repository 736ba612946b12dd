/* SPDX-License-Identifier: MIT
 *
 * kernel_resample.h: resampling of one pixel, for the kernels of resize and random_resized_crop. The
 * first pass computes the weights of each line and column. The second does the vertical and the
 * horizontal sum of a pixel at once: neighbours repeat vertical sums in the same order and with the same
 * rounding, so that no intermediate image goes through memory. The first word of the constants is the
 * filter. */
#ifndef LEAT_KERNEL_RESAMPLE_H
#define LEAT_KERNEL_RESAMPLE_H

#include "kernel.h"
#include "ops/image/image.h"
#include "ops/image/taps.h"

/* The taps of one line or column in `aux`. Their weights (int16 or float) follow. */
typedef struct leat_resample_line {
    int32_t first, n;
} leat_resample_line;

/* Upper bound of the taps of an output, since no box is larger than the (largest) image. */
LEAT_HOST_DEVICE int32_t leat_resample_most_taps(const leat_kernel_args *args)
{
    const int32_t down = args->in_height / args->out_height;
    const int32_t across = args->in_width / args->out_width;
    return 2 * leat_taps_radius(args->constants.words[0]) * ((down > across ? down : across) + 1) +
           2;
}
LEAT_HOST_DEVICE int64_t leat_resample_line_bytes(const leat_kernel_args *args)
{
    return (int64_t)sizeof(leat_resample_line) + 4 * leat_resample_most_taps(args);
}
LEAT_HOST_DEVICE int64_t leat_resample_aux_bytes(const leat_kernel_args *args)
{
    return (args->out_height + args->out_width) * leat_resample_line_bytes(args);
}
LEAT_HOST_DEVICE leat_resample_line *leat_resample_at(const leat_kernel_args *args, int64_t row,
                                                      int64_t i)
{
    return (leat_resample_line *)(void *)(leat_kernel_aux(args, row) +
                                          i * leat_resample_line_bytes(args));
}

/* Computes the weights of line i, or of column i - out_height. */
LEAT_HOST_DEVICE void leat_resample_weigh(const leat_kernel_args *args, int64_t row, int64_t i,
                                          const leat_image_box *box)
{
    const int32_t filter = args->constants.words[0];
    const int is_line = i < args->out_height;
    const int32_t n_in = is_line ? box->height : box->width;
    const int32_t n_out = is_line ? args->out_height : args->out_width;
    const int32_t at = (int32_t)(is_line ? i : i - args->out_height);
    const leat_taps taps = leat_taps_of(n_in, n_out, at, filter);
    leat_resample_line *const line = leat_resample_at(args, row, i);
    line->first = taps.first;
    line->n = taps.n;
    if (args->in_dtype == LEAT_F32)
        leat_taps_fill_f32(&taps, (float *)(line + 1));
    else
        leat_taps_fill_u8(&taps, leat_taps_bits(n_in, n_out, filter), (int16_t *)(line + 1));
}

LEAT_HOST_DEVICE void leat_resample_pixel_u8(const leat_kernel_args *args,
                                             const leat_image_box *box, const uint8_t *in,
                                             int64_t stride, uint8_t *to,
                                             const leat_resample_line *down,
                                             const leat_resample_line *across)
{
    const int32_t filter = args->constants.words[0];
    const int32_t down_bits = leat_taps_bits(box->height, args->out_height, filter);
    const int32_t across_bits = leat_taps_bits(box->width, args->out_width, filter);
    const int32_t fraction = leat_taps_fraction_bits(across_bits, filter);
    const int32_t shift = down_bits - fraction, last_shift = across_bits + fraction;
    const int16_t *const rows = (const int16_t *)(down + 1);
    const int16_t *const columns = (const int16_t *)(across + 1);
    for (int32_t c = 0; c < args->channels; c++) {
        int32_t sum = 1 << (last_shift - 1);
        for (int32_t k = 0; k < across->n; k++) {
            const uint8_t *from = in + (int64_t)k * args->channels + c;
            int32_t inner = 1 << (shift - 1);
            for (int32_t j = 0; j < down->n; j++, from += stride)
                inner += rows[j] * *from;
            sum += columns[k] * (int16_t)(inner >> shift);
        }
        to[c] = leat_taps_clamp(sum >> last_shift);
    }
}

/* A tap of weight 0 adds nothing, even if its input is NaN or infinite. */
LEAT_HOST_DEVICE void leat_resample_pixel_f32(const leat_kernel_args *args, const float *in,
                                              int64_t stride, float *to,
                                              const leat_resample_line *down,
                                              const leat_resample_line *across)
{
    const float *const rows = (const float *)(down + 1), *const columns =
                                                             (const float *)(across + 1);
    for (int32_t c = 0; c < args->channels; c++) {
        float sum = 0;
        for (int32_t k = 0; k < across->n; k++) {
            const float *from = in + (int64_t)k * args->channels + c;
            float inner = 0;
            for (int32_t j = 0; j < down->n; j++, from += stride)
                inner += rows[j] != 0 ? rows[j] * *from : 0;
            sum += columns[k] != 0 ? columns[k] * inner : 0;
        }
        to[c] = sum;
    }
}

LEAT_HOST_DEVICE void leat_resample_pixel(const leat_kernel_args *args, int64_t row, int64_t i,
                                          const leat_image_box *box)
{
    const leat_resample_line *const down =
        leat_resample_at(args, row, leat_kernel_line(i, args->out_width));
    const leat_resample_line *const across =
        leat_resample_at(args, row, args->out_height + leat_kernel_column(i, args->out_width));
    const int64_t stride = (int64_t)leat_kernel_stride(args, row) * args->channels;
    const int64_t from =
        leat_kernel_at(args, row, box->y + down->first, box->x + across->first) * args->channels;
    const uint8_t *const in = leat_kernel_in(args, row);
    uint8_t *const out = leat_kernel_out(args, row);
    if (args->in_dtype == LEAT_F32)
        leat_resample_pixel_f32(args, (const float *)(const void *)in + from, stride,
                                (float *)(void *)out + i * args->channels, down, across);
    else
        leat_resample_pixel_u8(args, box, in + from, stride, out + i * args->channels, down,
                               across);
}

#endif
