/* SPDX-License-Identifier: MIT
 *
 * chart_dots.h: up to four values in each row as dots on one axis, which is logarithmic where values lie far apart. */
#ifndef LEAT_CHART_DOTS_H
#define LEAT_CHART_DOTS_H

#include "chart.h"

enum { LEAT_DOTS_ROWS_MOST = 32, LEAT_DOTS_MOST = 4 };

typedef struct leat_dots {
    const char *id, *title, *about; /* of the chart */
    bool simulated;
    const char *axis, *names;            /* what the values are; what the rows are */
    leat_chart_key keys[LEAT_DOTS_MOST]; /* of the dots of a row */
    int n_keys;
    struct leat_dots_row {
        const char *name;
        double values[LEAT_DOTS_MOST]; /* above 0, or NaN; with intervals, or NaN */
        double low[LEAT_DOTS_MOST], high[LEAT_DOTS_MOST];
    } rows[LEAT_DOTS_ROWS_MOST];
    int n;
} leat_dots;

/* Makes a row one that can be drawn: what cannot becomes NaN. False: nothing of it can. */
bool leat_dots_check(struct leat_dots_row *row);

leat_chart leat_chart_dots(const leat_dots *data);

#endif
