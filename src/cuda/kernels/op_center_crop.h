/* SPDX-License-Identifier: MIT
 *
 * op_center_crop.h: one pixel of the box in the middle. */
#ifndef LEAT_OP_CENTER_CROP_H
#define LEAT_OP_CENTER_CROP_H

#include "kernel_crop.h"

LEAT_HOST_DEVICE leat_image_box leat_center_crop_region(const leat_kernel_args *args, int64_t row)
{
    return leat_crop_part(args, row, (leat_kernel_height(args, row) - args->out_height) / 2,
                          (leat_kernel_width(args, row) - args->out_width) / 2);
}

LEAT_HOST_DEVICE void leat_center_crop_pixel(const leat_kernel_args *args, int64_t row, int64_t i)
{
    leat_crop_pixel(args, row, i, (leat_kernel_height(args, row) - args->out_height) / 2,
                    (leat_kernel_width(args, row) - args->out_width) / 2);
}

#endif

LEAT_KERNEL(center_crop, leat_center_crop_pixel)
LEAT_KERNEL_OP(center_crop, .sizes = LEAT_ANY_SIZE, .region = leat_center_crop_region,
               .passes = { { "leat_center_crop", LEAT_PER_PIXEL } })
