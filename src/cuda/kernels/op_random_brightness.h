/* SPDX-License-Identifier: MIT
 *
 * op_random_brightness.h: one value plus the delta that was drawn. */
#ifndef LEAT_OP_RANDOM_BRIGHTNESS_H
#define LEAT_OP_RANDOM_BRIGHTNESS_H

#include "kernel.h"
#include "ops/image/op_draws.h"

LEAT_HOST_DEVICE void leat_brightness_value(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_brightness_draw *const draw =
        (const leat_brightness_draw *)leat_kernel_draw(args, row);
    const uint8_t *const in = leat_kernel_in(args, row);
    uint8_t *const out = leat_kernel_out(args, row);
    if (args->in_dtype == LEAT_F32) {
        ((float *)(void *)out)[i] = ((const float *)(const void *)in)[i] + draw->delta;
    } else {
        const int32_t x = in[i] + draw->delta_u8;
        out[i] = (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
    }
}

#endif

LEAT_KERNEL(random_brightness, leat_brightness_value)
LEAT_KERNEL_OP(random_brightness, .passes = { { "leat_random_brightness", LEAT_PER_VALUE } })
