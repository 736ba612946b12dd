/* SPDX-License-Identifier: MIT
 *
 * cast_value.h: converts one number to another element type, for the op cast on CPU and GPU. Values out of
 * range saturate. float32 is rounded to the nearest integer, ties to even, and NaN becomes 0. */
#ifndef LEAT_CAST_VALUE_H
#define LEAT_CAST_VALUE_H

#include <math.h>
#include <stdint.h>

#include "host_device.h"

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

#endif
