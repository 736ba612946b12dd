/* SPDX-License-Identifier: MIT
 *
 * sample.c: the whole way of one sample, from its record to its row.
 *
 * DESIGN. All chains go together to where samples part: to the cut of a cache, which gives what it has kept
 * or keeps what comes there, and to unbatch, where a worker holds on to what the record came to for its
 * next part. From there each chain goes its own way to its row. */
#include "sample.h"

#include <string.h>

#include "base/clock.h"
#include "base/scratch.h"
#include "device_cache.h"
#include "expect.h"
#include "journey.h"

/* The start of every chain's journey, for row `row` of a slot's memory. Returns the stages behind
 * those of all chains. */
static leat_trace_stage *begin(const leat_plan *plan, leat_worker *worker, uint64_t record,
                               uint64_t epoch, uint8_t *slot, uint64_t row, leat_sample *journeys)
{
    const leat_plan *const whole = leat_plan_whole(plan);
    leat_trace_stage *stages = &worker->trace.stages[LEAT_STAGE_FIRST_OP];
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        leat_sample *const j = &journeys[c];
        j->plan = plan; /* one by one: the view need not be cleared */
        j->chain = chain;
        j->name = plan->tensors[c].name;
        j->worker = worker;
        j->stages = stages;
        j->fused_stage = whole->chains[c].fused ? whole->chains[c].n_host : chain->fused_from;
        j->record = record;
        j->epoch = epoch;
        j->owned = false;
        j->seek = NULL; /* what comes out of a cache has none */
        j->row = slot + chain->host_offset +
                 row * leat_chain_host_bytes(chain, &plan->order, worker->bucket);
        j->lengths = leat_chain_lengths(chain, slot, row);
        stages += leat_timing_chain_stages(&whole->chains[c]);
    }
    return stages;
}

/* All chains to the cut, by what the cache has; false: by nothing. */
static bool jump(const leat_plan *plan, leat_sample *journeys, const leat_stored *stored,
                 leat_trace_stage *hits, leat_stopwatch *stopwatch)
{
    leat_worker *const worker = journeys->worker;
    leat_cache_sample kept;
    uint64_t n_bytes = 0;
    const uint8_t *const entry = stored->is_entry ? stored->bytes : NULL;
    if (!leat_cache_take(plan->cache, journeys->record, entry, stored->size, worker->scratch,
                         &kept))
        return false;
    for (int32_t c = 0; c < plan->n_chains; c++) {
        journeys[c].view = kept.views[c];
        journeys[c].owned = kept.owned;
        n_bytes += (uint64_t)leat_shape_bytes(&kept.views[c].shape);
    }
    if (kept.n_read)
        leat_trace_count(&worker->trace.stages[LEAT_STAGE_READ], 1, kept.n_read);
    leat_trace_count(hits, 1, n_bytes);
    leat_timing_charge(hits, stopwatch);
    return true;
}

/* All chains to the cut, from the record, for the cache to keep. */
static int walk(const leat_plan *plan, leat_sample *journeys, leat_trace_stage *fills,
                leat_stopwatch *stopwatch, leat_error *err)
{
    leat_view views[LEAT_MAX_FEATURES];
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const int rc = leat_chain_run(&journeys[c], 0, plan->chains[c].cut, stopwatch, err);
        if (rc < 0)
            return rc;
        views[c] = journeys[c].view;
    }
    leat_cache_put(plan->cache, journeys->record, views, journeys->worker->scratch);
    leat_trace_count(fills, 1, 0);
    leat_timing_charge(fills, stopwatch);
    return LEAT_OK;
}

