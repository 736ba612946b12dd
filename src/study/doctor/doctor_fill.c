/* SPDX-License-Identifier: MIT
 *
 * doctor_fill.c: capacities, shares and the sentence of a doctor's result. doctor.c calls it. */
#include "doctor_fill.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "study/facts.h"
#include "study/median.h"

static const double PROBE_APART = 0.5;   /* the middle two of its pairs: more is noise */
static const double PROBE_BEYOND = 0.25; /* what is added makes a run longer by 0 to 1 of it */

/* --- capacities -------------------------------------------------------------------------------- */

/* name: of a stage, or what is said of the copies; NULL: that of the part. */
static void add_capacity(const leat_facts *f, leat_part part, const char *name, leat_estimate rate,
                         leat_doctor_result *out)
{
    if (rate.value <= 0 || out->n_capacities == LEAT_DOCTOR_MAX_CAPACITIES)
        return;
    leat_doctor_capacity *c = &out->capacities[out->n_capacities++];
    snprintf(c->name, sizeof c->name, "%s", name ? name : leat_verdict_part(part)->name);
    c->part = part;
    c->samples_per_s = rate;
    c->step_ms = leat_facts_ns(f, rate.value) / 1e6;
}

static leat_estimate exactly(double value)
{
    return (leat_estimate){ value, value, value };
}

/* Samples/s if the workers did only this stage. All of them can wait at the same time, but only as many
 * compute as there are cores. */
static double stage_rate(const leat_facts *f, const leat_stage_fact *stage)
{
    const double n = f->threads > 0 ? f->threads : 1;
    const double cores = leat_forecast_cores(f) < n ? leat_forecast_cores(f) : n;
    const double waiting = stage->wall_ns / n, computing = stage->cpu_ns / cores;
    const double ns = waiting > computing ? waiting : computing;
    return ns > 0 ? 1e9 / ns : 0;
}

static leat_estimate scaled(leat_estimate e, double by)
{
    return (leat_estimate){ e.value * by, e.low * by, e.high * by };
}

static void fill_capacities(const leat_facts *f, const leat_doctor_loaders *loaders,
                            leat_doctor_result *out)
{
    const leat_forecast m = leat_forecast_of(f);
    add_capacity(f, LEAT_PART_STEP, NULL, f->step, out);
    if (!f->on_host && m.queued > 0)
        add_capacity(f, LEAT_PART_STEP_QUEUED, NULL, scaled(f->step, m.step / m.queued), out);
    add_capacity(f, LEAT_PART_LOADER, NULL, loaders->ahead, out);
    add_capacity(f, LEAT_PART_FIRST_BATCH, NULL, loaders->alone, out);
    if (f->copy_ns > 0)
        add_capacity(f, LEAT_PART_COPY, f->pageable ? "copies (pageable)" : "copies (pinned)",
                     exactly(f->rows / f->copy_ns * 1e9), out);
    if (m.shared > 0)
        add_capacity(f, LEAT_PART_SHARED, NULL, exactly(f->rows / m.shared * 1e9), out);
    for (int32_t i = 0; i < f->n_stages; i++)
        add_capacity(f, LEAT_PART_STAGE, f->stages[i].name, exactly(stage_rate(f, &f->stages[i])),
                     out);
}

/* --- the next limit ---------------------------------------------------------------------------- */

static const double CPU_LIMITS = 0.8; /* of the step time: CPU work of both */

/* If the loader or the step is limited by the cores, these are no other limit. */
static bool cores_limit(const leat_facts *f, const leat_verdict *v, const leat_forecast *m)
{
    const bool input = v->kind == LEAT_VERDICT_INPUT_BOUND,
               step = v->kind == LEAT_VERDICT_COMPUTE_BOUND;
    return (input && v->cause == LEAT_CAUSE_CPU_SATURATED) || (step && f->on_host) ||
           ((input || step) && m->shared >= CPU_LIMITS * m->predicted);
}

/* The slowest part other than the one that limits. Nothing comes next where no part is known to be the limit. */
static void fill_next_limit(const leat_facts *f, const leat_verdict *v,
                            const leat_doctor_loaders *loaders, leat_doctor_result *out)
{
    const leat_forecast m = leat_forecast_of(f);
    const leat_part limit = leat_verdict_about(v->kind)->part;
    const bool host = leat_verdict_blames_host(v->kind);
    const bool reads = limit == LEAT_PART_LOADER || limit == LEAT_PART_COPY;
    double ns[LEAT_N_PARTS] = {
        [LEAT_PART_STEP] = host ? 0 : m.step,
        [LEAT_PART_STEP_QUEUED] = host ? m.queued : 0,
        [LEAT_PART_LOADER] = reads && f->overlaps ? 0 : leat_facts_ns(f, loaders->ahead.value),
        [LEAT_PART_COPY] = m.copy,
        [LEAT_PART_SHARED] = cores_limit(f, v, &m) ? 0 : m.shared,
    };
    if (limit != LEAT_PART_LOADER) /* without overlap it may be the next limit, too */
        ns[limit] = 0;
    if (leat_verdict_about(v->kind)->tone == LEAT_TONE_OPEN)
        return;
    for (int part = LEAT_PART_NONE; part < LEAT_N_PARTS; part++)
        if (ns[part] > ns[out->next_limit])
            out->next_limit = (leat_part)part;
    out->next_limit_step_ms = ns[out->next_limit] * 1e-6;
}

