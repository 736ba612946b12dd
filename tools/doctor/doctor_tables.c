/* SPDX-License-Identifier: MIT
 *
 * doctor_tables.c: the time of a step on the screen of `leat doctor`, and its two tables: where it goes, and what each
 * part takes alone. doctor_print.c calls it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_report.h"
#include "files.h"
#include "formats/figure.h"
#include "print/terminal.h"

enum { BAR = 24 };

/* A time with the decimals of the step time, but with two digits at least. */
static const char *as_step(const leat_doctor_result *r, double ms, char text[32])
{
    char step[32];
    leat_doctor_ms_text(r->measured_step_ms, step);
    const char *const point = strchr(step, '.');
    const int decimals = point ? (int)strlen(point + 1) : 0;
    if (ms * pow(10, decimals) >= 10)
        snprintf(text, 32, "%.*f", decimals, ms);
    else
        snprintf(text, 32, "%.2g", ms);
    return text;
}

const char *leat_doctor_evidence_text(const leat_doctor_result *r, const char *name)
{
    for (int32_t i = 0; i < r->n_evidence; i++)
        if (!strcmp(r->evidence[i].name, name))
            return r->evidence[i].text;
    return "";
}

/* The one step time of the screen; all other times are parts of it, or are compared with it. */
static void print_now(FILE *to, const leat_doctor_result *r)
{
    char text[32], low[32], high[32], line[256];
    const leat_estimate *const e = &r->samples_per_s;
    snprintf(line, sizeof line, "A step takes %s ms now, %s samples/s: %s in %d round%s",
             leat_doctor_ms_text(r->measured_step_ms, text), leat_figure_rate(e->value).text,
             r->simulated ? "simulated" : "measured", r->rounds, r->rounds == 1 ? "" : "s");
    if (e->low > 0 && strcmp(as_step(r, r->batch / e->high * 1e3, low),
                             as_step(r, r->batch / e->low * 1e3, high)) != 0)
        leat_files_append(line, sizeof line,
                          "; with 95 %% certainty the mean is between %s and %s ms", low, high);
    leat_terminal_put(to, 2, 2, "%s.", line);
}

/* --- where the time goes -----------------------------------------------------------------------*/

void leat_doctor_divide(const double *shares, int n, long total, long *out)
{
    double sum = 0;
    long given = 0;
    for (int i = 0; i < n; i++) { /* rounding the sum so far: what is given is always whole */
        sum += shares[i];
        const long now = i + 1 < n ? lround(sum * (double)total) : total;
        out[i] = now > given ? now - given : 0;
        given += out[i];
    }
}

/* Ten to the power of the digits after the point of a time. */
static long units_of(const char *ms)
{
    const char *const point = strchr(ms, '.');
    long units = 1;
    for (size_t i = point ? strlen(point + 1) : 0; i > 0; i--)
        units *= 10;
    return units;
}

static bool is_listed(const leat_doctor_result *r, leat_share share)
{
    return share == LEAT_SHARE_BUSY || r->shares[share] >= 0.01;
}

/* Parts below 1 % are added up. Percent and milliseconds each sum to the whole. */
static void print_shares(FILE *to, const leat_doctor_result *r)
{
    const char *texts[LEAT_N_SHARES + 1];
    double shares[LEAT_N_SHARES + 1], small = 0;
    long percent[LEAT_N_SHARES + 1], ms[LEAT_N_SHARES + 1];
    char step[32];
    int n = 0;
    for (leat_share i = 0; i < LEAT_N_SHARES; i++) {
        if (!is_listed(r, i)) {
            small += r->shares[i];
            continue;
        }
        texts[n] = leat_verdict_share(i)->text;
        shares[n++] = r->shares[i];
    }
    texts[n] = "the rest, each below 1 %";
    shares[n++] = small;
    leat_doctor_ms_text(r->measured_step_ms, step);
    const long units = units_of(step);
    leat_doctor_divide(shares, n, 100, percent);
    leat_doctor_divide(shares, n, lround(atof(step) * (double)units), ms);
    fprintf(to, "\nwhere these %s ms go%s\n", step, r->simulated ? " (device simulated)" : "");
    for (int i = 0; i < n; i++) {
        char bar[BAR + 1] = "";
        if (i == n - 1 && !percent[i] && !ms[i])
            continue;
        memset(bar, '#', (size_t)(percent[i] < 100 ? percent[i] * BAR / 100 : BAR));
        fprintf(to, "  %-26s %4ld %%  %8.*f ms%s%s\n", texts[i], percent[i],
                (int)strlen(step) - (int)strcspn(step, ".") - (units > 1),
                (double)ms[i] / (double)units, bar[0] ? "  " : "", bar);
    }
    if (is_listed(r, LEAT_SHARE_OTHER_HOST)) {
        fputs("  * ", to);
        leat_terminal_wrap(to, leat_doctor_evidence_text(r, "host_late"), 4, 4);
    }
    if (is_listed(r, LEAT_SHARE_PLACEMENT)) {
        fputs("  ** ", to);
        leat_terminal_wrap(to, leat_doctor_evidence_text(r, "placement"), 5, 5);
    }
}

