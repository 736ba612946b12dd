/* SPDX-License-Identifier: MIT
 *
 * chart_arms.h: runs beside each other: what the device's time went to in each, and how long a step took. */
#ifndef LEAT_CHART_ARMS_H
#define LEAT_CHART_ARMS_H

#include <stdbool.h>

#include "chart.h"

enum { LEAT_ARMS_MOST = 32, LEAT_ARMS_PARTS = 4 };

typedef struct leat_chart_arm {
    const char *name;
    double parts[LEAT_ARMS_PARTS]; /* shares: busy, input wait, exposed copy, other */
    double idle_low, idle_high;    /* an interval, or NaN */
    double step_ms, step_low, step_high;
} leat_chart_arm;

typedef struct leat_arms {
    bool simulated; /* the title says so */
    const char *title, *about;
    const char *names; /* what they are: "arm", "epoch" */
    const char *step;  /* "mean step" */
    leat_chart_arm arms[LEAT_ARMS_MOST];
    int n;
} leat_arms;

/* Makes an arm one that can be drawn: what cannot becomes NaN. False: nothing of it can. */
bool leat_arms_check(leat_chart_arm *arm);

leat_chart leat_chart_arms(const leat_arms *data);

#endif
