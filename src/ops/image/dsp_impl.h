/* SPDX-License-Identifier: MIT
 *
 * dsp_impl.h: the tables of the levels, for dsp.c and the files of the levels. */
#ifndef LEAT_DSP_IMPL_H
#define LEAT_DSP_IMPL_H

#include "dsp.h"

extern const leat_dsp_table leat_dsp_c;
#if defined(__x86_64__)
extern const leat_dsp_table leat_dsp_avx2;

/* mix_rows and sample_row of leat_dsp_avx2 */
void leat_mix_rows_avx2(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                        const int16_t *weights, int32_t n_taps, int32_t shift);
void leat_sample_row_avx2(uint8_t *out, const int16_t *in, const leat_dsp_axis *axis,
                          int32_t channels, int32_t shift);
#endif

#endif
