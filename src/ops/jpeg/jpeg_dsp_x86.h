/* SPDX-License-Identifier: MIT
 *
 * jpeg_dsp_x86.h: the kernels for AVX2 and AVX-512. */
#ifndef LEAT_JPEG_DSP_X86_H
#define LEAT_JPEG_DSP_X86_H

#include "jpeg_impl.h"

leat_jpeg_flat leat_jpeg_flat_avx2, leat_jpeg_skip_avx2;
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

#endif
