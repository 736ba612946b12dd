/* SPDX-License-Identifier: MIT
 *
 * chart_bars.h: horizontal bars with intervals, in groups, beside one or two lines that they are compared with. */
#ifndef LEAT_CHART_BARS_H
#define LEAT_CHART_BARS_H

#include <stdbool.h>

#include "chart.h"

enum { LEAT_BARS_MOST = 96, LEAT_BARS_WALLS_MOST = 2 };

typedef struct leat_bar {
    const char *group; /* NULL: none; bars of a group follow each other */
    const char *name;
    const char *kind;        /* class of its colour */
    double value, low, high; /* 0 or more; low, high: an interval, or NaN */
    double part;             /* of the value, drawn in the colour of parts; 0: none */
} leat_bar;

typedef struct leat_bars {
    bool simulated;                 /* the title says so */
    const char *id, *title, *about; /* of the chart */
    const char *axis;               /* what the values are, with their unit */
    const char *unit;               /* behind a value: "ms"; "%": values are shares */
    const char *names;              /* what the bars are: "stage" */
    const char *part,
        *rest; /* names of the part of a bar and of the rest; NULL: bars have no parts */
    leat_bar bars[LEAT_BARS_MOST];
    int n;
    struct {
        const char *name;
        double value;
    } walls[LEAT_BARS_WALLS_MOST];
    int n_walls;
} leat_bars;

/* Adds a bar if there is room and the value can be drawn. */
void leat_bars_add(leat_bars *bars, leat_bar bar);
void leat_bars_wall(leat_bars *bars, const char *name, double value);

leat_chart leat_chart_bars(const leat_bars *data);

#endif
