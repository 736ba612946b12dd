/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_kernels.c: the plugin's kernels, compiled for the host. */
#define LEAT_KERNELS_ON_HOST
/* Before the kernels, which take their indices from it. */
#include "cuda_fake.h"

#include "cuda/kernels/kernel_list.h"
#include "cuda/kernels/measure_add.h"
#include "cuda/kernels/synthetic_work.h"
#include "cuda/kernels/train_list.h"

extern const unsigned char leat_fatbin[] __attribute__((visibility("hidden")));
const unsigned char leat_fatbin[16] = { 0 };

/* The bytes, not the time. */
static void plant_thread(const void *all)
{
    const leat_synthetic_work_args *const args = all;
    const cuda_fake_place *const at = &cuda_fake_at;
    for (int64_t i = (int64_t)at->block_x * at->threads + at->thread_x; i < args->n_words;
         i += (int64_t)at->blocks_x * at->threads)
        args->words[i] += 1;
}

static int plant_pointers(const void *all, const void *out[CUDA_FAKE_POINTERS])
{
    out[0] = ((const leat_synthetic_work_args *)all)->words;
    return 1;
}

static void add_thread(const void *all)
{
    const leat_measure_add_args *const args = all;
    const cuda_fake_place *const at = &cuda_fake_at;
    for (int64_t i = (int64_t)at->block_x * at->threads + at->thread_x; i < args->n;
         i += (int64_t)at->blocks_x * at->threads)
        args->c[i] = args->a[i] + args->b[i];
}

static int add_pointers(const void *all, const void *out[CUDA_FAKE_POINTERS])
{
    const leat_measure_add_args *const args = all;
    out[0] = args->a;
    out[1] = args->b;
    out[2] = args->c;
    return 3;
}

static int op_pointers(const void *all, const void *out[CUDA_FAKE_POINTERS])
{
    const leat_kernel_args *const args = all;
    const void *const pointers[] = { args->in, args->out, args->draws, args->aux, args->pictures };
    enum { N = sizeof pointers / sizeof *pointers };
    for (int i = 0; i < N; i++)
        out[i] = pointers[i];
    return N;
}

/* Pointers of each kind of arguments, by the type's name. */
static int leat_train_args_pointers(const void *all, const void *out[CUDA_FAKE_POINTERS])
{
    const leat_train_args *const a = all;
    const void *const pointers[] = { a->in[0],        a->in[1],
                                     a->in[2],        a->out[0],
                                     a->out[1],       a->step,
                                     a->valid,        a->sums,
                                     a->scale,        a->shift,
                                     a->mean,         a->inverse,
                                     a->running_mean, a->running_variance,
                                     a->dscale,       a->dshift,
                                     a->factors,      a->partial,
                                     a->target,       a->class_weights,
                                     a->weights };
    memcpy(out, pointers, sizeof pointers);
    return sizeof pointers / sizeof *pointers;
}

static int leat_train_ingest_args_pointers(const void *all, const void *out[CUDA_FAKE_POINTERS])
{
    const leat_train_ingest_args *const a = all;
    const void *const pointers[] = { a->x,    a->y,          a->weights,  a->valid,  a->to_x,
                                     a->to_y, a->to_weights, a->to_valid, a->to_step };
    memcpy(out, pointers, sizeof pointers);
    return sizeof pointers / sizeof *pointers;
}

static int leat_train_running_args_pointers(const void *all, const void *out[CUDA_FAKE_POINTERS])
{
    const leat_train_running_args *const a = all;
    int n = 0;
    for (int i = 0; i < LEAT_RUNNING_MOST; i++) {
        out[n++] = a->norms[i].mean;
        out[n++] = a->norms[i].inverse;
        out[n++] = a->norms[i].running_mean;
        out[n++] = a->norms[i].running_variance;
    }
    return n;
}

static int leat_train_update_args_pointers(const void *all, const void *out[CUDA_FAKE_POINTERS])
{
    const leat_train_update_args *const a = all;
    const void *const pointers[] = { a->ranges, a->weight, a->grad,   a->states[0], a->states[1],
                                     a->step,   a->packs,  a->copies, a->partial,   a->other };
    memcpy(out, pointers, sizeof pointers);
    return sizeof pointers / sizeof *pointers;
}

const cuda_fake_kernel cuda_fake_kernels[] = {
#undef LEAT_KERNEL
#define LEAT_KERNEL(name, element)                                                                 \
    { "leat_" #name, sizeof(leat_kernel_args), leat_##name##_thread, op_pointers, 0 },
#include "cuda/kernels/kernel_list.h"
#undef LEAT_TRAIN_KERNEL
#undef LEAT_TRAIN_BLOCKS
#define LEAT_TRAIN_KERNEL(name, type, call)                                                        \
    { "leat_train_" #name, sizeof(type), leat_train_##name##_thread, type##_pointers, 0 },
#define LEAT_TRAIN_BLOCKS(name, type, n_phases, call)                                              \
    { "leat_train_" #name, sizeof(type), leat_train_##name##_thread, type##_pointers, n_phases },
#include "cuda/kernels/train_list.h"
    { "leat_measure_add", sizeof(leat_measure_add_args), add_thread, add_pointers, 0 },
    { "leat_synthetic_work", sizeof(leat_synthetic_work_args), plant_thread, plant_pointers, 0 },
    { 0 }
};
