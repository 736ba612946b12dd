/* SPDX-License-Identifier: MIT
 *
 * op_color_jitter.h: contrast needs the mean of the image after the changes that come before it. So the
 * first passes apply those changes and sum, and the last applies all changes. */
#ifndef LEAT_OP_COLOR_JITTER_H
#define LEAT_OP_COLOR_JITTER_H

#include "kernel_color.h"
#include "ops/image/op_draws.h"

LEAT_HOST_DEVICE int64_t leat_jitter_aux_bytes(const leat_kernel_args *args)
{
    (void)args;
    return (int64_t)sizeof(uint64_t);
}

LEAT_HOST_DEVICE void leat_jitter_begin(const leat_kernel_args *args, int64_t row, int64_t i)
{
    (void)i;
    *(uint64_t *)(void *)leat_kernel_aux(args, row) = 0;
}

/* Applies the changes in the order that was drawn: all of them, or those before contrast. */
LEAT_HOST_DEVICE void leat_jitter(uint8_t *pixel, int32_t channels, const leat_jitter_draw *draw,
                                  int upto_contrast, int64_t mean)
{
    const int32_t n_colors = (int32_t)leat_color_n_colors((size_t)channels);
    for (int32_t k = 0; k < LEAT_N_JITTERS; k++) {
        const int32_t kind = draw->order[k], amount = draw->amounts[kind & 3];
        if (kind == LEAT_JITTER_CONTRAST && upto_contrast)
            return;
        if (kind == LEAT_JITTER_SATURATION)
            leat_saturate(pixel, channels, amount);
        else if (kind == LEAT_JITTER_HUE)
            leat_turn_hue(pixel, channels, amount);
        else
            for (int32_t c = 0; c < n_colors; c++)
                pixel[c] = kind == LEAT_JITTER_BRIGHTNESS
                               ? leat_color_blend(pixel[c], 0, amount)
                               : leat_color_contrast_value(pixel[c], mean, amount);
    }
}

LEAT_HOST_DEVICE void leat_jitter_sum(const leat_kernel_args *args, int64_t row, int64_t strip)
{
    const leat_jitter_draw *const draw = (const leat_jitter_draw *)leat_kernel_draw(args, row);
    const int64_t n = leat_kernel_n_px(args), end = (strip + 1) * LEAT_STRIP;
    uint64_t sum = 0;
    uint8_t pixel[4];
    for (int64_t i = strip * LEAT_STRIP; i < end && i < n; i++) {
        leat_kernel_copy(pixel, leat_kernel_in(args, row) + i * args->channels, args->channels);
        leat_jitter(pixel, args->channels, draw, 1, 0);
        sum += args->channels < 3 ? pixel[0] : leat_color_gray(pixel);
    }
    leat_kernel_add((uint64_t *)(void *)leat_kernel_aux(args, row), sum);
}

LEAT_HOST_DEVICE void leat_jitter_pixel(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_jitter_draw *const draw = (const leat_jitter_draw *)leat_kernel_draw(args, row);
    const uint64_t sum = *(const uint64_t *)(const void *)leat_kernel_aux(args, row);
    uint8_t pixel[4];
    leat_kernel_copy(pixel, leat_kernel_in(args, row) + i * args->channels, args->channels);
    leat_jitter(pixel, args->channels, draw, 0,
                leat_color_mean(sum, (uint64_t)leat_kernel_n_px(args)));
    leat_kernel_copy(leat_kernel_out(args, row) + i * args->channels, pixel, args->channels);
}

#endif

LEAT_KERNEL(jitter_begin, leat_jitter_begin)
LEAT_KERNEL(jitter_sum, leat_jitter_sum)
LEAT_KERNEL(color_jitter, leat_jitter_pixel)
LEAT_KERNEL_OP(color_jitter, .aux_bytes = leat_jitter_aux_bytes,
               .passes = { { "leat_jitter_begin", LEAT_PER_ROW },
                           { "leat_jitter_sum", LEAT_PER_STRIP },
                           { "leat_color_jitter", LEAT_PER_PIXEL } })
