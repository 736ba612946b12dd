/* SPDX-License-Identifier: MIT
 *
 * task.c: the rows of a span, one after the other, in one worker.
 *
 * DESIGN. A worker has a span to itself, so nothing here needs the lock but the look at what a row costs.
 * Records are looked up a handful of rows ahead of their turn, and then each row goes its whole way
 * (sample.c). Looks at the clock are rationed by that cost: samples are timed so rarely that it stays
 * below one percent. */
#include "task.h"

#include "base/clock.h"

#define STAMP_NS    30    /* one look at the clock */
#define STAMP_SHARE 0.005 /* of a sample's time may go into timing its stages */
#define CPU_NS      400   /* one look at the thread's CPU time */
#define CPU_SHARE   0.001 /* of the time of samples may go into that */

#define AHEAD 16 /* rows whose records are looked up together */

typedef struct leat_row_id {
    uint64_t record, epoch;
} leat_row_id;

/* Which records stand in the next rows. Done for several rows at once, so that the look-ups overlap
 * and the source can fetch what it will be asked for. */
static void look_up(const leat_plan *plan, leat_worker *worker, const leat_work *span, uint64_t row,
                    leat_row_id ids[AHEAD])
{
    const leat_source *const source = plan->source;
    for (uint64_t i = 0; i < AHEAD && row + i < span->n; i++) {
        if (span->run)
            ids[i] =
                (leat_row_id){ span->run->rows[row + i].record, span->run->rows[row + i].epoch };
        else
            leat_order_row(&plan->order, &worker->order, &span->place, span->row + row + i,
                           &ids[i].record, &ids[i].epoch);
        const uint64_t record = leat_order_record(&plan->order, ids[i].record);
        if ((plan->cache && leat_cache_hint(plan->cache, record)) ||
            leat_device_cache_has(worker->device_cache, record))
            continue;
        if (source->table->hint)
            source->table->hint(source, record);
    }
}

static leat_timing time_next(leat_worker *worker, const leat_sampling *often)
{
    if (worker->until_timed > 1 || often->timed_every == UINT32_MAX) {
        worker->until_timed--;
        return LEAT_UNTIMED;
    }
    worker->until_timed = often->timed_every;
    return ++worker->n_timed % often->cpu_every ? LEAT_TIMED : LEAT_TIMED_CPU;
}

/* One row; its digest, if wanted, goes into *digest. */
static int compute_row(leat_loader *loader, leat_worker *worker, const leat_work *span, uint64_t i,
                       const leat_row_id *id, const leat_sampling *often, uint64_t *digest,
                       leat_error *err)
{
    const leat_plan *const plan = loader->plan;
    const leat_row_read *const read = span->run ? &span->run->rows[i] : NULL;
    leat_stored stored = { 0 };
    if (read && read->bytes && !read->failed)
        stored = (leat_stored){ read->bytes, read->size, read->is_entry };
    const leat_timing timing = time_next(worker, often);
    worker->bucket = span->place.bucket;
    worker->first_row = span->place.first_row;
    if (plan->on_error == LEAT_ON_ERROR_MASK)
        span->slot->memory[plan->valid_offset + span->row + i] = 1;
    int rc = leat_sample_run(plan, worker, id->record, id->epoch, &stored, span->slot->memory,
                             span->row + i, timing, err);
    if (rc < 0)
        rc = leat_bad_rows_one(loader, worker, span->slot, span->row + i, id->record, id->epoch,
                               err);
    if (rc >= 0 && plan->engine.digest && !plan->n_batch_ops)
        *digest += leat_slot_digest_row(plan, &span->place, span->slot->memory, span->row + i);
    return rc;
}

void leat_task_compute(leat_loader *loader, leat_worker *worker, const leat_work *span,
                       const leat_sampling *often, leat_outcome *out)
{
    const int64_t start = leat_clock_ns();
    leat_row_id ids[AHEAD];
    uint64_t first_record = 0;
    leat_error error;
    worker->batch = span->batch;
    out->digest = 0;
    out->error.code = LEAT_OK;
    for (uint64_t i = 0; i < span->n; i++) {
        if (i % AHEAD == 0)
            look_up(loader->plan, worker, span, i, ids);
        if (i == 0)
            first_record = leat_order_record(&loader->plan->order, ids[0].record);
        if (compute_row(loader, worker, span, i, &ids[i % AHEAD], often, &out->digest, &error) <
                0 &&
            out->error.code == LEAT_OK) {
            out->error = error;
            out->bad_row = span->row + i;
        }
    }
    out->ns = leat_trace_note(worker, LEAT_TRACE_ROWS, start, span->batch, span->row, span->n,
                              first_record) -
              start;
}

leat_sampling leat_timing_rate_locked(const leat_loader *loader)
{
    if (!loader->plan->engine.timing)
        return (leat_sampling){ UINT32_MAX, UINT32_MAX };
    const double sample_ns = loader->sample_ns > 1 ? loader->sample_ns : 1000;
    const int32_t n_stamps = 3 + loader->plan->n_chains;
    const double timed = n_stamps * STAMP_NS / STAMP_SHARE / sample_ns;
    const double every = timed < 1 ? 1 : timed > 65536 ? 65536 : timed;
    const double looks = 1 + leat_timing_n_stages(loader->plan);
    const double cpu = looks * CPU_NS / CPU_SHARE / sample_ns / every;
    return (leat_sampling){ (uint32_t)every, cpu < 2       ? 2
                                             : cpu > 65536 ? 65536
                                                           : (uint32_t)cpu + 1 };
}
