/* SPDX-License-Identifier: MIT
 *
 * summary.h: shows the statistics of a loader as a table, as JSON, and on the progress line while it
 * runs. `before` and `after` are two snapshots; the figures are their difference. */
#ifndef LEAT_SUMMARY_H
#define LEAT_SUMMARY_H

#include "json.h"
#include "leat/loader.h"
#include "progress.h"

/* Prints a row per stage, then where the workers' time went and how reading went. */
void leat_summary_print(const leat_loader_stats_info *before, const leat_loader_stats_info *after);

/* Adds "stages", "workers" and "reads" to an object. */
void leat_summary_add(json_t *json, const leat_loader_stats_info *before,
                      const leat_loader_stats_info *after);

/* Shows the state of the loader on the progress line. Must live as long as both. */
typedef struct leat_summary_watching {
    leat_loader *loader;
    int64_t wall_ns, wait_ns; /* at the last update */
} leat_summary_watching;
void leat_summary_describe(void *watching, leat_progress_fields *fields);
void leat_summary_watch(leat_summary_watching *watch, leat_loader *loader, leat_progress *progress);

/* Says that other processes used CPUs while something was measured, if they used a tenth of them or more. */
void leat_summary_print_others(double cores_taken, int cores, const char *so);
/* That a cache was not filled before anything was measured. `text` has 160 bytes; returned. */
const char *leat_summary_uncached_text(double uncached, char *text);

#endif
