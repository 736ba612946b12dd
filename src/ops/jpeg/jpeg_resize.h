/* SPDX-License-Identifier: MIT
 *
 * jpeg_resize.h: the end of a resize for rows that become float32: horizontal pass and normalising
 * in one, for several rows at a time. */
#ifndef LEAT_JPEG_RESIZE_H
#define LEAT_JPEG_RESIZE_H

#include "jpeg_impl.h"

enum {
    LEAT_JPEG_FLOAT_ROWS = 4, /* made at a time: they share what is read of the sampler */
    LEAT_JPEG_FLOAT_PHASES = 3
};

/* How groups are normalised: group g of a sampler has channels that start as group g mod n_phases. */
typedef struct leat_jpeg_floats {
    _Alignas(64) float scale[LEAT_JPEG_FLOAT_PHASES][16];
    float shift[LEAT_JPEG_FLOAT_PHASES][16];
    int32_t n_phases; /* 1 … LEAT_JPEG_FLOAT_PHASES: channels of the normalisation */
} leat_jpeg_floats;

#if defined(__x86_64__)
/* LEAT_JPEG_FLOAT_ROWS rows of n values; they start in_stride and n values apart. */
void leat_jpeg_sample_floats_avx512(float *out, size_t n, const int16_t *in, size_t in_stride,
                                    const leat_jpeg_sampler *sampler, int32_t shift,
                                    const leat_jpeg_floats *floats);
#endif

#endif
