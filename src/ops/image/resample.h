/* SPDX-License-Identifier: MIT
 *
 * resample.h: resizes a box of an image: bilinear, with the triangle widened when it shrinks
 * (antialiased), as Pillow's BILINEAR and torchvision's antialias=True do.
 *
 * DESIGN: the vertical pass comes first, one output row at a time: all of it is on whole rows, which
 * suits wide registers, and the horizontal pass then has few rows to do. Both are exact integer
 * arithmetic for uint8: weights of 14 bits, and one more for each halving of the size (up to 20),
 * which sum to a power of two; 2 to 7 bits of fraction are kept between the passes. */
#ifndef LEAT_RESAMPLE_H
#define LEAT_RESAMPLE_H

#include "dsp.h"
#include "image.h"

/* The taps of one axis: n_in input pixels become n_out. Memory comes from `scratch`.
 * Returns LEAT_OK or LEAT_E_NOMEM. */
int leat_resample_axis(leat_axis *axis, int64_t n_in, int64_t n_out, leat_dtype dtype,
                       leat_scratch *scratch);

/* Bits of fraction kept between the passes, from the bits of the horizontal axis. */
int32_t leat_resample_fraction_bits(const leat_axis *horizontal);

/* Resizes `box` of `in`, which must lie inside, to `out`; uint8 or float32, same channels.
 * Returns LEAT_OK or LEAT_E_NOMEM with a message. */
int leat_resample(const leat_view *in, const leat_image_box *box, const leat_view *out,
                  leat_scratch *scratch, leat_error *err);

#endif
