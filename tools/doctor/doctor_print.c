/* SPDX-License-Identifier: MIT
 *
 * doctor_print.c: a doctor's result as one screen: the verdict, why, what to change, what comes next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_report.h"
#include "files.h"
#include "print/summary.h"
#include "print/terminal.h"

enum { SUGGESTIONS = 3, LINES = 40 };

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
            char text[LEAT_SETTING_SHELL(LEAT_DOCTOR_MAX_SETTING)] = "";
            leat_setting_shell(s->set[k], text, sizeof text);
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
    char line[160] = "left out: ";
    if (r->n_no_memory)
        leat_files_append(line, sizeof line, "%d that did not fit in memory%s", r->n_no_memory,
                          r->n_not_filled || r->n_no_time ? ", " : "");
    if (r->n_not_filled)
        leat_files_append(line, sizeof line, "%d whose cache was not filled in 5 s%s",
                          r->n_not_filled, r->n_no_time ? ", " : "");
    if (r->n_no_time)
        leat_files_append(line, sizeof line, "%d for which there was no time (--seconds)",
                          r->n_no_time);
    leat_terminal_put(to, 2, 4, "%s", line);
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
    leat_doctor_tables_print(to, s->result, !s->brief);
    print_suggestions(to, s);
    const char *const spans = leat_doctor_evidence_text(s->result, "spans");
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