/* All chains to the cut (which is their start when nothing is kept). */
static int reach_cut(const leat_plan *plan, leat_sample *journeys, const leat_stored *stored,
                     leat_trace_stage *stages, leat_stopwatch *stopwatch, leat_error *err)
{
    leat_view features[LEAT_MAX_FEATURES];
    if (plan->cache && jump(plan, journeys, stored, &stages[0], stopwatch))
        return LEAT_OK;
    const int rc = leat_features_fetch(plan, journeys->worker, journeys->record, stored, features,
                                       stopwatch, err);
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++) {
        journeys[c].view = features[plan->chains[c].feature];
        journeys[c].seek = journeys[c].view.seek;
    }
    return rc >= 0 && plan->cache ? walk(plan, journeys, &stages[1], stopwatch, err) : rc;
}

/* Keeps what a record came to before unbatch: in scratch, if it is not there already. Bytes that were
 * read ahead may be gone when the next part is made. */
static int keep(const leat_sample *j, leat_view *out, leat_error *err)
{
    const size_t bytes = (size_t)leat_shape_bytes(&j->view.shape);
    if (j->view.shape.rank < 1 || (uint64_t)j->view.shape.dims[0] != j->plan->order.parts)
        return leat_fail(err, LEAT_E_DATA, "'%s' has %lld rows where unbatch makes %llu samples",
                         j->name, j->view.shape.rank < 1 ? 1ll : (long long)j->view.shape.dims[0],
                         (unsigned long long)j->plan->order.parts);
    *out = j->view;
    if (j->owned)
        return LEAT_OK;
    out->data = leat_scratch_take(j->worker->scratch, bytes);
    if (!out->data)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes do not fit in scratch", bytes);
    memcpy(out->data, j->view.data, bytes);
    return LEAT_OK;
}

/* All chains to where unbatch stands, unless this worker has just been there with the record. */
static int reach_parts(const leat_plan *plan, leat_sample *journeys, const leat_stored *stored,
                       leat_trace_stage *stages, leat_stopwatch *stopwatch, leat_error *err)
{
    leat_worker *const worker = journeys->worker;
    leat_kept_record *const kept = &worker->kept;
    if (kept->valid && kept->record == journeys->record && kept->epoch == journeys->epoch) {
        leat_scratch_rewind(worker->scratch, kept->mark);
        return LEAT_OK;
    }
    kept->valid = false;
    leat_scratch_reset(worker->scratch);
    int rc = reach_cut(plan, journeys, stored, stages, stopwatch, err);
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++) {
        const leat_chain *const chain = &plan->chains[c];
        rc = leat_chain_run(&journeys[c], chain->cut, chain->unbatch_at, stopwatch, err);
        if (rc >= 0)
            rc = keep(&journeys[c], &kept->views[c], err);
    }
    kept->record = journeys->record;
    kept->epoch = journeys->epoch;
    kept->mark = leat_scratch_mark(worker->scratch);
    kept->valid = rc >= 0;
    return rc;
}

/* From the element that was kept to the sample that is its part. What it draws from here on is its own. */
static void take_part(leat_sample *j, const leat_view *element, uint64_t sample)
{
    const uint64_t part = sample % j->plan->order.parts;
    j->record = sample;
    j->view.shape = leat_shape_part(&element->shape);
    j->view.data = (uint8_t *)element->data + part * (size_t)leat_shape_bytes(&j->view.shape);
    j->view.seek = NULL;
    j->owned = false; /* the same part may be asked for again */
}

/* All chains to where each sample goes its own way: the cut of a cache, or unbatch. */
static int reach_sample(const leat_plan *plan, leat_sample *journeys, uint64_t sample,
                        const leat_stored *stored, leat_trace_stage *stages,
                        leat_stopwatch *stopwatch, leat_error *err)
{
    if (!plan->unbatches) {
        leat_scratch_reset(journeys->worker->scratch);
        return reach_cut(plan, journeys, stored, stages, stopwatch, err);
    }
    const int rc = reach_parts(plan, journeys, stored, stages, stopwatch, err);
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++)
        take_part(&journeys[c], &journeys->worker->kept.views[c], sample);
    return rc;
}

