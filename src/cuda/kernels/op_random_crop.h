/* SPDX-License-Identifier: MIT
 *
 * op_random_crop.h: one pixel of the box that was drawn. */
#ifndef LEAT_OP_RANDOM_CROP_H
#define LEAT_OP_RANDOM_CROP_H

#include "kernel_crop.h"

LEAT_HOST_DEVICE leat_image_box leat_random_crop_region(const leat_kernel_args *args, int64_t row)
{
    const leat_image_box *const box = (const leat_image_box *)leat_kernel_draw(args, row);
    return leat_crop_part(args, row, box->y, box->x);
}

LEAT_HOST_DEVICE void leat_random_crop_pixel(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_image_box *const box = (const leat_image_box *)leat_kernel_draw(args, row);
    leat_crop_pixel(args, row, i, box->y, box->x);
}

#endif

LEAT_KERNEL(random_crop, leat_random_crop_pixel)
LEAT_KERNEL_OP(random_crop, .sizes = LEAT_ANY_SIZE, .region = leat_random_crop_region,
               .passes = { { "leat_random_crop", LEAT_PER_PIXEL } })
