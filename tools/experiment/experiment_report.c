/* SPDX-License-Identifier: MIT
 *
 * experiment_report.c: an experiment as JSON and as text. */
#include "experiment_rows.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "formats/figure.h"
#include "host.h"
#include "print/json.h"
#include "print/speed.h"
#include "print/terminal.h"

/* --- JSON -------------------------------------------------------------------------------------*/

/* "AMD EPYC, 2 cores, Linux 6.1.0" */
static void machine_text(char *out, size_t size)
{
    char line[256], model[128] = "";
    struct utsname system;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !*model && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (!strncmp(line, "model name", 10) && colon)
            snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (file)
        fclose(file);
    const bool known = uname(&system) == 0;
    snprintf(out, size, "%s, %d core%s, %s %s", *model ? model : "unknown processor",
             leat_host_cores(), leat_host_cores() == 1 ? "" : "s", known ? system.sysname : "?",
             known ? system.release : "?");
}

static void add_series(json_t *list, const leat_series *series)
{
    json_t *json = leat_json_row(list);
    leat_json_text(json, "name", series->name);
    leat_json_text(json, "device", series->device);
    leat_json_bool(json, "simulated", series->simulated);
    leat_json_text(json, "x", series->x_unit);
    leat_json_text(json, "y", "time");
    leat_json_text(json, "x_unit", series->x_unit);
    leat_json_text(json, "y_unit", series->y_unit);
    json_t *points = leat_json_list(json, "points");
    for (int32_t i = 0; i < series->n_points; i++) {
        const leat_point *point = &series->points[i];
        json_t *one = leat_json_row(points);
        leat_json_real(one, "x", point->x);
        leat_json_real(one, "y", point->y);
        leat_json_real(one, "low", point->low);
        leat_json_real(one, "high", point->high);
    }
}

static void add_finding(json_t *list, const leat_finding *finding)
{
    json_t *json = leat_json_row(list);
    leat_json_text(json, "text", finding->text);
    leat_json_add(json, "holds", finding->holds < 0 ? json_null() : json_boolean(finding->holds));
}

json_t *leat_experiment_json(const leat_experiment_run *run)
{
    char machine[320];
    json_t *json = leat_json_open("experiment");
    machine_text(machine, sizeof machine);
    leat_json_int(json, "schema", 1);
    leat_json_text(json, "name", run->experiment->name);
    leat_json_text(json, "title", run->experiment->title);
    leat_json_text(json, "expect", run->experiment->expect);
    leat_json_bool(json, "quick", run->quick);
    leat_json_text(json, "machine", machine);
    leat_json_real(json, "seconds", run->seconds);
    json_t *arms = leat_json_list(json, "arms");
    for (int32_t i = 0; i < run->n_arms; i++)
        leat_speed_add_arm(arms, &run->arms[i]);
    json_t *series = leat_json_list(json, "series");
    for (int32_t i = 0; i < run->n_series; i++)
        add_series(series, &run->series[i]);
    json_t *findings = leat_json_list(json, "findings");
    for (int32_t i = 0; i < run->n_findings; i++)
        add_finding(findings, &run->findings[i]);
    json_t *notes = leat_json_list(json, "notes");
    for (int32_t i = 0; i < run->n_notes; i++)
        leat_json_append(notes, run->notes[i]);
    return json;
}

/* --- text -------------------------------------------------------------------------------------*/

static void print_arms(const leat_experiment_run *run)
{
    if (!run->n_arms)
        return;
    printf("\n%13s %22s %14s %12s  %s\n", "samples/s", "(95 %)", "loader alone/s", "device idle",
           "verdict");
    for (int32_t i = 0; i < run->n_arms; i++) {
        const leat_compare_arm *arm = &run->arms[i];
        char interval[48];
        snprintf(interval, sizeof interval, "%.15s-%.15s",
                 leat_figure_rate(arm->samples_per_s.low).text,
                 leat_figure_rate(arm->samples_per_s.high).text);
        leat_terminal_say(2, "%s%s", arm->name, arm->simulated ? " (simulated)" : "");
        printf("%13s %22s %14s %10.1f %%  %s\n", leat_figure_rate(arm->meter.samples_per_s).text,
               interval, leat_figure_rate(arm->loader.value).text, arm->idle.value * 100,
               leat_verdict_about(arm->verdict.kind)->name);
    }
}

static const char *number_text(double value, char text[32])
{
    snprintf(text, 32, value >= 1e6 ? "%.3g" : value >= 100 ? "%.0f" : "%.3g", value);
    return text;
}

static void print_series(const leat_series *series)
{
    char y[32], low[32], high[32], x[32];
    printf("\n%s%s\n%14s %14s %28s\n", series->name, series->simulated ? " (simulated)" : "",
           series->x_unit, series->y_unit, "(95 %)");
    for (int32_t i = 0; i < series->n_points; i++) {
        const leat_point *point = &series->points[i];
        char interval[80];
        snprintf(interval, sizeof interval, "%s-%s", number_text(point->low, low),
                 number_text(point->high, high));
        printf("%14s %14s %28s\n", number_text(point->x, x), number_text(point->y, y), interval);
    }
}

static void print_finding(const leat_finding *finding)
{
    static const char *const words[] = { "?  ", "no ", "yes" };
    static const leat_terminal_colour colours[] = { LEAT_TERMINAL_PLAIN, LEAT_TERMINAL_YELLOW,
                                                    LEAT_TERMINAL_GREEN };
    const int i = finding->holds + 1;
    printf("%s%s%s ", leat_terminal_colour_text(stdout, colours[i]), words[i],
           leat_terminal_colour_text(stdout, LEAT_TERMINAL_PLAIN));
    leat_terminal_wrap(stdout, finding->text, 4, 4);
}

void leat_experiment_print(const leat_experiment_run *run)
{
    print_arms(run);
    for (int32_t i = 0; i < run->n_series; i++)
        print_series(&run->series[i]);
    if (run->n_findings)
        printf("\nDoes the measurement support it?\n");
    for (int32_t i = 0; i < run->n_findings; i++)
        print_finding(&run->findings[i]);
    for (int32_t i = 0; i < run->n_notes; i++)
        leat_terminal_say(4, "%s%s", i ? "" : "\n", run->notes[i]);
    printf("\n%.0f s; more: docs/why-is-my-gpu-slower/%s.md\n", run->seconds,
           run->experiment->name);
}