void leat_doctor_fill(const leat_facts *f, const leat_diagnosis *d,
                      const leat_doctor_loaders *loaders, leat_doctor_result *out)
{
    const leat_forecast m = leat_forecast_of(f);
    out->batch = f->rows;
    out->samples_per_s = f->run;
    out->measured_step_ms = leat_facts_ns(f, f->run.value) / 1e6;
    out->predicted_step_ms = m.predicted * 1e-6;
    out->meter = f->meter;
    out->cores = f->cores;
    out->threads = f->threads;
    out->cores_taken = f->taken;
    out->throttled = f->throttled;
    out->verdict = d->verdict;
    memcpy(out->work, f->work, sizeof out->work);
    fill_capacities(f, loaders, out);
    leat_forecast_shares(f, out->shares);
    fill_next_limit(f, &d->verdict, loaders, out);
    leat_doctor_fill_evidence(f, out);
    leat_verdict_sentence(&d->verdict, out->sentence, sizeof out->sentence);
}

void leat_doctor_fill_costs(const leat_facts *f, const leat_arm_once *once, int32_t warmup_steps,
                            leat_doctor_result *out)
{
    const double step = leat_facts_ns(f, f->run.value);
    const struct {
        const char *name;
        double ns;
    } costs[] = {
        { "open plan", (double)once->plan_ns },
        { "open device", (double)once->device_ns },
        { "build model", (double)once->trainer_ns },
        { "open loader", (double)once->loader_ns },
        { "first batch", (double)once->batch_ns },
        { "first step", (double)once->step_ns - step },
        { "warm-up steps", (double)once->warm_ns - (warmup_steps - 1) * step },
        { "fill cache", (double)once->fill_ns },
    };
    const size_t n = sizeof costs / sizeof *costs - (once->fill_ns == 0);
    for (size_t i = 0; i < n; i++)
        out->one_time[out->n_one_time++] =
            (leat_doctor_cost){ costs[i].name, costs[i].ns > 0 ? costs[i].ns * 1e-6 : 0 };
    out->warmup_steps = warmup_steps;
}

/* --- the probe --------------------------------------------------------------------------------- */

double leat_doctor_slope(const double *plain, const double *more, int n, double added)
{
    double slopes[LEAT_DOCTOR_PROBE_MOST];
    for (int i = 0; i < n; i++)
        slopes[i] = (more[i] - plain[i]) / added;
    leat_median_sort_real(slopes, (size_t)n);
    const double low = slopes[(n - 1) / 2], high = slopes[n / 2], slope = (low + high) / 2;
    if (!(high - low <= PROBE_APART) || slope < -PROBE_BEYOND || slope > 1 + PROBE_BEYOND)
        return -1;
    return slope < 0 ? 0 : slope > 1 ? 1 : slope;
}

int32_t leat_doctor_is_sure(const leat_doctor_suggestion *s)
{
    enum { LEAST_ROUNDS = 3 };
    return s && (s->is_verified ||
                 (s->gain_low > 0 && (s->not_tried[0] || s->n_rounds >= LEAST_ROUNDS)));
}

/* --- a guess ----------------------------------------------------------------------------------- */

char *leat_doctor_guess(const leat_meter *meter, int32_t on_host, char *text, size_t size)
{
    if (size)
        text[0] = 0;
    if (!meter || !size)
        return text;
    const bool crosses = meter->crossings > 0 && meter->other_inside > meter->other / 2;
    const struct {
        leat_verdict_kind verdict, or ;
        const char *what;
        double share;
    } parts[] = {
        { LEAT_VERDICT_INPUT_BOUND, LEAT_VERDICT_NONE, "it waited for batches", meter->input_wait },
        { LEAT_VERDICT_TRANSFER_BOUND, LEAT_VERDICT_NONE, "it waited for copies",
          meter->exposed_copy },
        { crosses   ? LEAT_VERDICT_PLACEMENT
          : on_host ? LEAT_VERDICT_SHARED_CORES
                    : LEAT_VERDICT_LAUNCH_BOUND,
          crosses || on_host ? LEAT_VERDICT_NONE : LEAT_VERDICT_SYNC_BOUND,
          crosses   ? "it waited for layers on other devices, and for copies from and to them"
          : on_host ? "the training thread had no core or other work"
                    : "it waited for launches, for results to be read, or for the host",
          meter->other },
    };
    size_t most = 0;
    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].share > parts[most].share)
            most = i;
    const double idle = 1 - meter->busy;
    if (idle < 0.10)
        leat_text(text, size, "probably %s: the device was busy %.0f %% of the time",
                  leat_verdict_about(LEAT_VERDICT_COMPUTE_BOUND)->name, 100 * meter->busy);
    else
        leat_text(text, size,
                  "perhaps %s%s%s: the device was idle %.0f %% of the time, mostly because %s",
                  leat_verdict_about(parts[most].verdict)->name, parts[most].or ? " or " : "",
                  leat_verdict_about(parts[most].or)->name, 100 * idle, parts[most].what);
    return text;
}

char *leat_doctor_ranks(const leat_ranks_time *times, int32_t n, leat_verdict *verdict, char *text,
                        size_t size)
{
    leat_diagnosis d = { .why = "" };
    if (times && n > 0)
        leat_diagnose_ranks(times, n, &d);
    if (verdict)
        *verdict = d.verdict;
    if (size)
        leat_text(text, size, "%s", d.why);
    return text;
}
