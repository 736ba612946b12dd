/* SPDX-License-Identifier: MIT
 *
 * kernel_crop.h: one pixel of a crop, for the kernels of random_crop and center_crop. The first word of
 * the constants is the padding mode of the image; the constant is 0. */
#ifndef LEAT_KERNEL_CROP_H
#define LEAT_KERNEL_CROP_H

#include "kernel.h"
#include "ops/image/image.h"

LEAT_HOST_DEVICE void leat_crop_pixel(const leat_kernel_args *args, int64_t row, int64_t i,
                                      int32_t box_y, int32_t box_x)
{
    const int32_t bytes = leat_kernel_pixel_bytes(args), mode = args->constants.words[0];
    const int64_t y = leat_image_pad_source(box_y + leat_kernel_line(i, args->out_width),
                                            leat_kernel_height(args, row), mode);
    const int64_t x = leat_image_pad_source(box_x + leat_kernel_column(i, args->out_width),
                                            leat_kernel_width(args, row), mode);
    uint8_t *const to = leat_kernel_out(args, row) + i * bytes;
    if (y >= 0 && x >= 0)
        leat_kernel_copy(to, leat_kernel_in(args, row) + leat_kernel_at(args, row, y, x) * bytes,
                         bytes);
    else
        for (int32_t k = 0; k < bytes; k++)
            to[k] = 0;
}

/* The rows (or columns) of n that `size` positions from `from` on show; *count is 0 for none. Between the
 * edges of the image the source goes up or down steadily, so its extremes are at the ends or there. */
LEAT_HOST_DEVICE int32_t leat_crop_span(int32_t from, int32_t size, int32_t n, int32_t mode,
                                        int32_t *count)
{
    const int64_t end = (int64_t)from + size, at[] = { from, end - 1, 0, n - 1 };
    int64_t least = n, most = -1;
    for (int k = 0; k < 4; k++) {
        const int64_t x = at[k] >= from && at[k] < end ? leat_image_pad_source(at[k], n, mode) : -1;
        least = x >= 0 && x < least ? x : least;
        most = x > most ? x : most;
    }
    *count = most < 0 ? 0 : (int32_t)(most - least + 1);
    return (int32_t)least;
}

/* The part of a picture that a box of the output's size shows; one pixel if it shows none. */
LEAT_HOST_DEVICE leat_image_box leat_crop_part(const leat_kernel_args *args, int64_t row, int32_t y,
                                               int32_t x)
{
    const int32_t mode = args->constants.words[0];
    const leat_image_box pixel = { 0, 0, 1, 1 };
    leat_image_box part;
    part.y = leat_crop_span(y, args->out_height, leat_kernel_height(args, row), mode, &part.height);
    part.x = leat_crop_span(x, args->out_width, leat_kernel_width(args, row), mode, &part.width);
    return part.height > 0 && part.width > 0 ? part : pixel;
}

#endif
