/* SPDX-License-Identifier: MIT
 *
 * gather.c: makes many rows at once where a sample is a copy of its record: no ops but copies, no
 * cache. task.c calls it. Such rows cost mostly memory latency, so records are prefetched while others are copied. */
#include "base/clock.h"
#include "sample.h"

bool leat_gather_can(const leat_plan *plan, const leat_worker *worker)
{
    bool can = plan->source->can_gather && !plan->cache && !plan->caches_on_device &&
               !plan->unbatches && !leat_expect_any(&worker->expect);
    for (int32_t c = 0; c < plan->n_chains && can; c++) {
        const leat_chain *const chain = &plan->chains[c];
        can = !chain->pad.on &&
              (chain->n_ops == 0 || (chain->n_ops == 1 && chain->ops[0].op->flags & LEAT_OP_COPY));
    }
    return can;
}

/* The stage is the source's, as in sample.c. */
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

uint64_t leat_gather_run(const leat_plan *plan, leat_worker *worker, const uint64_t *records,
                         uint64_t n, uint8_t *slot, uint64_t row, leat_timing timing)
{
    const int64_t cpu = timing == LEAT_TIMED_CPU ? leat_clock_cpu_ns() : 0;
    leat_gather g = {
        .records = records, .n = n, .n_tensors = plan->n_chains, .scratch = worker->scratch
    };
    leat_trace_span span = { .batch = worker->batch,
                             .record = records[0],
                             .kind = LEAT_TRACE_STAGE + LEAT_STAGE_READ };
    if (timing)
        span.start_ns = leat_clock_ns();
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        g.features[c] = chain->feature;
        g.rows[c] = slot + chain->host_offset + row * chain->host_bytes;
        g.row_bytes[c] = chain->host_bytes;
    }
    const uint64_t n_made = plan->source->table->gather(plan->source, &g);
    leat_trace_count(&worker->trace.stages[LEAT_STAGE_READ], n_made, g.n_read);
    worker->read_waited |= g.waited;
    if (!timing || !n_made)
        return n_made;
    span.n = (uint32_t)n_made;
    span.end_ns = leat_clock_ns();
    note(worker, timing, &span, timing == LEAT_TIMED_CPU ? leat_clock_cpu_ns() - cpu : 0);
    return n_made;
}
