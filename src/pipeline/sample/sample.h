/* SPDX-License-Identifier: MIT
 *
 * sample.h: carries one sample from its bytes to its row, in one worker, while it is hot in cache. */
#ifndef LEAT_SAMPLE_H
#define LEAT_SAMPLE_H

#include "base/trace.h"
#include "pipeline/plan/plan_impl.h"

/* A record whose parts are samples: what it came to before unbatch, for its next part. */
typedef struct leat_kept_record {
    bool valid;
    uint64_t record, epoch;
    size_t mark; /* of scratch, behind the views */
    leat_view views[LEAT_MAX_FEATURES];
} leat_kept_record;

/* What one worker needs. [its worker] */
typedef struct leat_worker {
    leat_scratch *scratch;
    leat_order_cache order;
    leat_kept_record kept;
    uint32_t bucket;    /* of the batch it works on */
    uint64_t first_row; /* of that batch, which this rank's rows begin with */
    leat_expect expect; /* of samples */
    const struct leat_device_cache *device_cache; /* rows that are on the device; NULL: none are */
    bool read_waited;     /* a record that it read was not in the page cache */
    int64_t batch;        /* whose rows it computes; for spans */
    uint32_t until_timed; /* samples until the next one whose stages are timed */
    uint32_t n_timed;     /* those that were, and parts of batch ops */
    leat_trace trace;     /* totals per stage and spans; read by others as atomics */
} leat_worker;

/* timing.c: names the stages of a plan in trace order: read, parse, the ops of all chains, what a cache gives and
 * takes, batch ops. Returns their number. Ops that a device does instead are listed too. */
int32_t leat_timing_stages(const leat_plan *plan, leat_stage_stats *out);
int32_t leat_timing_n_stages(const leat_plan *plan);
/* Of a chain of the whole plan: its ops that may be the workers', and a fused run. */
static inline int32_t leat_timing_chain_stages(const leat_chain *chain)
{
    return chain->n_host + (chain->fused != NULL);
}
enum { LEAT_STAGE_READ, LEAT_STAGE_PARSE, LEAT_STAGE_FIRST_OP };

/* What was read ahead of a sample: the record as stored, or its entry in the cache's file. */
typedef struct leat_stored {
    const uint8_t *bytes; /* NULL: nothing; the source loads it (or it is read here when located) */
    size_t size;
    bool is_entry;
} leat_stored;

typedef enum leat_timing { LEAT_UNTIMED, LEAT_TIMED, LEAT_TIMED_CPU } leat_timing;

/* One sample to row j of a slot's memory. record: as leat_order_row gives it.
 * timing   each stage's time goes into the trace, or its CPU time
 * returns  LEAT_OK, or the error with record and op in its message */
int leat_sample_run(const leat_plan *plan, leat_worker *worker, uint64_t record, uint64_t epoch,
                    const leat_stored *stored, uint8_t *slot, uint64_t j, leat_timing timing,
                    leat_error *err);

/* After a run of rows, or a part of a batch op: gives back what scratch took beyond so many bytes. A record that is kept for its
 * next part stays, if it is within them. */
void leat_sample_rest(leat_worker *worker, size_t bytes);

#endif
