/* SPDX-License-Identifier: MIT
 *
 * doctor_fill.c: capacities, shares and the sentence of a doctor's result, and the figures that explain its verdict, each
 * with a sentence. doctor.c calls it. */
#include "doctor_fill.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "formats/figure.h"
#include "study/facts.h"
#include "study/median_bootstrap.h"

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

static void fill_capacities(const leat_facts *f, const leat_forecast *m,
                            const leat_doctor_loaders *loaders, leat_doctor_result *out)
{
    add_capacity(f, LEAT_PART_STEP, NULL, f->step, out);
    if (!f->on_host && m->queued > 0)
        add_capacity(f, LEAT_PART_STEP_QUEUED, NULL, scaled(f->step, m->step / m->queued), out);
    add_capacity(f, LEAT_PART_LOADER, NULL, loaders->ahead, out);
    add_capacity(f, LEAT_PART_FIRST_BATCH, NULL, loaders->alone, out);
    if (f->copy_ns > 0)
        add_capacity(f, LEAT_PART_COPY, f->pageable ? "copies (pageable)" : "copies (pinned)",
                     exactly(f->rows / f->copy_ns * 1e9), out);
    if (m->shared > 0)
        add_capacity(f, LEAT_PART_SHARED, NULL, exactly(f->rows / m->shared * 1e9), out);
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
static void fill_next_limit(const leat_facts *f, const leat_forecast *m, const leat_verdict *v,
                            const leat_doctor_loaders *loaders, leat_doctor_result *out)
{
    const leat_part limit = leat_verdict_about(v->kind)->part;
    const bool host = leat_verdict_blames_host(v->kind);
    const bool reads = limit == LEAT_PART_LOADER || limit == LEAT_PART_COPY;
    double ns[LEAT_N_PARTS] = {
        [LEAT_PART_STEP] = host ? 0 : m->step,
        [LEAT_PART_STEP_QUEUED] = host ? m->queued : 0,
        [LEAT_PART_LOADER] = reads && f->overlaps ? 0 : leat_facts_ns(f, loaders->ahead.value),
        [LEAT_PART_COPY] = m->copy,
        [LEAT_PART_SHARED] = cores_limit(f, v, m) ? 0 : m->shared,
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

/* --- evidence ---------------------------------------------------------------------------------- */

static leat_doctor_evidence *add_evidence(leat_doctor_result *out, const char *name, double value,
                                          const char *unit)
{
    leat_check(out->n_evidence < LEAT_DOCTOR_MAX_EVIDENCE);
    leat_doctor_evidence *e = &out->evidence[out->n_evidence++];
    snprintf(e->name, sizeof e->name, "%s", name);
    snprintf(e->unit, sizeof e->unit, "%s", unit);
    e->value = value;
    return e;
}

static void stage_evidence(const leat_facts *f, leat_doctor_result *out)
{
    const leat_stage_fact *stage = leat_facts_slowest(f);
    double all = 0;
    for (int32_t i = 0; i < f->n_stages; i++)
        all += f->stages[i].wall_ns;
    if (!stage || all <= 0)
        return;
    leat_doctor_evidence *e = add_evidence(out, "slowest_stage", stage->wall_ns / all, "share");
    leat_text(e->text, sizeof e->text,
              "slowest stage of the loader: %s, %.0f %% of the time in stages", stage->name,
              100 * stage->wall_ns / all);
    e = add_evidence(out, "loader_cores", f->loader_cores, "cores");
    leat_text(e->text, sizeof e->text, "%d worker%s kept %.1f of %d cores busy", f->threads,
              f->threads == 1 ? "" : "s", f->loader_cores, f->cores);
}

/* "of the workers' time: 38 % compute, 2 % wait for a core, 60 % wait for storage": percent that sum to 100. */
static void work_evidence(const leat_facts *f, leat_doctor_result *out)
{
    double sum = 0;
    long given = 0;
    if (f->work[LEAT_WORK_COMPUTE] <= 0)
        return;
    leat_doctor_evidence *e = add_evidence(out, "workers", f->work[LEAT_WORK_COMPUTE], "share");
    leat_text(e->text, sizeof e->text, "of the workers' time");
    for (leat_worker_time i = 0; i < LEAT_N_WORKS; i++) {
        sum += f->work[i];
        const long now = lround(100 * sum), percent = now - given;
        const size_t n = strlen(e->text);
        if (percent > 0)
            leat_text(e->text + n, sizeof e->text - n, "%s %ld %% %s", given ? "," : ":", percent,
                      leat_verdict_work(i)->text);
        given = now;
    }
}

/* --- the rule ----------------------------------------------------------------------------------- */

struct wall {
    const char *name;
    double ns;
};

static void ms_text(double ns, char text[32])
{
    leat_text(text, 32, ns >= 1e8 ? "%.0f" : "%.3g", ns * 1e-6);
}

/* "loader 3.1, step 2.2, copy 0.4": the parts of the rule, the slowest first. Returns the slowest, ns. */
static double list_parts(const leat_facts *f, const leat_forecast *m, char *text, size_t size)
{
    struct wall walls[] = { { "loader", m->loader },
                            { "step", m->step },
                            { "copy", f->overlaps ? m->copy : 0 },
                            { "CPU work", f->overlaps ? m->shared : 0 } };
    const char *const between = f->overlaps ? ", " : " + ";
    double slowest = 0;
    for (size_t left = sizeof walls / sizeof *walls; left > 0; left--) {
        struct wall *most = walls;
        for (size_t i = 1; i < sizeof walls / sizeof *walls; i++)
            if (walls[i].ns > most->ns)
                most = &walls[i];
        const size_t n = strlen(text);
        char ms[32];
        ms_text(most->ns, ms);
        if (most->ns > 0)
            leat_text(text + n, size - n, "%s%s %s", slowest > 0 ? between : "", most->name, ms);
        slowest = slowest > 0 ? slowest : most->ns;
        most->ns = 0;
    }
    return slowest;
}

static const double UNEVEN = 1.05; /* times the slowest part: then this is the reason */

/* Which of the rules of leat_forecast_of() gives the predicted step. */
static void rule_evidence(const leat_facts *f, const leat_forecast *m, leat_doctor_result *out)
{
    char parts[128] = "", whole[32];
    ms_text(m->predicted, whole);
    const double slowest = list_parts(f, m, parts, sizeof parts);
    leat_doctor_evidence *e = add_evidence(out, "rule", m->predicted * 1e-6, "ms");
    if (!f->overlaps)
        leat_text(e->text, sizeof e->text, "predicted: one after the other, %s = %s ms", parts,
                  whole);
    else if (m->predicted == m->uneven && m->uneven > UNEVEN * slowest) {
        int64_t gaps[LEAT_ARM_GAPS];
        memcpy(gaps, f->gap_ns, (size_t)f->n_gaps * sizeof *gaps);
        char middle[32], most[32];
        ms_text(leat_median_of(gaps, (size_t)f->n_gaps), middle); /* sorts */
        ms_text((double)gaps[f->n_gaps - 1], most);
        leat_text(e->text, sizeof e->text,
                  "predicted: %s ms, as batches come unevenly: median %s, slowest %s ms", whole,
                  middle, most);
    } else if (m->predicted > slowest && m->predicted != m->uneven)
        leat_text(e->text, sizeof e->text,
                  "predicted: loader and step share %d core%s, which makes both slower: %s ms",
                  f->cores, f->cores == 1 ? "" : "s", whole);
    else
        leat_text(e->text, sizeof e->text, "predicted: the slowest of %s ms", parts);
}

/* The largest cause of time in which the host is late. */
static void late_evidence(const leat_facts *f, const leat_forecast *m, leat_doctor_result *out)
{
    const leat_meter *meter = &f->meter;
    const double wall = out->measured_step_ms * 1e6, late = out->shares[LEAT_SHARE_OTHER_HOST],
                 longer = f->on_host && wall > 0 ? meter->busy - m->step / wall : 0;
    if (late < 0.01)
        return;
    leat_doctor_evidence *e = add_evidence(out, "host_late", late, "share");
    const bool full = leat_facts_fills(f, f->run_cores + f->taken);
    snprintf(e->text, sizeof e->text, "host is late: %s",
             full                   ? "the threads that train had no free core"
             : longer >= 0.5 * late ? "a step takes longer than alone, as it shares memory or cores"
                                    : "the thread that trains did something else between steps");
}

/* What layers on other devices cost in a step of the whole. */
static void placement_evidence(const leat_facts *f, leat_doctor_result *out)
{
    char there[32], crossing[32], rest[32];
    const double share = out->shares[LEAT_SHARE_PLACEMENT],
                 waits = share * out->measured_step_ms * 1e6 - f->meter.elsewhere_ns -
                         f->meter.crossing_ns;
    if (f->meter.crossings <= 0)
        return;
    ms_text(f->meter.elsewhere_ns, there);
    ms_text(f->meter.crossing_ns, crossing);
    ms_text(waits > 0 ? waits : 0, rest);
    leat_doctor_evidence *e = add_evidence(out, "placement", share, "share");
    leat_text(e->text, sizeof e->text,
              "%s: %s ms; %.4g crossings of %s: %s ms; waits at crossings: %s ms",
              f->placed[0] ? f->placed : "layers on other devices", there, f->meter.crossings,
              leat_figure_bytes((double)f->meter.crossed_bytes).text, crossing, rest);
}

/* Spans of all threads count as if one thread had recorded them, so this is the most that they can cost. */
static void span_evidence(const leat_facts *f, leat_doctor_result *out)
{
    const double ns = f->spans * f->span_ns, step = out->measured_step_ms * 1e6;
    if (ns <= 0 || step <= 0)
        return;
    leat_doctor_evidence *e = add_evidence(out, "spans", ns / step, "share");
    char share[32] = "less than 0.01", number[32];
    if (ns / step >= 1e-4)
        leat_text(share, sizeof share, "%.2g", 100 * ns / step);
    leat_text(number, sizeof number, f->spans < 100 ? "%.3g" : "%.0f", f->spans);
    leat_text(e->text, sizeof e->text,
              "recording %s spans of %.2g ns costs %s %% of a step (engine.spans)", number,
              f->span_ns, share);
}

static void fill_evidence(const leat_facts *f, const leat_forecast *m, leat_doctor_result *out)
{
    stage_evidence(f, out);
    work_evidence(f, out);
    rule_evidence(f, m, out);
    placement_evidence(f, out);
    late_evidence(f, m, out);
    span_evidence(f, out);
}

/* --- the result --------------------------------------------------------------------------------- */

void leat_doctor_fill(const leat_facts *f, const leat_verdict_found *d,
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
    fill_capacities(f, &m, loaders, out);
    leat_forecast_shares(f, out->shares);
    fill_next_limit(f, &m, &d->verdict, loaders, out);
    fill_evidence(f, &m, out);
    leat_verdict_sentence(&d->verdict, out->sentence, sizeof out->sentence);
}

double leat_doctor_fill_costs(const leat_facts *f, const leat_arm_once *once, int32_t warmup_steps,
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
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double ms = costs[i].ns > 0 ? costs[i].ns * 1e-6 : 0;
        out->one_time[out->n_one_time++] = (leat_doctor_cost){ costs[i].name, ms };
        sum += ms;
    }
    out->warmup_steps = warmup_steps;
    return sum;
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
    leat_verdict_found d = { .why = "" };
    if (times && n > 0)
        leat_verdict_of_ranks(times, n, &d);
    if (verdict)
        *verdict = d.verdict;
    if (size)
        leat_text(text, size, "%s", d.why);
    return text;
}
