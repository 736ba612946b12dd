/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "scratch.h"

int32_t leat_sample_stages(const leat_plan *plan, leat_stage_stats *out)
{
    int32_t n = 0;
    snprintf(out[n++].name, sizeof out->name, "read");
    snprintf(out[n++].name, sizeof out->name, "parse");
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        for (int32_t i = 0; i < chain->n_host; i++)
            snprintf(out[n++].name, sizeof out->name, "%s: %s", plan->tensors[c].name,
                     chain->links[i].op->name);
        if (chain->fused)
            snprintf(out[n++].name, sizeof out->name, "%s: %s to %s", plan->tensors[c].name,
                     chain->links[chain->fused_from].op->name,
                     chain->links[chain->fused_from + chain->n_fused - 1].op->name);
    }
    if (plan->cache) {
        snprintf(out[n++].name, sizeof out->name, "cache: hit");
        snprintf(out[n++].name, sizeof out->name, "cache: fill");
    }
    for (int32_t i = 0; i < plan->n_batch_links; i++)
        snprintf(out[n++].name, sizeof out->name, "%s: %s",
                 plan->tensors[plan->batch_links[i].chain].name,
                 plan->batch_links[i].op->kind.name);
    return n;
}

int32_t leat_sample_n_stages(const leat_plan *plan)
{
    int32_t n = LEAT_STAGE_FIRST_LINK + (plan->cache ? 2 : 0) + plan->n_batch_links;
    for (int32_t c = 0; c < plan->n_chains; c++)
        n += plan->chains[c].n_host + (plan->chains[c].fused != NULL);
    return n;
}

/* The clock of one sample, when it is timed. A look at the CPU time is a moment at which the kernel likes
 * to give the core away, so the clock of the wall is read inside: after the look that begins a stage, and
 * before the one that ends it. */
typedef struct leat_watch {
    leat_timing timing;
    int64_t since, cpu_since;
    leat_worker *worker;
    uint64_t record;
} leat_watch;

/* Charges the time since the last call to a stage, and keeps it as a span. */
static void charge(leat_trace_stage *stage, leat_watch *watch)
{
    if (!watch->timing)
        return;
    leat_trace *const trace = &watch->worker->trace;
    const leat_trace_span span = { .start_ns = watch->since,
                                   .end_ns = leat_clock_ns(),
                                   .batch = watch->worker->batch,
                                   .record = watch->record,
                                   .n = 1,
                                   .kind = LEAT_TRACE_STAGE + (uint32_t)(stage - trace->stages) };
    leat_trace_put(&trace->spans, &span);
    watch->since = span.end_ns;
    if (watch->timing != LEAT_TIMED_CPU) {
        leat_trace_time(stage, 1, span.end_ns - span.start_ns);
        return;
    }
    const int64_t cpu = leat_clock_cpu_ns();
    leat_trace_cpu(stage, cpu - watch->cpu_since, span.end_ns - span.start_ns);
    watch->cpu_since = cpu;
    watch->since = leat_clock_ns();
}

/* Fetches a record's features: from bytes the engine has read, or by reading here. */
static int fetch(const leat_plan *plan, leat_worker *worker, uint64_t record,
                 const leat_stored *stored, leat_view *features, leat_watch *watch, leat_error *err)
{
    const uint8_t *bytes = stored->is_entry ? NULL : stored->bytes;
    size_t size = stored->size;
    const leat_source *const source = plan->source;
    leat_trace_stage *const stages = worker->trace.stages;
    leat_extent extent = { .fd = -1 };
    int rc = LEAT_OK;
    if (!bytes && source->table->locate)
        rc = source->table->locate(source, record, &extent, err);
    if (rc < 0)
        return rc;
    if (!bytes && extent.fd < 0) {
        size_t n_read = 0;
        rc = source->table->load(source, record, worker->scratch, features, &n_read, err);
        leat_trace_count(&stages[LEAT_STAGE_READ], 1, n_read);
        charge(&stages[LEAT_STAGE_READ], watch);
        return rc;
    }
    if (!bytes) {
        uint8_t *const memory = leat_scratch_take(worker->scratch, extent.size);
        if (!memory)
            return leat_fail(err, LEAT_E_NOMEM, "a record of %zu bytes does not fit in scratch",
                             extent.size);
        if (!leat_source_pread_cached(extent.fd, memory, extent.size, extent.offset)) {
            worker->read_waited = true;
            rc = leat_source_pread(extent.fd, memory, extent.size, extent.offset, NULL, err);
        }
        if (rc < 0)
            return rc;
        bytes = memory;
        size = extent.size;
        leat_trace_count(&stages[LEAT_STAGE_READ], 1, size);
        charge(&stages[LEAT_STAGE_READ], watch);
    }
    rc = source->table->parse(source, record, bytes, size, worker->scratch, features, err);
    leat_trace_count(&stages[LEAT_STAGE_PARSE], 1, size);
    charge(&stages[LEAT_STAGE_PARSE], watch);
    return rc;
}

