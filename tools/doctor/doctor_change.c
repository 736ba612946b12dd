/* SPDX-License-Identifier: MIT
 *
 * doctor_change.c: a suggested change: as a unified diff of the config's file, as --set for a shell, and on the screen of
 * `leat doctor`, with its gain and why. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_report.h"
#include "files.h"
#include "formats/figure.h"
#include "print/patch.h"
#include "print/terminal.h"
#include "setup.h"

enum { INDENT = 5 };

/* --- the diff: where the layout of the file cannot be kept, of the config as leat writes it -------- */

/* Whether values of the command line change the config. */
static bool is_overridden(const leat_doctor_job *job)
{
    char *file = NULL, *config = NULL;
    const bool same = leat_setup_write(job->file, NULL, job->path, &file, NULL) == LEAT_OK &&
                      leat_setup_write(job->config, NULL, job->path, &config, NULL) == LEAT_OK &&
                      !strcmp(file, config);
    free(file);
    free(config);
    return !same;
}

static void note_diff(const leat_doctor_job *job, bool kept, leat_doctor_diff *out)
{
    char *const note = out->note;
    const size_t size = sizeof out->note;
    if (!out->text[0]) {
        snprintf(note, size, "%.100s has this already: leave out what overrides it", job->path);
        return;
    }
    if (!kept)
        snprintf(note, size, "of the config as leat writes it: %s",
                 job->text ? "no edit is known that keeps its layout" : "it came through a pipe");
    if (is_overridden(job))
        leat_files_append(note, size, "%swith the other values of the command line, as measured",
                          *note ? "; " : "");
}

void leat_doctor_diff_make(const leat_doctor_job *job, const leat_doctor_suggestion *change,
                           leat_doctor_diff *out)
{
    leat_error err = { 0 };
    leat_config *config = NULL;
    char *before = NULL, *after = NULL;
    *out = (leat_doctor_diff){ .text = NULL };
    if (!change->n_set)
        return;
    int rc = leat_config_copy(job->config, &config, &err);
    if (rc == LEAT_OK)
        rc = leat_doctor_apply(change, config, &err);
    bool kept = rc == LEAT_OK && job->text;
    if (kept &&
        (rc = leat_setup_write(config, job->text, job->path, &after, &err)) == LEAT_E_UNSUPPORTED) {
        kept = false;
        rc = LEAT_OK;
    }
    if (!kept && rc == LEAT_OK &&
        (rc = leat_setup_write(job->file, NULL, job->path, &before, &err)) == LEAT_OK)
        rc = leat_setup_write(config, NULL, job->path, &after, &err);
    if (rc == LEAT_OK)
        out->text =
            leat_patch_text(kept ? job->text : before, after, leat_terminal_name(job->path));
    if (out->text)
        note_diff(job, kept, out);
    else
        snprintf(out->note, sizeof out->note, "no diff: %.180s",
                 rc < 0 ? err.message : "out of memory");
    free(before);
    free(after);
    leat_config_close(&config);
}

void leat_doctor_change_shell(const char *set, char *text, size_t size)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/";
    if (!set[strspn(set, plain)]) {
        leat_files_append(text, size, " --set %s", set);
        return;
    }
    leat_files_append(text, size, " --set '");
    for (size_t n; *set; set += n) {
        n = *set == '\'' ? 1 : strcspn(set, "'");
        leat_files_append(text, size, "%.*s", *set == '\'' ? 4 : (int)n,
                          *set == '\'' ? "'\\''" : set);
    }
    leat_files_append(text, size, "'");
}

/* --- the screen: times are those of the job as measured, times the ratio that was measured or predicted --- */

const char *leat_doctor_ms_text(double ms, char text[32])
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.2e", ms);
    const int decimals = 2 - atoi(strchr(digits, 'e') ? strchr(digits, 'e') + 1 : "0");
    snprintf(text, 32, "%.*f", ms <= 0 || decimals < 0 ? 0 : decimals > 6 ? 6 : decimals, ms);
    return text;
}

double leat_doctor_gain(const leat_doctor_suggestion *s)
{
    return s->is_verified ? s->verified_gain : s->gain;
}

/* "2.5": as many times as many samples per second. */
static const char *times_text(double gain, char text[32])
{
    if (gain < 99)
        snprintf(text, 32, "%.3g", 1 + gain);
    else
        snprintf(text, 32, "%.20s", leat_figure_rate(1 + gain).text);
    return text;
}

/* "+31 %", or "2.5 times", as many samples per second. */
static const char *gain_text(double gain, char text[32])
{
    char times[32];
    if (gain < 1)
        snprintf(text, 32, "%+.0f %%", 100 * gain);
    else
        snprintf(text, 32, "%.20s times", times_text(gain, times));
    return text;
}

/* "-18 % to +56 %", or "0.82 to 2.5 times". */
static const char *range_text(const leat_doctor_suggestion *s, char text[80])
{
    char low[32], high[32];
    snprintf(text, 80, "%s to %s",
             s->gain_high < 1 ? gain_text(s->gain_low, low) : times_text(s->gain_low, low),
             gain_text(s->gain_high, high));
    return text;
}

/* A change that may gain nothing has a range only. */
static bool has_gain(const leat_doctor_suggestion *s)
{
    return leat_doctor_is_sure(s) || s->gain_low > 0;
}

/* "+31 %"; or a range. */
static const char *gain_or_range_text(const leat_doctor_suggestion *s, char text[80])
{
    return has_gain(s) ? gain_text(leat_doctor_gain(s), text) : range_text(s, text);
}

