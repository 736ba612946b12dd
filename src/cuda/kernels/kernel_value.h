/* SPDX-License-Identifier: MIT
 *
 * kernel_value.h: one value of any element type, for the kernels of cast, normalize and scale. */
#ifndef LEAT_KERNEL_VALUE_H
#define LEAT_KERNEL_VALUE_H

#include "kernel.h"
#include "ops/image/cast_value.h"

/* x * scale + shift per channel, for normalize and scale. Words of the constants: channels of scale and
 * shift; 0, or the pixels of an image whose channels come first in the output. */
LEAT_HOST_DEVICE void leat_affine_value(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const int32_t n = args->constants.words[0], n_px = args->constants.words[1];
    const int32_t plane = n_px ? leat_kernel_line(i, n_px) : 0;
    const int64_t from = n_px ? (int64_t)leat_kernel_column(i, n_px) * args->channels + plane : i;
    const int32_t c = leat_kernel_column(from, n);
    const float x = leat_cast_load_f32(leat_kernel_in(args, row), args->in_dtype, from);
    leat_cast_store_f32(leat_kernel_out(args, row), args->out_dtype, i,
                        x * args->constants.values[c] + args->constants.values[8 + c]);
}

#endif