/* Features as the source gave them: their tables are for use unless engine.jpeg_index says otherwise. */
static int take_seeks(const leat_plan *plan, leat_view *features, leat_error *err)
{
    for (int32_t i = 0; i < plan->source->n_features; i++) {
        const leat_seek *const seek = features[i].seek;
        if (plan->engine.jpeg_index == LEAT_JPEG_INDEX_OFF)
            features[i].seek = NULL;
        else if (plan->engine.jpeg_index == LEAT_JPEG_INDEX_REQUIRE && seek && seek->refused)
            return leat_fail(err, LEAT_E_DATA,
                             "the index of JPEG files is damaged or of other bytes: make it anew "
                             "with `leat index --jpeg --rebuild`, or set engine.jpeg_index: auto");
    }
    return LEAT_OK;
}

static void count_seek(const leat_seek *seek, leat_trace *trace)
{
    leat_trace_add(&trace->n_seek, (uint64_t)seek->used);
    leat_trace_add(&trace->n_seek_refused, (uint64_t)seek->refused);
}

/* One sample under way through one chain. */
typedef struct leat_journey {
    const leat_plan *plan;
    const leat_chain *chain;
    const char *name; /* of its tensor */
    leat_worker *worker;
    leat_trace_stage *stages; /* of its links and, behind them, of its fused run */
    uint64_t record, epoch;
    leat_view view;        /* where it has come to */
    bool owned;            /* view's memory is this worker's to change */
    uint8_t *row;          /* where it must end */
    int64_t *lengths;      /* and where its size belongs, if it is padded */
    const leat_seek *seek; /* with which it began; NULL: none */
} leat_journey;

/* What link i puts out is the row itself. */
static bool is_last(const leat_journey *j, int32_t i)
{
    const leat_chain *const chain = j->chain;
    return i == chain->n_host - 1 && !chain->pad.on &&
           !(j->plan->unbatches && chain->unbatch_at == chain->n_host);
}

/* Where the output of link i goes: the row, the input itself, or new scratch. */
static void *destination(const leat_journey *j, int32_t i, size_t bytes)
{
    if (is_last(j, i))
        return j->row;
    if (j->owned && j->chain->links[i].op->flags & LEAT_OP_IN_PLACE)
        return j->view.data;
    return leat_scratch_take(j->worker->scratch, bytes);
}

/* Shape that link i makes of a view; where options do not fit it, it is this record that is odd. */
static int shape_after(const leat_journey *j, int32_t i, const leat_view *in, leat_shape *out,
                       leat_error *err)
{
    const leat_link *const link = &j->chain->links[i];
    const int rc = link->op->measure
                       ? link->op->measure(link->options, in, out, j->worker->scratch, err)
                       : link->op->shape(link->options, &in->shape, out, err);
    return rc == LEAT_E_CONFIG ? LEAT_E_DATA : rc;
}

/* The random decisions of link i. */
static void draw(const leat_journey *j, int32_t i, const leat_shape *in, leat_plan64 *out)
{
    const leat_link *const link = &j->chain->links[i];
    if (!link->op->plan)
        return;
    const uint64_t epoch = i < j->chain->cut ? 0 : j->epoch;
    leat_rng rng = leat_rng_make(j->plan->seed, j->record, epoch, link->stream);
    memset(out, 0, sizeof *out);
    link->op->plan(link->options, &rng, in, out);
}

