/* SPDX-License-Identifier: MIT
 *
 * op_values.h: ops on each value alone: random_brightness, normalize, scale, cast. */
#ifndef LEAT_OP_VALUES_H
#define LEAT_OP_VALUES_H

#include "kernel.h"
#include "ops/image/cast_value.h"
#include "ops/image/op_plans.h"

LEAT_HOST_DEVICE void leat_brightness_value(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_brightness_plan *const plan =
        (const leat_brightness_plan *)leat_kernel_plan(args, row);
    const uint8_t *const in = leat_kernel_in(args, row);
    uint8_t *const out = leat_kernel_out(args, row);
    if (args->in_dtype == LEAT_F32) {
        ((float *)(void *)out)[i] = ((const float *)(const void *)in)[i] + plan->delta;
    } else {
        const int32_t x = in[i] + plan->delta_u8;
        out[i] = (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
    }
}
LEAT_KERNEL(random_brightness, leat_brightness_value)

LEAT_HOST_DEVICE float leat_value_f32(const uint8_t *in, int32_t dtype, int64_t i)
{
    return dtype == LEAT_U8    ? (float)in[i]
           : dtype == LEAT_I32 ? (float)((const int32_t *)(const void *)in)[i]
           : dtype == LEAT_I64 ? (float)((const int64_t *)(const void *)in)[i]
                               : ((const float *)(const void *)in)[i];
}

/* x * scale + shift per channel, for normalize and scale. */
LEAT_HOST_DEVICE void leat_affine_value(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const int32_t c = leat_kernel_column(i, args->constants.words[0]);
    const float x = leat_value_f32(leat_kernel_in(args, row), args->in_dtype, i);
    ((float *)(void *)leat_kernel_out(args, row))[i] =
        x * args->constants.values[c] + args->constants.values[8 + c];
}
LEAT_KERNEL(affine, leat_affine_value)

LEAT_HOST_DEVICE int64_t leat_value_i64(const uint8_t *in, int32_t dtype, int64_t i, int64_t low,
                                        int64_t high)
{
    const int64_t x = dtype == LEAT_U8    ? in[i]
                      : dtype == LEAT_I32 ? ((const int32_t *)(const void *)in)[i]
                      : dtype == LEAT_I64 ? ((const int64_t *)(const void *)in)[i]
                                          : 0;
    return dtype == LEAT_F32 ? leat_cast_f32(((const float *)(const void *)in)[i], low, high)
                             : leat_cast_clamp(x, low, high);
}

LEAT_HOST_DEVICE void leat_cast_element(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const uint8_t *const in = leat_kernel_in(args, row);
    uint8_t *const out = leat_kernel_out(args, row);
    const int32_t from = args->in_dtype;
    if (args->out_dtype == LEAT_U8)
        out[i] = (uint8_t)leat_value_i64(in, from, i, 0, UINT8_MAX);
    else if (args->out_dtype == LEAT_I32)
        ((int32_t *)(void *)out)[i] = (int32_t)leat_value_i64(in, from, i, INT32_MIN, INT32_MAX);
    else if (args->out_dtype == LEAT_I64)
        ((int64_t *)(void *)out)[i] = leat_value_i64(in, from, i, INT64_MIN, INT64_MAX);
    else
        ((float *)(void *)out)[i] = leat_value_f32(in, from, i);
}
LEAT_KERNEL(cast, leat_cast_element)

#endif
