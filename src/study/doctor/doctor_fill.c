/* SPDX-License-Identifier: MIT
 *
 * doctor_fill.c: capacities, shares and the sentence of a doctor's result. doctor.c calls it. */
#include "doctor_fill.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "study/forecast.h"
#include "study/median.h"

static double ms_at(const leat_facts *f, double rate)
{
    return rate > 0 ? f->rows / rate * 1e3 : 0;
}

static const double PROBE_APART = 0.5;   /* the middle two of its pairs: more is noise */
static const double PROBE_BEYOND = 0.25; /* what is added makes a run longer by 0 to 1 of it */

/* --- capacities -------------------------------------------------------------------------------- */

static void add_capacity(const leat_facts *f, const char *name, const char *kind,
                         leat_estimate rate, leat_doctor_result *out)
{
    if (rate.value <= 0 || out->n_capacities == LEAT_DOCTOR_MAX_CAPACITIES)
        return;
    leat_doctor_capacity *c = &out->capacities[out->n_capacities++];
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->kind, sizeof c->kind, "%s", kind);
    c->samples_per_s = rate;
    c->step_ms = ms_at(f, rate.value);
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
    add_capacity(f, "step alone", "step", f->step, out);
    if (!f->on_host && m.queued > 0)
        add_capacity(f, "step without waiting for the host", "step_queued",
                     scaled(f->step, m.step / m.queued), out);
    add_capacity(f, "loader alone", "loader", loaders->ahead, out);
    add_capacity(f, "one batch at a time", "first_batch", loaders->alone, out);
    if (f->copy_ns > 0)
        add_capacity(f, f->pageable ? "copies (pageable)" : "copies (pinned)", "copy",
                     exactly(f->rows / f->copy_ns * 1e9), out);
    if (m.shared > 0)
        add_capacity(f, "CPU time of loader and step", "shared", exactly(f->rows / m.shared * 1e9),
                     out);
    for (int32_t i = 0; i < f->n_stages; i++)
        add_capacity(f, f->stages[i].name, "stage", exactly(stage_rate(f, &f->stages[i])), out);
}

/* --- shares and walls -------------------------------------------------------------------------- */

static void fill_shares(const leat_facts *f, leat_doctor_result *out)
{
    static const char *const names[LEAT_N_SHARES] = { "busy",       "input_wait", "exposed_copy",
                                                      "launch",     "sync",       "placement",
                                                      "other_host", "unknown" };
    double shares[LEAT_N_SHARES];
    leat_forecast_shares(f, shares);
    for (int i = 0; i < LEAT_N_SHARES; i++)
        out->shares[i] =
            (leat_doctor_share){ names[i], shares[i], shares[i] * out->measured_step_ms };
}

static const double CPU_LIMITS = 0.8; /* of the step time: CPU work of both */

struct wall {
    const char *name;
    double ns;
};

/* The slowest part other than the one that limits. */
static void fill_next_wall(const leat_facts *f, const leat_diagnosis *d,
                           const leat_doctor_loaders *loaders, leat_doctor_result *out)
{
    const leat_forecast m = leat_forecast_of(f);
    const bool step = !strcmp(d->name, "compute-bound"), shared = !strcmp(d->name, "shared-cores");
    const bool host = !strcmp(d->name, "launch-bound") || !strcmp(d->name, "sync-bound") ||
                      !strcmp(d->name, "placement");
    const bool input = !strcmp(d->name, "input-bound"), copy = !strcmp(d->name, "transfer-bound");
    const double loader = ms_at(f, loaders->ahead.value) * 1e6;
    /* If the loader or the step is limited by the cores, that is the same limit. */
    const bool is_cpu = (input && strstr(d->label, "cpu-saturated")) || (step && f->on_host) ||
                        ((input || step) && m.shared >= CPU_LIMITS * m.predicted);
    const struct wall walls[] = {
        { "the step on the device", step   ? 0
                                    : host ? m.queued
                                           : m.step },
        { "the loader", input && f->overlaps  ? 0
                        : copy && f->overlaps ? 0
                                              : loader },
        { "copies to the device", copy ? 0 : m.copy },
        { "CPU time of loader and step", shared || is_cpu ? 0 : m.shared },
    };
    const struct wall *next = NULL;
    for (size_t i = 0; i < sizeof walls / sizeof *walls; i++)
        if (walls[i].ns > 0 && (!next || walls[i].ns > next->ns))
            next = &walls[i];
    if (!next || !strcmp(d->name, "environment") || !strcmp(d->name, "inconclusive"))
        return; /* no part is known to be the limit, so none comes next */
    snprintf(out->next_wall, sizeof out->next_wall, "%s", next->name);
    out->next_wall_step_ms = next->ns * 1e-6;
}

/* --- the sentence ------------------------------------------------------------------------------ */

