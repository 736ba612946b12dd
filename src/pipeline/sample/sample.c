/* SPDX-License-Identifier: MIT
 *
 * sample.c: carries one sample from its record to its row in the batch. Workers call leat_sample_run().
 *
 * DESIGN. First all chains together get to the place of a cache: from its entry, or by running the ops before
 * it and storing the result. Then they get to unbatch, where a worker keeps the record for its next
 * sample. From there, each chain runs to its own row. */
#include "sample.h"

#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/scratch.h"
#include "device_cache.h"
#include "sample_impl.h"

#define ASKED_BYTES 4096 /* for smaller records the page-cache test costs more than it gains: */
#define ASKED_EVERY 16   /* ask for one in 16 */

/* --- the features of a record ------------------------------------------------------------------ */

/* Reads a located record into scratch. */
static int read_record(leat_worker *worker, const leat_extent *at, const uint8_t **out,
                       leat_error *err)
{
    uint8_t *const memory = leat_scratch_take(worker->scratch, at->size);
    if (!memory)
        return leat_fail(err, LEAT_E_NOMEM, "a record of %zu bytes does not fit in scratch",
                         at->size);
    *out = memory;
    if (at->size >= ASKED_BYTES || worker->n_small++ % ASKED_EVERY == 0) {
        if (leat_source_pread_cached(at->fd, memory, at->size, at->offset))
            return LEAT_OK;
        worker->read_waited = true;
    }
    return leat_source_pread_once(at->fd, memory, at->size, at->offset)
               ? LEAT_OK
               : leat_source_pread(at->fd, memory, at->size, at->offset, NULL, err);
}

/* Reads a record that is a file into scratch. NULL: it cannot; the source then says why, or can `load` it. */
static const uint8_t *read_file(const leat_source *source, leat_worker *worker, uint64_t record,
                                size_t size)
{
    const size_t mark = leat_scratch_mark(worker->scratch);
    uint8_t *const memory =
        source->table->read && size ? leat_scratch_take(worker->scratch, size) : NULL;
    int fd = -1, rc = memory ? source->table->read(source, record, memory, size, &fd) : LEAT_E_DATA;
    if (fd >= 0) {
        worker->n_files_waited++;
        rc = source->table->read(source, record, memory, size, &fd);
    }
    if (rc >= 0)
        return memory;
    leat_scratch_rewind(worker->scratch, mark);
    return NULL;
}

static int read_features(const leat_plan *plan, leat_worker *worker, uint64_t record,
                         const leat_stored *stored, leat_view *features, leat_stopwatch *stopwatch,
                         leat_error *err)
{
    const uint8_t *bytes = stored->is_entry ? NULL : stored->bytes;
    size_t size = stored->size;
    const leat_source *const source = plan->source;
    leat_trace_stage *const stages = worker->trace.stages;
    leat_extent extent = { .fd = -1 };
    int rc = LEAT_OK;
    if (!bytes && source->table->locate &&
        (rc = source->table->locate(source, record, &extent, err)) < 0)
        return rc;
    const uint8_t *const file =
        !bytes && extent.fd < 0 ? read_file(source, worker, record, extent.size) : NULL;
    if (!bytes && !file && extent.fd < 0) {
        size_t n_read = 0;
        rc = source->table->load(source, record, worker->scratch, features, &n_read, err);
        leat_trace_count(&stages[LEAT_STAGE_READ], 1, n_read);
        leat_timing_charge(&stages[LEAT_STAGE_READ], stopwatch);
        return rc;
    }
    if (!bytes) {
        bytes = file;
        if (!file && (rc = read_record(worker, &extent, &bytes, err)) < 0)
            return rc;
        size = extent.size;
        leat_trace_count(&stages[LEAT_STAGE_READ], 1, size);
        leat_timing_charge(&stages[LEAT_STAGE_READ], stopwatch);
    }
    rc = source->table->parse(source, record, bytes, size, worker->scratch, features, err);
    leat_trace_count(&stages[LEAT_STAGE_PARSE], 1, size);
    leat_timing_charge(&stages[LEAT_STAGE_PARSE], stopwatch);
    return rc;
}

