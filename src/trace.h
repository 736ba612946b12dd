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
    _Atomic uint64_t n_seek;         /* features that came with a table (leat_seek) that fits */
    _Atomic uint64_t n_seek_refused; /* and with one that does not */
} leat_trace;

/* Adds to a total. [owner] */
static inline void leat_trace_add(_Atomic uint64_t *total, uint64_t n)
{
    /* One writer: load and store need no read-modify-write. */
    atomic_store_explicit(total, atomic_load_explicit(total, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static inline void leat_trace_count(leat_trace_stage *stage, uint64_t n, uint64_t bytes)
{
    leat_trace_add(&stage->n, n);
    leat_trace_add(&stage->bytes, bytes);
}

static inline void leat_trace_time(leat_trace_stage *stage, uint64_t n, int64_t ns)
{
    leat_trace_add(&stage->n_timed, n);
    atomic_store_explicit(&stage->ns, atomic_load_explicit(&stage->ns, memory_order_relaxed) + ns,
                          memory_order_relaxed);
}

/* Adds a thread's stages to *out, times scaled from timed samples to all. Any thread. */
void leat_trace_sum(const leat_trace *trace, int32_t n_stages, leat_stage_stats *out);

#endif
