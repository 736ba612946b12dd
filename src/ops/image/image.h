/* SPDX-License-Identifier: MIT
 *
 * image.h: what ops on images share: the check of the input, sizes written as one number or two,
 * and the box that a crop decides on. */
#ifndef LEAT_IMAGE_H
#define LEAT_IMAGE_H

#include "leat/op.h"

enum { LEAT_IMAGE_U8 = 1, LEAT_IMAGE_F32 = 2, LEAT_IMAGE_U8_F32 = 3 };

/* A part of an image in pixels; the plan of every crop. May reach over the edges (padding). */
typedef struct leat_image_box {
    int32_t y, x, height, width;
} leat_image_box;

/* LEAT_OK if `in` is an image [height, width, 1 to 4 channels] of an allowed type (unknown dims
 * may still become one), else LEAT_E_CONFIG with what `op` expects and what it got. */
int leat_image_expect(const char *op, unsigned allowed, const leat_shape *in, leat_error *err);

/* Reads an option [height, width] or one number for both; LEAT_E_CONFIG if it is neither. */
int leat_image_size(const char *op, const char *option, const leat_i64s *size, int64_t *height,
                    int64_t *width, leat_error *err);

/* Bytes of one pixel of an image of known shape. */
size_t leat_image_pixel_bytes(const leat_shape *shape);

enum { LEAT_IMAGE_PIXEL_MAX = 16 }; /* bytes */

/* LEAT_OK if an option gives one value or as many as there are channels. */
int leat_image_expect_value(const char *op, const char *option, const leat_f32s *values,
                            const leat_shape *in, leat_error *err);
/* That value as one pixel of an image of known shape; uint8 is rounded (ties to even), saturating. */
void leat_image_value(const leat_f32s *values, const leat_shape *shape, uint8_t *pixel);
/* Writes a pixel n times. */
void leat_image_repeat(uint8_t *to, const uint8_t *pixel, size_t pixel_bytes, size_t n);

/* Pixels of an image of known shape. */
size_t leat_image_n_px(const leat_shape *shape);

/* shape() of ops that leave the shape of an image as it is, for any number of channels. */
int leat_image_same(const char *op, unsigned allowed, const leat_shape *in, leat_shape *out,
                    leat_error *err);

/* Copies a box of `in` to `out`, which is as large as the box; outside of `in` there are zeros. */
void leat_image_cut(const leat_view *in, const leat_view *out, const leat_image_box *box);

#endif