/* Drops the JPEG tables of features, or requires them, as engine.jpeg_index says. */
static int take_seeks(const leat_plan *plan, leat_view *features, leat_error *err)
{
    for (int32_t i = 0; i < plan->source->n_features; i++) {
        const leat_seek *const seek = features[i].seek;
        if (plan->engine.jpeg_index == LEAT_JPEG_INDEX_OFF)
            features[i].seek = NULL;
        else if (plan->engine.jpeg_index == LEAT_JPEG_INDEX_REQUIRE && seek && seek->refused)
            return leat_fail(err, LEAT_E_DATA,
                             "the index of JPEG files is damaged or of other bytes: rebuild it "
                             "with `leat index --jpeg --rebuild`, or set engine.jpeg_index: auto");
    }
    return LEAT_OK;
}

/* Gets a record's features: from bytes that the engine has read; or the source locates them and the worker reads them
 * here, with the source's `read` if the record is a file of its own; or the source loads the record itself. */
static int fetch_features(const leat_plan *plan, leat_worker *worker, uint64_t record,
                          const leat_stored *stored, leat_view *features, leat_stopwatch *stopwatch,
                          leat_error *err)
{
    for (int32_t i = 0; i < plan->source->n_features; i++)
        features[i].seek = NULL; /* most sources have none */
    const int rc = read_features(plan, worker, record, stored, features, stopwatch, err);
    return rc < 0 ? rc : take_seeks(plan, features, err);
}

/* --- from the features to the row -------------------------------------------------------------- */

/* One row to make: what leat_sample_run() was asked for, and the state of its chains. */
typedef struct leat_row_job {
    const leat_plan *plan;
    leat_worker *worker;
    uint64_t sample, record;
    const leat_stored *stored;
    uint8_t *slot;
    uint64_t row; /* of the slot */
    leat_stopwatch stopwatch;
    leat_trace_stage *hits, *fills; /* of a cache */
    leat_sample samples[LEAT_MAX_FEATURES];
} leat_row_job;

/* Fills a leat_sample per chain. */
static void begin(leat_row_job *job, uint64_t epoch)
{
    const leat_plan *const plan = job->plan, *const whole = leat_plan_whole(plan);
    leat_worker *const worker = job->worker;
    leat_trace_stage *stages = &worker->trace.stages[LEAT_STAGE_FIRST_OP];
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        leat_sample *const s = &job->samples[c];
        s->plan = plan; /* field by field: clearing the view would cost time */
        s->chain = chain;
        s->name = plan->tensors[c].name;
        s->worker = worker;
        s->stages = stages;
        s->fused_stage = whole->chains[c].fused ? whole->chains[c].n_host : chain->fused_from;
        s->record = s->number = job->record;
        s->epoch = epoch;
        s->owned = false;
        s->seek = NULL; /* an entry of a cache has none */
        s->row = job->slot + chain->host_offset +
                 job->row * leat_chain_host_bytes(chain, &plan->order, worker->bucket);
        s->lengths = leat_chain_lengths(chain, job->slot, job->row);
        stages += leat_timing_chain_stages(&whole->chains[c]);
    }
    job->hits = &stages[0];
    job->fills = &stages[1];
}

/* Takes all chains to the place of the cache, from its entry. false: it has none. */
static bool take_cached(leat_row_job *job)
{
    const leat_stored *const stored = job->stored;
    leat_worker *const worker = job->worker;
    leat_cache_sample kept;
    uint64_t n_bytes = 0;
    const uint8_t *const entry = stored->is_entry ? stored->bytes : NULL;
    if (!leat_cache_take(job->plan->cache, job->record, entry, stored->size, worker->scratch,
                         &kept))
        return false;
    for (int32_t c = 0; c < job->plan->n_chains; c++) {
        job->samples[c].view = kept.views[c];
        job->samples[c].owned = kept.owned;
        n_bytes += (uint64_t)leat_shape_bytes(&kept.views[c].shape);
    }
    if (kept.n_read) /* its time is that of the hit */
        leat_trace_count(&worker->trace.stages[LEAT_STAGE_READ], 0, kept.n_read);
    leat_trace_count(job->hits, 1, n_bytes);
    leat_timing_charge(job->hits, &job->stopwatch);
    return true;
}

