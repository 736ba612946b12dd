/* SPDX-License-Identifier: MIT
 *
 * kernel_value.h: one value of any element type, for the kernels of cast, normalize and scale. */
#ifndef LEAT_KERNEL_VALUE_H
#define LEAT_KERNEL_VALUE_H

#include "kernel.h"

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

#endif