/* Memory for what link i puts out, and the check that the last one fits the batch. */
static int make_room(leat_journey *j, int32_t i, leat_view *out, leat_error *err)
{
    const int64_t bytes = leat_shape_bytes(&out->shape);
    const bool last = is_last(j, i);
    if (bytes < 0 || (last && !leat_shape_equal(&out->shape, &j->chain->host_shape))) {
        char got[96], want[96];
        return leat_fail(err, LEAT_E_DATA, "gives %s where batches hold %s",
                         leat_shape_text(&out->shape, got, sizeof got),
                         leat_shape_text(&j->chain->host_shape, want, sizeof want));
    }
    out->data = destination(j, i, (size_t)bytes);
    return out->data
               ? LEAT_OK
               : leat_fail(err, LEAT_E_NOMEM, "%lld bytes do not fit in scratch", (long long)bytes);
}

static int run_link(leat_journey *j, int32_t i, leat_error *err)
{
    const leat_link *const link = &j->chain->links[i];
    leat_view out = { 0 };
    leat_plan64 drawn;
    if (err)
        err->message[0] = 0; /* an op may fail without a word */
    int rc = shape_after(j, i, &j->view, &out.shape, err);
    if (rc < 0 || (rc = make_room(j, i, &out, err)) < 0)
        return rc;
    draw(j, i, &j->view.shape, &drawn);
    const size_t mark = leat_scratch_mark(j->worker->scratch);
    rc = link->op->apply(link->options, &drawn, &j->view, &out, j->worker->scratch, err);
    leat_scratch_rewind(j->worker->scratch, mark);
    j->view = out;
    j->owned = true;
    return rc;
}

/* The n_fused links from fused_from on at once. LEAT_E_UNSUPPORTED: not for this sample. */
static int run_fused(leat_journey *j, leat_error *err)
{
    const leat_chain *const chain = j->chain;
    leat_fused_link links[LEAT_FUSED_MAX];
    leat_plan64 plans[LEAT_FUSED_MAX];
    leat_view at = j->view, out = { 0 };
    const int32_t from = chain->fused_from;
    int rc;
    leat_plan_fused_links(chain, from, from + chain->n_fused, links);
    for (int32_t i = 0; i < chain->n_fused; i++) {
        rc = shape_after(j, from + i, &at, &out.shape, err);
        if (rc < 0)
            return LEAT_E_UNSUPPORTED; /* one by one it fails again, by its name */
        draw(j, from + i, &at.shape, &plans[i]);
        at.shape = out.shape;
    }
    const size_t mark = leat_scratch_mark(j->worker->scratch);
    rc = make_room(j, from + chain->n_fused - 1, &out, err);
    if (rc < 0)
        return rc;
    const size_t inner = leat_scratch_mark(j->worker->scratch);
    rc = chain->fused->apply(links, chain->n_fused, plans, &j->view, &out, j->worker->scratch, err);
    leat_scratch_rewind(j->worker->scratch, rc == LEAT_OK ? inner : mark);
    if (rc == LEAT_OK) {
        j->view = out;
        j->owned = true;
    }
    return rc;
}

/* What may come of an op. A user's op may return anything; "the end" or "not ready" of the loader must
 * not come from there. */
static int code_of(int rc)
{
    const bool is_known = rc <= LEAT_E_NOMEM && rc >= LEAT_E_INTERNAL;
    return is_known ? rc : LEAT_E_DATA;
}

/* Says which op it was, unless its message begins with that. */
static int blame(const leat_journey *j, int32_t i, int rc, leat_error *err)
{
    if (err && !err->message[0])
        leat_fail(err, rc, "it failed with code %d and no message", rc);
    rc = code_of(rc);
    const char *const op = j->chain->links[i].op->name;
    const size_t n = strlen(op);
    if (err && !strncmp(err->message, op, n) && err->message[n] == ':')
        return leat_fail_in(err, rc, "'%s': ", j->name);
    return leat_fail_in(err, rc, "'%s': %s: ", j->name, op);
}

static void book(const leat_journey *j, int32_t stage, leat_watch *watch)
{
    leat_trace_count(&j->stages[stage], 1, (uint64_t)leat_shape_bytes(&j->view.shape));
    charge(&j->stages[stage], watch);
}

