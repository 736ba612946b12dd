/* SPDX-License-Identifier: MIT
 *
 * trace.h: the trace of one thread: totals per stage and its latest spans. Each thread of the engine
 * writes its own trace; any thread can read all of them at any time.
 *
 * Totals are relaxed atomics. Stages of cheap samples are timed on some samples only and scaled by
 * count, so that timing costs under 1 % of the run. Some of these samples measure CPU time instead of
 * wall time, because reading the CPU clock is expensive.
 *
 * The CPU time of a stage is its mean over these samples times the number of all samples. CPU times of
 * samples are similar. Wall times on a busy machine are not: most are short, some very long. So a share
 * of wall time cannot be scaled from a few samples to all; the kernel also tends to switch threads when
 * the CPU clock is read. Of CPU time and wall time of a sample, the smaller counts: for a stage of
 * 1 µs, reading the clock would add half as much.
 *
 * Spans go into a ring of fixed size that overwrites the oldest. One thread writes a ring. A reader
 * copies it and then drops spans that may have been overwritten meanwhile. Every word of a span is
 * stored (release) after the preceding store of `head`, so a reader that loads (acquire) a word of span
 * k sees head >= k. */
#ifndef LEAT_TRACE_H
#define LEAT_TRACE_H

#include <stdatomic.h>
#include <stdint.h>

#include "clock.h"
#include "leat/loader.h"

typedef struct leat_trace_stage {
    _Atomic uint64_t n;       /* samples */
    _Atomic uint64_t n_timed; /* samples with a wall time */
    _Atomic int64_t ns;       /* wall time of the n_timed samples */
    _Atomic uint64_t bytes;   /* of output */
    _Atomic uint64_t n_cpu;   /* other samples, with a CPU time */
    _Atomic int64_t cpu_ns;   /* CPU time of the n_cpu samples */
} leat_trace_stage;

typedef enum leat_trace_kind {
    LEAT_TRACE_NEXT,      /* inside leat_loader_next */
    LEAT_TRACE_ROWS,      /* rows of a task computed */
    LEAT_TRACE_SLEEP,     /* nothing to do */
    LEAT_TRACE_WAIT,      /* nothing to do but wait for reads */
    LEAT_TRACE_READAHEAD, /* readahead: reads planned and submitted */
    LEAT_TRACE_UPLOAD,    /* a copy enqueued */
    LEAT_TRACE_BATCH_OPS, /* batch ops */
    LEAT_TRACE_READ,      /* reads of a task in flight; these overlap */
    LEAT_TRACE_COPY,
    LEAT_TRACE_STEP,
    LEAT_TRACE_STAGE /* + number of the stage */
} leat_trace_kind;

typedef struct leat_trace_span {
    int64_t start_ns, end_ns;
    int64_t batch;   /* -1: none */
    uint64_t record; /* of the first row, if n > 0 */
    uint64_t bytes;  /* 0: not counted */
    uint32_t row, n; /* first row of the batch, number of rows */
    uint32_t kind;   /* leat_trace_kind */
} leat_trace_span;

enum { LEAT_TRACE_WORDS = 8 }; /* of a span in a ring; a cache line */

typedef struct leat_trace_ring {
    _Atomic uint64_t *words; /* NULL: no spans */
    uint64_t mask;           /* spans − 1 */
    _Atomic uint64_t head;   /* number of spans ever written */
} leat_trace_ring;

typedef struct leat_trace {
    leat_trace_stage stages[LEAT_MAX_STAGES];
    _Atomic uint64_t n_seek;         /* features read with their JPEG index (leat_seek) */
    _Atomic uint64_t n_seek_refused; /* features whose index entry did not fit */
    _Atomic uint64_t n_jpeg_device;  /* files passed to a device that decodes them */
    _Atomic uint64_t
        n_jpeg_host; /* decoded here: not supported by the device, or outside its share */
    leat_trace_ring spans;
} leat_trace;

/* Adds to a total. [owner] */
static inline void leat_trace_add(_Atomic uint64_t *total, uint64_t n)
{
    /* There is one writer, so a read-modify-write is not needed. */
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

/* Adds the CPU time of n samples. wall_ns: their wall time, an upper limit. */
static inline void leat_trace_cpu(leat_trace_stage *stage, uint64_t n, int64_t cpu_ns,
                                  int64_t wall_ns)
{
    const int64_t cpu = cpu_ns < wall_ns ? cpu_ns : wall_ns;
    leat_trace_add(&stage->n_cpu, n);
    atomic_store_explicit(&stage->cpu_ns,
                          atomic_load_explicit(&stage->cpu_ns, memory_order_relaxed) + cpu,
                          memory_order_relaxed);
}

/* Adds up the stages of n threads; scales times from timed samples to all. Any thread.
 * first    of n traces, `stride` bytes apart */
void leat_trace_sum(const leat_trace *first, size_t stride, int n, int32_t n_stages,
                    leat_stage_stats *out);

/* Opens a ring of n spans, rounded up to a power of two; 0: no spans. Pages of a large ring are committed when touched.
 * Returns LEAT_OK or LEAT_E_NOMEM. */
int leat_trace_ring_open(leat_trace_ring *ring, uint64_t n, leat_error *err);
/* Also closes a zeroed ring. */
void leat_trace_ring_close(leat_trace_ring *ring);
/* Returns the memory of a ring of n spans. */
uint64_t leat_trace_ring_bytes(uint64_t n);

/* Adds a span. [owner] */
void leat_trace_put(leat_trace_ring *ring, const leat_trace_span *span);

/* Returns the most spans that a copy can have. Any thread. */
uint64_t leat_trace_ring_most(const leat_trace_ring *ring);
/* Copies the newest spans, at most n, oldest first. Returns their number. *n_lost: number of older
 * spans. Any thread. */
uint64_t leat_trace_ring_copy(const leat_trace_ring *ring, leat_trace_span *out, uint64_t n,
                              uint64_t *n_lost);

#endif