/* Runs all chains to the cache, and stores the result there. */
static int fill_cache(leat_row_job *job, leat_error *err)
{
    const leat_plan *const plan = job->plan;
    leat_view views[LEAT_MAX_FEATURES];
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const int rc =
            leat_chain_run(&job->samples[c], 0, plan->chains[c].cache_at, &job->stopwatch, err);
        if (rc < 0)
            return rc;
        views[c] = job->samples[c].view;
    }
    leat_cache_put(plan->cache, job->record, views, job->worker->scratch);
    leat_trace_count(job->fills, 1, 0);
    leat_timing_charge(job->fills, &job->stopwatch);
    return LEAT_OK;
}

/* Takes all chains to the cache. Without one, that is their first op. */
static int reach_cache(leat_row_job *job, leat_error *err)
{
    const leat_plan *const plan = job->plan;
    leat_view features[LEAT_MAX_FEATURES];
    if (plan->cache && take_cached(job))
        return LEAT_OK;
    const int rc =
        fetch_features(plan, job->worker, job->record, job->stored, features, &job->stopwatch, err);
    if (rc < 0)
        return rc;
    for (int32_t c = 0; c < plan->n_chains; c++) {
        job->samples[c].view = features[plan->chains[c].feature];
        job->samples[c].seek = job->samples[c].view.seek;
    }
    return plan->cache ? fill_cache(job, err) : LEAT_OK;
}

/* Keeps a record before unbatch, in scratch: bytes that were read ahead may be gone when its next part is made. */
static int keep_record(const leat_sample *s, leat_view *out, leat_error *err)
{
    const size_t bytes = (size_t)leat_shape_bytes(&s->view.shape);
    if (s->view.shape.rank < 1 ||
        (uint64_t)s->view.shape.dims[0] != s->plan->order.samples_per_record)
        return leat_fail(err, LEAT_E_DATA, "'%s' has %lld rows where unbatch makes %llu samples",
                         s->name, s->view.shape.rank < 1 ? 1ll : (long long)s->view.shape.dims[0],
                         (unsigned long long)s->plan->order.samples_per_record);
    *out = s->view;
    if (s->owned)
        return LEAT_OK;
    out->data = leat_scratch_take(s->worker->scratch, bytes);
    if (!out->data)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes do not fit in scratch", bytes);
    memcpy(out->data, s->view.data, bytes);
    return LEAT_OK;
}

/* Takes all chains to unbatch, unless the worker has kept the record from the sample before. */
static int reach_parts(leat_row_job *job, leat_error *err)
{
    leat_worker *const worker = job->worker;
    leat_unbatch_record *const kept = &worker->kept;
    if (kept->valid && kept->record == job->record && kept->epoch == job->samples->epoch) {
        leat_scratch_rewind(worker->scratch, kept->mark);
        return LEAT_OK;
    }
    kept->valid = false;
    leat_scratch_reset(worker->scratch);
    int rc = reach_cache(job, err);
    for (int32_t c = 0; c < job->plan->n_chains && rc >= 0; c++) {
        const leat_chain *const chain = &job->plan->chains[c];
        leat_sample *const s = &job->samples[c];
        if ((rc = leat_chain_run(s, chain->cache_at, chain->unbatch_at, &job->stopwatch, err)) >= 0)
            rc = keep_record(s, &kept->views[c], err);
    }
    if (rc < 0)
        return rc;
    kept->record = job->record;
    kept->epoch = job->samples->epoch;
    kept->mark = leat_scratch_mark(worker->scratch);
    kept->valid = true;
    return LEAT_OK;
}

/* The sample is a part of a record that was kept. Its ops draw by its own number from here on. */
static void take_part(leat_sample *s, const leat_view *element, uint64_t sample)
{
    const uint64_t part = sample % s->plan->order.samples_per_record;
    s->number = sample;
    s->view.shape = leat_shape_part(&element->shape);
    s->view.data = (uint8_t *)element->data + part * (size_t)leat_shape_bytes(&s->view.shape);
    s->view.seek = NULL;
    s->owned = false; /* the same part may be needed again */
}

