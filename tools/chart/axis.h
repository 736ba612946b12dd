/* SPDX-License-Identifier: MIT
 *
 * axis.h: the scale of an axis: values to pixels, and where its ticks are. */
#ifndef LEAT_AXIS_H
#define LEAT_AXIS_H

#include <stdbool.h>

enum { LEAT_AXIS_TICKS_MOST = 16 };

/* Values from low to high become pixels from `at` on, `length` of them, which may be negative. */
typedef struct leat_axis {
    double low, high, step; /* step: between ticks, of a scale that is not logarithmic */
    bool log;
    double at, length;
    int n_most; /* ticks */
} leat_axis;

/* Values must be below 1e300 in size; low > high: there are none. Where they hardly differ, the scale is
 * around them. wide: it ends at ticks. */
leat_axis leat_axis_linear(double low, double high, bool wide, double at, double length,
                           int n_most);
/* Values must be above 1e-300, too. It begins and ends within a third of a power of ten. */
leat_axis leat_axis_log(double low, double high, double at, double length, int n_most);

double leat_axis_place(const leat_axis *scale, double value);
int leat_axis_ticks(const leat_axis *scale, double values[LEAT_AXIS_TICKS_MOST]);
/* The text of a tick. */
const char *leat_axis_text(const leat_axis *scale, double value, char text[32]);

#endif
