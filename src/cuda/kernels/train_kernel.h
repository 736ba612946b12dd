/* SPDX-License-Identifier: MIT
 *
 * train_kernel.h: how kernels of training are written, and what they share. Like the ops' kernels (kernel.h)
 * they are C that nvcc compiles too, and the tests' fake GPU runs the same functions on the host.
 *
 * DESIGN: two kinds. LEAT_TRAIN_KERNEL runs a function for every i below args.n, in any order.
 * LEAT_TRAIN_BLOCKS runs the phases of a block: all threads of a block finish a phase before the next one
 * begins, and share memory. No float is ever added atomically, and the number of blocks is a function of the
 * shapes, so results are the same bits from run to run.
 *
 * Threads handle eight values at a time (LEAT_EIGHT), 16 bytes of bfloat16. */
#ifndef LEAT_TRAIN_KERNEL_H
#define LEAT_TRAIN_KERNEL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/host_device.h"
#include "base/philox.h"
#include "train/activations.h"

enum {
    LEAT_EIGHT = 8,
    LEAT_TRAIN_THREADS = 256,
    LEAT_TRAIN_SHARED = 16384 /* bytes that a block shares */
};

/* As leat_prim_type. */
enum { LEAT_TRAIN_F32, LEAT_TRAIN_BF16, LEAT_TRAIN_U8, LEAT_TRAIN_U16 };

/* What the host says about a step; the first kernel of the step writes it to device memory. */
typedef struct leat_train_step {
    double rate;
    double left[2]; /* of Adam: 1 - beta^step */
    float share, clip;
    float grad_scale;    /* share, or less where the gradient is clipped */
    int32_t masked;      /* `valid` says which rows count; 0: all do */
    int64_t n_valid;     /* rows that count */
    int64_t origin_row;  /* the first of them */
    int64_t updates;     /* done before this step */
    int64_t rows_before; /* leat_net_step */
} leat_train_step;

typedef struct leat_train_sums {
    double loss, right;
    uint64_t samples;
    int64_t n_bad;   /* rows with an impossible target or weight */
    int64_t bad_row; /* one of them, and that */
    double bad;
    int32_t bad_is_weight;
} leat_train_sums;

typedef struct leat_train_window {
    int32_t in[2], out[2], size[2], stride[2], low[2];
} leat_train_window;

/* Arguments of all kernels but leat_train_ingest and those of train_update.h. Each kernel says what it reads. */
typedef struct leat_train_args {
    int64_t n; /* LEAT_TRAIN_KERNEL: calls */
    const void *in[3];
    void *out[2];
    int32_t in_type, out_type;
    int32_t act, channels, channel, layer, mode;
    float alpha, momentum;
    double epsilon;
    int64_t rows, row_n, pixels; /* elements of a row; pixels of all rows */
    leat_train_window window;
    const leat_train_step *step;
    const uint8_t *valid;
    leat_train_sums *sums;
    const float *scale, *shift;
    float *mean, *inverse, *running_mean, *running_variance, *dscale, *dshift;
    float *factors;  /* of NORM_GRAD: [3][channels] */
    double *partial; /* [chunk][2][channels], or of each row */
    int64_t chunk_pixels;
    int32_t n_chunks, lanes;
    uint32_t key[2]; /* of the generator */
    const void *target;
    int32_t target_type, loss;
    float smoothing, positive;  /* of losses: label_smoothing, positive_weight */
    const float *class_weights; /* NULL: all 1 */
    const float *weights;       /* of each row; NULL: all 1 */
} leat_train_args;

/* Where a thread of LEAT_TRAIN_BLOCKS stands. */
typedef struct leat_train_place {
    int32_t thread, phase;
    int64_t block_x, block_y;
    void *shared;
} leat_train_place;

