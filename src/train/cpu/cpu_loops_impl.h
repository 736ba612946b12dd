/* SPDX-License-Identifier: MIT
 *
 * cpu_loops_impl.h: the loops of cpu_loops.h. Each of cpu_loops_c.c, cpu_loops_avx2.c, cpu_loops_avx512.c defines
 * LEAT_CPU_LOOPS, the name of its table, and includes this file. */
#include "cpu_loops.h"

#include <math.h>
#include <string.h>

#define R restrict

/* The loop's iterations do not depend on each other, although its arrays may be the same. (clang would warn where
 * it does not optimise.) */
#if defined(__GNUC__) && !defined(__clang__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif

static void floats_of_bf16(const uint16_t *R from, float *R to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = leat_half_of_bf16(from[i]);
}

static void bf16_of_floats(const float *R from, uint16_t *R to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = leat_half_bf16(from[i]);
}

static void floats_of_bytes(const uint8_t *R from, float *R to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

/* Without their sign, floats are in the order of their bits; infinity and what is no number come last. */
static float largest(const float *x, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    return leat_half_float(most);
}

static float largest_bf16(const uint16_t *x, size_t n)
{
    uint16_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const uint16_t bits = x[i] & 0x7fff;
        most = bits > most ? bits : most;
    }
    return leat_half_of_bf16(most);
}

/* --- activations ----------------------------------------------------------------------------- */

#define ACT_LOOP(name, from, help)                                                                 \
    case LEAT_ACT_##name:                                                                          \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = leat_act_##name(x[i], alpha);                                                   \
        break;

/* x and y may be the same. */
static void act(leat_act kind, float alpha, const float *x, float *y, size_t n)
{
    switch (kind) {
        LEAT_ACT_LIST(ACT_LOOP)
    default:
        if (x != y)
            memcpy(y, x, n * sizeof *y);
    }
}

#define GRAD_LOOP(name, from, help)                                                                \
    case LEAT_ACT_##name:                                                                          \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < n; i++)                                                             \
            dx[i] = dy[i] * leat_act_##name##_grad(of[i], alpha);                                  \
        break;

static void act_grad(leat_act kind, float alpha, const float *dy, const float *of, float *dx,
                     size_t n)
{
    switch (kind) {
        LEAT_ACT_LIST(GRAD_LOOP)
    default:
        if (dx != dy)
            memcpy(dx, dy, n * sizeof *dx);
    }
}

/* --- element by element ---------------------------------------------------------------------- */

