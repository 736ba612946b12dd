/* SPDX-License-Identifier: MIT
 *
 * timing.c: names the stages that a sample passes, and times them.
 *
 * DESIGN. A timed sample has one stopwatch. Each stage is charged the time since the end of the stage before
 * it, so the times of all stages add up to the time of the sample. A worker's trace, the statistics and this
 * file list stages in the same order. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "sample_impl.h"

static leat_stage_stats stage_of(const char *tensor, const leat_op *op)
{
    leat_stage_stats out = { .does = op->flags & LEAT_OP_DECODE ? LEAT_DOES_DECODE : LEAT_DOES_OPS,
                             .is_random = (op->flags & LEAT_OP_RANDOM) != 0 };
    snprintf(out.name, sizeof out.name, "%s: %s", tensor, op->name);
    return out;
}

/* The fused ops of a chain. Where the placement on a GPU leaves none, the name is that of the whole plan's. */
static leat_stage_stats fused_of(const leat_plan *plan, const leat_plan *whole, int32_t c)
{
    const leat_chain *const chain = plan->chains[c].fused ? &plan->chains[c] : &whole->chains[c];
    leat_stage_stats out = stage_of(plan->tensors[c].name, chain->ops[chain->fused_from].op);
    const size_t n = strlen(out.name);
    if (out.does == LEAT_DOES_DECODE)
        out.does = LEAT_DOES_DECODE_AND_OPS;
    for (int32_t i = chain->fused_from; i < chain->fused_from + chain->n_fused; i++)
        out.is_random |= (chain->ops[i].op->flags & LEAT_OP_RANDOM) != 0;
    snprintf(out.name + n, sizeof out.name - n, " to %s",
             chain->ops[chain->fused_from + chain->n_fused - 1].op->name);
    return out;
}

int32_t leat_timing_stages(const leat_plan *plan, leat_stage_stats *out)
{
    const leat_plan *const whole = leat_plan_whole(plan);
    int32_t n = 0;
    out[n++] = (leat_stage_stats){ .name = "read", .does = LEAT_DOES_READ };
    out[n++] = (leat_stage_stats){ .name = "parse", .does = LEAT_DOES_PARSE };
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &whole->chains[c];
        for (int32_t i = 0; i < chain->n_host; i++)
            out[n++] = stage_of(plan->tensors[c].name, chain->ops[i].op);
        if (chain->fused)
            out[n++] = fused_of(plan, whole, c);
    }
    if (plan->cache || plan->caches_on_device) {
        out[n++] = (leat_stage_stats){ .name = "cache: hit", .does = LEAT_DOES_CACHE };
        out[n++] = (leat_stage_stats){ .name = "cache: fill", .does = LEAT_DOES_CACHE };
    }
    for (int32_t i = 0; i < plan->n_batch_ops; i++, n++) {
        out[n] = (leat_stage_stats){ .does = LEAT_DOES_OPS, .is_random = 1 };
        snprintf(out[n].name, sizeof out->name, "%s: %s",
                 plan->tensors[plan->batch_ops[i].chain].name, plan->batch_ops[i].op->kind.name);
    }
    leat_check(n == leat_timing_n_stages(plan) && n <= LEAT_MAX_STAGES);
    return n;
}

int32_t leat_timing_n_stages(const leat_plan *plan)
{
    const leat_plan *const whole = leat_plan_whole(plan);
    int32_t n =
        LEAT_STAGE_FIRST_OP + (plan->cache || plan->caches_on_device ? 2 : 0) + plan->n_batch_ops;
    for (int32_t c = 0; c < plan->n_chains; c++)
        n += leat_timing_chain_stages(&whole->chains[c]);
    return n;
}

void leat_timing_note(leat_trace_stage *stage, leat_stopwatch *stopwatch)
{
    leat_trace *const trace = &stopwatch->worker->trace;
    const leat_trace_span span = { .start_ns = stopwatch->since,
                                   .end_ns = leat_clock_ns(),
                                   .batch = stopwatch->worker->batch,
                                   .record = stopwatch->record,
                                   .n = 1,
                                   .kind = LEAT_TRACE_STAGE + (uint32_t)(stage - trace->stages) };
    leat_trace_put(&trace->spans, &span);
    stopwatch->since = span.end_ns;
    if (stopwatch->timing != LEAT_TIMED_CPU) {
        leat_trace_time(stage, 1, span.end_ns - span.start_ns);
        return;
    }
    const int64_t cpu = leat_clock_cpu_ns();
    leat_trace_cpu(stage, 1, cpu - stopwatch->cpu_since, span.end_ns - span.start_ns);
    stopwatch->cpu_since = cpu;
    stopwatch->since = leat_clock_ns();
}
