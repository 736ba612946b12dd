/* SPDX-License-Identifier: MIT
 *
 * task.c: computes the rows of a task, one after the other, in one thread. sched.c calls it.
 * Invariant: one thread owns the task, so nothing here needs the lock, except to learn what a
 * row costs.
 *
 * DESIGN. Records are looked up some rows ahead, then each row goes all the way through
 * sample.c. Rows that are copies of records are made many at a time (gather.c). Few enough samples are
 * timed that timing costs less than one percent. */
#include "engine.h"

#include <string.h>

#include "base/clock.h"

#define STAMP_NS    30    /* cost of reading the clock */
#define STAMP_SHARE 0.005 /* part of a sample's time that may be spent on timing its stages */
#define CPU_NS      400   /* cost of reading the thread's CPU time */
#define CPU_SHARE   0.001 /* part of the time of samples that may be spent on that */

#define LOOKAHEAD 16 /* rows whose records are looked up together */

typedef struct leat_row_id {
    uint64_t sample, epoch;
} leat_row_id;

/* Finds the records of the next rows. Several rows at once, so that memory accesses overlap and
 * the source can prefetch what it will be asked for. */
static void look_up(const leat_plan *plan, leat_worker *worker, const leat_task *task, uint64_t row,
                    leat_row_id ids[LOOKAHEAD])
{
    const leat_source *const source = plan->source;
    for (uint64_t i = 0; i < LOOKAHEAD && row + i < task->n; i++) {
        if (task->read)
            ids[i] =
                (leat_row_id){ task->read->rows[row + i].sample, task->read->rows[row + i].epoch };
        else
            leat_order_row(&plan->order, &worker->order, &task->place, task->row + row + i,
                           &ids[i].sample, &ids[i].epoch);
        const uint64_t record = leat_order_record(&plan->order, ids[i].sample);
        if ((plan->cache && leat_cache_hint(plan->cache, record)) ||
            leat_device_cache_has(worker->device_cache, record))
            continue;
        if (source->table->hint)
            source->table->hint(source, record);
    }
}

/* How to time the next n rows: timed if any of them is due. */
static leat_timing time_next(leat_worker *worker, const leat_timing_rate *rate, uint32_t n)
{
    if (worker->until_timed > n || rate->timed_every == UINT32_MAX) {
        worker->until_timed -= n;
        return LEAT_UNTIMED;
    }
    worker->until_timed = rate->timed_every;
    return ++worker->n_timed % rate->cpu_every ? LEAT_TIMED : LEAT_TIMED_CPU;
}

/* Computes row i of the task. Adds its digest, if one is wanted, or its error to *out. */
static void compute_row(leat_loader *loader, leat_worker *worker, const leat_task *task, uint64_t i,
                        uint64_t sample, uint64_t epoch, const leat_timing_rate *rate,
                        leat_outcome *out)
{
    const leat_plan *const plan = loader->plan;
    const leat_row_read *const read = task->read ? &task->read->rows[i] : NULL;
    const uint64_t row = task->row + i;
    leat_stored stored = { 0 };
    leat_error error;
    if (read && read->bytes && !read->failed)
        stored = (leat_stored){ read->bytes, read->size, read->is_entry };
    const leat_timing timing = time_next(worker, rate, 1);
    worker->bucket = task->place.bucket;
    worker->first_row = task->place.first_row;
    if (plan->on_error == LEAT_ON_ERROR_MASK)
        task->slot->memory[plan->valid_offset + row] = 1;
    int rc = leat_sample_run(plan, worker, sample, epoch, &stored, task->slot->memory, row, timing,
                             &error);
    if (rc < 0)
        rc = leat_bad_rows_one(loader, worker, task->slot, row, sample, epoch, &error);
    if (rc >= 0 && plan->engine.digest && !plan->n_batch_ops)
        out->digest += leat_slot_digest_row(plan, &task->place, task->slot->memory, row);
    if (rc < 0 && out->error.code == LEAT_OK) {
        out->error = error;
        out->bad_row = row;
    }
}

