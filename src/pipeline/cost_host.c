/* SPDX-License-Identifier: MIT
 *
 * cost_host.c: what a sample costs a thread, with the ops cut at each place.
 *
 * DESIGN. Each try is the plan as a loader would run it with that cut, so what is done in one go there
 * is done in one go here. A few records are carried through all tries by turns, several times, and the
 * least time counts: noise only ever adds. A cache is stood in for by a small one in memory that has
 * these records, since that is what later epochs meet. The whole is bounded in time: what was not
 * reached then is left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cost.h"
#include "sample.h"

#define LIMIT_NS   25000000 /* after this nothing more is begun, once every try has run */
#define HARD_NS    40000000 /* after this nothing more is begun */
#define SHORT_NS   20000 /* shorter samples are run several times between two looks at the clock */
#define MOST_TIMES 64
#define PASSES     5
#define OP_PASSES  3
#define CACHE_ROOM ((int64_t)64 << 20)

typedef struct host_job {
    leat_cost_try *tries;
    int32_t n;
    leat_worker *worker;
    int n_records; /* each to its own row */
    uint64_t records[LEAT_COST_RECORDS];
    int64_t start_ns;
} host_job;

static int run(const leat_plan *plan, leat_worker *worker, uint64_t record, uint8_t *slot,
               uint64_t row, leat_timing timing)
{
    leat_error err;
    return leat_sample_run(plan, worker, record * plan->order.parts, 0,
                           &(leat_stored){ .bytes = NULL }, slot, row, timing, &err);
}

/* One sample of one try; keeps the least time. */
static void run_try(const host_job *job, leat_cost_try *t, int r)
{
    const bool known = isfinite(t->ns[r]);
    const int times = known && t->ns[r] < SHORT_NS
                          ? (int)fmin(MOST_TIMES, SHORT_NS / (t->ns[r] > 1 ? t->ns[r] : 1))
                          : 1;
    const int64_t start_ns = leat_clock_ns();
    for (int i = 0; i < times; i++)
        if (run(t->plan, job->worker, job->records[r], t->slot, (uint64_t)r, LEAT_UNTIMED) < 0)
            return;
    const double ns = (double)(leat_clock_ns() - start_ns) / times;
    if (ns < t->ns[r])
        t->ns[r] = ns;
}

/* All tries by turns, as long as there is time. */
static void run_all(const host_job *job)
{
    for (int r = 0; r < job->n_records; r++) /* pages, caches and scratch are warm from here on */
        run(job->tries->plan, job->worker, job->records[r], job->tries->slot, (uint64_t)r,
            LEAT_UNTIMED);
    for (int pass = 0; pass < PASSES; pass++)
        for (int r = 0; r < job->n_records; r++)
            for (int32_t i = 0; i < job->n; i++) {
                const int64_t ns = leat_clock_ns() - job->start_ns;
                const bool is_first = pass + r + i == 0; /* without it nothing is known */
                if (!is_first && (ns > HARD_NS || (ns > LIMIT_NS && pass + r > 0)))
                    return;
                run_try(job, &job->tries[i], r);
            }
}

/* The record that counts first: one that got through where nothing is cut. -1: none did. */
static int first_record(const leat_cost_try *whole)
{
    for (int r = 0; r < LEAT_COST_RECORDS; r++)
        if (isfinite(whole->ns[r]))
            return r;
    return -1;
}

/* Every try's mean over the records that all have run; a try that has not run the first of them is out.
 * Returns the number of these records. */
static int settle(const host_job *job, bool rows[LEAT_COST_RECORDS])
{
    const int first = first_record(job->tries);
    int n = 0;
    for (int r = 0; r < LEAT_COST_RECORDS; r++) {
        rows[r] = first >= 0;
        for (int32_t i = 0; i < job->n && rows[r]; i++)
            rows[r] = isfinite(job->tries[i].ns[r]) || !isfinite(job->tries[i].ns[first]);
        n += rows[r];
    }
    for (int32_t i = 0; i < job->n && n; i++) {
        leat_cost_try *const t = &job->tries[i];
        t->host_ns = 0;
        for (int r = 0; r < LEAT_COST_RECORDS; r++)
            t->host_ns += rows[r] ? t->ns[r] / n : 0; /* INFINITY for one that is out */
    }
    return n;
}

/* --- single ops ----------------------------------------------------------------------------------- */

