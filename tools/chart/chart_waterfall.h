/* SPDX-License-Identifier: MIT
 *
 * chart_waterfall.h: the time of a step as bars, each of which begins where the one above it ends. */
#ifndef LEAT_CHART_WATERFALL_H
#define LEAT_CHART_WATERFALL_H

#include <stdbool.h>

#include "chart.h"

enum { LEAT_WATERFALL_MOST = 16 };

typedef struct leat_waterfall {
    const char *title; /* NULL: of the only run */
    bool simulated;
    int n;
    struct leat_waterfall_part {
        const char *kind; /* class of its colour */
        const char *name;
        double share, ms; /* ms: NaN if it is not known */
    } parts[LEAT_WATERFALL_MOST];
} leat_waterfall;

/* Adds a part by its word if there is room and its share can be drawn. */
void leat_waterfall_add(leat_waterfall *data, const char *word, double share, double ms);

/* The chart, good as long as its data. */
leat_chart leat_chart_waterfall(const leat_waterfall *data);

#endif
