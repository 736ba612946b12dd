/* SPDX-License-Identifier: MIT
 *
 * jpeg_resize.h: parts of jpeg_resize.c: the sampler, and the horizontal pass and normalising in one
 * function, for several float32 rows at a time. */
#ifndef LEAT_JPEG_RESIZE_H
#define LEAT_JPEG_RESIZE_H

#include "jpeg_impl.h"

enum {
    LEAT_JPEG_FLOAT_ROWS = 4, /* rows at a time, which share the loads of the sampler */
    LEAT_JPEG_FLOAT_PHASES = 3
};

/* Scale and shift of the values of a group. Group g of a sampler uses those of group g mod n_phases. */
typedef struct leat_jpeg_floats {
    _Alignas(64) float scale[LEAT_JPEG_FLOAT_PHASES][16];
    float shift[LEAT_JPEG_FLOAT_PHASES][16];
    int32_t n_phases; /* 1 … LEAT_JPEG_FLOAT_PHASES: channels of the normalisation */
    int32_t streams;  /* non-temporal stores: rows are whole, aligned cache lines */
} leat_jpeg_floats;

/* Makes the sampler of a row. Leaves it without groups if the image shrinks too much. Returns LEAT_OK or
 * LEAT_E_NOMEM. */
int leat_jpeg_sampler_make(leat_jpeg_sampler *s, const leat_dsp_axis *across,
                           const leat_jpeg_target *target, leat_scratch *scratch);

#if defined(__x86_64__)
/* Writes LEAT_JPEG_FLOAT_ROWS rows of n values. Input rows are in_stride values apart, output rows n. After
 * non-temporal stores, call leat_jpeg_fence_avx512() before another thread may read the rows. */
void leat_jpeg_fence_avx512(void);
void leat_jpeg_sample_floats_avx512(float *out, size_t n, const int16_t *in, size_t in_stride,
                                    const leat_jpeg_sampler *sampler, int32_t shift,
                                    const leat_jpeg_floats *floats);
#endif

#endif
