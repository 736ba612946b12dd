/* SPDX-License-Identifier: MIT */
#include "cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "device_decode.h"

#define DEVICE_NS 40000000 /* after this no more cuts are timed on the device */
#define WARM_NS   80000000

/* --- cutting ---------------------------------------------------------------------------------------- */

/* Cuts a chain of a copy. */
static void cut_chain(const leat_plan *plan, leat_chain *chain, int32_t n_host, double share)
{
    if (chain->n_host == n_host)
        return;
    chain->host_shape = leat_plan_shape_before(plan, chain, n_host);
    chain->n_host = n_host;
    if (!leat_device_decode_is(chain->links[n_host].op))
        return;
    leat_device_decode_put(chain, share);
    chain->files_shape = leat_plan_shape_before(plan, chain, n_host + 2);
}

leat_plan *leat_cost_cut(const leat_plan *plan, const int32_t n_host[LEAT_MAX_FEATURES],
                         const double *shares)
{
    leat_plan *const copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *plan;
    copy->placed = NULL;
    for (int32_t c = 0; c < copy->n_chains; c++) {
        cut_chain(plan, &copy->chains[c], n_host[c], shares ? shares[c] : 1);
        copy->on_device |= n_host[c] < copy->chains[c].n_links;
    }
    if (leat_build_lay_out(copy, NULL, NULL) < 0) {
        free(copy);
        return NULL;
    }
    return copy;
}

/* --- measuring -------------------------------------------------------------------------------------- */

typedef struct cost_job {
    const leat_plan *plan;
    leat_device *device;
    const leat_cost_range *range;
    leat_cost_try *tries; /* the first one: nothing is cut */
    int32_t n;
    bool rows[LEAT_COST_RECORDS];
    int64_t start_ns;
} cost_job;

/* Samples lie in a slot there: as rows of one size, or as files. */
static bool can_cut(const leat_plan *plan, const leat_chain *chain, int32_t n)
{
    const leat_shape at = leat_plan_shape_before(plan, chain, n);
    return leat_shape_bytes(&at) >= 0 || leat_device_decode_is(chain->links[n].op);
}

static int open_tries(cost_job *job, leat_error *err)
{
    const leat_plan *const plan = job->plan;
    int32_t n = 1, at[LEAT_MAX_FEATURES];
    for (int32_t c = 0; c < plan->n_chains; c++) {
        at[c] = plan->chains[c].n_host;
        n += at[c] - job->range->lowest[c];
    }
    job->tries = calloc((size_t)n, sizeof *job->tries);
    if (!job->tries)
        return leat_fail(err, LEAT_E_NOMEM, "%d cuts", (int)n);
    job->tries[job->n++] = (leat_cost_try){ .chain = -1, .plan = leat_cost_cut(plan, at, NULL) };
    for (int32_t c = 0; c < plan->n_chains; c++, at[c - 1] = plan->chains[c - 1].n_host)
        for (int32_t k = job->range->lowest[c]; k < plan->chains[c].n_host; k++) {
            at[c] = k;
            if (!can_cut(plan, &plan->chains[c], k))
                continue;
            job->tries[job->n] =
                (leat_cost_try){ .chain = c, .n_host = k, .plan = leat_cost_cut(plan, at, NULL) };
            job->n += job->tries[job->n].plan != NULL;
        }
    return job->tries->plan ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "a copy of the plan");
}

static void close_tries(cost_job *job)
{
    for (int32_t i = 0; job->tries && i < job->n; i++) {
        leat_scratch_close(&job->tries[i].room);
        free(job->tries[i].plan);
    }
    free(job->tries);
}

/* What the device has to do of a chain with that cut. */
static int time_chain(const cost_job *job, const leat_cost_try *t, int32_t c, leat_cost_work *out,
                      leat_error *err)
{
    *out = (leat_cost_work){ .ns = 0 };
    if (t->plan->chains[c].n_host == t->plan->chains[c].n_links)
        return LEAT_OK;
    return leat_cost_device(job->device, t->plan, c, t->slot, job->rows, out, err);
}

/* A cut that was tried, by what it adds. */
static leat_split split_of(const cost_job *job, const leat_cost_try *t, int32_t c,
                           const leat_cost_work *work)
{
    const leat_cost_try *const whole = job->tries;
    const double n_rows = (double)leat_order_slot_rows(&job->plan->order);
    const double more = (double)t->plan->wire_bytes - (double)whole->plan->wire_bytes;
    const bool is_files = t->plan->chains[c].is_files;
    return (leat_split){ .n_host = t->n_host,
                         .host_ns = t->host_ns - whole->host_ns,
                         .bytes = more / n_rows + work->file_bytes,
                         .device_ns = work->decodes_apart ? 0 : work->ns,
                         .decoder_ns = work->decodes_apart ? work->ns : 0,
                         .share = is_files ? 1 : 0 };
}

