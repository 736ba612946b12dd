/* SPDX-License-Identifier: MIT
 *
 * sample.h: carries one sample from its bytes to its row, in one worker, while it is hot in cache. */
#ifndef LEAT_SAMPLE_H
#define LEAT_SAMPLE_H

#include "plan_impl.h"
#include "trace.h"

/* What one worker needs. [its worker] */
typedef struct leat_worker {
    leat_scratch *scratch;
    leat_order_cache order;
    uint32_t bucket;      /* of the batch it works on */
    leat_trace trace;     /* totals per stage and spans; read by others as atomics */
    int64_t batch;        /* whose rows it computes; for spans */
    uint32_t until_timed; /* samples until the next one whose stages are timed */
} leat_worker;

/* Names the stages of a plan in trace order: read, parse, the links of all chains, and what a cache
 * gives and takes, which come last. Returns their number. */
int32_t leat_sample_stages(const leat_plan *plan, leat_stage_stats *out);
enum { LEAT_STAGE_READ, LEAT_STAGE_PARSE, LEAT_STAGE_FIRST_LINK };

/* What was read ahead of a sample: the record as stored, or its entry in the cache's file. */
typedef struct leat_stored {
    const uint8_t *bytes; /* NULL: nothing; the source loads it (or it is read here when located) */
    size_t size;
    bool is_entry;
} leat_stored;

/* One sample to row j of a slot's memory.
 * timed    each stage's time goes into the trace
 * returns  LEAT_OK, or the error with record and op in its message */
int leat_sample_run(const leat_plan *plan, leat_worker *worker, uint64_t record, uint64_t epoch,
                    const leat_stored *stored, uint8_t *slot, uint64_t j, bool timed,
                    leat_error *err);

#endif
