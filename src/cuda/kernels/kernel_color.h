/* SPDX-License-Identifier: MIT
 *
 * kernel_color.h: changes of one uint8 pixel, for the kernels of the colour ops. With 2 or 4
 * channels the last is alpha, and it is copied. */
#ifndef LEAT_KERNEL_COLOR_H
#define LEAT_KERNEL_COLOR_H

#include "kernel.h"
#include "ops/image/color.h"

LEAT_HOST_DEVICE void leat_saturate(uint8_t *pixel, int32_t channels, int32_t amount)
{
    if (channels < 3)
        return;
    const int32_t gray = leat_color_gray(pixel);
    for (int32_t c = 0; c < 3; c++)
        pixel[c] = leat_color_blend(pixel[c], gray, amount);
}

LEAT_HOST_DEVICE void leat_turn_hue(uint8_t *pixel, int32_t channels, int32_t amount)
{
    if (channels >= 3 && amount)
        leat_color_turn_pixel(pixel, pixel, amount);
}

#endif
