/* SPDX-License-Identifier: MIT
 *
 * op_random_hue.h: one pixel, with its hue turned. */
#ifndef LEAT_OP_RANDOM_HUE_H
#define LEAT_OP_RANDOM_HUE_H

#include "kernel_color.h"
#include "ops/image/op_draws.h"

LEAT_HOST_DEVICE void leat_hue_pixel(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_hue_draw *const draw = (const leat_hue_draw *)leat_kernel_draw(args, row);
    uint8_t pixel[4];
    leat_kernel_copy(pixel, leat_kernel_in(args, row) + i * args->channels, args->channels);
    leat_turn_hue(pixel, args->channels, draw->turn);
    leat_kernel_copy(leat_kernel_out(args, row) + i * args->channels, pixel, args->channels);
}

#endif

LEAT_KERNEL(random_hue, leat_hue_pixel)
LEAT_KERNEL_OP(random_hue, .passes = { { "leat_random_hue", LEAT_PER_PIXEL } })
