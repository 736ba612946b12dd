/* SPDX-License-Identifier: MIT
 *
 * image.h: helpers that ops on images share: checks of input shape and options, and the box of a crop. */
#ifndef LEAT_IMAGE_H
#define LEAT_IMAGE_H

#include "base/host_device.h"
#include "leat/op.h"
#include "leat/option.h"
#include "leat/tensor.h"

enum { LEAT_IMAGE_U8 = 1, LEAT_IMAGE_F32 = 2, LEAT_IMAGE_U8_F32 = 3 };

/* A part of an image in pixels; the draw of every crop. It may reach over the edges (padding). */
typedef struct leat_image_box {
    int32_t y, x, height, width;
} leat_image_box;

/* LEAT_OK if `in` is, or with unknown dims may be, an image [height, width, 1 to 4 channels] of an
 * allowed type. Otherwise LEAT_E_CONFIG with what `op` expects and what it got. */
int leat_image_expect(const char *op, unsigned allowed, const leat_shape *in, leat_error *err);

/* Reads the option `size`: [height, width] or one number for both; LEAT_E_CONFIG if it is neither. */
int leat_image_size(const char *op, const leat_i64s *size, int64_t *height, int64_t *width,
                    leat_error *err);

/* LEAT_OK if an option is [least, most] in this order, else LEAT_E_CONFIG. */
int leat_image_expect_range(const char *op, const char *option, const leat_f32s *range,
                            leat_error *err);
/* Uniform in [low, high), from one draw of 24 bits. */
double leat_image_draw(leat_rng *rng, double low, double high);

/* Bytes of one pixel of an image of known shape. */
size_t leat_image_pixel_bytes(const leat_shape *shape);

enum { LEAT_IMAGE_PIXEL_MAX = 16 }; /* bytes */

/* LEAT_OK if an option has one value or one per channel, which the image's type holds. */
int leat_image_expect_value(const char *op, const char *option, const leat_f32s *values,
                            const leat_shape *in, leat_error *err);
/* Writes that value as one pixel of an image of known shape; uint8 is rounded (ties to even). */
void leat_image_value(const leat_f32s *values, const leat_shape *shape, uint8_t *pixel);
/* Writes a pixel n times. */
void leat_image_repeat(uint8_t *to, const uint8_t *pixel, size_t pixel_bytes, size_t n);

/* Pixels of an image of known shape. */
size_t leat_image_n_px(const leat_shape *shape);

/* shape() of ops that do not change the shape of an image. */
int leat_image_same(const char *op, unsigned allowed, const leat_shape *in, leat_shape *out,
                    leat_error *err);

/* What stands outside of an image: one value, its edge, or the image mirrored without its edge (reflect:
 * c b | a b c | b a) or with it (symmetric: b a | a b c | c b). The names are those of numpy.pad, tf.pad
 * and torchvision's Pad; the list ends with NULL. */
enum { LEAT_PAD_CONSTANT, LEAT_PAD_EDGE, LEAT_PAD_REFLECT, LEAT_PAD_SYMMETRIC };
extern const char *const leat_image_pad_modes[];

/* The row (or column) of n that position i shows, i from -pad to n - 1 + pad; -1: the constant value. */
LEAT_HOST_DEVICE int64_t leat_image_pad_source(int64_t i, int64_t n, int32_t mode)
{
    if (i >= 0 && i < n)
        return i;
    switch (mode) {
    case LEAT_PAD_EDGE:
        return i < 0 ? 0 : n - 1;
    case LEAT_PAD_REFLECT:
        return i < 0 ? -i : 2 * (n - 1) - i;
    case LEAT_PAD_SYMMETRIC:
        return i < 0 ? -i - 1 : 2 * n - 1 - i;
    default:
        return -1;
    }
}

/* LEAT_OK if side `side` of an image (0: height, 1: width) is long enough, or unknown, to be padded with
 * `pad` pixels; LEAT_E_CONFIG if a mode that mirrors needs more. */
int leat_image_expect_pad(const char *op, int64_t pad, int32_t mode, const leat_shape *in, int side,
                          leat_error *err);

/* Copies a box of `in` to `out`, which has the size of the box. Pixels outside of `in` are those of the
 * padding mode; the constant is 0. */
void leat_image_crop(const leat_view *in, const leat_view *out, const leat_image_box *box,
                     int32_t mode);

/* --- a shape with an unknown dim: reshape, decode_raw ------------------------------------------ */

/* Sets rank and dims of *out, so that it has n_elements. If n_elements is -1 (unknown), a dim of -1
 * stays unknown. Returns LEAT_OK, or LEAT_E_CONFIG if no such shape has n_elements; *out then holds the
 * shape of the option. */
int leat_image_fit_shape(const char *op, const leat_i64s *dims, int64_t n_elements, leat_shape *out,
                         leat_error *err);

#endif
