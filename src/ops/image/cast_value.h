/* SPDX-License-Identifier: MIT
 *
 * cast_value.h: one number from one element type to another: what does not fit saturates, float32 is
 * rounded to the nearest integer, ties to even, and NaN becomes 0. */
#ifndef LEAT_CAST_VALUE_H
#define LEAT_CAST_VALUE_H

#include <math.h>
#include <stdint.h>

#include "host_device.h"

LEAT_HOST_DEVICE int64_t leat_cast_clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* float32 to an integer: 2^63 is exact in float32, 2^63 - 1 is not. */
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

#endif
