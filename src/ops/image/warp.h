/* SPDX-License-Identifier: MIT
 *
 * warp.h: uint8 images seen through an affine map, in whole numbers. */
#ifndef LEAT_WARP_H
#define LEAT_WARP_H

#include "image.h"

#define LEAT_WARP_ONE (1 << 24) /* a pixel */

/* Where the centre of output pixel (x, y) lies in the input, in units of 1 / LEAT_WARP_ONE pixels
 * from its upper left corner: u = x0 + x * xx + y * xy, v = y0 + x * yx + y * yy. */
typedef struct leat_warp {
    int64_t x0, y0;
    int32_t xx, xy, yx, yy;
} leat_warp;

enum { LEAT_WARP_NEAREST, LEAT_WARP_BILINEAR };
extern const char *const leat_warp_modes[]; /* their names, NULL-terminated */

/* Counter-clockwise about the centre of an image of `shape`; cosine and sine in 1 / LEAT_WARP_ONE. */
leat_warp leat_warp_rotate(int32_t cosine, int32_t sine, const leat_shape *shape);

/* u = x + 1/2 + factor * (y + 1/2) (or v, x and y changed): about the upper left corner. */
leat_warp leat_warp_shear_x(int32_t factor);
leat_warp leat_warp_shear_y(int32_t factor);

/* Moves the content by whole pixels to the right and down. */
leat_warp leat_warp_shift(int32_t right, int32_t down);

/* Writes `out`, of the shape of `in` and apart from it. What is outside of `in` is `fill`, one value
 * for each channel.
 * nearest   the pixel that (u, v) lies in
 * bilinear  the four pixels whose centres are around (u, v), by their distance rounded to 1/256
 *           of a pixel; the sum is exact and rounded to the nearest, ties up */
void leat_warp_apply(const leat_warp *warp, int mode, const uint8_t fill[4], const leat_view *in,
                     const leat_view *out);

#endif