/* Adds the times of the stages of a plan, one record after the other, to the ops they belong to. */
static void add_stages(const leat_plan *plan, leat_worker *worker, int n, leat_costs *out)
{
    int32_t stage = LEAT_STAGE_FIRST_LINK;
    for (int32_t c = 0; c < plan->n_chains; c++)
        for (int32_t i = 0; i < plan->chains[c].n_host; i++, stage++)
            if (worker->trace.stages[stage].n_timed)
                out->op_host_ns[c][i] = (double)worker->trace.stages[stage].ns / n;
}

/* Every op by itself, which is what a line per op can say; where they are done in one go that is dearer
 * than what they cost. */
static void run_ops(const host_job *job, const bool rows[LEAT_COST_RECORDS], leat_costs *out)
{
    leat_plan *const plan = job->tries->plan;
    int n = 0;
    for (int32_t c = 0; c < plan->n_chains; c++)
        plan->chains[c].fused = NULL;
    memset(&job->worker->trace, 0, sizeof job->worker->trace);
    for (int i = 0; i < OP_PASSES * LEAT_COST_RECORDS; i++) {
        const int r = i % LEAT_COST_RECORDS;
        if (leat_clock_ns() - job->start_ns < HARD_NS && rows[r] &&
            run(plan, job->worker, job->records[r], job->tries->slot, (uint64_t)r, LEAT_TIMED) >= 0)
            n++;
    }
    if (n)
        add_stages(plan, job->worker, n, out);
}

/* --- opening -------------------------------------------------------------------------------------- */

static int open_cache(const leat_plan *plan, leat_cache **out, leat_error *err)
{
    const leat_cache_options o = { .file = { "memory" }, .bytes = CACHE_ROOM };
    leat_cache_layout layout = { .n = plan->n_chains };
    leat_cache_origin *const origin = calloc(1, sizeof *origin);
    *out = NULL;
    if (!origin)
        return leat_fail(err, LEAT_E_NOMEM, "cache");
    for (int32_t c = 0; c < plan->n_chains; c++)
        layout.shapes[c] = plan->chains[c].cut_shape;
    origin->n_records = plan->source->n_records;
    int rc = leat_cache_new(out, &o, "", err);
    if (rc >= 0) {
        leat_cache_describe(*out, &layout, origin);
        rc = leat_cache_open(*out, err);
    }
    free(origin);
    return rc;
}

/* A slot for every try; it takes as much memory as its first rows do. */
static int open_slots(const host_job *job, leat_cache *cache, leat_error *err)
{
    for (int32_t i = 0; i < job->n; i++) {
        leat_cost_try *const t = &job->tries[i];
        t->plan->cache = cache;
        t->host_ns = INFINITY;
        for (int r = 0; r < LEAT_COST_RECORDS; r++)
            t->ns[r] = INFINITY;
        const int rc = leat_scratch_open(&t->room, t->plan->slot_bytes, err);
        t->slot = rc < 0 ? NULL : leat_scratch_take(t->room, t->plan->slot_bytes);
        if (!t->slot)
            return rc < 0 ? rc : leat_fail(err, LEAT_E_NOMEM, "a slot");
    }
    return LEAT_OK;
}

int leat_cost_host(const leat_plan *plan, leat_cost_try *tries, int32_t n, leat_costs *out,
                   bool rows[LEAT_COST_RECORDS], leat_error *err)
{
    host_job job = { tries, n, .worker = calloc(1, sizeof *job.worker) };
    leat_cache *cache = NULL;
    if (!job.worker)
        return leat_fail(err, LEAT_E_NOMEM, "a worker");
    const uint64_t n_rows = leat_order_slot_rows(&plan->order);
    job.n_records = n_rows < LEAT_COST_RECORDS ? (int)n_rows : LEAT_COST_RECORDS;
    for (int r = 0; r < LEAT_COST_RECORDS; r++)
        job.records[r] = plan->source->n_records * (2 * (uint64_t)r + 1) / (2 * LEAT_COST_RECORDS);
    if (plan->order
            .buckets) { /* in the last one any sample has room, but it may have one row only */
        job.worker->bucket = plan->order.buckets->n - 1;
        job.n_records = 1;
    }
    int rc = leat_scratch_open(&job.worker->scratch, leat_look_room(plan), err);
    if (rc >= 0 && plan->cache)
        rc = open_cache(plan, &cache, err);
    if (rc >= 0)
        rc = open_slots(&job, cache, err);
    if (rc >= 0) {
        job.start_ns = leat_clock_ns();
        run_all(&job);
        if (settle(&job, rows))
            run_ops(&job, rows, out);
        else
            rc = leat_fail(err, LEAT_E_DATA, "none of the %d samples tried got through the ops",
                           LEAT_COST_RECORDS);
    }
    leat_scratch_close(&job.worker->scratch);
    leat_cache_close(&cache);
    free(job.worker);
    return rc;
}
