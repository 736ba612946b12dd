/* SPDX-License-Identifier: MIT
 *
 * warp.h: affine maps of uint8 images (rotation, shear, shift), in integers. */
#ifndef LEAT_WARP_H
#define LEAT_WARP_H

#include "image.h"

#define LEAT_WARP_ONE (1 << 24) /* one pixel */

/* Maps the centre of output pixel (x, y) to a point (u, v) of the input, in 1 / LEAT_WARP_ONE pixels
 * from the upper left corner: u = x0 + x * xx + y * xy, v = y0 + x * yx + y * yy. */
typedef struct leat_warp {
    int64_t x0, y0;
    int32_t xx, xy, yx, yy;
} leat_warp;

enum { LEAT_WARP_NEAREST, LEAT_WARP_BILINEAR };
extern const char *const leat_warp_modes[]; /* their names, NULL-terminated */

/* Rotates counter-clockwise about the centre of an image of `shape`; cosine and sine in
 * 1 / LEAT_WARP_ONE. */
leat_warp leat_warp_rotate(int32_t cosine, int32_t sine, const leat_shape *shape);

/* Shears about the upper left corner: u = x + 1/2 + factor * (y + 1/2), and v with x and y swapped. */
leat_warp leat_warp_shear_x(int32_t factor);
leat_warp leat_warp_shear_y(int32_t factor);

/* Moves the content by whole pixels to the right and down. */
leat_warp leat_warp_shift(int32_t right, int32_t down);

/* Writes `out`, which has the shape of `in` and does not overlap it. Outside of `in`, pixels are `fill`,
 * one value per channel.
 * nearest   takes the pixel that contains (u, v)
 * bilinear  weighs the four pixels around (u, v) by distance in 1/256 of a pixel; the sum is exact,
 *           then rounded to the nearest, ties up */
void leat_warp_apply(const leat_warp *warp, int mode, const uint8_t fill[4], const leat_view *in,
                     const leat_view *out);

#endif