/* The cut where the device decodes files, before the others, and the shares. It comes last: the library
 * for it may have to be opened and started, which can take longer than all the rest. The ops behind the
 * first one are in the time of both. */
static void add_files(const cost_job *job, const leat_cost_try *t, int32_t c, leat_costs *out)
{
    leat_split_chain *const chain = &out->split.chains[c];
    leat_split *const all = &chain->at[0];
    leat_cost_work work;
    leat_error why;
    if (time_chain(job, t, c, &work, &why) < 0) {
        snprintf(out->no_decoding, sizeof out->no_decoding, "%.119s", why.message);
        return;
    }
    memmove(all + 1, all, (size_t)chain->n++ * sizeof *all);
    *all = split_of(job, t, c, &work);
    if (all->decoder_ns > 0) { /* without what the kernels take of it */
        all->device_ns = fmin(all->decoder_ns, chain->at[1].device_ns);
        all->decoder_ns -= all->device_ns;
    }
    if (chain->at[1].n_host == t->n_host + 2) /* what the CPU does of a row that is not its share */
        leat_split_add_shares(chain);
}

/* The cuts of chain c that could be measured, in order, and behind them: none. */
static int add_chain(const cost_job *job, int32_t c, leat_costs *out, leat_error *err)
{
    leat_split_chain *const chain = &out->split.chains[c];
    const leat_cost_try *files = NULL;
    leat_cost_work work;
    for (int32_t i = 1; i < job->n; i++) {
        const leat_cost_try *const t = &job->tries[i];
        const bool late = leat_clock_ns() - job->start_ns > DEVICE_NS;
        if (t->chain != c || !isfinite(t->host_ns))
            continue;
        if (t->plan->chains[c].is_files)
            files = t;
        else if (!late && time_chain(job, t, c, &work, NULL) >= 0)
            chain->at[chain->n++] = split_of(job, t, c, &work);
    }
    const int rc = time_chain(job, job->tries, c, &work, err);
    chain->at[chain->n++] =
        (leat_split){ .n_host = job->plan->chains[c].n_host, .device_ns = work.ns };
    if (files && rc >= 0)
        add_files(job, files, c, out);
    return rc;
}

/* A device that stood idle has low clocks: it gets work to warm up by, while the CPU is timed. */
static leat_stream *begin_warming(leat_device *device)
{
    const leat_device_table *const t = device->table;
    leat_stream *stream = NULL;
    if (!t->plant || t->stream_open(device, &stream, NULL) < 0)
        return NULL;
    t->plant(stream, WARM_NS, 1, NULL, 0); /* if it fails, times are longer, and no more */
    return stream;
}

static int measure(cost_job *job, leat_costs *out, leat_error *err)
{
    const leat_plan *const plan = job->plan;
    leat_stream *const warming = begin_warming(job->device);
    int rc = open_tries(job, err);
    if (rc >= 0)
        rc = leat_cost_host(plan, job->tries, job->n, out, job->rows, err);
    if (warming) /* waits for it */
        job->device->table->stream_close(warming);
    if (rc >= 0)
        rc = leat_cost_wire(job->device, plan->wire_bytes, !plan->pageable, &out->split.wire_ns,
                            err);
    if (rc < 0)
        return rc;
    out->split.host_ns = job->tries->host_ns;
    out->split.bytes = (double)plan->wire_bytes / (double)leat_order_slot_rows(&plan->order);
    out->split.n_chains = plan->n_chains;
    job->start_ns = leat_clock_ns();
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++)
        rc = add_chain(job, c, out, err);
    return rc;
}

int leat_cost_measure(const leat_plan *plan, leat_device *device, const leat_cost_range *range,
                      leat_costs *out, leat_error *err)
{
    cost_job job = { .plan = plan, .device = device, .range = range };
    const int64_t start_ns = leat_clock_ns();
    memset(out, 0, sizeof *out);
    for (int32_t c = 0; c < LEAT_MAX_FEATURES; c++)
        for (int32_t i = 0; i < LEAT_MAX_CHAIN; i++)
            out->op_host_ns[c][i] = -1;
    const int rc = measure(&job, out, err);
    close_tries(&job);
    out->took_ns = leat_clock_ns() - start_ns;
    return rc;
}
