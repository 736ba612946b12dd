/* SPDX-License-Identifier: MIT
 *
 * doctor_change.c: a suggested change on the screen of `leat doctor`: its gain, why, and the diff of the config. Its times
 * are those of the job as measured, times the ratio that was measured or predicted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_report.h"
#include "files.h"
#include "formats/figure.h"
#include "print/terminal.h"

enum { INDENT = 5 };

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
    return !s->is_verified || s->verified_gain >= 0.03;
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
