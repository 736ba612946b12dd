/* SPDX-License-Identifier: MIT
 *
 * op_random_saturation.h: one pixel, with its distance to gray scaled. */
#ifndef LEAT_OP_RANDOM_SATURATION_H
#define LEAT_OP_RANDOM_SATURATION_H

#include "kernel_color.h"
#include "ops/image/op_draws.h"

LEAT_HOST_DEVICE void leat_saturation_pixel(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_saturation_draw *const draw =
        (const leat_saturation_draw *)leat_kernel_draw(args, row);
    uint8_t pixel[4];
    leat_kernel_copy(pixel, leat_kernel_in(args, row) + i * args->channels, args->channels);
    leat_saturate(pixel, args->channels, draw->factor_q16);
    leat_kernel_copy(leat_kernel_out(args, row) + i * args->channels, pixel, args->channels);
}

#endif

LEAT_KERNEL(random_saturation, leat_saturation_pixel)
LEAT_KERNEL_OP(random_saturation, .passes = { { "leat_random_saturation", LEAT_PER_PIXEL } })
