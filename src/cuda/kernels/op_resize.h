/* SPDX-License-Identifier: MIT
 *
 * op_resize.h: the whole image, resampled. */
#ifndef LEAT_OP_RESIZE_H
#define LEAT_OP_RESIZE_H

#include "kernel_resample.h"

LEAT_HOST_DEVICE void leat_resize_weigh(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_image_box whole = { 0, 0, leat_kernel_height(args, row),
                                   leat_kernel_width(args, row) };
    leat_resample_weigh(args, row, i, &whole);
}

LEAT_HOST_DEVICE void leat_resize_pixel(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_image_box whole = { 0, 0, leat_kernel_height(args, row),
                                   leat_kernel_width(args, row) };
    leat_resample_pixel(args, row, i, &whole);
}

#endif

LEAT_KERNEL(resize_weigh, leat_resize_weigh)
LEAT_KERNEL(resize, leat_resize_pixel)
LEAT_KERNEL_OP(resize, .sizes = LEAT_ANY_SIZE, .aux_bytes = leat_resample_aux_bytes,
               .passes = { { "leat_resize_weigh", LEAT_PER_LINE },
                           { "leat_resize", LEAT_PER_PIXEL } })
