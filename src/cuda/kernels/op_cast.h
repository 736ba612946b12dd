/* SPDX-License-Identifier: MIT
 *
 * op_cast.h: one value in another element type. */
#ifndef LEAT_OP_CAST_H
#define LEAT_OP_CAST_H

#include "kernel_value.h"
#include "ops/image/cast_value.h"

LEAT_HOST_DEVICE int64_t leat_value_i64(const uint8_t *in, int32_t dtype, int64_t i, int64_t low,
                                        int64_t high)
{
    const int64_t x = dtype == LEAT_U8    ? in[i]
                      : dtype == LEAT_I32 ? ((const int32_t *)(const void *)in)[i]
                      : dtype == LEAT_I64 ? ((const int64_t *)(const void *)in)[i]
                                          : 0;
    const int is_integer = dtype == LEAT_U8 || dtype == LEAT_I32 || dtype == LEAT_I64;
    return is_integer ? leat_cast_clamp(x, low, high)
                      : leat_cast_f32(leat_cast_load_f32(in, dtype, i), low, high);
}

/* The bits of a float of 16 stay when the type does: NaN too. */
LEAT_HOST_DEVICE void leat_cast_element(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const uint8_t *const in = leat_kernel_in(args, row);
    uint8_t *const out = leat_kernel_out(args, row);
    const int32_t from = args->in_dtype, to = args->out_dtype;
    if (to == LEAT_U8)
        out[i] = (uint8_t)leat_value_i64(in, from, i, 0, UINT8_MAX);
    else if (to == LEAT_I32)
        ((int32_t *)(void *)out)[i] = (int32_t)leat_value_i64(in, from, i, INT32_MIN, INT32_MAX);
    else if (to == LEAT_I64)
        ((int64_t *)(void *)out)[i] = leat_value_i64(in, from, i, INT64_MIN, INT64_MAX);
    else if (to == from && to != LEAT_F32)
        ((uint16_t *)(void *)out)[i] = ((const uint16_t *)(const void *)in)[i];
    else
        leat_cast_store_f32(out, to, i, leat_cast_load_f32(in, from, i));
}

#endif

LEAT_KERNEL(cast, leat_cast_element)
LEAT_KERNEL_OP(cast, .passes = { { "leat_cast", LEAT_PER_VALUE } })