static void count_seek(const leat_seek *seek, leat_trace *trace)
{
    leat_trace_add(&trace->n_seek, (uint64_t)seek->used);
    leat_trace_add(&trace->n_seek_refused, (uint64_t)seek->refused);
}

/* A sample to its row, by all its ops. */
static int make_row(const leat_plan *plan, leat_sample *journeys, uint64_t sample,
                    const leat_stored *stored, uint8_t *slot, uint64_t row,
                    leat_trace_stage *stages, leat_stopwatch *stopwatch, leat_error *err)
{
    const leat_expect *const expect = &journeys->worker->expect;
    int rc = reach_sample(plan, journeys, sample, stored, stages, stopwatch, err);
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++) {
        const leat_chain *const chain = &plan->chains[c];
        const int32_t from = plan->unbatches          ? chain->unbatch_at
                             : plan->caches_on_device ? 0
                                                      : chain->cut;
        rc = leat_chain_run(&journeys[c], from, chain->n_host, stopwatch, err);
        if (rc >= 0)
            rc = leat_chain_end(&journeys[c], slot, row, stopwatch, err);
        if (rc >= 0 && (expect->classes || expect->finite))
            rc = leat_expect_row(expect, plan, c, journeys->worker->bucket, journeys[c].row,
                                 journeys->worker->batch, err);
    }
    return rc;
}

/* The same where rows are kept on the device: for one that is there only decisions are made. */
static int make_kept_row(const leat_plan *plan, leat_sample *journeys, uint64_t sample,
                         const leat_stored *stored, uint8_t *slot, uint64_t row,
                         leat_trace_stage *stages, leat_stopwatch *stopwatch, leat_error *err)
{
    const bool there = leat_device_cache_has(journeys->worker->device_cache, stopwatch->record);
    int rc = LEAT_OK;
    leat_device_cache_write(plan, slot, row, stopwatch->record, there);
    if (!there)
        rc = make_row(plan, journeys, sample, stored, slot, row, stages, stopwatch, err);
    for (int32_t c = 0; c < plan->n_chains && there && rc >= 0; c++)
        rc = leat_chain_draw(&journeys[c], slot, row, err);
    leat_trace_count(&stages[there ? 0 : 1], 1, 0);
    leat_timing_charge(&stages[there ? 0 : 1], stopwatch);
    return rc;
}

int leat_sample_run(const leat_plan *plan, leat_worker *worker, uint64_t sample, uint64_t epoch,
                    const leat_stored *stored, uint8_t *slot, uint64_t j, leat_timing timing,
                    leat_error *err)
{
    const uint64_t record = leat_order_record(&plan->order, sample);
    leat_sample journeys[LEAT_MAX_FEATURES];
    leat_stopwatch stopwatch = { .timing = timing, .worker = worker, .record = record };
    if (timing == LEAT_TIMED_CPU)
        stopwatch.cpu_since = leat_clock_cpu_ns();
    if (timing)
        stopwatch.since = leat_clock_ns();
    leat_trace_stage *const stages = begin(plan, worker, record, epoch, slot, j, journeys);
    const int rc =
        plan->caches_on_device
            ? make_kept_row(plan, journeys, sample, stored, slot, j, stages, &stopwatch, err)
            : make_row(plan, journeys, sample, stored, slot, j, stages, &stopwatch, err);
    if (rc < 0) {
        char where[512];
        plan->source->table->describe(plan->source, record, where, sizeof where);
        return leat_fail_in(err, rc, "%s: ", where);
    }
    for (int32_t c = 0; c < plan->n_chains; c++)
        if (journeys[c].seek)
            count_seek(journeys[c].seek, &worker->trace);
    return LEAT_OK;
}

void leat_sample_rest(leat_worker *worker, size_t bytes)
{
    leat_kept_record *const kept = &worker->kept;
    kept->valid &= kept->mark <= bytes;
    leat_scratch_rewind(worker->scratch, kept->valid ? kept->mark : 0);
    leat_scratch_trim(worker->scratch, bytes);
}