/* What each verdict means to someone who reads it for the first time. */
static const struct {
    const char *name, *label, *text; /* label NULL: any other */
} meanings[] = {
    { "input-bound", "not-overlapped", "Each batch is made after a step, not during it." },
    { "transfer-bound", "not-overlapped", "Each batch is copied after a step, not during it." },
    { "input-bound", NULL,
      "The device waits for its input: batches come slower than it could use them." },
    { "transfer-bound", NULL, "The device waits for copies of batches from the host's memory." },
    { "compute-bound", NULL,
      "The step itself takes the time, and batches keep up. There is nothing to "
      "fix in the input." },
    { "launch-bound", NULL, "The device waits for the host, which launches many short kernels." },
    { "sync-bound", NULL, "The device waits while the host waits for its results." },
    { "placement", NULL,
      "The device waits for layers that run on other devices, and for what crosses to and from "
      "them. Where a layer names a `device` of its own, leave it out." },
    { "shared-cores", NULL,
      "Input and training need the same CPU cores, and take them from each other." },
    { "warm-up", NULL,
      "Opening and warming up take half of this job or more. It is too short to judge." },
    { "environment", "cpu-limit",
      "A CPU limit stopped this process meanwhile: raise it and run this again. The figures say "
      "little." },
    { "environment", NULL,
      "Other programs used the CPU meanwhile: end them and run this again. The figures say "
      "little." },
    { "inconclusive", "too-few-steps",
      "Fewer than 5 steps were measured: their times say little. Measure again, with more --steps "
      "or --rounds." },
    { "inconclusive", NULL,
      "The measurements do not explain the step time. Measure again, longer." },
};

/* What a label adds, by its end. */
static const struct {
    const char *end, *text;
} labels[] = {
    { "storage", " The workers wait for reads." },
    { "cpu-saturated", " The slowest stage keeps the cores busy." },
    { "latency-bound", " In the slowest stage the workers wait, and the cores are idle." },
    { "serial", " There are too few workers: cores are idle." },
    { "ordering", " A slow sample holds up the batches behind it, now and then." },
    { "pageable", " The batches are not in pinned memory." },
    { "small-copies", " The copies are small, so their latency counts." },
    { "trainer-starved", " The workers take those of the trainer." },
    { "driver-starved", " The workers take that of the thread that feeds the device." },
};

static const char *meaning_of_label(const char *label)
{
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const size_t n = strlen(labels[i].end), size = strlen(label);
        if (size >= n && !strcmp(label + size - n, labels[i].end))
            return labels[i].text;
    }
    return "";
}

static void fill_sentence(const leat_diagnosis *d, leat_doctor_result *out)
{
    const char *meaning = "";
    char also[80] = "";
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings && !*meaning; i++)
        if (!strcmp(meanings[i].name, d->name) &&
            (!meanings[i].label || !strcmp(meanings[i].label, d->label)))
            meaning = meanings[i].text;
    const bool unclear = !strcmp(d->also, "environment") || !strcmp(d->also, "inconclusive");
    if (unclear)
        snprintf(also, sizeof also, " %s is not clear%s.",
                 strcmp(d->name, "warm-up") ? "Whether the input is as slow"
                                            : "What limits its steps",
                 !strcmp(d->also, "environment") ? ": other programs used the CPU" : "");
    else if (!strcmp(d->also, "shared-cores"))
        snprintf(also, sizeof also, " In its steps, input and training need the same cores.");
    else if (d->also[0])
        snprintf(also, sizeof also,
                 strcmp(d->name, "warm-up") ? " It is %s as well: both parts are as slow."
                                            : " Its steps are %s.",
                 d->also);
    snprintf(out->verdict.sentence, sizeof out->verdict.sentence, "%s%s%s", meaning,
             meaning_of_label(d->label), also);
}

void leat_doctor_fill(const leat_facts *f, const leat_diagnosis *d,
                      const leat_doctor_loaders *loaders, leat_doctor_result *out)
{
    const leat_forecast m = leat_forecast_of(f);
    out->batch = f->rows;
    out->samples_per_s = f->run;
    out->measured_step_ms = ms_at(f, f->run.value);
    out->predicted_step_ms = m.predicted * 1e-6;
    out->meter = f->meter;
    out->cores = f->cores;
    out->threads = f->threads;
    out->cores_taken = f->taken;
    out->throttled = f->throttled;
    snprintf(out->verdict.name, sizeof out->verdict.name, "%s", d->name);
    snprintf(out->verdict.label, sizeof out->verdict.label, "%s", d->label);
    snprintf(out->verdict.severity, sizeof out->verdict.severity, "%s", d->severity);
    snprintf(out->verdict.also, sizeof out->verdict.also, "%s", d->also);
    fill_capacities(f, loaders, out);
    fill_shares(f, out);
    fill_next_wall(f, d, loaders, out);
    leat_doctor_fill_evidence(f, loaders, out);
    fill_sentence(d, out);
}

void leat_doctor_fill_costs(const leat_facts *f, const leat_arm_once *once, int32_t warmup_steps,
                            leat_doctor_result *out)
{
    const double step = ms_at(f, f->run.value) * 1e6;
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

/* --- a guess ----------------------------------------------------------------------------------- */

char *leat_doctor_guess(const leat_meter *meter, int32_t on_host, char *text, size_t size)
{
    if (size)
        text[0] = 0;
    if (!meter || !size)
        return text;
    const bool crosses = meter->crossings > 0 && meter->other_inside > meter->other / 2;
    const struct {
        const char *verdict, *what;
        double share;
    } parts[] = {
        { "input-bound", "it waited for batches", meter->input_wait },
        { "transfer-bound", "it waited for copies", meter->exposed_copy },
        { crosses   ? "placement"
          : on_host ? "shared-cores"
                    : "launch-bound or sync-bound",
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
        leat_text(text, size, "probably compute-bound: the device was busy %.0f %% of the time",
                  100 * meter->busy);
    else
        leat_text(text, size,
                  "perhaps %s: the device was idle %.0f %% of the time, mostly because %s",
                  parts[most].verdict, 100 * idle, parts[most].what);
    return text;
}
