/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/figure.h"
#include "terminal.h"

typedef leat_loader_stats_info snapshot;

static double seconds(const snapshot *before, const snapshot *after)
{
    return (double)(after->wall_ns - before->wall_ns) * 1e-9;
}

/* Total time of all workers; without workers the consumer's thread does the work. */
static double worker_seconds(const snapshot *before, const snapshot *after)
{
    return seconds(before, after) * (after->threads > 0 ? after->threads : 1);
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* Difference of stage i between the snapshots. */
static leat_stage_stats stage_of(const snapshot *before, const snapshot *after, int32_t i)
{
    leat_stage_stats stage = after->stages[i];
    stage.samples -= before->stages[i].samples;
    stage.busy_ns -= before->stages[i].busy_ns;
    if (stage.busy_ns < 0) /* both are estimates */
        stage.busy_ns = 0;
    stage.bytes_out -= before->stages[i].bytes_out;
    if (stage.cpu_ns >= 0) {
        stage.cpu_ns -= before->stages[i].cpu_ns > 0 ? before->stages[i].cpu_ns : 0;
        stage.cpu_ns = stage.cpu_ns < 0               ? 0
                       : stage.cpu_ns > stage.busy_ns ? stage.busy_ns
                                                      : stage.cpu_ns;
    }
    return stage;
}

/* In seconds; NaN: no sample of it was timed. */
static double busy_s(const leat_stage_stats *stage)
{
    return stage->busy_ns || !stage->samples ? (double)stage->busy_ns * 1e-9 : NAN;
}

static double us_per_sample(const leat_stage_stats *stage)
{
    return ratio(busy_s(stage) * 1e6, (double)stage->samples);
}

#define SHORT_NS                                                                                   \
    100000000 /* shorter measurements have inexact shares, because of work across their ends */

/* --- the table ---------------------------------------------------------------------------------*/

enum { NAME = 26 };

static void print_stage(const leat_stage_stats *stage, const snapshot *before,
                        const snapshot *after)
{
    const double s = seconds(before, after);
    char cpu[32] = "-", us[32] = "-", share[32] = "-";
    if (stage->busy_ns > 0) {
        snprintf(us, sizeof us, "%.2f", us_per_sample(stage));
        snprintf(share, sizeof share, "%.1f %%",
                 ratio(busy_s(stage), worker_seconds(before, after)) * 100);
    }
    if (stage->cpu_ns >= 0 && stage->busy_ns > 0)
        snprintf(cpu, sizeof cpu, "%.0f %%", (double)stage->cpu_ns / (double)stage->busy_ns * 100);
    if (stage->samples)
        /* a long name gets its own line */
        printf("%-*s%s%*s%12s %10s %11s %7s %10s\n", NAME, stage->name,
               strlen(stage->name) > NAME ? "\n" : "", strlen(stage->name) > NAME ? NAME : 0, "",
               leat_figure_rate(ratio((double)stage->samples, s)).text, us, share, cpu,
               leat_figure_bytes(ratio((double)stage->bytes_out, s)).text);
}

static void print_reads(const snapshot *before, const snapshot *after)
{
    const uint64_t reads = after->reads - before->reads;
    const uint64_t rows = after->reads_rows - before->reads_rows;
    const uint64_t again = after->reads_again - before->reads_again;
    if (!reads)
        return;
    printf("reads: %s for %s records", leat_figure_count(reads).text, leat_figure_count(rows).text);
    if (again)
        printf(", %s of them repeated", leat_figure_count(again).text);
    putchar('\n');
}

void leat_summary_print(const leat_loader_stats_info *before, const leat_loader_stats_info *after)
{
    const double all = worker_seconds(before, after), s = seconds(before, after);
    printf("\n%-*s%12s %10s %11s %7s %10s\n", NAME, "stage", "samples/s", "us/sample",
           "worker time", "on CPU", "bytes/s");
    for (int32_t i = 0; i < after->n_stages; i++) {
        const leat_stage_stats stage = stage_of(before, after, i);
        print_stage(&stage, before, after);
    }
    if (after->threads)
        leat_terminal_say(
            2,
            "workers: %.1f %% idle (%.1f %% while the consumer worked instead), %.1f %% on a CPU",
            ratio((double)(after->sleep_ns - before->sleep_ns) * 1e-9, all) * 100,
            ratio((double)(after->help_ns - before->help_ns) * 1e-9, all) * 100,
            ratio((double)(after->cpu_ns - before->cpu_ns) * 1e-9, all) * 100);
    printf("the consumer waited %.1f %% of %.*f %s\n",
           ratio((double)(after->wait_ns - before->wait_ns) * 1e-9, s) * 100, s < 1 ? 1 : 2,
           s < 1 ? s * 1e3 : s, s < 1 ? "ms" : "s");
    if (after->wall_ns - before->wall_ns < SHORT_NS)
        printf("note: this run is too short for exact shares; give more --steps or --epochs\n");
    print_reads(before, after);
}

/* --- JSON --------------------------------------------------------------------------------------*/

static void add_stages(json_t *json, const snapshot *before, const snapshot *after)
{
    json_t *list = leat_json_list(json, "stages");
    for (int32_t i = 0; i < after->n_stages; i++) {
        const leat_stage_stats stage = stage_of(before, after, i);
        json_t *one = leat_json_row(list);
        leat_json_text(one, "name", stage.name);
        leat_json_int(one, "samples", (int64_t)stage.samples);
        leat_json_int(one, "bytes_out", (int64_t)stage.bytes_out);
        leat_json_real(one, "samples_per_s", ratio((double)stage.samples, seconds(before, after)));
        leat_json_real(one, "busy_s", busy_s(&stage));
        leat_json_real(one, "cpu_s", stage.cpu_ns < 0 ? NAN : (double)stage.cpu_ns * 1e-9);
        leat_json_real(one, "us_per_sample", us_per_sample(&stage));
        leat_json_real(one, "share", ratio(busy_s(&stage), worker_seconds(before, after)));
    }
}

void leat_summary_add(json_t *json, const leat_loader_stats_info *before,
                      const leat_loader_stats_info *after)
{
    add_stages(json, before, after);
    json_t *workers = leat_json_object(json, "workers");
    leat_json_int(workers, "threads", after->threads);
    leat_json_real(workers, "busy_s", (double)(after->busy_ns - before->busy_ns) * 1e-9);
    leat_json_real(workers, "help_s", (double)(after->help_ns - before->help_ns) * 1e-9);
    leat_json_real(workers, "sleep_s", (double)(after->sleep_ns - before->sleep_ns) * 1e-9);
    leat_json_real(workers, "sleep_read_s",
                   (double)(after->sleep_read_ns - before->sleep_read_ns) * 1e-9);
    leat_json_real(workers, "sleep_order_s",
                   (double)(after->sleep_order_ns - before->sleep_order_ns) * 1e-9);
    leat_json_real(workers, "core_wait_s",
                   after->core_wait_ns < 0 || before->core_wait_ns < 0
                       ? NAN
                       : (double)(after->core_wait_ns - before->core_wait_ns) * 1e-9);
    leat_json_real(workers, "cpu_s", (double)(after->cpu_ns - before->cpu_ns) * 1e-9);
    json_t *reads = leat_json_object(json, "reads");
    leat_json_int(reads, "reads", (int64_t)(after->reads - before->reads));
    leat_json_int(reads, "records", (int64_t)(after->reads_rows - before->reads_rows));
    leat_json_int(reads, "again", (int64_t)(after->reads_again - before->reads_again));
}

/* --- while it runs -----------------------------------------------------------------------------*/

void leat_summary_describe(void *user, leat_progress_fields *fields)
{
    leat_summary_watching *const watch = user;
    leat_loader_stats_info now;
    leat_loader_stats(watch->loader, &now);
    const double waited =
        ratio((double)(now.wait_ns - watch->wait_ns), (double)(now.wall_ns - watch->wall_ns));
    leat_progress_add(fields, "waited %.0f %%", (waited > 1 ? 1 : waited) * 100);
    leat_progress_add(fields, "%d of %d batches ready", now.batches_ready, now.slots);
    leat_progress_add(fields, "%d reads in flight", now.reads_in_flight);
    watch->wall_ns = now.wall_ns;
    watch->wait_ns = now.wait_ns;
}

void leat_summary_watch(leat_summary_watching *watch, leat_loader *loader, leat_progress *progress)
{
    *watch = (leat_summary_watching){ .loader = loader };
    progress->describe = leat_summary_describe;
    progress->user = watch;
}

/* --- what was not as wished ------------------------------------------------------------------*/

void leat_summary_print_others(double cores_taken, int cores, const char *so)
{
    if (cores_taken >= 0.1 * cores)
        leat_terminal_say(2, "other processes used %.1f of %d CPUs meanwhile%s", cores_taken, cores,
                          so);
}

const char *leat_summary_uncached_text(double uncached, char *text)
{
    snprintf(
        text, 160,
        "the cache held %.0f %% of the samples when the measurements began: the others were made "
        "as in a first epoch",
        100 * (1 - uncached));
    return text;
}
