/* SPDX-License-Identifier: MIT
 *
 * doctor_print.c: a doctor's result as one screen: the verdict, why, what to change, what comes next. */
#include <stdlib.h>
#include <string.h>

#include "doctor_report.h"
#include "files.h"
#include "setting.h"
#include "terminal.h"

enum { SUGGESTIONS = 3, LINES = 40, BAR = 24 };

static const struct {
    const char *verdict;
    int code;
} codes[] = {
    { "input-bound", 10 }, { "transfer-bound", 11 }, { "launch-bound", 12 },
    { "sync-bound", 13 },  { "shared-cores", 14 },   { "compute-bound", 15 },
    { "warm-up", 16 },     { "environment", 20 },    { "inconclusive", 21 },
};

int leat_doctor_report_code(const char *verdict)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (!strcmp(codes[i].verdict, verdict))
            return codes[i].code;
    return 22;
}

static const char *rate_text(double per_s, char text[32])
{
    return leat_files_count_text((uint64_t)(per_s > 0 ? per_s + 0.5 : 0), text);
}

/* --- the verdict -------------------------------------------------------------------------------*/

static leat_terminal_colour colour_of(const leat_doctor_verdict *v)
{
    return !strcmp(v->name, "compute-bound")  ? LEAT_TERMINAL_GREEN
           : !strcmp(v->severity, "high")     ? LEAT_TERMINAL_RED
           : !strcmp(v->name, "inconclusive") ? LEAT_TERMINAL_PLAIN
                                              : LEAT_TERMINAL_YELLOW;
}

static void print_verdict(FILE *to, const leat_doctor_result *r)
{
    const leat_doctor_verdict *v = &r->verdict;
    fprintf(to, "%sverdict: %s%s%s", leat_terminal_colour_text(stdout, colour_of(v)), v->name,
            v->also[0] ? " and " : "", v->also);
    if (v->label[0])
        fprintf(to, " (%s)", v->label);
    fprintf(to, "%s%s\n", leat_terminal_colour_text(stdout, LEAT_TERMINAL_PLAIN),
            r->simulated ? ", simulated" : "");
    fputs("  ", to);
    leat_terminal_wrap(to, v->sentence, 2, 2);
}

/* --- where the time goes -----------------------------------------------------------------------*/

static const struct {
    const char *name, *text;
} share_texts[LEAT_DOCTOR_SHARES] = {
    { "busy", "device computes" },
    { "input_wait", "waits for a batch" },
    { "exposed_copy", "waits for a copy" },
    { "launch", "host is slow to launch" },
    { "sync", "host waits for a result" },
    { "other_host", "host does other things" },
    { "unknown", "not known" },
};

static const char *share_text(const char *name)
{
    for (int i = 0; i < LEAT_DOCTOR_SHARES; i++)
        if (!strcmp(share_texts[i].name, name))
            return share_texts[i].text;
    return name;
}

static void print_shares(FILE *to, const leat_doctor_result *r)
{
    char ms[32];
    fprintf(to, "\nwhere the %s ms of a step go%s\n", leat_files_ms_text(r->measured_step_ms, ms),
            r->simulated ? " (device simulated)" : "");
    for (int i = 0; i < LEAT_DOCTOR_SHARES; i++) {
        const leat_doctor_share *s = &r->shares[i];
        char bar[BAR + 1] = "";
        if (s->share < 0.0005)
            continue;
        memset(bar, '#', (size_t)(s->share < 1 ? s->share * BAR + 0.5 : BAR));
        fprintf(to, "  %-24s %5.1f %%  %8s ms  %s\n", share_text(s->name), 100 * s->share,
                leat_files_ms_text(s->ms, ms), bar);
    }
}

/* --- the parts ---------------------------------------------------------------------------------*/

static void print_part(FILE *to, const char *name, double ms, double per_s)
{
    char text[32], rate[32];
    fprintf(to, "  %-40s %9s ms  %12s samples/s\n", name, leat_files_ms_text(ms, text),
            rate_text(per_s, rate));
}

