/* SPDX-License-Identifier: MIT
 *
 * cpu_loops.h: the inner loops of the CPU backend, compiled for each instruction set from
 * cpu_loops_impl.h. They compute the same bits on each: no sum is reordered, nothing is contracted.
 *
 * Per-channel arrays are `wide` floats: the channels, repeated until they are LEAT_CPU_WIDE or more, so that inner
 * loops are long also where there are few channels. What is added up per channel stays spread over the
 * repetitions. An output array may be the same as an input array whose elements are used at the same index. */
#ifndef LEAT_CPU_LOOPS_H
#define LEAT_CPU_LOOPS_H

#include <stddef.h>

#include "train/activations.h"

enum { LEAT_CPU_WIDE = 256 };
static inline size_t leat_cpu_wide(size_t n_channels)
{
    return n_channels < LEAT_CPU_WIDE ? (LEAT_CPU_WIDE + n_channels - 1) / n_channels * n_channels
                                      : n_channels;
}

typedef struct leat_cpu_norm_factors {
    /* y = (x - center) * factor + addend; dx = dz * factor + (x - center) * factor_x + addend */
    const float *center, *factor, *addend, *factor_x;
} leat_cpu_norm_factors;

/* Of one update by Adam (optimizers/adam.h): l2 times the weight is added to its gradient, `kept` times the weight is
 * what a step begins with. */
typedef struct leat_cpu_adam {
    float beta1, beta2, epsilon, rate, root, scale, l2, kept;
} leat_cpu_adam;

typedef struct leat_cpu_loops {
    /* --- types */
    void (*floats_of_bf16)(const uint16_t *from, float *to, size_t n);
    void (*bf16_of_floats)(const float *from, uint16_t *to, size_t n); /* rounds to nearest even */
    void (*floats_of_bytes)(const uint8_t *from, float *to, size_t n);
    /* The largest absolute value of n floats, or of n numbers of bfloat16; 0 of none. If one of them is infinite or no
     * number, so is the result. */
    float (*largest)(const float *x, size_t n);
    float (*largest_bf16)(const uint16_t *x, size_t n);
    /* --- element by element */
    void (*act)(leat_act act, float alpha, const float *x, float *y, size_t n);
    /* of: the activation's output or input, as LEAT_ACT_LIST says */
    void (*act_grad)(leat_act act, float alpha, const float *dy, const float *of, float *dx,
                     size_t n);
    void (*sum)(const float *a, const float *b, float *y, size_t n);
    void (*scale)(float factor, const float *x, float *y, size_t n);
    /* --- per channel */
    void (*add_channels)(const float *per_channel, float *y, size_t n_channels, size_t pixels);
    void (*sum_channels)(const float *x, float *per_channel, size_t n_channels, size_t pixels);
    /* n floats of whole pixels. Adds x - origin and its square. */
    void (*norm_sums)(const float *x, const float *origin, float *sum, float *squares, size_t wide,
                      size_t n);
    void (*norm)(const leat_cpu_norm_factors *f, const float *x, float *y, size_t wide, size_t n);
    /* Adds dz and dz * (x - center). */
    void (*norm_grad_sums)(const float *x, const float *dz, const float *center, float *sum,
                           float *dot, size_t wide, size_t n);
    void (*norm_grad)(const float *x, const float *dz, const leat_cpu_norm_factors *f, float *dx,
                      size_t wide, size_t n);
    /* --- pooling: one tap of the windows of a row of pixels, that are `step` floats apart in the image */
    void (*max_row)(const float *x, size_t step, int32_t tap, float *best, int32_t *place,
                    size_t n_channels, size_t pixels);
    void (*max_row_grad)(const float *dy, const uint16_t *place, int32_t tap, float *dx,
                         size_t step, size_t n_channels, size_t pixels);
    void (*sum_row)(const float *x, size_t x_step, float *y, size_t y_step, size_t n_channels,
                    size_t pixels);
    /* n is a multiple of 16; no array is another one. */
    void (*adam)(const leat_cpu_adam *how, float *weight, const float *grad, float *mean,
                 float *square, size_t n);
    /* c [m, n] += a b: b [k, n]; element (i, j) of a is a[i * row + j * column]. m is a multiple of
     * LEAT_CPU_MATMUL_ROWS, n of LEAT_CPU_MATMUL_COLUMNS. */
    void (*matmul)(const float *a, size_t row, size_t column, const float *b, float *c, size_t m,
                   size_t n, size_t k);
} leat_cpu_loops;

enum { LEAT_CPU_MATMUL_ROWS = 4, LEAT_CPU_MATMUL_COLUMNS = 16 };

extern const leat_cpu_loops leat_cpu_loops_c, leat_cpu_loops_avx2, leat_cpu_loops_avx512;

/* Those of the CPU level in use. */
const leat_cpu_loops *leat_cpu_loops_get(void);

#endif
