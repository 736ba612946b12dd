/* SPDX-License-Identifier: MIT
 *
 * resample.h: resizes a box of an image. When it shrinks, the filter is widened (antialiasing), as in Pillow
 * and in torchvision with antialias=True. `nearest` takes the input in whose middle an output has its own.
 *
 * DESIGN: the vertical pass comes first, one output row at a time. It works on whole rows, which suits
 * wide registers, and leaves fewer rows for the horizontal pass. For uint8 both passes are exact integer
 * arithmetic. Weights have 14 bits, plus one per halving of the size (up to 20), and sum to a power of
 * two. 2 to 7 bits of fraction are kept between the passes (1 to 6 for bicubic and lanczos, whose sums can be
 * negative and larger than white; only the second pass saturates). Pillow rounds and saturates after its first
 * pass too, so results differ: on photos by one level in 15 to 17 % of the values, by more in none for
 * bilinear, 0.05 % for bicubic and 0.13 % for lanczos (Pillow 13.0). */
#ifndef LEAT_RESAMPLE_H
#define LEAT_RESAMPLE_H

#include "dsp.h"
#include "image.h"

/* The names of the filters of taps.h, in their order, then NULL. */
extern const char *const leat_resample_names[];
#define LEAT_RESAMPLE_HELP                                                                         \
    "Pillow's filters; antialiased when shrinking, unless nearest; bicubic and lanczos "           \
    "clip only the result, as Pillow does for float images (mode F); where nearest meets the "     \
    "border of two pixels it takes the second, and Pillow's sums may end in the first"

/* Computes the taps of one axis from n_in to n_out pixels. Memory comes from `scratch`.
 * Returns LEAT_OK or LEAT_E_NOMEM. */
int leat_resample_axis(leat_dsp_axis *axis, int64_t n_in, int64_t n_out, leat_dtype dtype,
                       int32_t interpolation, leat_scratch *scratch);

/* Keeps only the n outputs from `first` on. Their inputs are counted from the first that they need, which
 * is returned; axis->n_in is the number of inputs that they need. */
int32_t leat_resample_crop(leat_dsp_axis *axis, int32_t first, int32_t n);

/* Bits of fraction kept between the passes, from the bits of the horizontal axis. */
int32_t leat_resample_fraction_bits(const leat_dsp_axis *horizontal);

/* Resizes `box`, which must be inside `in`, to `out`; uint8 or float32, same channels.
 * Returns LEAT_OK or LEAT_E_NOMEM with a message. */
int leat_resample(const leat_view *in, const leat_image_box *box, const leat_view *out,
                  int32_t interpolation, leat_scratch *scratch, leat_error *err);

#endif
