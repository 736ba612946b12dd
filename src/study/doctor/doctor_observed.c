/* SPDX-License-Identifier: MIT
 *
 * doctor_observed.c: leat_doctor_observed(): the runs of a loop that is not leat's, as the facts that verdict_rules.c reads. */
#include "leat/observe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_fill.h"
#include "study/facts.h"
#include "study/median_bootstrap.h"
#include "study/other_processes.h"
#include "study/rounds.h"

/* Sums over the runs of one kind. */
struct use {
    double wall_ns, cpu_ns, rows;
};

void leat_usage_now(leat_usage *out)
{
    if (!out)
        return;
    leat_other_processes_look("", out);
    out->own_ns += leat_other_processes_descendants_ns("");
}

/* --- rounds ------------------------------------------------------------------------------------ */

static bool is_run(const leat_observed_run *run)
{
    return run->wall_ns > 0 && run->steps > 0 && run->rows > 0;
}

static int check(const leat_observed *o, leat_error *err)
{
    if (o->n_rounds < 1 || o->n_rounds > LEAT_BOOTSTRAP_MAX || !o->rounds)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_doctor_observed: 1 … %d rounds",
                         LEAT_BOOTSTRAP_MAX);
    for (int32_t i = 0; i < o->n_rounds; i++)
        if (!is_run(&o->rounds[i].whole) || !is_run(&o->rounds[i].loader) ||
            !is_run(&o->rounds[i].step))
            return leat_fail(err, LEAT_E_ARGUMENT,
                             "leat_doctor_observed: round %d has a run without steps, samples or "
                             "time",
                             (int)i);
    return LEAT_OK;
}

/* wait: share of the time in which a batch was missing. */
static leat_meter meter_of(const leat_observed_run *run, double wait)
{
    return (leat_meter){ .n_steps = (size_t)run->steps,
                         .wall_ns = run->wall_ns,
                         .busy = 1 - wait,
                         .input_wait = wait,
                         .samples_per_s = run->rows * 1e9 / (double)run->wall_ns,
                         .step_p50_ns = run->wall_ns / run->steps,
                         .step_p95_ns = run->wall_ns / run->steps };
}

static double wait_of(const leat_observed_run *run)
{
    const double wait = (double)run->wait_ns / (double)run->wall_ns;
    return wait < 0 ? 0 : wait > 1 ? 1 : wait;
}

/* Batches that do not count took CPU time, too. */
static void add(struct use *sum, const leat_observed_run *run)
{
    const double counts = run->all_rows > run->rows ? run->rows / run->all_rows : 1;
    sum->wall_ns += (double)run->wall_ns;
    sum->rows += run->rows;
    sum->cpu_ns += (double)(run->to.own_ns - run->from.own_ns) * counts;
}

double leat_usage_others(const leat_usage *from, const leat_usage *to)
{
    return from && to ? leat_other_processes_taken(from, to) : 0;
}

/* From the first look to the last: ticks are too coarse for single runs. */
static void look_around(const leat_observed *o, leat_facts *f)
{
    const leat_usage *from = &o->rounds[0].whole.from, *to = &o->rounds[0].whole.to;
    for (int32_t i = 0; i < o->n_rounds; i++) {
        const leat_observed_run *const runs[] = { &o->rounds[i].whole, &o->rounds[i].loader,
                                                  &o->rounds[i].step };
        for (int k = 0; k < 3; k++) {
            from = runs[k]->from.at_ns < from->at_ns ? &runs[k]->from : from;
            to = runs[k]->to.at_ns > to->at_ns ? &runs[k]->to : to;
        }
    }
    f->cores = to->n_cpus;
    f->taken = leat_usage_others(from, to);
    f->throttled = f->cores > 0 ? leat_other_processes_throttled(from, to) / f->cores : 0;
}

/* --- facts ------------------------------------------------------------------------------------- */

static void add_uses(const leat_observed *o, leat_facts *f)
{
    struct use whole = { 0 }, loader = { 0 }, step = { 0 };
    double steps = 0;
    for (int32_t i = 0; i < o->n_rounds; i++) {
        add(&whole, &o->rounds[i].whole);
        add(&loader, &o->rounds[i].loader);
        add(&step, &o->rounds[i].step);
        steps += (double)o->rounds[i].whole.steps;
    }
    f->rows = whole.rows / steps;
    f->run_cores = whole.cpu_ns / whole.wall_ns;
    f->loader_cores = loader.cpu_ns / loader.wall_ns;
    f->loader_cpu_ns = loader.cpu_ns / loader.rows;
    f->step_cpu_ns = step.cpu_ns / step.rows;
}

