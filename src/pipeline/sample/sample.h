/* SPDX-License-Identifier: MIT
 *
 * sample.h: makes one sample, from its bytes to its row. A worker runs all its steps in a row, while the data
 * are in the CPU's cache. The engine and probe.c call it. */
#ifndef LEAT_SAMPLE_H
#define LEAT_SAMPLE_H

#include "base/trace.h"
#include "pipeline/plan/plan_impl.h"

/* A record as it is before unbatch. The worker keeps it for the next sample of the same record. */
typedef struct leat_unbatch_record {
    bool valid;
    uint64_t record, epoch;
    size_t mark; /* end of the views in scratch */
    leat_view views[LEAT_MAX_FEATURES];
} leat_unbatch_record;

/* The state of one worker. [its worker] */
typedef struct leat_worker {
    leat_scratch *scratch;
    leat_order_cache order;
    leat_order_cache order_ahead; /* of the rows that it announces */
    leat_unbatch_record kept;
    uint32_t bucket;                              /* of the batch it works on */
    uint64_t first_row;                           /* of that batch: this rank's first row */
    leat_expect expect;                           /* of samples */
    const struct leat_device_cache *device_cache; /* cache: device; NULL: none */
    /* The consumer reads rows only after they have left the CPU's caches. [const after open] */
    bool streams;
    bool read_waited;        /* a record that it read was not in the page cache */
    uint32_t n_files_waited; /* records that are files, and were not there */
    uint32_t n_small;        /* small records that it read */
    int64_t batch;           /* whose rows it computes; for spans */
    int64_t idle_since;      /* it found nothing to do, ns; 0: it works [engine lock] */
    uint32_t until_timed;    /* samples until the next timed one */
    uint32_t n_timed;        /* timed samples, and timed tasks of batch ops */
    leat_trace trace;        /* totals per stage and spans; read by others as atomics */
} leat_worker;

/* timing.c: names the stages of a plan in trace order: read, parse, the ops of all chains, hits and fills of a
 * cache, batch ops. Ops on the device are listed too. Returns the number of stages. */
int32_t leat_timing_stages(const leat_plan *plan, leat_stage_stats *out);
int32_t leat_timing_n_stages(const leat_plan *plan);
/* Stages of a chain of the whole plan: the ops that workers may run, and the fused ops. */
static inline int32_t leat_timing_chain_stages(const leat_chain *chain)
{
    return chain->n_host + (chain->fused != NULL);
}
enum { LEAT_STAGE_READ, LEAT_STAGE_PARSE, LEAT_STAGE_FIRST_OP };

/* Bytes that were read ahead for a sample: its stored record, or its entry in the cache's file. */
typedef struct leat_stored {
    const uint8_t *bytes; /* NULL: none; the worker reads the record, or the source loads it */
    size_t size;
    bool is_entry;
} leat_stored;

typedef enum leat_timing { LEAT_UNTIMED, LEAT_TIMED, LEAT_TIMED_CPU } leat_timing;

/* Makes one sample in row `row` of a slot.
 * sample   its number, as leat_order_row() gives it
 * timing   whether the trace gets each stage's time, or its CPU time
 * returns  LEAT_OK, or the error with record and op in its message */
int leat_sample_run(const leat_plan *plan, leat_worker *worker, uint64_t sample, uint64_t epoch,
                    const leat_stored *stored, uint8_t *slot, uint64_t row, leat_timing timing,
                    leat_error *err);

/* gather.c: whether rows are copies of records, which are made many at a time. */
bool leat_gather_can(const leat_plan *plan, const leat_worker *worker);
/* Makes up to n such rows, 1 to LEAT_GATHER_ROWS, from row `row` of a slot on. Returns how many; the next one is for
 * leat_sample_run(). */
uint64_t leat_gather_run(const leat_plan *plan, leat_worker *worker, const uint64_t *records,
                         uint64_t n, uint8_t *slot, uint64_t row, leat_timing timing);

/* Call it after a task. Frees scratch beyond the first `bytes`. A kept record stays if it lies within them. */
void leat_sample_trim(leat_worker *worker, size_t bytes);

/* --- expect.c -------------------------------------------------------------------------------- */

static inline bool leat_expect_any(const leat_expect *expect)
{
    return expect->classes || expect->finite || expect->weights;
}

/* Checks the row of chain c; `batch` is for the message. LEAT_E_DATA: it is not as expected. Rows that batch
 * ops or a device still change are not checked. */
int leat_expect_row(const leat_expect *expect, const leat_plan *plan, int32_t c, uint32_t bucket,
                    const void *row, int64_t batch, leat_error *err);

/* Checks the classes of records that are known without making batches, see leat_loader_check(). */
int leat_expect_known(const leat_expect *expect, const leat_plan *plan, leat_error *err);

#endif