static void print_parts(FILE *to, const leat_doctor_result *r)
{
    const leat_doctor_capacity *stage = NULL;
    fprintf(to, "\nwhat each part takes alone, per step of %.4g samples\n", r->batch);
    for (int32_t i = 0; i < r->n_capacities; i++) {
        const leat_doctor_capacity *c = &r->capacities[i];
        if (strcmp(c->kind, "stage") != 0)
            print_part(to, c->name, c->step_ms, c->samples_per_s.value);
        else if (!stage || c->step_ms > stage->step_ms)
            stage = c;
    }
    if (stage && !strstr(r->verdict.label, "storage")) { /* reading is no stage */
        char name[96];
        snprintf(name, sizeof name, "slowest stage: %.40s", stage->name);
        print_part(to, name, stage->step_ms, stage->samples_per_s.value);
    }
    print_part(to, "all together, predicted from the parts", r->predicted_step_ms,
               r->predicted_step_ms > 0 ? r->batch / r->predicted_step_ms * 1e3 : 0);
    print_part(to, "all together, measured", r->measured_step_ms, r->samples_per_s.value);
}

/* --- what to change ----------------------------------------------------------------------------*/

/* "+31 %", or "2.5 times" as many samples per second. */
static const char *gain_text(double gain, char text[32])
{
    snprintf(text, 32, gain < 1 ? "%+.0f %% samples/s" : "%.3g times the samples/s",
             gain < 1 ? 100 * gain : 1 + gain);
    return text;
}

static void print_indented(FILE *to, const char *text)
{
    fputs("     ", to);
    leat_terminal_wrap(to, text, 5, 5);
}

/* Job and change were run side by side: that is what counts, and what was predicted stands beside it. */
static void print_measured(FILE *to, const leat_doctor_suggestion *s)
{
    char from[32], into[32], gain[32], line[256];
    const char *const than = s->right ? "within 15 % of the prediction"
                             : s->verified_step_ms > s->expected_step_ms
                                 ? "it helps less than predicted"
                                 : "it helps more than predicted";
    snprintf(line, sizeof line, "measured side by side: %s -> %s ms per step; predicted %s; %s",
             leat_files_ms_text(s->before_step_ms, from),
             leat_files_ms_text(s->verified_step_ms, into), gain_text(s->gain, gain),
             s->verified_gain > 0 ? than : "it does not help");
    print_indented(to, line);
}

static void print_suggestion(FILE *to, const leat_doctor_suggestion *s, int number,
                             double before_ms)
{
    char from[32], into[32], text[32], title[256], line[896];
    snprintf(title, sizeof title, "%d. %s: %s, %s", number, s->title,
             gain_text(s->is_verified ? s->verified_gain : s->gain, text),
             s->is_verified ? "measured" : "predicted");
    fputs("  ", to);
    leat_terminal_wrap(to, title, 2, 5);
    print_indented(to, s->why);
    if (s->is_verified)
        print_measured(to, s);
    else
        snprintf(line, sizeof line, "%s -> %s ms per step; ", leat_files_ms_text(before_ms, from),
                 leat_files_ms_text(s->predicted_step_ms, into));
    if (s->is_verified)
        line[0] = 0;
    strcat(line, s->n_set ? "add" : "no single setting does it");
    for (int32_t i = 0; i < s->n_set; i++)
        leat_setting_shell(s->set[i], line, sizeof line);
    print_indented(to, line);
}

/* Where to write a change that is to stay. */
static void print_where(FILE *to, const leat_doctor_result *r, const char *config)
{
    char text[512], yaml[256];
    for (int32_t i = 0; i < r->n_suggestions && i < SUGGESTIONS; i++)
        if (r->suggestions[i].n_set) {
            snprintf(text, sizeof text, "to keep a change, write it in %.100s, as in `%s`", config,
                     leat_setting_yaml(r->suggestions[i].set[0], yaml, sizeof yaml));
            fputs("  ", to);
            leat_terminal_wrap(to, text, 2, 2);
            return;
        }
}

static bool any_verified(const leat_doctor_result *r)
{
    for (int32_t i = 0; i < r->n_suggestions; i++)
        if (r->suggestions[i].is_verified)
            return true;
    return false;
}