#if defined(__CUDACC__)
#define LEAT_TRAIN_KERNEL(name, type, call)                                                        \
    extern "C" __global__ void __launch_bounds__(LEAT_TRAIN_THREADS)                               \
        leat_train_##name(const __grid_constant__ type args)                                       \
    {                                                                                              \
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < args.n;               \
             i += (int64_t)gridDim.x * blockDim.x)                                                 \
            call(&args, i);                                                                        \
    }
#define LEAT_TRAIN_BLOCKS(name, type, n_phases, call)                                              \
    extern "C" __global__ void __launch_bounds__(LEAT_TRAIN_THREADS)                               \
        leat_train_##name(const __grid_constant__ type args)                                       \
    {                                                                                              \
        __shared__ __align__(16) unsigned char shared[LEAT_TRAIN_SHARED];                          \
        for (int32_t phase = 0; phase < (n_phases); phase++) {                                     \
            const leat_train_place at = { (int32_t)threadIdx.x, phase, blockIdx.x, blockIdx.y,     \
                                          shared };                                                \
            call(&args, &at);                                                                      \
            __syncthreads();                                                                       \
        }                                                                                          \
    }
#elif defined(LEAT_KERNELS_ON_HOST)
#define LEAT_TRAIN_KERNEL(name, type, call)                                                        \
    static void leat_train_##name##_thread(const void *all)                                        \
    {                                                                                              \
        const type *const args = (const type *)all;                                                \
        for (int64_t i =                                                                           \
                 (int64_t)cuda_fake_at.block_x * cuda_fake_at.threads + cuda_fake_at.thread_x;     \
             i < args->n; i += (int64_t)cuda_fake_at.blocks_x * cuda_fake_at.threads)              \
            call(args, i);                                                                         \
    }
#define LEAT_TRAIN_BLOCKS(name, type, n_phases, call)                                              \
    static void leat_train_##name##_thread(const void *all)                                        \
    {                                                                                              \
        const leat_train_place at = { (int32_t)cuda_fake_at.thread_x, cuda_fake_at.phase,          \
                                      cuda_fake_at.block_x, cuda_fake_at.block_y,                  \
                                      cuda_fake_at.shared };                                       \
        call((const type *)all, &at);                                                              \
    }
#else
#define LEAT_TRAIN_KERNEL(name, type, call)
#define LEAT_TRAIN_BLOCKS(name, type, n_phases, call)
#endif

/* --- values ------------------------------------------------------------------------------------ */

/* 16 bytes that move in one instruction; the host, too, wants them aligned, so that the tests see it. */
typedef struct leat_train_16 {
    uint32_t word[4];
} __attribute__((aligned(16))) leat_train_16;

LEAT_HOST_DEVICE float leat_train_get(const void *tensor, int32_t type, int64_t i)
{
    if (type == LEAT_TRAIN_F32)
        return ((const float *)tensor)[i];
    if (type == LEAT_TRAIN_BF16)
        return leat_half_of_bf16(((const uint16_t *)tensor)[i]);
    return (float)((const uint8_t *)tensor)[i];
}

LEAT_HOST_DEVICE void leat_train_put(void *tensor, int32_t type, int64_t i, float x)
{
    if (type == LEAT_TRAIN_F32)
        ((float *)tensor)[i] = x;
    else
        ((uint16_t *)tensor)[i] = leat_half_bf16(x);
}

/* n values from element `at` on. Eight come in one or two loads if `at` is a multiple of eight. */
LEAT_HOST_DEVICE void leat_train_load(const void *tensor, int32_t type, int64_t at, int32_t n,
                                      float x[LEAT_EIGHT])
{
    if (n == LEAT_EIGHT && at % LEAT_EIGHT == 0 && type == LEAT_TRAIN_F32) {
        const leat_train_16 *const from = (const leat_train_16 *)((const float *)tensor + at);
        const leat_train_16 a = from[0], b = from[1];
        for (int k = 0; k < 4; k++) {
            x[k] = leat_half_float(a.word[k]);
            x[k + 4] = leat_half_float(b.word[k]);
        }
    } else if (n == LEAT_EIGHT && at % LEAT_EIGHT == 0 && type == LEAT_TRAIN_BF16) {
        const leat_train_16 a = *(const leat_train_16 *)((const uint16_t *)tensor + at);
        for (int k = 0; k < 4; k++) {
            x[2 * k] = leat_half_float(a.word[k] << 16);
            x[2 * k + 1] = leat_half_float(a.word[k] & 0xffff0000u);
        }
    } else {
        for (int k = 0; k < LEAT_EIGHT; k++)
            x[k] = k < n ? leat_train_get(tensor, type, at + k) : 0.0f;
    }
}

