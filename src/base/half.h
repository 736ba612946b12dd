/* SPDX-License-Identifier: MIT
 *
 * half.h: float32 to float16 (IEEE 754) and bfloat16 (its upper half) and back, on CPU and GPU. Numbers are
 * rounded to the nearest, ties to even; what is too large becomes infinite. NaN stays NaN (quiet, with the
 * upper bits of its payload), as the conversions of CPUs do. */
#ifndef LEAT_HALF_H
#define LEAT_HALF_H

#include <stdint.h>
#include <string.h>

#include "base/host_device.h"

LEAT_HOST_DEVICE uint32_t leat_half_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

LEAT_HOST_DEVICE float leat_half_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

LEAT_HOST_DEVICE uint16_t leat_half_f16(float x)
{
    const uint32_t sign = leat_half_bits(x) >> 16 & 0x8000, bits = leat_half_bits(x) & 0x7fffffff;
    if (bits > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x3ff));
    if (bits >= 0x47800000) /* 65536 */
        return (uint16_t)(sign | 0x7c00);
    if (bits < 0x38800000) /* 2^-14: multiples of 2^-24, and a sum with 0.5 is rounded to these */
        return (uint16_t)(sign | (leat_half_bits(leat_half_float(bits) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | ((bits - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13));
}

LEAT_HOST_DEVICE float leat_half_of_f16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, bits = half & 0x7fff;
    if (bits > 0x7c00)
        return leat_half_float(sign | 0x7fc00000 | bits << 13);
    if (bits == 0x7c00)
        return leat_half_float(sign | 0x7f800000);
    if (bits < 0x400)
        return leat_half_float(sign | leat_half_bits((float)bits * 0x1p-24f));
    return leat_half_float(sign | ((bits << 13) + (112u << 23)));
}

LEAT_HOST_DEVICE uint16_t leat_half_bf16(float x)
{
    const uint32_t bits = leat_half_bits(x);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

LEAT_HOST_DEVICE float leat_half_of_bf16(uint16_t half)
{
    return leat_half_float((uint32_t)half << 16);
}

#endif