/* Computes the rows one by one. Returns the record of the first. */
static uint64_t compute_rows(leat_loader *loader, leat_worker *worker, const leat_task *task,
                             const leat_timing_rate *rate, leat_outcome *out)
{
    leat_row_id ids[LOOKAHEAD];
    uint64_t first_record = 0;
    for (uint64_t i = 0; i < task->n; i++) {
        if (i % LOOKAHEAD == 0)
            look_up(loader->plan, worker, task, i, ids);
        if (i == 0)
            first_record = leat_order_record(&loader->plan->order, ids[0].sample);
        const leat_row_id *const id = &ids[i % LOOKAHEAD];
        compute_row(loader, worker, task, i, id->sample, id->epoch, rate, out);
    }
    return first_record;
}

/* Sets the valid marks of n copied rows and adds their digests. */
static void note_rows(const leat_loader *loader, const leat_task *task, uint64_t row, uint64_t n,
                      leat_outcome *out)
{
    const leat_plan *const plan = loader->plan;
    uint8_t *const memory = task->slot->memory;
    if (plan->on_error == LEAT_ON_ERROR_MASK)
        memset(memory + plan->valid_offset + row, 1, n);
    for (uint64_t i = 0; i < n && plan->engine.digest && !plan->n_batch_ops; i++)
        out->digest += leat_slot_digest_row(plan, &task->place, memory, row + i);
}

/* Computes row i of the task by itself. */
static void compute_one(leat_loader *loader, leat_worker *worker, const leat_task *task, uint64_t i,
                        const leat_timing_rate *rate, leat_outcome *out)
{
    uint64_t sample, epoch;
    leat_order_row(&loader->plan->order, &worker->order, &task->place, task->row + i, &sample,
                   &epoch);
    compute_row(loader, worker, task, i, sample, epoch, rate, out);
}

/* Computes the rows, which are copies of their records, many at a time. Returns the record of the first. */
static uint64_t gather_rows(leat_loader *loader, leat_worker *worker, const leat_task *task,
                            const leat_timing_rate *rate, leat_outcome *out)
{
    const leat_plan *const plan = loader->plan;
    uint64_t records[LEAT_GATHER_ROWS], first_record = 0;
    for (uint64_t i = 0; i < task->n; i += LEAT_GATHER_ROWS) {
        const uint64_t rest = task->n - i, row = task->row + i;
        const uint64_t n = rest < LEAT_GATHER_ROWS ? rest : LEAT_GATHER_ROWS;
        leat_order_rows(&plan->order, &worker->order, &task->place, row, n, records);
        first_record = i ? first_record : records[0];
        for (uint64_t k = 0; k < n; k++) {
            const uint64_t done =
                leat_gather_run(plan, worker, records + k, n - k, task->slot->memory, row + k,
                                time_next(worker, rate, (uint32_t)(n - k)));
            note_rows(loader, task, row + k, done, out);
            k += done;
            if (k < n)
                compute_one(loader, worker, task, i + k, rate, out);
        }
    }
    return first_record;
}

void leat_task_compute(leat_loader *loader, leat_worker *worker, const leat_task *task,
                       const leat_timing_rate *rate, leat_outcome *out)
{
    const int64_t start = leat_clock_ns();
    worker->batch = task->batch;
    leat_announce_rows(loader, worker, task);
    out->digest = 0;
    out->error.code = LEAT_OK;
    const uint64_t first_record = !task->read && leat_gather_can(loader->plan, worker)
                                      ? gather_rows(loader, worker, task, rate, out)
                                      : compute_rows(loader, worker, task, rate, out);
    out->ns = leat_sched_trace(worker, LEAT_TRACE_ROWS, start, task->batch, task->row, task->n,
                               first_record) -
              start;
}

leat_timing_rate leat_task_timing_rate_locked(const leat_loader *loader)
{
    if (!loader->plan->engine.timing)
        return (leat_timing_rate){ UINT32_MAX, UINT32_MAX };
    const double sample_ns = loader->sample_ns > 1 ? loader->sample_ns : 1000;
    const int32_t n_stamps = 3 + loader->plan->n_chains;
    const double timed = n_stamps * STAMP_NS / STAMP_SHARE / sample_ns;
    const double every = timed < 1 ? 1 : timed > 65536 ? 65536 : timed;
    const double n_clocks = 1 + leat_timing_n_stages(loader->plan);
    const double cpu = n_clocks * CPU_NS / CPU_SHARE / sample_ns / every;
    return (leat_timing_rate){ (uint32_t)every, cpu < 2       ? 2
                                                : cpu > 65536 ? 65536
                                                              : (uint32_t)cpu + 1 };
}
