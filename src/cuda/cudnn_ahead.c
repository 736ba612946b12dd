/* SPDX-License-Identifier: MIT
 *
 * cudnn_ahead.c: builds many plans in several threads; see cudnn_graph.h. */
#include <pthread.h>
#include <stdatomic.h>

#include "cudnn_graph.h"

typedef struct all {
    const leat_gpu_lib_spec *specs;
    leat_cudnn_plan **plans;
    int n, device;
    atomic_int next;
} all;

typedef struct builder {
    pthread_t thread;
    const leat_cudnn_target *target;
    all *of;
} builder;

static void *build(void *arg)
{
    const builder *const b = arg;
    all *const a = b->of;
    if (a->device >= 0 && cudaSetDevice(a->device) != cudaSuccess) {
        cudaGetLastError();
        return NULL;
    }
    for (int i; (i = atomic_fetch_add(&a->next, 1)) < a->n;) {
        int n;
        if (leat_cudnn_plans(b->target, &a->specs[i], 1, &a->plans[i], &n, NULL) < 0)
            a->plans[i] = NULL;
    }
    return NULL;
}

void leat_cudnn_plans_ahead(const leat_cudnn_target *targets, int n_targets, int device,
                            const leat_gpu_lib_spec *specs, int n, leat_cudnn_plan **out)
{
    builder builders[LEAT_CUDNN_BUILDERS];
    all a = { .specs = specs, .plans = out, .n = n, .device = device };
    int n_threads = 0;
    for (int i = 0; i < n; i++)
        out[i] = NULL;
    for (; n_threads < n_targets && n_threads < LEAT_CUDNN_BUILDERS; n_threads++) {
        builder *const b = &builders[n_threads];
        *b = (builder){ .target = &targets[n_threads], .of = &a };
        if (pthread_create(&b->thread, NULL, build, b) != 0)
            break;
    }
    for (int i = 0; i < n_threads; i++)
        pthread_join(builders[i].thread, NULL);
}
