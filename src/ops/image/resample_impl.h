/* SPDX-License-Identifier: MIT
 *
 * resample_impl.h: how resample.c computes the taps of an axis, and the same with AVX2 and AVX-512. */
#ifndef LEAT_RESAMPLE_IMPL_H
#define LEAT_RESAMPLE_IMPL_H

#include "dsp.h"

/* The taps of LEAT_RESAMPLE_LANES outputs are computed at a time, in loops that compilers vectorise. The
 * arithmetic is that of taps.h. Inputs are counted in doubles, so that all vectors have one type. */
enum { LEAT_RESAMPLE_LANES = 8 };

typedef double leat_resample_lanes[LEAT_RESAMPLE_LANES];

typedef struct leat_resample_block {
    /* an output weighs inputs first … end - 1 */
    _Alignas(64) leat_resample_lanes center, first, end;
} leat_resample_block;

#if defined(__x86_64__)
/* Fill starts and weights of an axis of uint8. `weights`: room for n_taps. */
void leat_resample_fill_avx2(leat_dsp_axis *axis, const leat_resample_block *block, double support,
                             leat_resample_lanes *weights);
void leat_resample_fill_avx512(leat_dsp_axis *axis, const leat_resample_block *block,
                               double support, leat_resample_lanes *weights);
#endif

#endif