/* The machine's speed may have changed before the job ran beside the changed one, or other programs ran. */
static void say_drift(FILE *to, const leat_doctor_suggestion *s, const leat_doctor_result *r)
{
    char ms[32];
    const double drift = s->before_step_ms / r->measured_step_ms - 1;
    if (s->cores_taken >= 0.1 * r->cores)
        leat_terminal_put(
            to, INDENT, INDENT,
            "other processes used %.1f of %d CPUs while this was measured: repeat it when they "
            "are done",
            s->cores_taken, r->cores);
    else if (fabs(drift) >= 0.1)
        leat_terminal_put(
            to, INDENT, INDENT,
            "side by side the job as it is took %s ms: the machine's speed varies, trust the ratio",
            leat_doctor_ms_text(s->before_step_ms, ms));
}

static void print_gain(FILE *to, const leat_doctor_suggestion *s, const leat_doctor_result *r)
{
    char from[32], into[32], text[80], line[256];
    const double gain = leat_doctor_gain(s);
    const double ms = s->is_verified ? r->measured_step_ms * s->verified_step_ms / s->before_step_ms
                                     : s->predicted_step_ms;
    const double batch = r->samples_per_s.value * (1 + gain) * ms * 1e-3;
    leat_doctor_ms_text(r->measured_step_ms, from);
    leat_doctor_ms_text(ms, into);
    if (fabs(batch / r->batch - 1) > 0.1) /* the change is of the batch */
        snprintf(line, sizeof line,
                 "a step of %.0f samples takes %s ms, one of %.0f takes %s ms now", batch, into,
                 r->batch, from);
    else
        snprintf(line, sizeof line, "%s -> %s ms per step", from, into);
    leat_files_append(line, sizeof line, ", %s -> %s samples/s",
                      leat_figure_rate(r->samples_per_s.value).text,
                      leat_figure_rate(r->samples_per_s.value * (1 + gain)).text);
    if (s->is_verified)
        leat_files_append(line, sizeof line, " (predicted: %s)", gain_text(s->gain, text));
    else if (s->gain_low < s->gain_high)
        leat_files_append(line, sizeof line,
                          s->not_tried[0] ? "; likely %s" : "; %s in single runs",
                          range_text(s, text));
    leat_terminal_put(to, INDENT, INDENT, "%s", line);
    if (s->is_verified)
        say_drift(to, s, r);
}

bool leat_doctor_change_helps(const leat_doctor_suggestion *s)
{
    return !s->is_verified || s->verified_gain >= LEAT_DOCTOR_LEAST_GAIN;
}

static void print_write(FILE *to, const leat_doctor_suggestion *s, const leat_doctor_diff *diff)
{
    const char *const note = leat_doctor_change_helps(s) ? diff->note
                             : s->verified_gain > 0      ? "it gains less than 3 %: change nothing"
                                                         : "it does not help: change nothing";
    if (note[0])
        leat_terminal_put(to, INDENT, INDENT, "%s", note);
    if (leat_doctor_change_helps(s) && diff->text)
        leat_terminal_lines(to, diff->text);
}

/* Whether a gain is measured, or how else it is known. */
static const char *how_known(const leat_doctor_suggestion *s, bool simulated)
{
    return s->is_verified           ? simulated ? "measured (simulated device)" : "measured"
           : s->not_tried[0]        ? "only predicted, not tried"
           : leat_doctor_is_sure(s) ? "tried in short runs"
           : s->gain_low > 0        ? "tried in too few short runs"
                                    : "tried in short runs that disagree";
}

/* " (the order is less random)" */
static const char *differs_text(const leat_doctor_suggestion *s, char text[40])
{
    snprintf(text, 40, s->differs[0] ? " (%s)" : "%s", s->differs);
    return text;
}

void leat_doctor_change_print_short(FILE *to, const leat_doctor_result *r, int32_t number)
{
    const leat_doctor_suggestion *s = &r->suggestions[number - 1];
    char gain[80], differs[40], what[LEAT_DOCTOR_MAX_SETTING + 8] = "; the edit is in --json FILE";
    if (!s->n_set)
        what[0] = 0;
    else if (s->n_set == 1)
        snprintf(what, sizeof what, ": %s", s->set[0]);
    leat_terminal_put(to, 2, INDENT, "%d. %s%s: %s, %s%s", number, s->title,
                      differs_text(s, differs), gain_or_range_text(s, gain), how_known(s, false),
                      what);
}

void leat_doctor_change_print(FILE *to, const leat_doctor_result *r, int32_t number, bool why,
                              const leat_doctor_diff *diff)
{
    const leat_doctor_suggestion *s = &r->suggestions[number - 1];
    char text[80], differs[40];
    gain_or_range_text(s, text);
    leat_terminal_put(
        to, 2, INDENT, "%d. %s%s: %s%s, %s%s%s", number, s->title, differs_text(s, differs), text,
        (has_gain(s) ? leat_doctor_gain(s) : s->gain_high) < 1 ? " samples/s" : " the samples/s",
        how_known(s, r->simulated), s->not_tried[0] && !s->is_verified ? ": " : "",
        s->is_verified ? "" : s->not_tried);
    if (has_gain(s))
        print_gain(to, s, r);
    if (s->not_verified[0])
        leat_terminal_put(to, INDENT, INDENT, "not verified: %s", s->not_verified);
    if (why)
        leat_terminal_put(to, INDENT, INDENT, "%s", s->why);
    print_write(to, s, diff);
}
