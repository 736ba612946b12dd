/* SPDX-License-Identifier: MIT
 *
 * op_random_erasing.h: one pixel, copied or overwritten. */
#ifndef LEAT_OP_RANDOM_ERASING_H
#define LEAT_OP_RANDOM_ERASING_H

#include "kernel.h"
#include "ops/image/image.h"

LEAT_HOST_DEVICE void leat_erasing_pixel(const leat_kernel_args *args, int64_t row, int64_t i)
{
    const leat_image_box *const box = (const leat_image_box *)leat_kernel_draw(args, row);
    const int32_t bytes = leat_kernel_pixel_bytes(args);
    const int32_t y = leat_kernel_line(i, args->out_width) - box->y;
    const int32_t x = leat_kernel_column(i, args->out_width) - box->x;
    const int is_in = y >= 0 && y < box->height && x >= 0 && x < box->width;
    const uint8_t *const value = (const uint8_t *)args->constants.values;
    leat_kernel_copy(leat_kernel_out(args, row) + i * bytes,
                     is_in ? value : leat_kernel_in(args, row) + i * bytes, bytes);
}

#endif

LEAT_KERNEL(random_erasing, leat_erasing_pixel)
LEAT_KERNEL_OP(random_erasing, .passes = { { "leat_random_erasing", LEAT_PER_PIXEL } })
