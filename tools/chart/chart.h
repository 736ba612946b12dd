/* SPDX-License-Identifier: MIT
 *
 * chart.h: a chart is a picture, its data as a table, and words. A chart_*.c file makes one kind of them of plain
 * numbers; this one puts them into a page or a file. */
#ifndef LEAT_CHART_H
#define LEAT_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/figure.h"
#include "leat/error.h"

/* --- elements of SVG; texts are escaped --- */

/* Writes text of SVG or HTML, good inside of quotes, too. What is no UTF-8, or what XML does not allow, becomes \xHH. */
void leat_svg_escape(FILE *out, const char *text);
/* Like fprintf(), with escaped texts. The format has no other directives than %s and %d. */
void leat_svg_put(FILE *out, const char *format, ...) LEAT_PRINTF(2, 3);

/* kind: the class; "" none, of a text. anchor: "start", "middle" or "end". */
void leat_svg_text(FILE *out, double x, double y, const char *kind, const char *anchor,
                   const char *words);
/* The same, cut by leat_svg_fit(). */
void leat_svg_name(FILE *out, double x, double y, const char *kind, const char *anchor,
                   double width, const char *name);
void leat_svg_rect(FILE *out, double x, double y, double width, double height, const char *kind);
void leat_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *kind);

/* About how wide a text of 13 pixels is. */
double leat_svg_width(const char *text);

/* Copies a text. One that is wider than so many pixels is cut, with "…" at its end. Returns `out`. */
const char *leat_svg_fit(const char *text, double width, char *out, size_t size);

/* --- the scale of an axis: values to pixels, and where its ticks are --- */

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
leat_figure leat_axis_tick(const leat_axis *scale, double value);

/* Pixels: text is not scaled, so a page has each chart twice and shows the one that fits the screen. */
enum { LEAT_CHART_WIDE = 720, LEAT_CHART_NARROW = 350 };

typedef struct leat_chart {
    const char *id;    /* letters and '-' */
    const char *title; /* what is shown */
    const char *about; /* a sentence: how to read it */
    bool simulated;    /* the title says so */
    const void *data;
    /* Draws the picture, `width` wide; returns its height. Marks have the class "mark". */
    double (*draw)(FILE *out, const void *data, double width);
    void (*table)(FILE *out, const void *data);
} leat_chart;

/* Of data that say what the chart is called. */
#define LEAT_CHART_OF(data, draw, table)                                                           \
    (leat_chart)                                                                                   \
    {                                                                                              \
        (data)->id, (data)->title, (data)->about, (data)->simulated, data, draw, table             \
    }

/* Writes it as a figure of a page. Returns LEAT_OK or LEAT_E_NOMEM. */
int leat_chart_figure(FILE *out, const leat_chart *chart);

/* Charts below each other as a picture that needs nothing else, in new memory; NULL: out of memory. */
char *leat_chart_file(const leat_chart *charts, int n, size_t *size);

/* Writes the style that the elements of charts have. */
void leat_chart_style(FILE *out);

/* --- parts that several kinds have --- */

enum { LEAT_CHART_COLOURS = 8 };

typedef struct leat_chart_key {
    const char *name;
    const char *kind; /* class of a box of colour */
    int form;         /* 0: a box; 1 to 4: as leat_chart_dot() draws */
    const char *dash; /* attribute of a line that is drawn beside the dot; NULL: none */
} leat_chart_key;

/* A dot in one of four forms, 1 to 4, for those who see few colours. */
void leat_chart_dot(FILE *out, const char *kind, int form, double x, double y);

/* Draws boxes or dots with names in rows that are `width` wide. Returns the height. */
double leat_chart_keys(FILE *out, const leat_chart_key *keys, int n, double width);

/* The horizontal axis below a chart: ticks with grid lines from top to bottom, and what the values are. It takes
 * LEAT_CHART_AXIS pixels below `bottom`. */
enum { LEAT_CHART_AXIS = 44 };
void leat_chart_axis(FILE *out, const leat_axis *x, double top, double bottom, const char *name);

/* An interval as a thin line with ends; nothing if it is NaN. */
void leat_chart_whisker(FILE *out, double x1, double x2, double y);

