/* SPDX-License-Identifier: MIT
 *
 * doctor_print.c: a doctor's result as one screen: the verdict, why, what to change, what comes next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_report.h"
#include "files.h"
#include "formats/figure.h"
#include "print/summary.h"
#include "print/terminal.h"

enum { SUGGESTIONS = 3, LINES = 40, BAR = 24 };

struct screen {
    const leat_doctor_result *result;
    const char *path;
    const leat_doctor_diff *diffs;
    int32_t changes; /* how many at most */
    bool extras;     /* what was tried in vain, what is paid once, the cost of spans */
    bool brief; /* without the reason of a change, how to try it, and the rule of the prediction */
    bool names; /* each further change has a line */
};

/* --- the verdict -------------------------------------------------------------------------------*/

static leat_terminal_colour colour_of(const leat_verdict *v)
{
    const leat_tone tone = leat_verdict_about(v->kind)->tone;
    return tone == LEAT_TONE_GOOD                 ? LEAT_TERMINAL_GREEN
           : v->severity == LEAT_SEVERITY_HIGH    ? LEAT_TERMINAL_RED
           : v->kind == LEAT_VERDICT_INCONCLUSIVE ? LEAT_TERMINAL_PLAIN
                                                  : LEAT_TERMINAL_YELLOW;
}

static void print_verdict(FILE *to, const leat_doctor_result *r)
{
    const leat_verdict *v = &r->verdict;
    char names[64], label[LEAT_VERDICT_LABEL], rest[128];
    const int n =
        snprintf(names, sizeof names, "verdict: %s%s%s", leat_verdict_about(v->kind)->name,
                 v->also ? " and " : "", leat_verdict_about(v->also)->name);
    const bool labelled = leat_verdict_label(v, label)[0];
    snprintf(rest, sizeof rest, "%s%s%s%s", labelled ? "(" : "", label, labelled ? ")" : "",
             r->simulated ? labelled ? ", simulated" : "(simulated)" : "");
    fprintf(to, "%s%s%s%s", leat_terminal_colour_text(stdout, colour_of(v)), names,
            leat_terminal_colour_text(stdout, LEAT_TERMINAL_PLAIN), rest[0] ? " " : "");
    leat_terminal_wrap(to, rest, n + 1, 2);
    if (!r->beside.kind || r->beside.kind == LEAT_VERDICT_INCONCLUSIVE) {
        leat_terminal_put(to, 2, 2, "%s", r->sentence);
        return;
    }
    leat_verdict_label(&r->beside, label);
    leat_terminal_put(to, 2, 2, "With other programs running: %s%s%s%s",
                      leat_verdict_about(r->beside.kind)->name, label[0] ? " (" : "", label,
                      label[0] ? ")" : "");
}

/* --- the time of a step ------------------------------------------------------------------------*/

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

