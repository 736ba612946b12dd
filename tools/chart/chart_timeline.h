/* SPDX-License-Identifier: MIT
 *
 * chart_timeline.h: what workers, copies and the device did in a window of some steps, of one or more traces. */
#ifndef LEAT_CHART_TIMELINE_H
#define LEAT_CHART_TIMELINE_H

#include "chart.h"
#include "spans.h"

enum { LEAT_TIMELINE_MOST = 4 };

typedef struct leat_timeline {
    int n;
    double window_ms; /* the same for all, so that they can be compared */
    struct leat_timeline_run {
        const char *name;
        const leat_spans *spans;
        double first_ms; /* where the window begins */
        double busy;     /* share of the steady time in which the device computed; NaN: no steps */
    } runs[LEAT_TIMELINE_MOST];
} leat_timeline;

/* Adds a trace. Returns 0 if there is nothing in it to draw, or no room. */
int leat_timeline_add(leat_timeline *timeline, const char *name, const leat_spans *spans);
/* Chooses the windows; to be called after the last was added. */
void leat_timeline_choose(leat_timeline *timeline);

leat_chart leat_chart_timeline(const leat_timeline *data);

#endif