static void print_suggestions(FILE *to, const leat_doctor_result *r, const char *config,
                              int32_t most)
{
    const int32_t n = r->n_suggestions < most ? r->n_suggestions : most;
    if (!r->n_suggestions) {
        fprintf(to, "\nwhat to change: ");
        if (!strcmp(r->verdict.name, "compute-bound"))
            fputs("nothing; the input keeps up with the device\n", to);
        else if (!strcmp(r->verdict.name, "environment"))
            fputs("measure again when no other program uses the CPU\n", to);
        else if (r->n_tried)
            fprintf(to, "%d change%s tried, none gains 3 %% or more\n", r->n_tried,
                    r->n_tried == 1 ? "" : "s");
        else
            fputs("no change applies, or --quick tried none\n", to);
        return;
    }
    fprintf(to, "\nwhat to change; gains do not add up%s\n",
            any_verified(r) || !r->suggestions[0].n_set ? "" : "; --verify measures the first");
    for (int32_t i = 0; i < n; i++)
        print_suggestion(to, &r->suggestions[i], i + 1, r->measured_step_ms);
    if (r->n_suggestions > n)
        fprintf(to, "  and %d more with --json\n", r->n_suggestions - n);
    print_where(to, r, config);
}

/* Each where the job is short, otherwise their sum. */
static void print_costs(FILE *to, const leat_doctor_result *r)
{
    const bool each = !strcmp(r->verdict.name, "warm-up");
    char text[256] = "", line[384], ms[32];
    double sum = 0;
    for (int32_t i = 0; i < r->n_one_time; i++) {
        const size_t n = strlen(text);
        sum += r->one_time[i].ms;
        if (r->one_time[i].ms > 0)
            snprintf(text + n, sizeof text - n, "%s%s %s", n ? ", " : "", r->one_time[i].name,
                     leat_files_ms_text(r->one_time[i].ms, ms));
    }
    fputc('\n', to);
    snprintf(line, sizeof line, "paid once at the start: %s ms%s%s", leat_files_ms_text(sum, ms),
             each ? ": " : "; --json has the parts", each ? text : "");
    leat_terminal_wrap(to, line, 0, 2);
}

static void print_head(FILE *to, const leat_doctor_result *r, const char *config)
{
    char line[640];
    snprintf(line, sizeof line, "%.200s on %.256s%s: batches of %.4g, %d worker%s, %d core%s",
             config, r->device, r->simulated ? " (simulated)" : "", r->batch, r->threads,
             r->threads == 1 ? "" : "s", r->cores, r->cores == 1 ? "" : "s");
    leat_terminal_wrap(to, line, 0, 2);
    if (r->cores_taken >= 0.1 * r->cores)
        fprintf(
            to,
            "other programs used %.1f of the %d cores: the figures are doubtful. Measure again\n",
            r->cores_taken, r->cores);
    fputc('\n', to);
}

static void print_screen(FILE *to, const leat_doctor_result *r, const char *config, int32_t most)
{
    char ms[32];
    print_head(to, r, config);
    print_verdict(to, r);
    print_shares(to, r);
    print_parts(to, r);
    if (r->next_wall[0])
        fprintf(to, "  next limit after that: %s, %s ms\n", r->next_wall,
                leat_files_ms_text(r->next_wall_step_ms, ms));
    if (r->probe >= 0)
        fprintf(to, "  probe: of work added to the step, %.0f %% made it longer\n", 100 * r->probe);
    print_suggestions(to, r, config, most);
    print_costs(to, r);
}

/* The screen with so many changes. The caller frees it; NULL: no memory. */
static char *screen_of(const leat_doctor_result *r, const char *config, int32_t most)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    print_screen(to, r, config, most);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

static int lines_of(const char *text)
{
    int n = 0;
    while ((text = strchr(text, '\n')) != NULL) {
        n++;
        text++;
    }
    return n;
}

/* As many changes as fit on the screen. */
void leat_doctor_report_print(const leat_doctor_result *r, const char *config)
{
    int32_t most = SUGGESTIONS;
    char *text = screen_of(r, config, most);
    while (text && lines_of(text) > LINES && most > 1) {
        free(text);
        text = screen_of(r, config, --most);
    }
    if (text)
        fputs(text, stdout);
    else
        print_screen(stdout, r, config, most);
    free(text);
}