/* The sentence of a figure; "": there is none of this name. */
static const char *evidence_text(const leat_doctor_result *r, const char *name)
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
        leat_terminal_wrap(to, evidence_text(r, "host_late"), 4, 4);
    }
    if (is_listed(r, LEAT_SHARE_PLACEMENT)) {
        fputs("  ** ", to);
        leat_terminal_wrap(to, evidence_text(r, "placement"), 5, 5);
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
    const char *const text = evidence_text(r, "workers");
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
    leat_terminal_put(to, 2, 2, "%s; %s", evidence_text(r, "rule"), off);
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

/* explained: with the rule of the prediction. */
static void print_tables(FILE *to, const leat_doctor_result *r, bool explained)
{
    print_now(to, r);
    print_shares(to, r);
    print_parts(to, r, explained);
}

/* --- what to change ----------------------------------------------------------------------------*/

/* How to try the first change that --set makes, without writing it, as a shell takes it. */
static void print_try(FILE *to, const leat_doctor_result *r, int32_t most)
{
    for (int32_t i = 0; i < r->n_suggestions && i < most; i++) {
        const leat_doctor_suggestion *const s = &r->suggestions[i];
        if (s->n_set == 0 || !leat_doctor_change_helps(s))
            continue;
        const int n = fprintf(to, "  to try change %d first, add to your command:", i + 1);
        for (int32_t k = 0; k < s->n_set; k++) {
            char text[LEAT_DOCTOR_CHANGE_SHELL(LEAT_DOCTOR_MAX_SETTING)] = "";
            leat_doctor_change_shell(s->set[k], text, sizeof text);
            const bool fits = s->n_set == 1 && n + (int)strlen(text) <= LEAT_TERMINAL_COLUMNS;
            fputs(fits ? "" : k ? " \\\n   " : "\n   ", to);
            leat_terminal_lines(to, text);
        }
        fputc('\n', to);
        return;
    }
}

/* Or could not be. */
static bool any_verified(const leat_doctor_result *r)
{
    for (int32_t i = 0; i < r->n_suggestions; i++)
        if (r->suggestions[i].is_verified || r->suggestions[i].not_verified[0])
            return true;
    return false;
}

static void print_without_gain(FILE *to, const leat_doctor_result *r)
{
    char line[64 + sizeof r->without_gain] = "no gain (below 3 %) from: ";
    for (int32_t i = 0; i < r->n_without_gain; i++)
        leat_files_append(line, sizeof line, "%s%s", i ? "; " : "", r->without_gain[i]);
    leat_terminal_put(to, 2, 4, "%s", line);
}

static bool left_out(const leat_doctor_result *r)
{
    return r->n_no_memory || r->n_not_filled || r->n_no_time;
}

/* Changes that apply, but could not be measured. */
static void print_left_out(FILE *to, const leat_doctor_result *r)
{
    const struct {
        int32_t n;
        const char *why;
    } parts[] = { { r->n_no_memory, "that did not fit in memory" },
                  { r->n_not_filled, "whose cache was not filled in 5 s" },
                  { r->n_no_time, "for which there was no time (--seconds)" } };
    char line[160] = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].n)
            leat_files_append(line, sizeof line, "%s%d %s", *line ? ", " : "", parts[i].n,
                              parts[i].why);
    leat_terminal_put(to, 2, 4, "left out: %s", line);
}

static void print_no_suggestion(FILE *to, const leat_doctor_result *r)
{
    fputs("\nwhat to change: ", to);
    if (r->verdict.kind == LEAT_VERDICT_COMPUTE_BOUND && !r->verdict.also)
        fputs("nothing; the input keeps up with the device\n", to);
    else if (r->verdict.kind == LEAT_VERDICT_ENVIRONMENT && !r->beside.kind)
        fputs(r->verdict.cause == LEAT_CAUSE_CPU_LIMIT
                  ? "raise the CPU limit, then measure again\n"
                  : "end the other programs, then measure again; or see --anyway\n",
              to);
    else if (r->n_tried)
        fprintf(to, "%d change%s tried, none gains 3 %% or more\n", r->n_tried,
                r->n_tried == 1 ? "" : "s");
    else
        fputs(r->no_trials  ? "no change was tried; leave out --quick\n"
              : left_out(r) ? "no change could be tried\n"
                            : "none of the changes that leat knows applies here\n",
              to);
    if (left_out(r))
        print_left_out(to, r);
}

static void print_suggestions(FILE *to, const struct screen *s)
{
    const leat_doctor_result *const r = s->result;
    const int32_t n = r->n_suggestions < s->changes ? r->n_suggestions : s->changes;
    if (r->least_epochs)
        fprintf(to, "\nwhat to change: train %lld epochs or more; one-time costs weigh too much\n",
                (long long)r->least_epochs);
    if (!r->n_suggestions) {
        if (!r->least_epochs)
            print_no_suggestion(to, r);
        else if (left_out(r))
            print_left_out(to, r);
        return;
    }
    const bool doubtful = leat_verdict_about(r->verdict.kind)->tone == LEAT_TONE_OPEN;
    fprintf(to, "\n%s; each gain is of one change alone%s\n",
            doubtful ? "what may help, but measure again first" : "what to change",
            doubtful || any_verified(r) || r->suggestions[0].not_tried[0]
                ? ""
                : "; --verify measures the first");
    for (int32_t i = 1; i <= n; i++)
        leat_doctor_change_print(to, r, i, !s->brief, &s->diffs[i - 1]);
    for (int32_t i = n + 1; i <= r->n_suggestions && s->names; i++)
        leat_doctor_change_print_short(to, r, i);
    if (r->n_suggestions > n && !s->names)
        fprintf(to, "  and %d more with --json FILE\n", r->n_suggestions - n);
    if (s->extras && r->n_without_gain)
        print_without_gain(to, r);
    if (s->extras && left_out(r))
        print_left_out(to, r);
    if (!s->brief)
        print_try(to, r, s->changes);
}