static void sum(const float *a, const float *b, float *y, size_t n)
{
    INDEPENDENT
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

static void scale(float factor, const float *x, float *y, size_t n)
{
    INDEPENDENT
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * factor;
}

/* --- per channel ----------------------------------------------------------------------------- */

static void add_channels(const float *R per_channel, float *R y, size_t n_channels, size_t pixels)
{
    for (size_t p = 0; p < pixels; p++, y += n_channels)
        for (size_t c = 0; c < n_channels; c++)
            y[c] += per_channel[c];
}

static void sum_channels(const float *R x, float *R per_channel, size_t n_channels, size_t pixels)
{
    for (size_t p = 0; p < pixels; p++, x += n_channels)
        for (size_t c = 0; c < n_channels; c++)
            per_channel[c] += x[c];
}

/* Rounds of `wide` floats, and a last, shorter one. */
#define FOR_ROUNDS(round)                                                                          \
    for (size_t at = 0, round = wide < n ? wide : n; at < n;                                       \
         at += round, round = n - at < wide ? n - at : wide)

static void norm_sums(const float *R x, const float *R origin, float *R sums, float *R squares,
                      size_t wide, size_t n)
{
    FOR_ROUNDS(here)
    for (size_t i = 0; i < here; i++) {
        const float d = x[at + i] - origin[i];
        sums[i] += d;
        squares[i] += d * d;
    }
}

static void norm(const leat_cpu_norm_factors *f, const float *x, float *y, size_t wide, size_t n)
{
    const float *center = f->center, *factor = f->factor, *addend = f->addend;
    FOR_ROUNDS(here)
    {
        INDEPENDENT
        for (size_t i = 0; i < here; i++)
            y[at + i] = (x[at + i] - center[i]) * factor[i] + addend[i];
    }
}

static void norm_grad_sums(const float *R x, const float *R dz, const float *R center,
                           float *R sums, float *R dot, size_t wide, size_t n)
{
    FOR_ROUNDS(here)
    for (size_t i = 0; i < here; i++) {
        const float g = dz[at + i];
        sums[i] += g;
        dot[i] += g * (x[at + i] - center[i]);
    }
}

static void norm_grad(const float *x, const float *dz, const leat_cpu_norm_factors *f, float *dx,
                      size_t wide, size_t n)
{
    const float *center = f->center, *factor_dz = f->factor, *factor_x = f->factor_x;
    const float *addend = f->addend;
    FOR_ROUNDS(here)
    {
        INDEPENDENT
        for (size_t i = 0; i < here; i++)
            dx[at + i] =
                dz[at + i] * factor_dz[i] + (x[at + i] - center[i]) * factor_x[i] + addend[i];
    }
}

/* --- pooling --------------------------------------------------------------------------------- */

/* A NaN wins, so that it is not lost. */
static void max_row(const float *R x, size_t step, int32_t tap, float *R best, int32_t *R place,
                    size_t n_channels, size_t pixels)
{
    for (size_t p = 0; p < pixels; p++, x += step, best += n_channels, place += n_channels)
        for (size_t c = 0; c < n_channels; c++) {
            const int32_t stays = (x[c] <= best[c]) | (best[c] != best[c]);
            best[c] = stays ? best[c] : x[c];
            place[c] = stays ? place[c] : tap;
        }
}

static void max_row_grad(const float *R dy, const uint16_t *R place, int32_t tap, float *R dx,
                         size_t step, size_t n_channels, size_t pixels)
{
    for (size_t p = 0; p < pixels; p++, dx += step, dy += n_channels, place += n_channels)
        for (size_t c = 0; c < n_channels; c++)
            dx[c] += place[c] == tap ? dy[c] : 0.0f;
}

static void sum_row(const float *R x, size_t x_step, float *R y, size_t y_step, size_t n_channels,
                    size_t pixels)
{
    for (size_t p = 0; p < pixels; p++, x += x_step, y += y_step)
        for (size_t c = 0; c < n_channels; c++)
            y[c] += x[c];
}

/* --- updates --------------------------------------------------------------------------------- */

static void adam(const leat_cpu_adam *how, float *R weight, const float *R grad, float *R mean,
                 float *R square, size_t n)
{
    const leat_cpu_adam o = *how;
    for (size_t i = 0; i < n; i++) {
        const float g = grad[i] * o.scale + o.l2 * weight[i];
        const float m = o.beta1 * mean[i] + (1 - o.beta1) * g;
        const float v = o.beta2 * square[i] + (1 - o.beta2) * (g * g);
        mean[i] = m;
        square[i] = v;
        weight[i] = o.kept * weight[i] - o.rate * m / (sqrtf(v) * o.root + o.epsilon);
    }
}

/* --- matrices -------------------------------------------------------------------------------- */

enum { DEPTH = 256 }; /* of a block of b that stays in cache */

typedef float columns16 __attribute__((vector_size(64), aligned(4), may_alias));

/* 4 rows by 16 columns of c. */
static void matmul_block(const float *a, size_t row, size_t column, const float *b, float *c,
                         size_t n, size_t k)
{
    columns16 sums[LEAT_CPU_MATMUL_ROWS];
    for (size_t i = 0; i < LEAT_CPU_MATMUL_ROWS; i++)
        sums[i] = *(const columns16 *)(c + i * n);
    for (size_t j = 0; j < k; j++, a += column, b += n) {
        const columns16 right = *(const columns16 *)b;
        sums[0] += a[0] * right;
        sums[1] += a[row] * right;
        sums[2] += a[2 * row] * right;
        sums[3] += a[3 * row] * right;
    }
    for (size_t i = 0; i < LEAT_CPU_MATMUL_ROWS; i++)
        *(columns16 *)(c + i * n) = sums[i];
}

static void matmul(const float *a, size_t row, size_t column, const float *b, float *c, size_t m,
                   size_t n, size_t k)
{
    for (size_t from = 0; from < k; from += DEPTH)
        for (size_t j = 0; j < n; j += LEAT_CPU_MATMUL_COLUMNS)
            for (size_t i = 0; i < m; i += LEAT_CPU_MATMUL_ROWS)
                matmul_block(a + i * row + from * column, row, column, b + from * n + j,
                             c + i * n + j, n, k - from < DEPTH ? k - from : DEPTH);
}

const leat_cpu_loops LEAT_CPU_LOOPS = {
    .floats_of_bf16 = floats_of_bf16,
    .bf16_of_floats = bf16_of_floats,
    .floats_of_bytes = floats_of_bytes,
    .largest = largest,
    .largest_bf16 = largest_bf16,
    .act = act,
    .act_grad = act_grad,
    .sum = sum,
    .scale = scale,
    .add_channels = add_channels,
    .sum_channels = sum_channels,
    .norm_sums = norm_sums,
    .norm = norm,
    .norm_grad_sums = norm_grad_sums,
    .norm_grad = norm_grad,
    .max_row = max_row,
    .max_row_grad = max_row_grad,
    .sum_row = sum_row,
    .adam = adam,
    .matmul = matmul,
};
