/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_kernels.c: the plugin's kernels, compiled for the host. */
#define LEAT_KERNELS_ON_HOST
/* Before the kernels, which take their indices from it. */
#include "cuda_fake.h"

#include "cuda/kernels/kernel_list.h"
#include "cuda/kernels/plant.h"

extern const unsigned char leat_fatbin[] __attribute__((visibility("hidden")));
const unsigned char leat_fatbin[16] = { 0 };

/* The bytes, not the time. */
static void plant_thread(const void *all)
{
    const leat_plant_args *const args = all;
    const cuda_fake_place *const at = &cuda_fake_at;
    for (int64_t i = (int64_t)at->block_x * at->threads + at->thread_x; i < args->n_words;
         i += (int64_t)at->blocks_x * at->threads)
        args->words[i] += 1;
}

static int plant_pointers(const void *all, const void *out[CUDA_FAKE_POINTERS])
{
    out[0] = ((const leat_plant_args *)all)->words;
    return 1;
}

static int op_pointers(const void *all, const void *out[CUDA_FAKE_POINTERS])
{
    const leat_kernel_args *const args = all;
    const void *const pointers[] = { args->in, args->out, args->plans, args->aux, args->pictures };
    enum { N = sizeof pointers / sizeof *pointers };
    for (int i = 0; i < N; i++)
        out[i] = pointers[i];
    return N;
}

const cuda_fake_kernel cuda_fake_kernels[] = {
#undef LEAT_KERNEL
#define LEAT_KERNEL(name, element)                                                                 \
    { "leat_" #name, sizeof(leat_kernel_args), leat_##name##_thread, op_pointers },
#include "cuda/kernels/kernel_list.h"
    { "leat_plant", sizeof(leat_plant_args), plant_thread, plant_pointers }, { 0 }
};
