/* SPDX-License-Identifier: MIT
 *
 * op_crop.h: random_crop, center_crop: one pixel of the box; zeros outside of the image. */
#ifndef LEAT_OP_CROP_H
#define LEAT_OP_CROP_H

#include "kernel.h"
#include "ops/image/image.h"

LEAT_HOST_DEVICE void leat_crop_pixel(const leat_kernel_args *args, int64_t row, int64_t i,
                                      int32_t box_y, int32_t box_x)
{
    const int32_t bytes = leat_kernel_pixel_bytes(args);
    const int64_t y = box_y + leat_kernel_line(i, args->out_width);
    const int64_t x = box_x + leat_kernel_column(i, args->out_width);
    const int32_t height = leat_kernel_height(args, row), width = leat_kernel_width(args, row);
    uint8_t *const to = leat_kernel_out(args, row) + i * bytes;
    if (y >= 0 && y < height && x >= 0 && x < width)
        leat_kernel_copy(to, leat_kernel_in(args, row) + leat_kernel_at(args, row, y, x) * bytes,
                         bytes);
    else
        for (int32_t k = 0; k < bytes; k++)
            to[k] = 0;
}

/* The part of a picture that lies in a box of the output's size. */
LEAT_HOST_DEVICE leat_image_box leat_crop_part(const leat_kernel_args *args, int64_t row, int32_t y,
                                               int32_t x)
{
    const int32_t height = leat_kernel_height(args, row), width = leat_kernel_width(args, row);
    const int32_t to_y = y + args->out_height < height ? y + args->out_height : height;
    const int32_t to_x = x + args->out_width < width ? x + args->out_width : width;
    const int32_t from_y = y > 0 ? y : 0, from_x = x > 0 ? x : 0;
    const leat_image_box part = { from_y, from_x, to_y - from_y, to_x - from_x };
    const leat_image_box pixel = { 0, 0, 1, 1 };
    return part.height > 0 && part.width > 0 ? part : pixel;
}

LEAT_HOST_DEVICE leat_image_box leat_random_crop_region(const leat_kernel_args *args, int64_t row)
{
    const leat_image_box *const box = (const leat_image_box *)leat_kernel_plan(args, row);
    return leat_crop_part(args, row, box->y, box->x);
}

LEAT_HOST_DEVICE leat_image_box leat_center_crop_region(const leat_kernel_args *args, int64_t row)
{
    return leat_crop_part(args, row, (leat_kernel_height(args, row) - args->out_height) / 2,
                          (leat_kernel_width(args, row) - args->out_width) / 2);
}

LEAT_HOST_DEVICE void leat_random_crop_pixel(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_image_box *const box = (const leat_image_box *)leat_kernel_plan(args, row);
    leat_crop_pixel(args, row, i, box->y, box->x);
}
LEAT_KERNEL(random_crop, leat_random_crop_pixel)

LEAT_HOST_DEVICE void leat_center_crop_pixel(const leat_kernel_args *args, int64_t row, int64_t i)
{
    leat_crop_pixel(args, row, i, (leat_kernel_height(args, row) - args->out_height) / 2,
                    (leat_kernel_width(args, row) - args->out_width) / 2);
}
LEAT_KERNEL(center_crop, leat_center_crop_pixel)

#endif