LEAT_HOST_DEVICE void leat_train_store(void *tensor, int32_t type, int64_t at, int32_t n,
                                       const float x[LEAT_EIGHT])
{
    if (n == LEAT_EIGHT && at % LEAT_EIGHT == 0 && type == LEAT_TRAIN_F32) {
        leat_train_16 *const to = (leat_train_16 *)((float *)tensor + at);
        leat_train_16 a, b;
        for (int k = 0; k < 4; k++) {
            a.word[k] = leat_half_bits(x[k]);
            b.word[k] = leat_half_bits(x[k + 4]);
        }
        to[0] = a;
        to[1] = b;
    } else if (n == LEAT_EIGHT && at % LEAT_EIGHT == 0) {
        leat_train_16 a;
        for (int k = 0; k < 4; k++)
            a.word[k] = (uint32_t)leat_half_bf16(x[2 * k]) | (uint32_t)leat_half_bf16(x[2 * k + 1])
                                                                 << 16;
        *(leat_train_16 *)((uint16_t *)tensor + at) = a;
    } else {
        for (int k = 0; k < LEAT_EIGHT; k++)
            if (k < n)
                leat_train_put(tensor, type, at + k, x[k]);
    }
}

/* How many of eight values from `at` on exist. */
LEAT_HOST_DEVICE int32_t leat_train_count(int64_t all, int64_t at)
{
    return all - at < LEAT_EIGHT ? (int32_t)(all - at) : LEAT_EIGHT;
}

/* --- activations ------------------------------------------------------------------------------- */

LEAT_HOST_DEVICE float leat_train_act(int32_t act, float x, float alpha)
{
    switch (act) {
#define LEAT_TRAIN_CASE(name, from, help)                                                          \
    case LEAT_ACT_##name:                                                                          \
        return leat_act_##name(x, alpha);
        LEAT_ACT_LIST(LEAT_TRAIN_CASE)
#undef LEAT_TRAIN_CASE
    default:
        return x;
    }
}

/* dy times the slope; of: the activation's input or output, as LEAT_ACT_LIST says. */
LEAT_HOST_DEVICE float leat_train_act_grad(int32_t act, float dy, float of, float alpha)
{
    switch (act) {
#define LEAT_TRAIN_CASE(name, from, help)                                                          \
    case LEAT_ACT_##name:                                                                          \
        return dy * leat_act_##name##_grad(of, alpha);
        LEAT_ACT_LIST(LEAT_TRAIN_CASE)
#undef LEAT_TRAIN_CASE
    default:
        return dy;
    }
}

LEAT_HOST_DEVICE int32_t leat_train_from_output(int32_t act)
{
    enum { INPUT, OUTPUT };
    switch (act) {
#define LEAT_TRAIN_CASE(name, from, help)                                                          \
    case LEAT_ACT_##name:                                                                          \
        return from == OUTPUT;
        LEAT_ACT_LIST(LEAT_TRAIN_CASE)
#undef LEAT_TRAIN_CASE
    default:
        return 0;
    }
}

/* True if the row counts. */
LEAT_HOST_DEVICE int32_t leat_train_counts(const leat_train_args *a, int64_t row)
{
    return !a->step->masked || a->valid[row] != 0;
}

#endif
