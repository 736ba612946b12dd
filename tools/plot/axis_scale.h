/* SPDX-License-Identifier: MIT
 *
 * axis_scale.h: the scale of an axis: values to pixels, and where its ticks are. */
#ifndef LEAT_SCALE_H
#define LEAT_SCALE_H

#include <stdbool.h>

enum { LEAT_SCALE_TICKS_MOST = 16 };

/* Values from low to high become pixels from `at` on, `length` of them, which may be negative. */
typedef struct leat_scale {
    double low, high, step; /* step: between ticks, of a scale that is not logarithmic */
    bool log;
    double at, length;
    int n_most; /* ticks */
} leat_scale;

/* Values must be below 1e300 in size; low > high: there are none. Where they hardly differ, the scale is
 * around them. wide: it ends at ticks. */
leat_scale leat_scale_linear(double low, double high, bool wide, double at, double length,
                             int n_most);
/* Values must be above 1e-300, too. It begins and ends within a third of a power of ten. */
leat_scale leat_scale_log(double low, double high, double at, double length, int n_most);

double leat_scale_place(const leat_scale *scale, double value);
int leat_scale_ticks(const leat_scale *scale, double values[LEAT_SCALE_TICKS_MOST]);
/* The text of a tick. */
const char *leat_scale_text(const leat_scale *scale, double value, char text[32]);

#endif