/* Takes all chains to the cache or to unbatch, whichever is later. */
static int reach_sample(leat_row_job *job, leat_error *err)
{
    if (!job->plan->unbatches) {
        leat_scratch_reset(job->worker->scratch);
        return reach_cache(job, err);
    }
    const int rc = reach_parts(job, err);
    for (int32_t c = 0; c < job->plan->n_chains && rc >= 0; c++)
        take_part(&job->samples[c], &job->worker->kept.views[c], job->sample);
    return rc;
}

static void count_seek(const leat_seek *seek, leat_trace *trace)
{
    leat_trace_add(&trace->n_seek, (uint64_t)seek->used);
    leat_trace_add(&trace->n_seek_refused, (uint64_t)seek->refused);
}

/* Runs all chains to their rows. */
static int make_row(leat_row_job *job, leat_error *err)
{
    const leat_plan *const plan = job->plan;
    const leat_worker *const worker = job->worker;
    int rc = reach_sample(job, err);
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++) {
        const leat_chain *const chain = &plan->chains[c];
        leat_sample *const s = &job->samples[c];
        const int32_t from = plan->unbatches          ? chain->unbatch_at
                             : plan->caches_on_device ? 0
                                                      : chain->cache_at;
        if ((rc = leat_chain_run(s, from, chain->n_host, &job->stopwatch, err)) < 0 ||
            (rc = leat_chain_end(s, job->slot, job->row, &job->stopwatch, err)) < 0)
            return rc;
        if (leat_expect_any(&worker->expect))
            rc = leat_expect_row(&worker->expect, plan, c, worker->bucket, s->row, worker->batch,
                                 err);
    }
    return rc;
}

/* With cache: device. Draws only the random decisions of a row that is on the device. */
static int make_cached_row(leat_row_job *job, leat_error *err)
{
    const bool there = leat_device_cache_has(job->worker->device_cache, job->record);
    leat_trace_stage *const stage = there ? job->hits : job->fills;
    int rc = LEAT_OK;
    leat_device_cache_write(job->plan, job->slot, job->row, job->record, there);
    if (!there)
        rc = make_row(job, err);
    for (int32_t c = 0; c < job->plan->n_chains && there && rc >= 0; c++)
        rc = leat_chain_draw(&job->samples[c], job->slot, job->row, err);
    leat_trace_count(stage, 1, 0);
    leat_timing_charge(stage, &job->stopwatch);
    return rc;
}

int leat_sample_run(const leat_plan *plan, leat_worker *worker, uint64_t sample, uint64_t epoch,
                    const leat_stored *stored, uint8_t *slot, uint64_t row, leat_timing timing,
                    leat_error *err)
{
    const uint64_t record = leat_order_record(&plan->order, sample);
    leat_check(record < plan->source->n_records);
    leat_row_job job; /* field by field: clearing its samples would cost time */
    job.plan = plan;
    job.worker = worker;
    job.sample = sample;
    job.record = record;
    job.stored = stored;
    job.slot = slot;
    job.row = row;
    job.stopwatch = (leat_stopwatch){ .timing = timing, .worker = worker, .record = record };
    if (timing == LEAT_TIMED_CPU)
        job.stopwatch.cpu_since = leat_clock_cpu_ns();
    if (timing)
        job.stopwatch.since = leat_clock_ns();
    begin(&job, epoch);
    const int rc = plan->caches_on_device ? make_cached_row(&job, err) : make_row(&job, err);
    if (rc < 0)
        return leat_source_fail_in(plan->source, record, err, rc);
    for (int32_t c = 0; c < plan->n_chains; c++)
        if (job.samples[c].seek)
            count_seek(job.samples[c].seek, &worker->trace);
    return LEAT_OK;
}

void leat_sample_trim(leat_worker *worker, size_t bytes)
{
    leat_unbatch_record *const kept = &worker->kept;
    leat_check(!kept->valid || kept->mark <= leat_scratch_mark(worker->scratch));
    kept->valid &= kept->mark <= bytes;
    leat_scratch_rewind(worker->scratch, kept->valid ? kept->mark : 0);
    leat_scratch_trim(worker->scratch, bytes);
}
