/* SPDX-License-Identifier: MIT
 *
 * gather.c: makes many rows at once where a sample is a copy of its record: a source of rows in memory, no ops,
 * no cache. task.c calls it. What a row costs is then mostly waiting for memory, so that records are known in
 * advance and fetched while others are copied. */
#include "base/clock.h"
#include "sample.h"

bool leat_gather_can(const leat_plan *plan, const leat_worker *worker)
{
    bool can = plan->source->table->gather && !plan->cache && !plan->caches_on_device &&
               !plan->unbatches && !worker->expect.classes && !worker->expect.finite;
    for (int32_t c = 0; c < plan->n_chains && can; c++)
        can = plan->chains[c].n_ops == 0 && !plan->chains[c].pad.on;
    return can;
}

/* The stage is the source's, as in features.c. */
static void note(leat_worker *worker, leat_timing timing, const leat_trace_span *span,
                 int64_t cpu_ns)
{
    leat_trace_stage *const stage = &worker->trace.stages[LEAT_STAGE_READ];
    leat_trace_put(&worker->trace.spans, span);
    if (timing == LEAT_TIMED_CPU)
        leat_trace_cpu(stage, span->n, cpu_ns, span->end_ns - span->start_ns);
    else
        leat_trace_time(stage, span->n, span->end_ns - span->start_ns);
}

void leat_gather_run(const leat_plan *plan, leat_worker *worker, const uint64_t *records,
                     uint64_t n, uint8_t *slot, uint64_t row, leat_timing timing)
{
    const int64_t cpu = timing == LEAT_TIMED_CPU ? leat_clock_cpu_ns() : 0;
    leat_trace_span span = { .batch = worker->batch,
                             .record = records[0],
                             .n = (uint32_t)n,
                             .kind = LEAT_TRACE_STAGE + LEAT_STAGE_READ };
    if (timing)
        span.start_ns = leat_clock_ns();
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        plan->source->table->gather(plan->source, chain->feature, records, n,
                                    slot + chain->host_offset + row * chain->host_bytes);
    }
    leat_trace_count(&worker->trace.stages[LEAT_STAGE_READ], n, 0);
    if (!timing)
        return;
    span.end_ns = leat_clock_ns();
    note(worker, timing, &span, timing == LEAT_TIMED_CPU ? leat_clock_cpu_ns() - cpu : 0);
}
