/* SPDX-License-Identifier: MIT
 *
 * op_random_contrast.h: sums per channel, then each value. Sums of uint8 images are integers, so the
 * order of adding does not matter. In float32 images one thread adds a channel's values in the order of
 * the CPU code, because the bits of a float sum depend on the order. */
#ifndef LEAT_OP_RANDOM_CONTRAST_H
#define LEAT_OP_RANDOM_CONTRAST_H

#include "kernel.h"
#include "ops/image/color.h"
#include "ops/image/op_draws.h"

/* A row's aux: a sum (uint64) or a mean (float) per channel. */
LEAT_HOST_DEVICE int64_t leat_contrast_aux_bytes(const leat_kernel_args *args)
{
    (void)args;
    return 4 * (int64_t)sizeof(uint64_t);
}

LEAT_HOST_DEVICE void leat_contrast_begin(const leat_kernel_args *args, int64_t row, int64_t i)
{
    uint64_t *const sums = (uint64_t *)(void *)leat_kernel_aux(args, row);
    (void)i;
    for (int32_t c = 0; c < 4; c++)
        sums[c] = 0;
}

LEAT_HOST_DEVICE void leat_contrast_sum_f32(const leat_kernel_args *args, int64_t row, int32_t c)
{
    const float *const in = (const float *)(const void *)leat_kernel_in(args, row);
    const int64_t n = leat_kernel_n_px(args);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)in[i * args->channels + c];
    ((float *)(void *)leat_kernel_aux(args, row))[2 * c] = (float)(sum / (double)n);
}

LEAT_HOST_DEVICE void leat_contrast_sum_u8(const leat_kernel_args *args, int64_t row, int64_t strip)
{
    const uint8_t *const in = leat_kernel_in(args, row);
    uint64_t *const sums = (uint64_t *)(void *)leat_kernel_aux(args, row);
    const int64_t n = leat_kernel_n_px(args), end = (strip + 1) * LEAT_STRIP;
    for (int32_t c = 0; c < args->channels; c++) {
        uint64_t sum = 0;
        for (int64_t i = strip * LEAT_STRIP; i < end && i < n; i++)
            sum += in[i * args->channels + c];
        leat_kernel_add(&sums[c], sum);
    }
}

/* There may be fewer strips than channels, so strip 0 does all sums of a float32 image. */
LEAT_HOST_DEVICE void leat_contrast_sum(const leat_kernel_args *args, int64_t row, int64_t strip)
{
    if (args->in_dtype != LEAT_F32)
        leat_contrast_sum_u8(args, row, strip);
    else if (strip == 0)
        for (int32_t c = 0; c < args->channels; c++)
            leat_contrast_sum_f32(args, row, c);
}

LEAT_HOST_DEVICE void leat_contrast_value(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_contrast_draw *const draw = (const leat_contrast_draw *)leat_kernel_draw(args, row);
    const uint8_t *const aux = leat_kernel_aux(args, row), *const in = leat_kernel_in(args, row);
    uint8_t *const out = leat_kernel_out(args, row);
    const int32_t c = leat_kernel_column(i, args->channels);
    if (args->in_dtype == LEAT_F32) {
        const float mean = ((const float *)(const void *)aux)[2 * c];
        ((float *)(void *)out)[i] =
            (((const float *)(const void *)in)[i] - mean) * draw->factor + mean;
    } else {
        const uint64_t sum = ((const uint64_t *)(const void *)aux)[c];
        out[i] = leat_color_contrast_value(
            in[i], leat_color_mean(sum, (uint64_t)leat_kernel_n_px(args)), draw->factor_q16);
    }
}

#endif

LEAT_KERNEL(contrast_begin, leat_contrast_begin)
LEAT_KERNEL(contrast_sum, leat_contrast_sum)
LEAT_KERNEL(contrast, leat_contrast_value)
LEAT_KERNEL_OP(random_contrast, .aux_bytes = leat_contrast_aux_bytes,
               .passes = { { "leat_contrast_begin", LEAT_PER_ROW },
                           { "leat_contrast_sum", LEAT_PER_STRIP },
                           { "leat_contrast", LEAT_PER_VALUE } })
