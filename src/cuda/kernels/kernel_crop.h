/* SPDX-License-Identifier: MIT
 *
 * kernel_crop.h: one pixel of a crop, for the kernels of random_crop and center_crop. Pixels outside of
 * the image are zeros. */
#ifndef LEAT_KERNEL_CROP_H
#define LEAT_KERNEL_CROP_H

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

/* The part of a picture inside a box of the output's size; one pixel if they do not meet. */
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

#endif