/* Fills all but the stages. */
static void add_rates(const leat_observed *o, leat_meter *meters, leat_compare_arm *out,
                      leat_facts *f)
{
    const size_t n = (size_t)o->n_rounds;
    const leat_rounds rounds = { meters, meters + n, meters + 2 * n };
    for (size_t i = 0; i < n; i++) {
        meters[i] = meter_of(&o->rounds[i].whole, wait_of(&o->rounds[i].whole));
        meters[n + i] = meter_of(&o->rounds[i].loader, 0);
        meters[2 * n + i] = meter_of(&o->rounds[i].step, 0);
    }
    leat_rounds_conclude(&rounds, meters, n, out);
    f->on_host = o->on_host != 0;
    f->overlaps = o->overlaps != 0;
    f->threads = o->workers > 0 ? o->workers : 0;
    leat_facts_rates(out, f);
    f->step_busy = 1;
}

static int gather(const leat_observed *o, leat_facts *f, leat_error *err)
{
    leat_meter *const meters = calloc((size_t)o->n_rounds * 3, sizeof *meters);
    leat_compare_arm *const out = calloc(1, sizeof *out);
    const bool ok = meters && out;
    if (ok) {
        add_rates(o, meters, out, f);
        add_uses(o, f);
        look_around(o, f);
    }
    free(meters);
    free(out);
    return ok ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "the meters of %d rounds", (int)o->n_rounds);
}

/* Of a loader of others nothing is known inside: it is one stage, in which each worker is for as long as a sample takes. */
static void add_stage(const leat_observed *o, leat_facts *f)
{
    const double workers = o->workers > 0 ? o->workers : 1;
    if (o->workers < 0 || f->loader.value <= 0)
        return;
    f->n_stages = 1;
    f->stages[0] = (leat_stage_fact){ .name = "loader",
                                      .does = LEAT_DOES_UNKNOWN,
                                      .wall_ns = workers * 1e9 / f->loader.value,
                                      .cpu_ns = f->loader_cpu_ns };
}

int leat_doctor_observed(const leat_observed *observed, leat_doctor_result *out, leat_error *err)
{
    leat_verdict_found diagnosis;
    int rc;
    if (!observed || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_doctor_observed: observed and out must be given");
    memset(out, 0, sizeof *out);
    out->probe = -1;
    leat_facts *const f = calloc(1, sizeof *f);
    if (!f)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes", sizeof *f);
    if ((rc = check(observed, err)) == LEAT_OK && (rc = gather(observed, f, err)) == LEAT_OK) {
        add_stage(observed, f);
        leat_verdict_decide(f, &diagnosis);
        f->n_stages = 0; /* it is the loader, which has its row */
        const leat_doctor_loaders loaders = { .ahead =
                                                  f->overlaps ? f->loader : (leat_estimate){ 0 },
                                              .alone =
                                                  f->overlaps ? (leat_estimate){ 0 } : f->loader };
        leat_doctor_fill(f, &diagnosis, &loaders, out);
        out->rounds = observed->n_rounds;
        out->steps = (int32_t)observed->rounds[0].whole.steps;
    }
    free(f);
    return rc;
}

double leat_observed_predict(const leat_observed *observed, int32_t workers)
{
    leat_error err;
    leat_facts *const f = calloc(1, sizeof *f);
    double ns = 0;
    if (f && observed && workers > 0 && check(observed, &err) == LEAT_OK &&
        gather(observed, f, &err) == LEAT_OK) {
        const double now = observed->workers > 0 ? observed->workers : 1;
        const double most = f->loader_cpu_ns > 0 ? 1e9 * f->cores / f->loader_cpu_ns : INFINITY;
        /* without its input a loop saves what it waits, and no more than the loader takes */
        const double saves = fmin(f->of_loader.value, 1 - f->meter.busy);
        const double least = f->overlaps ? 0 : leat_facts_ns(f, f->run.value) * (1 - saves);
        f->loader.value = fmin(f->loader.value * workers / now, most);
        f->overlaps = true;
        ns = fmax(leat_forecast_of(f).predicted, least);
    }
    free(f);
    return ns;
}
