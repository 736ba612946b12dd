/* SPDX-License-Identifier: MIT
 *
 * measure_add.h: the sum of two arrays, for experiments that time it. gpu_work.c launches it. */
#ifndef LEAT_MEASURE_ADD_H
#define LEAT_MEASURE_ADD_H

#include <stdint.h>

typedef struct leat_measure_add_args {
    const float *a, *b;
    float *c;
    int64_t n;
} leat_measure_add_args;

#if defined(__CUDACC__)
extern "C" __global__ void leat_measure_add(const __grid_constant__ leat_measure_add_args args)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < args.n;
         i += (int64_t)gridDim.x * blockDim.x)
        args.c[i] = args.a[i] + args.b[i];
}
#endif

#endif