/* --- a table of HTML: cells fill its rows from left to right --- */

typedef struct leat_chart_table {
    FILE *out;
    int n_columns, at; /* at: cells of this row so far */
} leat_chart_table;

/* heads: names of the columns, NULL at the end. */
leat_chart_table leat_chart_table_open(FILE *out, const char *const *heads);
/* NULL: a dash, as numbers that are not known have. */
void leat_chart_cell_text(leat_chart_table *table, const char *text);
void leat_chart_cell_number(leat_chart_table *table, double value);
void leat_chart_cell_percent(leat_chart_table *table, double share);
void leat_chart_cell_range(leat_chart_table *table, double low, double high);
void leat_chart_table_close(leat_chart_table *table);

/* The charts of `leat report` follow. Each has its data, a check of them, and the call that makes it a leat_chart. */

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
    const char *id, *title, *about;
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
    double value, low, high; /* 0 or more; low, high: an interval, or 0, which becomes NaN */
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
    leat_bar walls[LEAT_BARS_WALLS_MOST]; /* names and values */
    int n_walls;
} leat_bars;

/* Adds a bar if there is room and the value can be drawn. */
void leat_bars_add(leat_bars *bars, leat_bar bar);
void leat_bars_wall(leat_bars *bars, const char *name, double value);

leat_chart leat_chart_bars(const leat_bars *data);

/* --- rates of the loader, the step, and both of each arm as dots on one axis, which is logarithmic where they lie far
 * apart --- */

enum { LEAT_DOTS_MOST = 3 };

typedef struct leat_dots {
    bool simulated; /* the title says so */
    struct leat_dots_row {
        const char *name;
        double values[LEAT_DOTS_MOST]; /* above 0, or NaN; with intervals, or NaN */
        double low[LEAT_DOTS_MOST], high[LEAT_DOTS_MOST];
    } rows[LEAT_ARMS_MOST];
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
    int dash;           /* which pattern: 0, a plain line, to LEAT_LINES_DASHES - 1 */
    bool dots;          /* points without a line between them */
    bool fit;           /* dashed, without points; not in the table or the list of names */
    double *x, *y;      /* x owns the memory of all four */
    double *low, *high; /* intervals, NaN: none; both NULL: no point has one */
    int n;
    int n_left_out; /* values beside the points, that are NaN, infinite or null */
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

/* --- a trace that `leat train --trace` or `leat bench --trace` wrote --- */

enum {
    LEAT_SPANS_LANES_MOST = 1100, /* engine.threads is 1024 at most */
    LEAT_SPANS_MOST = 1 << 23
};

/* What a thread or an engine did, by kind. */
typedef enum leat_span_kind {
    LEAT_SPAN_WORK,  /* samples of a batch were made */
    LEAT_SPAN_START, /* reads or a copy were started */
    LEAT_SPAN_COPY,
    LEAT_SPAN_STEP,
    LEAT_SPAN_NEXT, /* the consumer asked for a batch until it had it */
    LEAT_SPAN_READ, /* one or more reads were in flight */
} leat_span_kind;

typedef struct leat_span {
    double start_ms, end_ms;
    int64_t batch; /* -1: none */
    int32_t lane;
    int32_t kind;
} leat_span;

typedef struct leat_spans {
    struct leat_spans_lane {
        int64_t thread;
        char name[32];
        double reads_since; /* NaN: no read is in flight */
    } lanes[LEAT_SPANS_LANES_MOST];
    int n_lanes;
    bool simulated;
    leat_span *spans; /* of a lane in the order of their starts */
    size_t n;
} leat_spans;

/* True if a file begins as a trace of leat does. */
bool leat_spans_is_trace(const char *bytes, size_t n);

/* Reads a whole trace. name: for messages. Close it in any case.
 * returns  LEAT_OK; LEAT_E_DATA: not a trace, or a damaged one, or one with too
 *          many spans; LEAT_E_NOMEM */
int leat_spans_read(FILE *file, const char *name, leat_spans *out, leat_error *err);
void leat_spans_close(leat_spans *spans);

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
