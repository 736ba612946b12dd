/* SPDX-License-Identifier: MIT
 *
 * budget_impl.h: how a loader divides its memory. loader_open.c and the command call it.
 * Invariant: a pure function: the same plan, facts and options give the same table on any
 * machine. */
#ifndef LEAT_BUDGET_IMPL_H
#define LEAT_BUDGET_IMPL_H

#include "base/machine.h"
#include "leat/budget.h"
#include "pipeline/plan/plan_impl.h"

/* prefetch: auto may grow until the batches ahead cover one sample of TIMES times the mean (decoding varies
 * less). Large batches need few. At most MOST. */
#define LEAT_PREFETCH_TIMES 512
#define LEAT_PREFETCH_MOST  64

typedef struct leat_budget_facts {
    leat_machine machine;
    int64_t hold;
    char device[64]; /* "": batches stay in host memory */
} leat_budget_facts;

/* A budget while it is being made. */
typedef struct leat_budget_division {
    const leat_plan *plan;
    const leat_budget_facts *facts;
    leat_budget *out;
} leat_budget_division;

/* Threads of their own read ahead, because records are files: the consumer alone does all the work without threads. */
static inline bool leat_budget_reads_in_threads(const leat_plan *plan)
{
    return plan->source->table->read && plan->engine.reader == LEAT_READER_AUTO &&
           plan->engine.threads != 0;
}
/* A ring reads ahead, unless the kernel refuses it. */
static inline bool leat_budget_uses_ring(const leat_plan *plan)
{
    return plan->source->table->locate && !plan->source->table->read &&
           plan->engine.reader != LEAT_READER_PREAD;
}

/* Slots (or device buffers) for the consumer: one more if what is beyond `hold` is copied. */
static inline int64_t leat_budget_hold(const leat_loader_options *o)
{
    return (o && o->hold ? o->hold : 1) + (o && o->beyond_hold ? 1 : 0);
}

/* Rounds up to whole pages. */
static inline int64_t leat_budget_round_up(int64_t bytes)
{
    return (bytes + 4095) / 4096 * 4096;
}

/* Fills the table of d->out. Only the cache depends on the limit. */
void leat_budget_fill(const leat_budget_division *d, int64_t prefetch_most, int64_t read_bytes,
                      int64_t limit);

/* Adds a decision; the table may be full. stores.c also calls it, when a loader opens. */
LEAT_PRINTF(5, 6)
void leat_budget_decide(leat_budget *out, const char *name, int64_t to, const char *unit,
                        const char *format, ...);

/* Errors as leat_plan_budget(). Fills least_bytes of *out even when it fails. */
int leat_budget_make(const leat_plan *plan, const leat_budget_facts *facts, leat_budget *out,
                     leat_error *err);

#endif
