/* SPDX-License-Identifier: MIT
 *
 * gpu_anchors.h: the GPU's clock against the host's: some moments that are known on both, the newest
 * last, and the straight lines between them, so that it does not matter how far the clocks drift apart.
 * Arithmetic only. The GPU's time counts from the first moment on. */
#ifndef LEAT_GPU_ANCHORS_H
#define LEAT_GPU_ANCHORS_H

#include <stdbool.h>
#include <stdint.h>

enum { LEAT_GPU_ANCHORS = 8 };
/* Clocks that differ by more than a part in a thousand are not believed. */
#define LEAT_GPU_RATE_OFF 1e-3

typedef struct leat_gpu_anchor {
    int64_t host_ns, gpu_ns;
} leat_gpu_anchor;

typedef struct leat_gpu_anchors {
    leat_gpu_anchor ring[LEAT_GPU_ANCHORS];
    int64_t n; /* ever set; i is in the ring from n - LEAT_GPU_ANCHORS on */
} leat_gpu_anchors;

static inline int64_t leat_gpu_anchors_oldest(const leat_gpu_anchors *a)
{
    return a->n > LEAT_GPU_ANCHORS ? a->n - LEAT_GPU_ANCHORS : 0;
}

static inline const leat_gpu_anchor *leat_gpu_anchors_at(const leat_gpu_anchors *a, int64_t i)
{
    return &a->ring[i % LEAT_GPU_ANCHORS];
}

static inline void leat_gpu_anchors_add(leat_gpu_anchors *a, int64_t host_ns, int64_t gpu_ns)
{
    a->ring[a->n++ % LEAT_GPU_ANCHORS] = (leat_gpu_anchor){ host_ns, gpu_ns };
}

/* The newest that is not after the moment, or the oldest. */
static inline int64_t leat_gpu_anchors_before(const leat_gpu_anchors *a, int64_t host_ns)
{
    int64_t i = a->n - 1;
    while (i > leat_gpu_anchors_oldest(a) && leat_gpu_anchors_at(a, i)->host_ns > host_ns)
        i--;
    return i;
}

/* Nanoseconds of the host for one of the GPU, between two of them. */
static inline double leat_gpu_anchors_rate(const leat_gpu_anchor *from, const leat_gpu_anchor *to)
{
    const double gpu = (double)(to->gpu_ns - from->gpu_ns);
    const double rate = gpu > 0 ? (double)(to->host_ns - from->host_ns) / gpu : 1;
    return rate > 1 - LEAT_GPU_RATE_OFF && rate < 1 + LEAT_GPU_RATE_OFF ? rate : 1;
}

/* The host's time of a moment on the GPU's clock. Outside of all that is known, the clocks go on as they
 * did from the oldest to the newest. */
static inline int64_t leat_gpu_anchors_host(const leat_gpu_anchors *a, int64_t gpu_ns)
{
    const int64_t first = leat_gpu_anchors_oldest(a);
    int64_t i = a->n - 1;
    while (i > first && leat_gpu_anchors_at(a, i)->gpu_ns > gpu_ns)
        i--;
    const leat_gpu_anchor *const from = leat_gpu_anchors_at(a, i);
    const bool is_inside = i + 1 < a->n && from->gpu_ns <= gpu_ns;
    const double rate = is_inside ? leat_gpu_anchors_rate(from, leat_gpu_anchors_at(a, i + 1))
                                  : leat_gpu_anchors_rate(leat_gpu_anchors_at(a, first),
                                                          leat_gpu_anchors_at(a, a->n - 1));
    return from->host_ns + (int64_t)((double)(gpu_ns - from->gpu_ns) * rate);
}

#endif
