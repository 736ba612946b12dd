/* SPDX-License-Identifier: MIT
 *
 * jpeg_dsp_c.h: the kernels in plain C. */
#ifndef LEAT_JPEG_DSP_C_H
#define LEAT_JPEG_DSP_C_H

#include "jpeg_impl.h"

leat_jpeg_flat leat_jpeg_flat_c, leat_jpeg_skip_c;
void leat_jpeg_join_c(uint64_t *out, const uint64_t *first, const uint64_t *next);
size_t leat_jpeg_unstuff_c(const uint8_t *src, const uint8_t *end, uint8_t *dst,
                           const uint8_t **stop);
uint32_t leat_jpeg_idct_c(const int16_t *blocks, int n_blocks, const int16_t *quant, uint8_t *out,
                          ptrdiff_t stride);
void leat_jpeg_up_h2_c(const uint8_t *in, uint8_t *out, int n);
void leat_jpeg_up_h2v2_c(const uint8_t *near, const uint8_t *far, uint8_t *out, int n);
void leat_jpeg_up_v2_c(const uint8_t *near, const uint8_t *far, uint8_t *out, int n, int bias);
void leat_jpeg_rgb_c(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *out, int n);

#endif
