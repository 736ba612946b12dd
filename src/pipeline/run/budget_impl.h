/* SPDX-License-Identifier: MIT
 *
 * budget_impl.h: how a loader divides its memory. loader_open.c and the command call it.
 * Invariant: a pure function: the same plan, facts and options give the same table on any
 * machine. */
#ifndef LEAT_BUDGET_IMPL_H
#define LEAT_BUDGET_IMPL_H

#include <math.h>

#include "base/machine.h"
#include "leat/budget.h"
#include "pipeline/plan/plan_impl.h"

/* prefetch: auto may grow until the batches ahead cover one sample of TIMES times the mean (decoding varies
 * less). Large batches need few. At most MOST. */
#define LEAT_PREFETCH_TIMES 512
#define LEAT_PREFETCH_MOST  64

/* Batches that outlast one row of `times` the mean, while `threads` make rows; in bounds. */
static inline int64_t leat_budget_prefetch_for(double times, double threads, double rows,
                                               int64_t most)
{
    const double n = ceil(times * (threads > 1 ? threads : 1) / (rows > 1 ? rows : 1));
    return n < LEAT_PREFETCH_FIRST ? LEAT_PREFETCH_FIRST : n > (double)most ? most : (int64_t)n;
}

#define LEAT_BUDGET_KEEP_SHARE 2 /* kept files take at most 1 / KEEP_SHARE of the limit */

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

/* --- budget_reading.c ------------------------------------------------------------------------- */

/* Preferred memory for reading ahead; 0: nothing reads ahead. */
int64_t leat_budget_read_bytes(const leat_plan *plan);
/* Whether it would help to keep files in memory. */
bool leat_budget_would_keep(const leat_plan *plan);
/* Memory for the parts of files that a shuffle in blocks needs at a time; 0: another order, or too much. */
int64_t leat_budget_parts_bytes(const leat_plan *plan);
/* Adds the reader and how far it reads ahead; wanted: leat_budget_read_bytes(). */
void leat_budget_decide_reading(const leat_budget_division *d, int64_t wanted);
/* Says what a shuffle costs whose files, or windows, do not fit, and what costs less.
 * others   bytes of all other rows, where no limit makes them less */
void leat_budget_decide_shuffle(const leat_budget_division *d, int64_t others);

/* --- budget.c --------------------------------------------------------------------------------- */

/* Errors as leat_plan_budget(). Fills least_bytes of *out even when it fails. */
int leat_budget_make(const leat_plan *plan, const leat_budget_facts *facts, leat_budget *out,
                     leat_error *err);

#endif
