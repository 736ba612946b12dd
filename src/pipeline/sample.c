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
    for (int32_t c = 0; c < plan->n_chains; c++)
        for (int32_t i = 0; i < plan->chains[c].n_links && n < LEAT_MAX_STAGES; i++)
            snprintf(out[n++].name, sizeof out->name, "%s: %s", plan->tensors[c].name,
                     plan->chains[c].links[i].op->name);
    return n;
}

/* Charges the time since *since to a stage. */
static void charge(leat_trace_stage *stage, bool timed, int64_t *since)
{
    if (timed) {
        const int64_t now = leat_clock_ns();
        leat_trace_time(stage, 1, now - *since);
        *since = now;
    }
}

/* Fetches a record's features: from bytes the engine has read, or by reading here. */
static int fetch(const leat_plan *plan, leat_worker *worker, uint64_t record, const uint8_t *bytes,
                 size_t size, leat_view *features, bool timed, int64_t *since, leat_error *err)
{
    const leat_source *const source = plan->source;
    leat_trace_stage *const stages = worker->trace.stages;
    int rc;
    if (source->table->load) {
        size_t n_read = 0;
        rc = source->table->load(source, record, worker->scratch, features, &n_read, err);
        leat_trace_count(&stages[LEAT_STAGE_READ], 1, n_read);
        charge(&stages[LEAT_STAGE_READ], timed, since);
        return rc;
    }
    if (!bytes) {
        leat_extent extent;
        rc = source->table->locate(source, record, &extent, err);
        if (rc < 0)
            return rc;
        uint8_t *const memory = leat_scratch_take(worker->scratch, extent.size);
        if (!memory)
            return leat_fail(err, LEAT_E_NOMEM, "a record of %zu bytes does not fit in scratch",
                             extent.size);
        rc = leat_source_pread(extent.fd, memory, extent.size, extent.offset, NULL, err);
        if (rc < 0)
            return rc;
        bytes = memory;
        size = extent.size;
        leat_trace_count(&stages[LEAT_STAGE_READ], 1, size);
        charge(&stages[LEAT_STAGE_READ], timed, since);
    }
    rc = source->table->parse(source, record, bytes, size, worker->scratch, features, err);
    leat_trace_count(&stages[LEAT_STAGE_PARSE], 1, size);
    charge(&stages[LEAT_STAGE_PARSE], timed, since);
    return rc;
}

/* Where the output of link i goes: the row, the input itself, or new scratch. */
static void *destination(const leat_chain *chain, int32_t i, const leat_view *in, bool owned,
                         size_t bytes, leat_scratch *scratch, uint8_t *row)
{
    if (i == chain->n_links - 1)
        return row;
    if (owned && chain->links[i].op->flags & LEAT_OP_IN_PLACE)
        return in->data;
    return leat_scratch_take(scratch, bytes);
}

static int run_link(const leat_plan *plan, const leat_chain *chain, int32_t i, leat_worker *worker,
                    uint64_t record, uint64_t epoch, leat_view *view, bool *owned, uint8_t *row,
                    leat_error *err)
{
    const leat_link *const link = &chain->links[i];
    const leat_op *const op = link->op;
    leat_scratch *const scratch = worker->scratch;
    leat_view out = { 0 };
    leat_plan64 drawn;
    int rc = op->measure ? op->measure(link->options, view, &out.shape, scratch, err)
                         : op->shape(link->options, &view->shape, &out.shape, err);
    if (rc == LEAT_E_CONFIG) /* the options fit the plan, so it is this record that does not */
        rc = LEAT_E_DATA;
    if (rc < 0)
        return rc;
    const int64_t bytes = leat_shape_bytes(&out.shape);
    const bool last = i == chain->n_links - 1;
    if (bytes < 0 || (last && !leat_shape_equal(&out.shape, &chain->shape))) {
        char got[96], want[96];
        return leat_fail(err, LEAT_E_DATA, "gives %s where batches hold %s",
                         leat_shape_text(&out.shape, got, sizeof got),
                         leat_shape_text(&chain->shape, want, sizeof want));
    }
    if (op->plan) {
        leat_rng rng = leat_rng_make(plan->seed, record, epoch, link->stream);
        memset(&drawn, 0, sizeof drawn);
        op->plan(link->options, &rng, &view->shape, &drawn);
    }
    out.data = destination(chain, i, view, *owned, (size_t)bytes, scratch, row);
    if (!out.data)
        return leat_fail(err, LEAT_E_NOMEM, "%lld bytes do not fit in scratch", (long long)bytes);
    const size_t mark = leat_scratch_mark(scratch);
    rc = op->apply(link->options, &drawn, view, &out, scratch, err);
    leat_scratch_rewind(scratch, mark);
    *view = out;
    *owned = true;
    return rc;
}

static int run_chain(const leat_plan *plan, int32_t c, leat_worker *worker, uint64_t record,
                     uint64_t epoch, const leat_view *feature, leat_trace_stage *stages,
                     uint8_t *row, bool timed, int64_t *since, leat_error *err)
{
    const leat_chain *const chain = &plan->chains[c];
    leat_view view = *feature;
    bool owned = false; /* view's memory is this worker's to change */
    if (chain->n_links == 0) {
        char got[96], want[96];
        if (!leat_shape_equal(&view.shape, &chain->shape))
            return leat_fail(err, LEAT_E_DATA, "'%s' is %s where batches hold %s",
                             plan->tensors[c].name, leat_shape_text(&view.shape, got, sizeof got),
                             leat_shape_text(&chain->shape, want, sizeof want));
        memcpy(row, view.data, chain->row_bytes);
    }
    for (int32_t i = 0; i < chain->n_links; i++) {
        const int rc = run_link(plan, chain, i, worker, record, epoch, &view, &owned, row, err);
        if (rc < 0)
            return leat_fail_in(err, rc, "op '%s' on '%s': ", chain->links[i].op->name,
                                plan->tensors[c].name);
        leat_trace_count(&stages[i], 1, (uint64_t)leat_shape_bytes(&view.shape));
        charge(&stages[i], timed, since);
    }
    return LEAT_OK;
}

int leat_sample_run(const leat_plan *plan, leat_worker *worker, uint64_t record, uint64_t epoch,
                    const uint8_t *bytes, size_t size, uint8_t *slot, uint64_t j, bool timed,
                    leat_error *err)
{
    leat_view features[LEAT_MAX_FEATURES];
    int64_t since = timed ? leat_clock_ns() : 0;
    int32_t stage = LEAT_STAGE_FIRST_LINK;
    leat_scratch_reset(worker->scratch);
    int rc = fetch(plan, worker, record, bytes, size, features, timed, &since, err);
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++) {
        const leat_chain *const chain = &plan->chains[c];
        rc = run_chain(plan, c, worker, record, epoch, &features[chain->feature],
                       &worker->trace.stages[stage], slot + chain->offset + j * chain->row_bytes,
                       timed, &since, err);
        stage += chain->n_links;
    }
    if (rc < 0) {
        char where[512];
        plan->source->table->describe(plan->source, record, where, sizeof where);
        return leat_fail_in(err, rc, "%s: ", where);
    }
    return LEAT_OK;
}
