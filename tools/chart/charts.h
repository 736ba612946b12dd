/* SPDX-License-Identifier: MIT
 *
 * charts.h: the charts of `leat report`. Each has its data, a check of them, and the call that makes it a leat_chart. */
#ifndef LEAT_CHARTS_H
#define LEAT_CHARTS_H

#include <stdbool.h>

#include "chart.h"
#include "spans.h"

/* --- runs beside each other: where the device's time went in each, and how long a step took --- */

enum { LEAT_ARMS_MOST = 64, LEAT_ARMS_PARTS = 4 };

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

/* The parts, as JSON has them. */
extern const char *const leat_arms_parts[LEAT_ARMS_PARTS];

/* Makes an arm one that can be drawn: what cannot becomes NaN. False: nothing of it can. */
bool leat_arms_check(leat_chart_arm *arm);

leat_chart leat_chart_arms(const leat_arms *data);

/* --- horizontal bars with intervals, in groups, beside one or two lines that they are compared with --- */

enum { LEAT_BARS_MOST = 128 /* rows of leat_whatif() */, LEAT_BARS_WALLS_MOST = 2 };

typedef struct leat_bar {
    const char *group; /* NULL: none; bars of a group follow each other */
    const char *name;
    const char *kind;        /* class of its colour */
    double value, low, high; /* 0 or more; low, high: an interval, or 0 */
    double part;             /* of the value, drawn in the colour of parts; 0: none */
} leat_bar;

typedef struct leat_bars {
    bool simulated;                 /* the title says so */
    const char *id, *title, *about; /* of the chart */
    const char *axis;               /* what the values are, with their unit */
    const char *unit;               /* behind a value: "ms"; "%": values are shares */
    const char *names;              /* what the bars are: "stage" */
    leat_chart_key keys[2];         /* of the parts, and of the rest of each bar */
    bool has_parts;
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

/* --- up to four values in each row as dots on one axis, which is logarithmic where values lie far apart --- */

enum { LEAT_DOTS_ROWS_MOST = LEAT_ARMS_MOST, LEAT_DOTS_MOST = 4 };

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

/* --- series of points over one axis, with intervals; axes may be logarithmic --- */

enum { LEAT_LINES_MOST = 4 * LEAT_CHART_COLOURS, LEAT_LINES_DASHES = 4 };

typedef struct leat_chart_line {
    char name[120];
    int colour;
    int dash;  /* which pattern: 0, a plain line, to LEAT_LINES_DASHES - 1 */
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
    double x_low, x_high;        /* both are on the horizontal axis, unless they are the same */
    bool steps;                  /* x is steps or epochs: no axis is logarithmic */
    bool from_zero;              /* the vertical axis, where it is not logarithmic */
    leat_chart_line lines[LEAT_LINES_MOST];
    int n;
    bool failed; /* out of memory: a line is missing */
    double wall, wall_low,
        wall_high; /* a place on the horizontal axis with its interval; NaN: none */
    const char *wall_name;
} leat_lines;

/* A line, called NAME or NAME (simulated), with room for this many points; NULL: there are too many lines, or
 * out of memory (sets `failed`). */
leat_chart_line *leat_lines_add(leat_lines *lines, const char *name, bool simulated, int n,
                                bool intervals);
/* Adds a point if both values can be drawn. */
void leat_line_point(leat_chart_line *line, double x, double y, double low, double high);
void leat_lines_close(leat_lines *lines);

leat_chart leat_chart_lines(const leat_lines *data);

/* --- what workers, copies and the device did in a window of some steps, of one or more traces --- */

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

/* --- the time of a step as bars, each of which begins where the one above it ends --- */

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
