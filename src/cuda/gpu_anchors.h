/* SPDX-License-Identifier: MIT
 *
 * gpu_anchors.h: converts GPU time to host time, for gpu_clock.c. An anchor is a moment that is known on
 * both clocks. Between anchors the conversion is linear, which follows the drift of the clocks. GPU time
 * counts from the first anchor. Arithmetic only, without CUDA. */
#ifndef LEAT_GPU_ANCHORS_H
#define LEAT_GPU_ANCHORS_H

#include <stdbool.h>
#include <stdint.h>

enum { LEAT_GPU_ANCHORS = 8 };
/* Rates that differ from 1 by more than this are measurement errors. */
#define LEAT_GPU_RATE_OFF 1e-3

typedef struct leat_gpu_anchor {
    int64_t host_ns, gpu_ns;
} leat_gpu_anchor;

typedef struct leat_gpu_anchors {
    leat_gpu_anchor ring[LEAT_GPU_ANCHORS];
    int64_t n; /* anchors ever added; the ring holds the last LEAT_GPU_ANCHORS */
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

/* The newest anchor that is not after the moment, or the oldest. */
static inline int64_t leat_gpu_anchors_before(const leat_gpu_anchors *a, int64_t host_ns)
{
    int64_t i = a->n - 1;
    while (i > leat_gpu_anchors_oldest(a) && leat_gpu_anchors_at(a, i)->host_ns > host_ns)
        i--;
    return i;
}

/* Host nanoseconds per GPU nanosecond between two anchors. */
static inline double leat_gpu_anchors_rate(const leat_gpu_anchor *from, const leat_gpu_anchor *to)
{
    const double gpu = (double)(to->gpu_ns - from->gpu_ns);
    const double rate = gpu > 0 ? (double)(to->host_ns - from->host_ns) / gpu : 1;
    return rate > 1 - LEAT_GPU_RATE_OFF && rate < 1 + LEAT_GPU_RATE_OFF ? rate : 1;
}

/* Converts GPU time to host time. Outside of the anchors it uses the rate from the oldest to the
 * newest. */
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
