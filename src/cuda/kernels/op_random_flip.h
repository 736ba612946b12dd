/* SPDX-License-Identifier: MIT
 *
 * op_random_flip.h: one pixel of the output, read from its own place or from the mirrored one. */
#ifndef LEAT_OP_RANDOM_FLIP_H
#define LEAT_OP_RANDOM_FLIP_H

#include "kernel.h"
#include "ops/image/op_draws.h"

LEAT_HOST_DEVICE void leat_flip_pixel(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_flip_draw *const draw = (const leat_flip_draw *)leat_kernel_draw(args, row);
    const int32_t bytes = leat_kernel_pixel_bytes(args);
    const int32_t vertical = args->constants.words[0];
    int64_t y = leat_kernel_line(i, args->out_width), x = leat_kernel_column(i, args->out_width);
    if (draw->mirror && vertical)
        y = args->in_height - 1 - y;
    else if (draw->mirror)
        x = args->in_width - 1 - x;
    leat_kernel_copy(leat_kernel_out(args, row) + i * bytes,
                     leat_kernel_in(args, row) + (y * args->in_width + x) * bytes, bytes);
}

#endif

LEAT_KERNEL(random_flip, leat_flip_pixel)
LEAT_KERNEL_OP(random_flip, .passes = { { "leat_random_flip", LEAT_PER_PIXEL } })
