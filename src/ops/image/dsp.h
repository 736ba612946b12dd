/* SPDX-License-Identifier: MIT
 *
 * dsp.h: the inner loops of the ops as a table of functions. Plain C (dsp.c) is the definition;
 * the other levels (dsp_avx2.c) give the same bytes. */
#ifndef LEAT_DSP_H
#define LEAT_DSP_H

#include <stddef.h>
#include <stdint.h>

#define LEAT_AFFINE_MAX 8 /* channels */

/* x * scale + shift per channel, in float32, rounded after each step. */
typedef struct leat_affine {
    int32_t n_channels;               /* 1 … LEAT_AFFINE_MAX */
    int32_t period;                   /* elements after which the pattern starts again: 8 pixels */
    float scale[8 * LEAT_AFFINE_MAX]; /* first n_channels by the caller, then repeated 8 times */
    float shift[8 * LEAT_AFFINE_MAX];
} leat_affine;

/* Repeats the first n_channels values over the period. */
void leat_dsp_affine_fill(leat_affine *affine);

/* One axis of a resampling: output i is the sum of n_taps inputs from start[i] on, weighted by
 * weights[i * stride …] / 2^bits. The weights of each output sum to 2^bits and none is negative. */
typedef struct leat_axis {
    int32_t n_in, n_out;
    int32_t n_taps;
    int32_t stride; /* n_taps rounded up to even; the weight added is 0 */
    int32_t bits;
    int32_t *start;
    int16_t *weights;     /* uint8 images */
    float *float_weights; /* float32 images */
} leat_axis;

#define LEAT_DSP_ROW_SLACK 32 /* int16 values that may be read past a row given to sample_row */

typedef struct leat_dsp_table {
    /* out[i] = in[i] * scale + shift of its channel; n elements, from channel 0 on */
    void (*affine_u8)(float *out, const uint8_t *in, size_t n, const leat_affine *affine);
    void (*affine_f32)(float *out, const float *in, size_t n, const leat_affine *affine);

    /* Reverses the order of n_px pixels; out may be in, but must not overlap it otherwise. */
    void (*mirror_row)(uint8_t *out, const uint8_t *in, size_t n_px, size_t pixel_bytes);

    /* out[i] = in[i] + delta, saturating; |delta| ≤ 255; out may be in */
    void (*add_u8)(uint8_t *out, const uint8_t *in, size_t n, int32_t delta);

    /* Vertical pass: out[i] = (Σ weights[k] * in[k * in_stride + i] + half) >> shift, half being
     * 1 << (shift - 1). The weights are n_taps, and a 0 more if n_taps is odd. */
    void (*mix_rows)(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                     const int16_t *weights, int32_t n_taps, int32_t shift);

    /* Horizontal pass: out[i * channels + c] = (Σ weight k of i * in[(start[i] + k) * channels + c]
     * + half) >> shift. Reads up to LEAT_DSP_ROW_SLACK values past the row. */
    void (*sample_row)(uint8_t *out, const int16_t *in, const leat_axis *axis, int32_t channels,
                       int32_t shift);
} leat_dsp_table;

/* The table of the best level that this CPU and LEAT_CPU allow. Any thread. */
const leat_dsp_table *leat_dsp(void);

/* The table of one level (cpu.h); where a level has no loop of its own, it has the next lower's. */
const leat_dsp_table *leat_dsp_level(int level);

#endif
