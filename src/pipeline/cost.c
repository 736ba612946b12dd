/* SPDX-License-Identifier: MIT */
#include "cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "stage.h"

#define DEVICE_NS 40000000 /* after this no more cuts are timed on the device */

/* --- cutting ---------------------------------------------------------------------------------------- */

leat_plan *leat_cost_cut(const leat_plan *plan, const int32_t n_host[LEAT_MAX_FEATURES])
{
    leat_plan *const copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *plan;
    copy->placed = NULL;
    for (int32_t c = 0; c < copy->n_chains; c++) {
        leat_chain *const chain = &copy->chains[c];
        if (chain->n_host != n_host[c])
            chain->host_shape = leat_plan_shape_before(plan, chain, n_host[c]);
        chain->n_host = n_host[c];
        copy->on_device |= n_host[c] < chain->n_links;
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
    job->tries[job->n++] = (leat_cost_try){ .chain = -1, .plan = leat_cost_cut(plan, at) };
    for (int32_t c = 0; c < plan->n_chains; c++, at[c - 1] = plan->chains[c - 1].n_host)
        for (int32_t k = job->range->lowest[c]; k < plan->chains[c].n_host; k++) {
            at[c] = k;
            job->tries[job->n] =
                (leat_cost_try){ .chain = c, .n_host = k, .plan = leat_cost_cut(plan, at) };
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
static int time_chain(const cost_job *job, const leat_cost_try *t, int32_t c, double *ns,
                      leat_error *err)
{
    *ns = 0;
    if (t->plan->chains[c].n_host == t->plan->chains[c].n_links)
        return LEAT_OK;
    return leat_cost_device(job->device, t->plan, c, t->slot, job->rows, ns, err);
}

/* The cuts of chain c that could be measured, in order, and behind them: none. */
static int add_chain(const cost_job *job, int32_t c, leat_costs *out, leat_error *err)
{
    const leat_cost_try *const whole = job->tries;
    const double n_rows = (double)leat_order_slot_rows(&job->plan->order);
    leat_split_chain *const chain = &out->split.chains[c];
    double ns;
    for (int32_t i = 1; i < job->n; i++) {
        const leat_cost_try *const t = &job->tries[i];
        const bool late = leat_clock_ns() - job->start_ns > DEVICE_NS;
        if (t->chain != c || !isfinite(t->host_ns) || late || time_chain(job, t, c, &ns, NULL) < 0)
            continue;
        const double more = (double)t->plan->wire_bytes - (double)whole->plan->wire_bytes;
        chain->at[chain->n++] =
            (leat_split){ t->n_host, t->host_ns - whole->host_ns, more / n_rows, ns };
    }
    const int rc = time_chain(job, whole, c, &ns, err);
    chain->at[chain->n++] = (leat_split){ .n_host = job->plan->chains[c].n_host, .device_ns = ns };
    return rc;
}

static int measure(cost_job *job, leat_costs *out, leat_error *err)
{
    const leat_plan *const plan = job->plan;
    int rc = open_tries(job, err);
    if (rc >= 0)
        rc = leat_cost_host(plan, job->tries, job->n, out, job->rows, err);
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
