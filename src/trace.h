/* SPDX-License-Identifier: MIT
 *
 * trace.h: what stages did, per thread. Each thread adds to totals of its own; anybody may read
 * them at any time (relaxed atomics: a snapshot, no order). Stages of cheap samples are timed on
 * some samples only and scaled by count, so that timing costs under 1 % of the run. */
#ifndef LEAT_TRACE_H
#define LEAT_TRACE_H

#include <stdatomic.h>
#include <stdint.h>

#include "clock.h"
#include "leat/loader.h"

typedef struct leat_trace_stage {
    _Atomic uint64_t n;       /* samples */
    _Atomic uint64_t n_timed; /* of those: timed */
    _Atomic int64_t ns;       /* of the timed ones */
    _Atomic uint64_t bytes;   /* put out */
} leat_trace_stage;

typedef struct leat_trace {
    leat_trace_stage stages[LEAT_MAX_STAGES];
} leat_trace;

/* Adds to a total. [owner] */
static inline void leat_trace_count(leat_trace_stage *stage, uint64_t n, uint64_t bytes)
{
    /* One writer: load and store need no read-modify-write. */
    atomic_store_explicit(&stage->n, atomic_load_explicit(&stage->n, memory_order_relaxed) + n,
                          memory_order_relaxed);
    atomic_store_explicit(&stage->bytes,
                          atomic_load_explicit(&stage->bytes, memory_order_relaxed) + bytes,
                          memory_order_relaxed);
}

static inline void leat_trace_time(leat_trace_stage *stage, uint64_t n, int64_t ns)
{
    atomic_store_explicit(&stage->n_timed,
                          atomic_load_explicit(&stage->n_timed, memory_order_relaxed) + n,
                          memory_order_relaxed);
    atomic_store_explicit(&stage->ns, atomic_load_explicit(&stage->ns, memory_order_relaxed) + ns,
                          memory_order_relaxed);
}

/* Adds a thread's stages to *out, times scaled from timed samples to all. Any thread. */
void leat_trace_sum(const leat_trace *trace, int32_t n_stages, leat_stage_stats *out);

#endif
