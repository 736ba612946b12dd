/* SPDX-License-Identifier: MIT
 *
 * output.h: the last step of an image: x * scale + shift in float32, then the element type and the layout
 * that a model wants. normalize and the fused functions call it. */
#ifndef LEAT_OUTPUT_H
#define LEAT_OUTPUT_H

#include <stdbool.h>

#include "dsp.h"
#include "leat/tensor.h"

typedef struct leat_output {
    leat_affine affine;
    leat_dtype in, out;                  /* uint8 or float32; float32, float16 or bfloat16 */
    bool is_planar;                      /* channels first */
    size_t channels, n_px;               /* of a planar image */
    leat_affine planes[LEAT_AFFINE_MAX]; /* of a planar image: that of each channel */
} leat_output;

/* Sets dims of an image [height, width, channels] in the order channels, height, width. */
void leat_output_planar_dims(const leat_shape *in, leat_shape *out);
/* Fills `planes` from `affine`, whose first n_channels values are set, and completes both. */
void leat_output_fill(leat_output *output);
/* True if affine_u8() alone writes this. */
bool leat_output_is_plain(const leat_output *output);
/* Writes n values from value `first` of the tensor on: of a planar image whole pixels, otherwise from a
 * multiple of the affine's channels on. in: these values, in the order height, width, channels. */
void leat_output_write(const leat_output *output, void *out, size_t first, const void *in,
                       size_t n);

#endif
