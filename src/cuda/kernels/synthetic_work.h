/* SPDX-License-Identifier: MIT
 *
 * synthetic_work.h: a kernel that takes a given time and moves a given number of bytes, so that tests can measure
 * overlap and idle time without a model. gpu_synthetic_work.c launches it. */
#ifndef LEAT_SYNTHETIC_WORK_H
#define LEAT_SYNTHETIC_WORK_H

#include <stdint.h>

typedef struct leat_synthetic_work_args {
    int64_t ns;      /* least time that every thread takes */
    uint32_t *words; /* each is read, incremented and written once */
    int64_t n_words;
} leat_synthetic_work_args;

#if defined(__CUDACC__)
static __device__ inline int64_t leat_synthetic_work_clock()
{
    int64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

extern "C" __global__ void
leat_synthetic_work(const __grid_constant__ leat_synthetic_work_args args)
{
    const int64_t start = leat_synthetic_work_clock(), cycle = clock64();
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < args.n_words;
         i += (int64_t)gridDim.x * blockDim.x)
        args.words[i] += 1;
    /* No GPU reaches 4 GHz, so the cycle counter ends the loop even if the timer stands still. */
    while (leat_synthetic_work_clock() - start < args.ns &&
           clock64() - cycle < 4 * args.ns + 1000000)
        ;
}
#endif

#endif
