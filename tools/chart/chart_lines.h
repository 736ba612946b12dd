/* SPDX-License-Identifier: MIT
 *
 * chart_lines.h: series of points over one axis, with intervals; axes may be logarithmic. */
#ifndef LEAT_CHART_LINES_H
#define LEAT_CHART_LINES_H

#include <stdbool.h>

#include "chart.h"

enum { LEAT_LINES_MOST = 2 * LEAT_CHART_COLOURS };

typedef struct leat_chart_line {
    char name[120];
    int colour;
    bool dots; /* points without a line between them */
    bool fit;  /* dashed, without points; not in the table or the list of names */
    double *x, *y;
    double *low, *high; /* intervals, NaN: none; both NULL: no point has one */
    int n;
} leat_chart_line;

typedef struct leat_lines {
    bool simulated; /* the title says so */
    const char *id, *title, *about;
    const char *x_name, *y_name; /* with units */
    bool steps;                  /* x is steps or epochs: no axis is logarithmic */
    bool from_zero;              /* the vertical axis, where it is not logarithmic */
    leat_chart_line lines[LEAT_LINES_MOST];
    int n;
    double wall, wall_low,
        wall_high; /* a place on the horizontal axis with its interval; NaN: none */
    const char *wall_name;
} leat_lines;

/* A line, called NAME or NAME (simulated), with room for this many points; NULL: out of memory, or there are
 * too many lines. */
leat_chart_line *leat_lines_add(leat_lines *lines, const char *name, bool simulated, int n,
                                bool intervals);
/* Adds a point if both values can be drawn. */
void leat_line_point(leat_chart_line *line, double x, double y, double low, double high);
void leat_lines_close(leat_lines *lines);

leat_chart leat_chart_lines(const leat_lines *data);

#endif
