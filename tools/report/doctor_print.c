/* SPDX-License-Identifier: MIT
 *
 * doctor_print.c: a doctor's result as one screen: the verdict, why, what to change, what comes next. */
#include <string.h>

#include "doctor_report.h"
#include "files.h"
#include "terminal.h"

enum { SUGGESTIONS = 3, BAR = 24 };

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

static void print_verdict(const leat_doctor_result *r)
{
    const leat_doctor_verdict *v = &r->verdict;
    printf("%sverdict: %s%s%s", leat_terminal_colour_text(stdout, colour_of(v)), v->name,
           v->also[0] ? " and " : "", v->also);
    if (v->label[0])
        printf(" (%s)", v->label);
    if (strcmp(v->severity, "none") != 0)
        printf(", %s", v->severity);
    printf("%s%s\n", leat_terminal_colour_text(stdout, LEAT_TERMINAL_PLAIN),
           r->simulated ? ", simulated" : "");
    fputs("  ", stdout);
    leat_terminal_wrap(stdout, v->sentence, 2, 2);
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

static void print_shares(const leat_doctor_result *r)
{
    char ms[32];
    printf("\nwhere the %s ms of a step go%s\n", leat_files_ms_text(r->measured_step_ms, ms),
           r->simulated ? " (device simulated)" : "");
    for (int i = 0; i < LEAT_DOCTOR_SHARES; i++) {
        const leat_doctor_share *s = &r->shares[i];
        char bar[BAR + 1] = "";
        if (s->share < 0.0005)
            continue;
        memset(bar, '#', (size_t)(s->share < 1 ? s->share * BAR + 0.5 : BAR));
        printf("  %-24s %5.1f %%  %8s ms  %s\n", share_text(s->name), 100 * s->share,
               leat_files_ms_text(s->ms, ms), bar);
    }
}

/* --- the parts ---------------------------------------------------------------------------------*/

static void print_part(const char *name, double ms, double per_s)
{
    char text[32], rate[32];
    printf("  %-40s %9s ms  %12s samples/s\n", name, leat_files_ms_text(ms, text),
           rate_text(per_s, rate));
}

static void print_parts(const leat_doctor_result *r)
{
    const leat_doctor_capacity *stage = NULL;
    printf("\nwhat each part takes alone, per step of %.4g samples\n", r->batch);
    for (int32_t i = 0; i < r->n_capacities; i++) {
        const leat_doctor_capacity *c = &r->capacities[i];
        if (strcmp(c->kind, "stage") != 0)
            print_part(c->name, c->step_ms, c->samples_per_s.value);
        else if (!stage || c->step_ms > stage->step_ms)
            stage = c;
    }
    if (stage) {
        char name[96];
        snprintf(name, sizeof name, "slowest stage: %.40s", stage->name);
        print_part(name, stage->step_ms, stage->samples_per_s.value);
    }
    print_part("all together, predicted from the parts", r->predicted_step_ms,
               r->predicted_step_ms > 0 ? r->batch / r->predicted_step_ms * 1e3 : 0);
    print_part("all together, measured", r->measured_step_ms, r->samples_per_s.value);
}

/* --- what to change ----------------------------------------------------------------------------*/

/* "+31 %", or "2.5 times" as many samples per second. */
static const char *gain_text(double gain, char text[32])
{
    snprintf(text, 32, gain < 1 ? "%+.0f %% samples/s" : "%.3g times the samples/s",
             gain < 1 ? 100 * gain : 1 + gain);
    return text;
}

/* "try --set path=value ...", for a shell. */
static void lines_text(const leat_doctor_suggestion *s, char *text, size_t size)
{
    snprintf(text, size, s->n_set ? "try" : "by hand: no single setting does it");
    for (int32_t i = 0; i < s->n_set; i++) {
        const char *quote = strpbrk(s->set[i], " {[*") ? "'" : "";
        const size_t n = strlen(text);
        snprintf(text + n, size - n, " --set %s%s%s", quote, s->set[i], quote);
    }
}

static void print_suggestion(const leat_doctor_suggestion *s, int number, double before_ms)
{
    char from[32], to[32], text[32], title[256], lines[768], line[896];
    snprintf(title, sizeof title, "%d. %s: %s", number, s->title, gain_text(s->gain, text));
    fputs("  ", stdout);
    leat_terminal_wrap(stdout, title, 2, 5);
    fputs("     ", stdout);
    leat_terminal_wrap(stdout, s->why, 5, 5);
    lines_text(s, lines, sizeof lines);
    snprintf(line, sizeof line, "%s -> %s ms per step; %s", leat_files_ms_text(before_ms, from),
             leat_files_ms_text(s->predicted_step_ms, to), lines);
    fputs("     ", stdout);
    leat_terminal_wrap(stdout, line, 5, 5);
    if (s->is_verified)
        printf("     verified: %s ms, %s expected, %s without the change: %s\n",
               leat_files_ms_text(s->verified_step_ms, text),
               leat_files_ms_text(s->expected_step_ms, to),
               leat_files_ms_text(s->before_step_ms, from),
               s->right ? "right within 15 %" : "not within 15 %");
}

static void print_suggestions(const leat_doctor_result *r)
{
    if (!r->n_suggestions) {
        printf("\nwhat to change: ");
        if (!strcmp(r->verdict.name, "compute-bound"))
            puts("nothing; the input keeps up with the device");
        else if (!strcmp(r->verdict.name, "environment"))
            puts("measure again when no other program uses the CPU");
        else if (r->n_tried)
            printf("%d change%s tried, none gains 3 %% or more\n", r->n_tried,
                   r->n_tried == 1 ? "" : "s");
        else
            puts("no change applies, or --quick tried none");
        return;
    }
    puts("\nwhat to change; step times are predictions, --verify runs the first one");
    for (int32_t i = 0; i < r->n_suggestions && i < SUGGESTIONS; i++)
        print_suggestion(&r->suggestions[i], i + 1, r->measured_step_ms);
    if (r->n_suggestions > SUGGESTIONS)
        printf("  and %d more with --json\n", r->n_suggestions - SUGGESTIONS);
}

static void print_costs(const leat_doctor_result *r)
{
    char text[256] = "", ms[32];
    for (int32_t i = 0; i < r->n_one_time; i++) {
        const size_t n = strlen(text);
        if (r->one_time[i].ms > 0)
            snprintf(text + n, sizeof text - n, "%s%s %s", n ? ", " : "", r->one_time[i].name,
                     leat_files_ms_text(r->one_time[i].ms, ms));
    }
    putchar('\n');
    leat_terminal_say(2, "paid once, ms: %s", text);
}

static void print_head(const leat_doctor_result *r, const char *config)
{
    leat_terminal_say(2, "%s on %s%s: batches of %.4g, %d worker%s, %d core%s", config, r->device,
                      r->simulated ? " (simulated)" : "", r->batch, r->threads,
                      r->threads == 1 ? "" : "s", r->cores, r->cores == 1 ? "" : "s");
    if (r->cores_taken >= 0.1 * r->cores)
        printf("other programs used %.1f of them meanwhile: close them, and measure again\n",
               r->cores_taken);
    putchar('\n');
}

void leat_doctor_report_print(const leat_doctor_result *r, const char *config)
{
    char ms[32];
    print_head(r, config);
    print_verdict(r);
    print_shares(r);
    print_parts(r);
    if (r->next_wall[0])
        printf("  next limit behind it: %s, %s ms\n", r->next_wall,
               leat_files_ms_text(r->next_wall_step_ms, ms));
    if (r->probe >= 0)
        printf("  probe: of work added to the step, %.0f %% made it longer\n", 100 * r->probe);
    print_suggestions(r);
    print_costs(r);
}