/* Each where the job is short, otherwise their sum. */
static void print_costs(FILE *to, const leat_doctor_result *r)
{
    const bool each = r->verdict.kind == LEAT_VERDICT_WARM_UP;
    char text[256] = "", ms[32];
    double sum = 0;
    for (int32_t i = 0; i < r->n_one_time; i++) {
        sum += r->one_time[i].ms;
        if (r->one_time[i].ms > 0)
            leat_files_append(text, sizeof text, "%s%s %s", *text ? ", " : "", r->one_time[i].name,
                              leat_doctor_ms_text(r->one_time[i].ms, ms));
    }
    fputc('\n', to);
    leat_terminal_put(to, 0, 2, "paid once at the start, not in each step: %s ms%s%s",
                      leat_doctor_ms_text(sum, ms), each ? ": " : "", each ? text : "");
}

static void print_head(FILE *to, const leat_doctor_result *r, const char *config)
{
    char line[1040], mean[48] = "";
    const int64_t size = r->batch_size ? r->batch_size : (int64_t)(r->batch + 0.5);
    if (fabs(r->batch - (double)size) >
        0.005) /* the last batch of a pass is short, or sizes vary */
        snprintf(mean, sizeof mean, " (%.4g on average)", r->batch);
    leat_terminal_put(to, 0, 2, "%.120s on %s%s: batches of %s%lld%s, %d worker%s, %d core%s",
                      config, r->device, r->simulated ? " (simulated)" : "",
                      mean[0] ? "up to " : "", (long long)size, mean, r->threads,
                      r->threads == 1 ? "" : "s", r->cores, r->cores == 1 ? "" : "s");
    if (r->cores_taken >= 0.1 * r->cores)
        fprintf(to, "other programs used %.1f of the %d cores: %s\n", r->cores_taken, r->cores,
                leat_verdict_about(r->verdict.kind)->tone == LEAT_TONE_OPEN
                    ? "the figures are doubtful. Measure again"
                    : "the verdict holds, figures less so");
    if (r->uncached > 0)
        leat_terminal_wrap(to, leat_summary_uncached_text(r->uncached, line), 0, 2);
    if (r->note[0])
        leat_terminal_put(to, 0, 2, "note: %s", r->note);
    fputc('\n', to);
}

static void print_screen(FILE *to, const struct screen *s)
{
    print_head(to, s->result, s->path);
    print_verdict(to, s->result);
    print_tables(to, s->result, !s->brief);
    print_suggestions(to, s);
    const char *const spans = evidence_text(s->result, "spans");
    if (s->extras)
        print_costs(to, s->result);
    if (s->extras && spans[0])
        leat_terminal_wrap(to, spans, 0, 2);
}

/* The caller frees it; NULL: no memory. */
static char *text_of(const struct screen *s)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    print_screen(to, s);
    return leat_files_close_text(to, &text);
}

/* On a terminal, which breaks long ones. */
static int lines_of(const char *text)
{
    int n = 0;
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
        n += 1 + (end > text ? (int)(end - text - 1) / LEAT_TERMINAL_COLUMNS : 0);
    return n;
}

/* Lines of the screen: LINES, and those of the diffs that it shows. */
static int room_of(const struct screen *s)
{
    int n = LINES;
    for (int32_t i = 0; i < s->result->n_suggestions && i < s->changes; i++)
        if (s->diffs[i].text && leat_doctor_change_helps(&s->result->suggestions[i]))
            n += lines_of(s->diffs[i].text);
    return n;
}

/* Leaves out what matters least: extras, all but the names of changes but the first, explanations, names, the first.
 * False: nothing is left. */
static bool leave_out(struct screen *s)
{
    if (s->extras)
        s->extras = false;
    else if (s->changes > 1)
        s->extras = --s->changes > 0;
    else if (!s->brief)
        s->brief = true;
    else if (s->names)
        s->names = false;
    else
        s->changes--;
    return s->changes >= 0;
}

void leat_doctor_report_print(FILE *to, const leat_doctor_result *r, const char *path,
                              const leat_doctor_diff *diffs)
{
    struct screen s = { r, path, diffs, SUGGESTIONS, true, false, true };
    char *text = text_of(&s);
    while (text && lines_of(text) > room_of(&s) && leave_out(&s)) {
        free(text);
        text = text_of(&s);
    }
    if (text)
        fputs(text, to);
    else
        print_screen(to, &s);
    free(text);
}
