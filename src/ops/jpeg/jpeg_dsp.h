/* SPDX-License-Identifier: MIT
 *
 * jpeg_dsp.h: the kernels of all CPU levels, for jpeg_dsp.c. jpeg_impl.h says what they do. */
#ifndef LEAT_JPEG_DSP_H
#define LEAT_JPEG_DSP_H

#include "jpeg_impl.h"

leat_jpeg_flat leat_jpeg_flat_c, leat_jpeg_skip_c;
leat_jpeg_pair leat_jpeg_pair_c;
leat_jpeg_skim_fn leat_jpeg_skim_c;
leat_jpeg_decode_band leat_jpeg_band_c, leat_jpeg_refine_c;
void leat_jpeg_join_c(uint64_t *out, const uint64_t *first, const uint64_t *next);
size_t leat_jpeg_unstuff_c(const uint8_t *src, const uint8_t *end, uint8_t *dst,
                           const uint8_t **stop);
/* Bits that a pass of the inverse transform drops: columns first, then rows. */
enum { LEAT_IDCT_COLUMN_SHIFT = 11, LEAT_IDCT_ROW_SHIFT = 18 };

uint32_t leat_jpeg_idct_c(const int16_t *blocks, int n_blocks, const int16_t *quant, uint8_t *out,
                          ptrdiff_t stride);
void leat_jpeg_up_h2_c(const uint8_t *in, uint8_t *out, int n);
void leat_jpeg_up_h2v2_c(const uint8_t *near, const uint8_t *far, uint8_t *out, int n);
void leat_jpeg_up_v2_c(const uint8_t *near, const uint8_t *far, uint8_t *out, int n, int bias);
void leat_jpeg_rgb_c(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *out, int n);

#if defined(__x86_64__)
leat_jpeg_decode_band leat_jpeg_band_avx2, leat_jpeg_refine_avx2;
leat_jpeg_flat leat_jpeg_flat_avx2, leat_jpeg_skip_avx2;
leat_jpeg_flat leat_jpeg_flat_loads_avx2, leat_jpeg_skip_loads_avx2;
leat_jpeg_pair leat_jpeg_pair_avx2, leat_jpeg_pair_loads_avx2;
leat_jpeg_skim_fn leat_jpeg_skim_avx2;
void leat_jpeg_join_avx2(uint64_t *out, const uint64_t *first, const uint64_t *next);
void leat_jpeg_join_avx512(uint64_t *out, const uint64_t *first, const uint64_t *next);
size_t leat_jpeg_unstuff_avx2(const uint8_t *src, const uint8_t *end, uint8_t *dst,
                              const uint8_t **stop);
uint32_t leat_jpeg_idct_avx2(const int16_t *blocks, int n_blocks, const int16_t *quant,
                             uint8_t *out, ptrdiff_t stride);
uint32_t leat_jpeg_idct_avx512(const int16_t *blocks, int n_blocks, const int16_t *quant,
                               uint8_t *out, ptrdiff_t stride);
void leat_jpeg_up_h2_avx2(const uint8_t *in, uint8_t *out, int n);
void leat_jpeg_up_h2v2_avx2(const uint8_t *near, const uint8_t *far, uint8_t *out, int n);
void leat_jpeg_up_v2_avx2(const uint8_t *near, const uint8_t *far, uint8_t *out, int n, int bias);
void leat_jpeg_rgb_avx2(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *out,
                        int n);
void leat_jpeg_rgb_avx512(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *out,
                          int n);
void leat_jpeg_mix_rows_avx512(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                               const int16_t *weights, int32_t n_taps, int32_t shift);
void leat_jpeg_sample_row_avx512(uint8_t *out, const int16_t *in, const leat_jpeg_sampler *sampler,
                                 int32_t shift);
#endif

#endif
