/* SPDX-License-Identifier: MIT
 *
 * watch.c: the stages of a sample's journey: their names, and what of its time each takes.
 *
 * DESIGN. A sample that is timed has one clock, and each stage is charged what went by since the one
 * before it. So the times of the stages add up to the sample's. Stages have one order everywhere: in a
 * worker's trace, in the statistics and here. */
#include <stdio.h>

#include "clock.h"
#include "journey.h"

int32_t leat_watch_stages(const leat_plan *plan, leat_stage_stats *out)
{
    int32_t n = 0;
    snprintf(out[n++].name, sizeof out->name, "read");
    snprintf(out[n++].name, sizeof out->name, "parse");
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        for (int32_t i = 0; i < chain->n_host; i++)
            snprintf(out[n++].name, sizeof out->name, "%s: %s", plan->tensors[c].name,
                     chain->links[i].op->name);
        if (chain->fused)
            snprintf(out[n++].name, sizeof out->name, "%s: %s to %s", plan->tensors[c].name,
                     chain->links[chain->fused_from].op->name,
                     chain->links[chain->fused_from + chain->n_fused - 1].op->name);
    }
    if (plan->cache || plan->keeps) {
        snprintf(out[n++].name, sizeof out->name, "cache: hit");
        snprintf(out[n++].name, sizeof out->name, "cache: fill");
    }
    for (int32_t i = 0; i < plan->n_batch_links; i++)
        snprintf(out[n++].name, sizeof out->name, "%s: %s",
                 plan->tensors[plan->batch_links[i].chain].name,
                 plan->batch_links[i].op->kind.name);
    return n;
}

int32_t leat_watch_n_stages(const leat_plan *plan)
{
    int32_t n = LEAT_STAGE_FIRST_LINK + (plan->cache || plan->keeps ? 2 : 0) + plan->n_batch_links;
    for (int32_t c = 0; c < plan->n_chains; c++)
        n += plan->chains[c].n_host + (plan->chains[c].fused != NULL);
    return n;
}

void leat_watch_note(leat_trace_stage *stage, leat_watch *watch)
{
    leat_trace *const trace = &watch->worker->trace;
    const leat_trace_span span = { .start_ns = watch->since,
                                   .end_ns = leat_clock_ns(),
                                   .batch = watch->worker->batch,
                                   .record = watch->record,
                                   .n = 1,
                                   .kind = LEAT_TRACE_STAGE + (uint32_t)(stage - trace->stages) };
    leat_trace_put(&trace->spans, &span);
    watch->since = span.end_ns;
    if (watch->timing != LEAT_TIMED_CPU) {
        leat_trace_time(stage, 1, span.end_ns - span.start_ns);
        return;
    }
    const int64_t cpu = leat_clock_cpu_ns();
    leat_trace_cpu(stage, 1, cpu - watch->cpu_since, span.end_ns - span.start_ns);
    watch->cpu_since = cpu;
    watch->since = leat_clock_ns();
}