/* --- the parts ---------------------------------------------------------------------------------*/

/* Whether the screen has a line for it. */
static bool is_shown(const leat_doctor_result *r, leat_part part)
{
    if (part == LEAT_PART_FIRST_BATCH)
        return r->no_prefetch || r->verdict.cause == LEAT_CAUSE_NOT_OVERLAPPED;
    return part != LEAT_PART_STEP_QUEUED || leat_verdict_blames_host(r->verdict.kind);
}

/* Whether a verdict blames the part. A job that is too short has that of its steps besides. */
static bool is_limit(const leat_doctor_result *r, leat_part part)
{
    return r->verdict.cause != LEAT_CAUSE_NOT_OVERLAPPED && /* there all times add up */
           (leat_verdict_about(r->verdict.kind)->part == part ||
            leat_verdict_about(r->verdict.also)->part == part);
}

static const char *mark_of(const leat_doctor_result *r, leat_part part, double ms)
{
    const bool shared = part == LEAT_PART_SHARED;
    if (is_limit(r, part))
        return shared ? "  <- too few cores" : "  <- the limit";
    if (r->next_limit == part)
        return "  <- limits next";
    /* The cores are what a part of the CPU is short of. */
    return shared && r->next_limit && ms > r->next_limit_step_ms && ms >= 0.8 * r->predicted_step_ms
               ? "  <- the reason"
               : "";
}

static void print_part(FILE *to, const leat_doctor_result *r, const char *name, double ms,
                       const char *mark)
{
    char text[32];
    fprintf(to, "  %-48s %8s ms%s\n", name, as_step(r, ms, text), mark);
}

/* Of the stages only the slowest. */
static void print_stage(FILE *to, const leat_doctor_result *r)
{
    const leat_doctor_capacity *stage = NULL;
    char name[64];
    for (int32_t i = 0; i < r->n_capacities; i++)
        if (r->capacities[i].part == LEAT_PART_STAGE &&
            (!stage || r->capacities[i].step_ms > stage->step_ms))
            stage = &r->capacities[i];
    if (!stage || r->verdict.cause == LEAT_CAUSE_STORAGE) /* reading is no stage */
        return;
    snprintf(name, sizeof name, "  slowest stage: %.31s", stage->name);
    print_part(to, r, name, stage->step_ms, "");
}

static void print_work(FILE *to, const leat_doctor_result *r)
{
    const char *const text = leat_doctor_evidence_text(r, "workers");
    if (text[0])
        leat_terminal_put(to, 4, 6, "%s", text);
}

/* By what rule the parts give the step, and how well. */
static void print_check(FILE *to, const leat_doctor_result *r)
{
    char off[96], from[32], into[32];
    const double rest = r->predicted_step_ms / r->measured_step_ms - 1;
    if (rest < -0.15)
        snprintf(off, sizeof off, "the parts explain %s of %s ms",
                 leat_doctor_ms_text(r->predicted_step_ms, from),
                 leat_doctor_ms_text(r->measured_step_ms, into));
    else
        snprintf(off, sizeof off, fabs(rest) < 0.005 ? "as measured" : "%.0f %% %s than measured",
                 100 * fabs(rest), rest < 0 ? "less" : "more");
    leat_terminal_put(to, 2, 2, "%s; %s", leat_doctor_evidence_text(r, "rule"), off);
}

static void print_parts(FILE *to, const leat_doctor_result *r, bool explained)
{
    bool copied = false; /* its time alone includes that of copies */
    for (int32_t i = 0; i < r->n_capacities; i++)
        copied |= r->capacities[i].part == LEAT_PART_COPY;
    fprintf(to, "\nwhat each part takes for a step of %.4g sample%s when it runs alone\n", r->batch,
            r->batch == 1 ? "" : "s");
    for (leat_part part = LEAT_PART_NONE + 1; part < LEAT_PART_STAGE; part++)
        for (int32_t i = 0; i < r->n_capacities; i++) {
            if (r->capacities[i].part != part || !is_shown(r, part))
                continue;
            print_part(to, r,
                       copied && part == LEAT_PART_LOADER ? "the loader makes and copies a batch"
                                                          : leat_verdict_part(part)->text,
                       r->capacities[i].step_ms, mark_of(r, part, r->capacities[i].step_ms));
            if (part == leat_doctor_own_loader(r)) {
                print_stage(to, r);
                print_work(to, r);
            }
        }
    if (explained)
        print_check(to, r);
    if (r->probe >= 0)
        leat_terminal_put(to, 2, 2, "test: 1 ms more in the step made the whole %.2f ms longer%s",
                          r->probe,
                          r->probe > 0.85   ? ", so the step has no slack"
                          : r->probe < 0.15 ? ", so the step is not the limit"
                                            : "");
}

void leat_doctor_tables_print(FILE *to, const leat_doctor_result *r, bool explained)
{
    print_now(to, r);
    print_shares(to, r);
    print_parts(to, r, explained);
}
