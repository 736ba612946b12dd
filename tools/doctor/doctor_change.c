/* SPDX-License-Identifier: MIT
 *
 * doctor_change.c: a suggested change on the screen of `leat doctor`: its gain, why, and what to write where. Its times
 * are those of the job as measured, times the ratio that was measured or predicted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static double gain_of(const leat_doctor_suggestion *s)
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

/* "+31 %"; of a change that is not sure its range. */
static const char *gain_or_range_text(const leat_doctor_suggestion *s, char text[80])
{
    return leat_doctor_is_sure(s) ? gain_text(gain_of(s), text) : range_text(s, text);
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
    const double gain = gain_of(s);
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
    if (s->not_tried[0] && s->gain_low < s->gain_high)
        leat_files_append(line, sizeof line, "; likely %s", range_text(s, text));
    if (s->is_verified)
        leat_files_append(line, sizeof line, " (predicted: %s)", gain_text(s->gain, text));
    leat_terminal_put(to, INDENT, INDENT, "%s", line);
    if (r->beside.kind && !s->not_tried[0] && s->gain_low < s->gain_high)
        leat_terminal_put(to, INDENT, INDENT, "beside other programs: %s in single rounds",
                          range_text(s, text));
    if (s->is_verified)
        say_drift(to, s, r);
}

bool leat_doctor_brackets(const char *path)
{
    static const char key[] = "pipeline:";
    char line[256];
    bool found = false, brackets = false;
    struct stat status; /* a pipe that was read would wait for another writer */
    const bool regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    FILE *const file = regular ? fopen(path, "r") : NULL;
    while (file && !found && fgets(line, sizeof line, file)) {
        found = !strncmp(line, key, sizeof key - 1);
        brackets = found && line[sizeof key - 1 + strspn(line + sizeof key - 1, " ")] == '[';
    }
    if (file)
        fclose(file);
    return brackets;
}

const char *leat_doctor_line(const char *lines, bool brackets, char *text, size_t size)
{
    const int n = (int)strcspn(lines, "\n");
    const bool map = n > 2 && memchr(lines, ':', (size_t)n);
    if (brackets && n > 2)
        snprintf(text, size, "%s%.*s%s,", map ? "{" : "", n - 2, lines + 2, map ? "}" : "");
    else
        snprintf(text, size, "%.*s", n, lines);
    return lines[n] ? lines + n + 1 : lines + n;
}

/* YAML may go on in the next line if that is indented more. */
static void print_lines(FILE *to, const char *lines, bool brackets)
{
    char line[sizeof((leat_doctor_suggestion *)0)->lines + 8];
    while (*lines) {
        lines = leat_doctor_line(lines, brackets, line, sizeof line);
        leat_terminal_put(to, INDENT + 2, INDENT + 6, "%s", line);
    }
}

void leat_doctor_tell_of_set(const leat_config *file, const leat_config *config,
                             leat_doctor_result *r)
{
    char there[4096] = "", here[sizeof there] = "";
    leat_config_get(file, "pipeline", there, sizeof there, NULL);
    leat_config_get(config, "pipeline", here, sizeof here, NULL);
    for (int32_t i = 0; i < r->n_suggestions && strcmp(there, here); i++) {
        char *const where = r->suggestions[i].where;
        if (r->suggestions[i].replaces > 0)
            snprintf(where + strlen(where), LEAT_DOCTOR_MAX_WHERE - strlen(where),
                     ", with the values of --set");
    }
}

bool leat_doctor_change_helps(const leat_doctor_suggestion *s)
{
    return !s->is_verified || s->verified_gain >= 0.03;
}

static void print_write(FILE *to, const leat_doctor_suggestion *s, const char *path,
                        const leat_config *config)
{
    char line[1024], write[512];
    snprintf(line, sizeof line, "in %.200s, ", path);
    if (!leat_doctor_change_helps(s)) {
        leat_terminal_put(to, INDENT, INDENT, "%s: change nothing",
                          s->verified_gain > 0 ? "it gains less than 3 %" : "it does not help");
        return;
    }
    if (s->lines[0]) {
        leat_terminal_put(to, INDENT, INDENT, "%s%s, write", line, s->where);
        print_lines(to, s->lines, leat_doctor_brackets(path));
        return;
    }
    for (int32_t i = 0; i < s->n_set; i++)
        leat_files_append(line, sizeof line, "%s%s", i ? "; " : "",
                          leat_setting_write(config, s->set[i], write, sizeof write));
    if (s->n_set)
        leat_terminal_put(to, INDENT, INDENT, "%s", line);
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
    char gain[80], differs[40], what[LEAT_DOCTOR_MAX_WHERE + 160] = "; what to write: --json FILE";
    if (!s->n_set && !s->lines[0])
        what[0] = 0;
    else if (s->n_set == 1)
        snprintf(what, sizeof what, ": %s", s->set[0]);
    else if (!s->n_set && strlen(s->lines) < 128 && !strchr(s->lines, '\n'))
        snprintf(what, sizeof what, ": %s, write `%.128s`", s->where, s->lines);
    leat_terminal_put(to, 2, INDENT, "%d. %s%s: %s, %s%s", number, s->title,
                      differs_text(s, differs), gain_or_range_text(s, gain), how_known(s, false),
                      what);
}

void leat_doctor_change_print(FILE *to, const leat_doctor_result *r, int32_t number, bool why,
                              const char *path, const leat_config *config)
{
    const leat_doctor_suggestion *s = &r->suggestions[number - 1];
    char text[80], differs[40];
    gain_or_range_text(s, text);
    leat_terminal_put(
        to, 2, INDENT, "%d. %s%s: %s%s, %s%s%s", number, s->title, differs_text(s, differs), text,
        (leat_doctor_is_sure(s) ? gain_of(s) : s->gain_high) < 1 ? " samples/s" : " the samples/s",
        how_known(s, r->simulated), s->not_tried[0] && !s->is_verified ? ": " : "",
        s->is_verified ? "" : s->not_tried);
    if (leat_doctor_is_sure(s))
        print_gain(to, s, r);
    if (s->not_verified[0])
        leat_terminal_put(to, INDENT, INDENT, "not verified: %s", s->not_verified);
    if (why)
        leat_terminal_put(to, INDENT, INDENT, "%s", s->why);
    print_write(to, s, path, config);
}