/* Links `from` to `to` - 1. */
static int run_links(leat_journey *j, int32_t from, int32_t to, leat_watch *watch, leat_error *err)
{
    const leat_chain *const chain = j->chain;
    int32_t i = from;
    int rc;
    if (chain->fused && chain->fused_from == from && from + chain->n_fused <= to) {
        rc = run_fused(j, err);
        if (rc == LEAT_OK) {
            book(j, chain->n_host, watch);
            i += chain->n_fused;
        } else if (rc != LEAT_E_UNSUPPORTED) {
            return blame(j, from, rc, err);
        }
    }
    for (; i < to; i++) {
        rc = run_link(j, i, err);
        if (rc < 0)
            return blame(j, i, rc, err);
        book(j, i, watch);
    }
    return LEAT_OK;
}

/* Puts what was not written there by the last link into the row. */
static int finish(const leat_journey *j, leat_error *err)
{
    char got[96], want[96];
    if (j->view.data == j->row)
        return LEAT_OK;
    if (j->chain->pad.on) {
        const leat_shape shape = leat_chain_shape(j->chain, &j->plan->order, j->worker->bucket);
        const int rc = leat_padding_row(&j->chain->pad, &j->view, &shape, j->row, j->lengths, err);
        return rc < 0 ? leat_fail_in(err, rc, "'%s' ", j->name) : LEAT_OK;
    }
    if (!leat_shape_equal(&j->view.shape, &j->chain->host_shape))
        return leat_fail(err, LEAT_E_DATA, "'%s' is %s where batches hold %s", j->name,
                         leat_shape_text(&j->view.shape, got, sizeof got),
                         leat_shape_text(&j->chain->host_shape, want, sizeof want));
    memcpy(j->row, j->view.data, j->chain->host_bytes);
    return LEAT_OK;
}

/* The decisions of the links that the device does, beside the row. */
static int plan_device(const leat_journey *j, uint8_t *slot, uint64_t row, leat_error *err)
{
    const leat_chain *const chain = j->chain;
    const int32_t n = chain->n_links - chain->n_host;
    uint8_t *to = slot + chain->plans_offset + row * (uint64_t)n * sizeof(leat_plan64);
    leat_shape in = chain->host_shape, out;
    for (int32_t i = chain->n_host; i < chain->n_links; i++, to += sizeof(leat_plan64)) {
        const leat_link *const link = &chain->links[i];
        leat_plan64 drawn = { { 0 } };
        const int rc = link->op->shape(link->options, &in, &out, err);
        if (rc < 0)
            return blame(j, i, rc, err);
        draw(j, i, &in, &drawn);
        memcpy(to, &drawn, sizeof drawn);
        in = out;
    }
    return LEAT_OK;
}

/* The start of every chain's journey, for row `row` of a slot's memory. Returns the stages behind
 * those of all chains. */
static leat_trace_stage *begin(const leat_plan *plan, leat_worker *worker, uint64_t record,
                               uint64_t epoch, uint8_t *slot, uint64_t row, leat_journey *journeys)
{
    leat_trace_stage *stages = &worker->trace.stages[LEAT_STAGE_FIRST_LINK];
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        leat_journey *const j = &journeys[c];
        j->plan = plan; /* one by one: the view need not be cleared */
        j->chain = chain;
        j->name = plan->tensors[c].name;
        j->worker = worker;
        j->stages = stages;
        j->record = record;
        j->epoch = epoch;
        j->owned = false;
        j->seek = NULL; /* what comes out of a cache has none */
        j->row = slot + chain->host_offset +
                 row * leat_chain_host_bytes(chain, &plan->order, worker->bucket);
        j->lengths = leat_chain_lengths(chain, slot, row);
        stages += chain->n_host + (chain->fused != NULL);
    }
    return stages;
}

/* All chains to the cut, by what the cache has; false: by nothing. */
static bool jump(const leat_plan *plan, leat_journey *journeys, const leat_stored *stored,
                 leat_trace_stage *hits, leat_watch *watch)
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
    charge(hits, watch);
    return true;
}

/* All chains to the cut, from the record, for the cache to keep. */
static int walk(const leat_plan *plan, leat_journey *journeys, leat_trace_stage *fills,
                leat_watch *watch, leat_error *err)
{
    leat_view views[LEAT_MAX_FEATURES];
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const int rc = run_links(&journeys[c], 0, plan->chains[c].cut, watch, err);
        if (rc < 0)
            return rc;
        views[c] = journeys[c].view;
    }
    leat_cache_put(plan->cache, journeys->record, views, journeys->worker->scratch);
    leat_trace_count(fills, 1, 0);
    charge(fills, watch);
    return LEAT_OK;
}

