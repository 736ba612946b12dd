/* SPDX-License-Identifier: MIT
 *
 * experiment_print.c: an experiment as text. */
#include <stdio.h>
#include <string.h>

#include "experiment_report.h"
#include "formats/figure.h"
#include "print/terminal.h"

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
                 leat_figure_rate(arm->samples_per_s_low).text,
                 leat_figure_rate(arm->samples_per_s_high).text);
        leat_terminal_say(2, "%s%s", arm->name, arm->simulated ? " (simulated)" : "");
        printf("%13s %22s %14s %10.1f %%  %s\n", leat_figure_rate(arm->meter.samples_per_s).text,
               interval, leat_figure_rate(arm->loader.value).text, arm->idle * 100,
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
