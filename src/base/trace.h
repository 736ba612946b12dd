/* SPDX-License-Identifier: MIT
 *
 * trace.h: what a thread did: totals per stage, and its latest spans. Each thread writes its own;
 * anybody may read them at any time.
 *
 * Totals are relaxed atomics: a snapshot, no order. Stages of cheap samples are timed on some samples
 * only and scaled by count, so that timing costs under 1 % of the run. Of some of these the thread's CPU
 * time is taken too; they count for that alone, since asking for it is not free.
 *
 * A stage's CPU time is the mean of those few times the number of all samples: it is much the same for
 * each, while on a busy machine the time that goes by is short for most and very long for some. So no
 * share of time may be carried over from the few to the rest, and the less so as the kernel likes to give
 * the core away at the look itself, which is in neither time. Of a sample's two times the smaller counts:
 * a stage of a microsecond would else be charged with the look, which takes half as long.
 *
 * Spans go into a ring of fixed size that forgets the oldest, so a trace is bounded however long the
 * run. One thread writes a ring. A reader copies it and then drops what may have been overwritten
 * meanwhile: every word of a span is stored with release after the store of `head` that precedes it,
 * so who loads (acquire) a word of span k sees head >= k. */
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
    _Atomic uint64_t n_cpu;   /* whose CPU time was taken; none of the timed ones */
    _Atomic int64_t cpu_ns;   /* of those */
} leat_trace_stage;

typedef enum leat_trace_kind {
    LEAT_TRACE_NEXT,      /* inside leat_loader_next */
    LEAT_TRACE_ROWS,      /* a run of rows computed */
    LEAT_TRACE_SLEEP,     /* nothing to do */
    LEAT_TRACE_WAIT,      /* the same, as the one that listens for reads */
    LEAT_TRACE_READAHEAD, /* reads worked out and submitted */
    LEAT_TRACE_SHIP,      /* a copy enqueued */
    LEAT_TRACE_BATCH_OPS, /* batch ops */
    LEAT_TRACE_READ,      /* reads of a run in flight; these overlap */
    LEAT_TRACE_COPY,
    LEAT_TRACE_STEP,
    LEAT_TRACE_STAGE /* + number of the stage */
} leat_trace_kind;

typedef struct leat_trace_span {
    int64_t start_ns, end_ns;
    int64_t batch;   /* -1: of none */
    uint64_t record; /* the (first) one; meaningful when n > 0 */
    uint64_t bytes;  /* 0: not counted */
    uint32_t row, n; /* rows of that batch */
    uint32_t kind;   /* leat_trace_kind */
} leat_trace_span;

enum { LEAT_TRACE_WORDS = 8 }; /* of a span in a ring: a cache line */

typedef struct leat_trace_ring {
    _Atomic uint64_t *words; /* NULL: no spans are kept */
    uint64_t mask;           /* spans − 1 */
    _Atomic uint64_t head;   /* spans written, counted without wrapping */
} leat_trace_ring;

typedef struct leat_trace {
    leat_trace_stage stages[LEAT_MAX_STAGES];
    _Atomic uint64_t n_seek;         /* features that were read by their table (leat_seek) */
    _Atomic uint64_t n_seek_refused; /* whose table did not fit */
    _Atomic uint64_t n_files;        /* handed to a device that decodes them */
    _Atomic uint64_t n_files_here;   /* decoded here, because they are not for the device */
    leat_trace_ring spans;
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

/* Of n samples together: their CPU time, and how long they took. */
static inline void leat_trace_cpu(leat_trace_stage *stage, uint64_t n, int64_t cpu_ns,
                                  int64_t wall_ns)
{
    const int64_t cpu = cpu_ns < wall_ns ? cpu_ns : wall_ns;
    leat_trace_add(&stage->n_cpu, n);
    atomic_store_explicit(&stage->cpu_ns,
                          atomic_load_explicit(&stage->cpu_ns, memory_order_relaxed) + cpu,
                          memory_order_relaxed);
}

/* Sums the stages of n threads into *out, times scaled from timed samples to all. Any thread.
 * first    of n traces that lie `stride` bytes apart */
void leat_trace_sum(const leat_trace *first, size_t stride, int n, int32_t n_stages,
                    leat_stage_stats *out);

/* A ring of n spans (rounded up to a power of two; 0: it keeps none). Memory is committed by touch.
 * Returns LEAT_OK or LEAT_E_NOMEM. */
int leat_trace_ring_open(leat_trace_ring *ring, uint64_t n, leat_error *err);
/* Takes one that was zeroed. */
void leat_trace_ring_close(leat_trace_ring *ring);
/* Bytes that a ring of n spans takes. */
uint64_t leat_trace_ring_bytes(uint64_t n);

/* Adds a span. [owner] */
void leat_trace_put(leat_trace_ring *ring, const leat_trace_span *span);

/* Spans that a copy can give at most. Any thread. */
uint64_t leat_trace_ring_most(const leat_trace_ring *ring);
/* Copies the spans that are there, oldest first, at most n of them: the newest. Returns their number;
 * *n_lost is how many older ones are gone. Any thread. */
uint64_t leat_trace_ring_copy(const leat_trace_ring *ring, leat_trace_span *out, uint64_t n,
                              uint64_t *n_lost);

#endif
