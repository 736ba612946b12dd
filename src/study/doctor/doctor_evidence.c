/* SPDX-License-Identifier: MIT
 *
 * doctor_evidence.c: the figures of a doctor's result that explain its verdict, each with a sentence. doctor_fill.c
 * calls it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "doctor_fill.h"
#include "formats/figure.h"
#include "study/facts.h"
#include "study/median.h"

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

void leat_doctor_fill_evidence(const leat_facts *f, leat_doctor_result *out)
{
    const leat_forecast m = leat_forecast_of(f);
    stage_evidence(f, out);
    work_evidence(f, out);
    rule_evidence(f, &m, out);
    placement_evidence(f, out);
    late_evidence(f, &m, out);
    span_evidence(f, out);
}
