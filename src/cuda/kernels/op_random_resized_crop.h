/* SPDX-License-Identifier: MIT
 *
 * op_random_resized_crop.h: the box that was drawn, resampled. */
#ifndef LEAT_OP_RANDOM_RESIZED_CROP_H
#define LEAT_OP_RANDOM_RESIZED_CROP_H

#include "kernel_resample.h"

LEAT_HOST_DEVICE leat_image_box leat_resized_crop_region(const leat_kernel_args *args, int64_t row)
{
    return *(const leat_image_box *)leat_kernel_draw(args, row);
}

LEAT_HOST_DEVICE void leat_resized_crop_weigh(const leat_kernel_args *args, int64_t row, int64_t i)
{
    leat_resample_weigh(args, row, i, (const leat_image_box *)leat_kernel_draw(args, row));
}

LEAT_HOST_DEVICE void leat_resized_crop_pixel(const leat_kernel_args *args, int64_t row, int64_t i)
{
    leat_resample_pixel(args, row, i, (const leat_image_box *)leat_kernel_draw(args, row));
}

#endif

LEAT_KERNEL(resized_crop_weigh, leat_resized_crop_weigh)
LEAT_KERNEL(resized_crop, leat_resized_crop_pixel)
LEAT_KERNEL_OP(random_resized_crop, .sizes = LEAT_ANY_SIZE, .region = leat_resized_crop_region,
               .aux_bytes = leat_resample_aux_bytes,
               .passes = { { "leat_resized_crop_weigh", LEAT_PER_LINE },
                           { "leat_resized_crop", LEAT_PER_PIXEL } })