/* All chains to the cut (which is their start when nothing is kept). */
static int reach_cut(const leat_plan *plan, leat_journey *journeys, const leat_stored *stored,
                     leat_trace_stage *stages, leat_watch *watch, leat_error *err)
{
    leat_view features[LEAT_MAX_FEATURES];
    if (plan->cache && jump(plan, journeys, stored, &stages[0], watch))
        return LEAT_OK;
    for (int32_t i = 0; i < plan->source->n_features; i++)
        features[i].seek = NULL; /* most sources have none */
    int rc = fetch(plan, journeys->worker, journeys->record, stored, features, watch, err);
    if (rc >= 0)
        rc = take_seeks(plan, features, err);
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++) {
        journeys[c].view = features[plan->chains[c].feature];
        journeys[c].seek = journeys[c].view.seek;
    }
    return rc >= 0 && plan->cache ? walk(plan, journeys, &stages[1], watch, err) : rc;
}

/* Keeps what a record came to before unbatch: in scratch, if it is not there already. Bytes that were
 * read ahead may be gone when the next part is made. */
static int keep(const leat_journey *j, leat_view *out, leat_error *err)
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
static int reach_parts(const leat_plan *plan, leat_journey *journeys, const leat_stored *stored,
                       leat_trace_stage *stages, leat_watch *watch, leat_error *err)
{
    leat_worker *const worker = journeys->worker;
    leat_kept_record *const kept = &worker->kept;
    if (kept->valid && kept->record == journeys->record && kept->epoch == journeys->epoch) {
        leat_scratch_rewind(worker->scratch, kept->mark);
        return LEAT_OK;
    }
    kept->valid = false;
    leat_scratch_reset(worker->scratch);
    int rc = reach_cut(plan, journeys, stored, stages, watch, err);
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++) {
        const leat_chain *const chain = &plan->chains[c];
        rc = run_links(&journeys[c], chain->cut, chain->unbatch_at, watch, err);
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
static void take_part(leat_journey *j, const leat_view *element, uint64_t sample)
{
    const uint64_t part = sample % j->plan->order.parts;
    j->record = sample;
    j->view.shape = leat_shape_part(&element->shape);
    j->view.data = (uint8_t *)element->data + part * (size_t)leat_shape_bytes(&j->view.shape);
    j->view.seek = NULL;
    j->owned = false; /* the same part may be asked for again */
}

/* All chains to where each sample goes its own way: the cut of a cache, or unbatch. */
static int reach_sample(const leat_plan *plan, leat_journey *journeys, uint64_t sample,
                        const leat_stored *stored, leat_trace_stage *stages, leat_watch *watch,
                        leat_error *err)
{
    if (!plan->unbatches) {
        leat_scratch_reset(journeys->worker->scratch);
        return reach_cut(plan, journeys, stored, stages, watch, err);
    }
    const int rc = reach_parts(plan, journeys, stored, stages, watch, err);
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++)
        take_part(&journeys[c], &journeys->worker->kept.views[c], sample);
    return rc;
}

int leat_sample_run(const leat_plan *plan, leat_worker *worker, uint64_t sample, uint64_t epoch,
                    const leat_stored *stored, uint8_t *slot, uint64_t j, leat_timing timing,
                    leat_error *err)
{
    const uint64_t record = leat_order_record(&plan->order, sample);
    leat_journey journeys[LEAT_MAX_FEATURES];
    leat_watch watch = { .timing = timing, .worker = worker, .record = record };
    if (timing == LEAT_TIMED_CPU)
        watch.cpu_since = leat_clock_cpu_ns();
    if (timing)
        watch.since = leat_clock_ns();
    leat_trace_stage *const stages = begin(plan, worker, record, epoch, slot, j, journeys);
    int rc = reach_sample(plan, journeys, sample, stored, stages, &watch, err);
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++) {
        const leat_chain *const chain = &plan->chains[c];
        rc = run_links(&journeys[c], plan->unbatches ? chain->unbatch_at : chain->cut,
                       chain->n_host, &watch, err);
        if (rc >= 0)
            rc = finish(&journeys[c], err);
        if (rc >= 0)
            rc = plan_device(&journeys[c], slot, j, err);
    }
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
