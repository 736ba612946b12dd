/* SPDX-License-Identifier: MIT
 *
 * bench_report.h: the results of `leat bench`, as text and as JSON. */
#ifndef LEAT_BENCH_REPORT_H
#define LEAT_BENCH_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "json.h"
#include "leat/leat.h"

typedef struct leat_bench_figures {
    const char *path; /* of the config */
    leat_plan *plan;
    leat_device *device; /* NULL: batches stay in host memory */
    leat_loader *loader;
    bool explains;             /* also print decisions and their rules */
    int64_t warmup;            /* batches before the measurement */
    int64_t open_ns, first_ns; /* the loader was opened, its first batch was there */
    int64_t start_ns, end_ns;  /* of the measurement */
    leat_loader_stats_info before, after;
    json_t *epochs; /* with their digests */
} leat_bench_figures;

void leat_bench_report_print(const leat_bench_figures *b);

/* Takes ownership of `epochs`. */
json_t *leat_bench_report_json(leat_bench_figures *b);

#endif
