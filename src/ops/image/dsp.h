/* SPDX-License-Identifier: MIT
 *
 * dsp.h: the inner loops of the ops as a table of functions per CPU level. Plain C (dsp.c) is the
 * definition. The other levels (dsp_avx2.c) give the same bytes. */
#ifndef LEAT_DSP_H
#define LEAT_DSP_H

#include <stddef.h>
#include <stdint.h>

#define LEAT_AFFINE_MAX 8 /* channels */

/* x * scale + shift per channel in float32, rounded after each step. */
typedef struct leat_affine {
    int32_t n_channels;               /* 1 … LEAT_AFFINE_MAX */
    int32_t period;                   /* elements of 8 pixels, after which the pattern repeats */
    float scale[8 * LEAT_AFFINE_MAX]; /* the caller sets the first n_channels values */
    float shift[8 * LEAT_AFFINE_MAX];
} leat_affine;

/* Sets `period`, and repeats the first n_channels values over it. */
void leat_dsp_affine_fill(leat_affine *affine);

/* One axis of a resampling. Output i is the sum of n_taps inputs from start[i], weighted by
 * weights[i * stride …] / 2^bits. The weights of an output sum to 2^bits; those of wider filters may be
 * negative. */
typedef struct leat_dsp_axis {
    int32_t n_in, n_out;
    int32_t n_taps;
    int32_t stride; /* n_taps rounded up to even; an added weight is 0 */
    int32_t bits;
    int32_t interpolation; /* of taps.h */
    int32_t *start;
    int16_t *weights;     /* uint8 images */
    float *float_weights; /* float32 images */
} leat_dsp_axis;

#define LEAT_DSP_ROW_SLACK 32 /* int16 values past a row that sample_row may read */

typedef struct leat_dsp_table {
    /* out[i] = in[i] * scale + shift of its channel; n elements, from channel 0 on */
    void (*affine_u8)(float *out, const uint8_t *in, size_t n, const leat_affine *affine);
    void (*affine_f32)(float *out, const float *in, size_t n, const leat_affine *affine);

    /* half.h of n values */
    void (*f16_of_f32)(uint16_t *out, const float *in, size_t n);
    void (*bf16_of_f32)(uint16_t *out, const float *in, size_t n);

    /* Reverses the order of n_px pixels. out may be in, but must not overlap it otherwise. */
    void (*mirror_row)(uint8_t *out, const uint8_t *in, size_t n_px, size_t pixel_bytes);

    /* out[i] = in[i] + delta, saturating; |delta| ≤ 255; out may be in */
    void (*add_u8)(uint8_t *out, const uint8_t *in, size_t n, int32_t delta);

    /* Vertical pass: out[i] = (Σ weights[k] * in[k * in_stride + i] + half) >> shift, with
     * half = 1 << (shift - 1). If n_taps is odd, a weight of 0 must follow. */
    void (*mix_rows)(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                     const int16_t *weights, int32_t n_taps, int32_t shift);

    /* Horizontal pass: out[i * channels + c] = (Σ weight k of i * in[(start[i] + k) * channels + c]
     * + half) >> shift, saturating. Reads up to LEAT_DSP_ROW_SLACK values past the row. */
    void (*sample_row)(uint8_t *out, const int16_t *in, const leat_dsp_axis *axis, int32_t channels,
                       int32_t shift);
} leat_dsp_table;

/* The table of the best level that this CPU and LEAT_CPU allow. Any thread. */
const leat_dsp_table *leat_dsp(void);

/* The table of one level (cpu.h). A level without its own loop uses that of the next lower level. */
const leat_dsp_table *leat_dsp_level(int level);

#endif
