/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include <sys/mman.h>

/* Measured CPU time of all threads, and the number of its samples. */
typedef struct cpu_sum {
    uint64_t n;
    int64_t ns;
} cpu_sum;

static void add_stage(const leat_trace_stage *stage, leat_stage_stats *out, cpu_sum *cpu)
{
    const uint64_t n = atomic_load_explicit(&stage->n, memory_order_relaxed);
    const uint64_t n_timed = atomic_load_explicit(&stage->n_timed, memory_order_relaxed);
    const int64_t ns = atomic_load_explicit(&stage->ns, memory_order_relaxed);
    out->samples += n;
    out->bytes_out += atomic_load_explicit(&stage->bytes, memory_order_relaxed);
    if (n_timed)
        out->busy_ns += (int64_t)((double)ns * ((double)n / (double)n_timed));
    cpu->n += atomic_load_explicit(&stage->n_cpu, memory_order_relaxed);
    cpu->ns += atomic_load_explicit(&stage->cpu_ns, memory_order_relaxed);
}

static const leat_trace *trace_at(const leat_trace *first, size_t stride, int t)
{
    return (const leat_trace *)((const char *)first + (size_t)t * stride);
}

void leat_trace_sum(const leat_trace *first, size_t stride, int n, int32_t n_stages,
                    leat_stage_stats *out)
{
    for (int32_t i = 0; i < n_stages; i++) {
        cpu_sum cpu = { 0 };
        for (int t = 0; t < n; t++)
            add_stage(&trace_at(first, stride, t)->stages[i], &out[i], &cpu);
        out[i].cpu_ns =
            cpu.n ? (int64_t)((double)cpu.ns * ((double)out[i].samples / (double)cpu.n)) : -1;
        if (out[i].cpu_ns > out[i].busy_ns) /* both are estimates */
            out[i].cpu_ns = out[i].busy_ns;
    }
}

/* --- spans --------------------------------------------------------------------------------------- */

/* A ring up to this size is committed when it is opened: page faults of several threads, some of which hold the
 * engine's lock, would delay the first batches. A larger one is for a trace, and may never be full. */
#define COMMIT_BYTES (1 << 20)

static uint64_t round_up(uint64_t n)
{
    uint64_t power = n ? 1 : 0;
    while (power < n)
        power *= 2;
    return power;
}

uint64_t leat_trace_ring_bytes(uint64_t n)
{
    return round_up(n) * LEAT_TRACE_WORDS * sizeof(uint64_t);
}

int leat_trace_ring_open(leat_trace_ring *ring, uint64_t n, leat_error *err)
{
    const uint64_t bytes = leat_trace_ring_bytes(n);
    if (!bytes)
        return LEAT_OK;
    const int now = bytes <= COMMIT_BYTES ? MAP_POPULATE : 0;
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | now, -1, 0);
    if (memory == MAP_FAILED)
        return leat_fail(err, LEAT_E_NOMEM, "%llu spans of a trace: %llu bytes; lower engine.spans",
                         (unsigned long long)n, (unsigned long long)bytes);
    ring->words = memory;
    ring->mask = round_up(n) - 1;
    return LEAT_OK;
}

void leat_trace_ring_close(leat_trace_ring *ring)
{
    if (ring->words)
        munmap((void *)ring->words, leat_trace_ring_bytes(ring->mask + 1));
    ring->words = NULL;
}

void leat_trace_put(leat_trace_ring *ring, const leat_trace_span *span)
{
    if (!ring->words)
        return;
    const uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    const uint64_t values[LEAT_TRACE_WORDS - 1] = { (uint64_t)span->start_ns,
                                                    (uint64_t)span->end_ns,
                                                    (uint64_t)span->batch,
                                                    span->record,
                                                    span->bytes,
                                                    (uint64_t)span->row << 32 | span->n,
                                                    span->kind };
    _Atomic uint64_t *const at = &ring->words[(head & ring->mask) * LEAT_TRACE_WORDS];
    for (int i = 0; i < LEAT_TRACE_WORDS - 1; i++)
        atomic_store_explicit(&at[i], values[i], memory_order_release);
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    /* The next place is no longer in the cache. Without this prefetch, writing it would delay later
     * stores by 0.1 us per span. */
    __builtin_prefetch((const void *)&ring->words[((head + 1) & ring->mask) * LEAT_TRACE_WORDS], 1);
}

uint64_t leat_trace_ring_most(const leat_trace_ring *ring)
{
    return ring->words ? ring->mask + 1 : 0;
}

static leat_trace_span span_at(const leat_trace_ring *ring, uint64_t i)
{
    const _Atomic uint64_t *const at = &ring->words[(i & ring->mask) * LEAT_TRACE_WORDS];
    uint64_t v[LEAT_TRACE_WORDS - 1];
    for (int k = 0; k < LEAT_TRACE_WORDS - 1; k++)
        v[k] = atomic_load_explicit(&at[k], memory_order_acquire);
    return (leat_trace_span){ .start_ns = (int64_t)v[0],
                              .end_ns = (int64_t)v[1],
                              .batch = (int64_t)v[2],
                              .record = v[3],
                              .bytes = v[4],
                              .row = (uint32_t)(v[5] >> 32),
                              .n = (uint32_t)v[5],
                              .kind = (uint32_t)v[6] };
}

uint64_t leat_trace_ring_copy(const leat_trace_ring *ring, leat_trace_span *out, uint64_t n,
                              uint64_t *n_lost)
{
    const uint64_t room = leat_trace_ring_most(ring);
    const uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    const uint64_t most = n < room ? n : room;
    uint64_t first = head > most ? head - most : 0;
    *n_lost = 0;
    if (!room)
        return 0;
    for (uint64_t i = first; i < head; i++)
        out[i - first] = span_at(ring, i);
    /* The writer can be in the middle of span `now`, which overwrites span now − room. */
    const uint64_t now = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t whole = now >= room ? now - room + 1 : 0;
    if (whole < first)
        whole = first;
    if (whole > head)
        whole = head;
    for (uint64_t i = whole; i < head; i++)
        out[i - whole] = out[i - first];
    *n_lost = whole;
    return head - whole;
}
