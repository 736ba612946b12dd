/* SPDX-License-Identifier: MIT
 *
 * cast_value.h: converts one number to another element type, for the op cast on CPU and GPU. Values out of
 * range saturate. Floats are rounded to the nearest integer, ties to even, and NaN becomes 0. */
#ifndef LEAT_CAST_VALUE_H
#define LEAT_CAST_VALUE_H

#include <math.h>
#include <stdint.h>

#include "base/half.h"
#include "leat/tensor.h"

LEAT_HOST_DEVICE int64_t leat_cast_clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* float32 to an integer. It compares with 2^63, because 2^63 - 1 is not exact in float32. */
LEAT_HOST_DEVICE int64_t leat_cast_f32(float x, int64_t low, int64_t high)
{
    if (x != x)
        return 0;
    if (x >= 9223372036854775808.0f)
        return high;
    if (x < -9223372036854775808.0f)
        return low;
    return leat_cast_clamp((int64_t)rintf(x), low, high);
}

/* Value i of a tensor of any type, as float32. */
LEAT_HOST_DEVICE float leat_cast_load_f32(const void *in, int32_t dtype, int64_t i)
{
    switch (dtype) {
    case LEAT_U8:
        return (float)((const uint8_t *)in)[i];
    case LEAT_I32:
        return (float)((const int32_t *)in)[i];
    case LEAT_I64:
        return (float)((const int64_t *)in)[i];
    case LEAT_F16:
        return leat_half_of_f16(((const uint16_t *)in)[i]);
    case LEAT_BF16:
        return leat_half_of_bf16(((const uint16_t *)in)[i]);
    default:
        return ((const float *)in)[i];
    }
}

/* Writes float32 x as value i of a tensor of a float type. */
LEAT_HOST_DEVICE void leat_cast_store_f32(void *out, int32_t dtype, int64_t i, float x)
{
    if (dtype == LEAT_F16)
        ((uint16_t *)out)[i] = leat_half_f16(x);
    else if (dtype == LEAT_BF16)
        ((uint16_t *)out)[i] = leat_half_bf16(x);
    else
        ((float *)out)[i] = x;
}

#endif
