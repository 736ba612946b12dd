/* SPDX-License-Identifier: MIT
 *
 * chart.h: a chart is a picture, its data as a table, and words. A chart_*.c file makes one kind of them of plain
 * numbers; this one puts them into a page or a file. */
#ifndef LEAT_CHART_H
#define LEAT_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "formats/figure.h"

/* --- elements of SVG; texts are escaped --- */

/* Writes text of SVG or HTML, good inside of quotes, too. What is no UTF-8, or what XML does not allow, becomes \xHH. */
void leat_svg_escape(FILE *out, const char *text);

/* kind: the class; "" none. anchor: "start", "middle" or "end". */
void leat_svg_text(FILE *out, double x, double y, const char *kind, const char *anchor,
                   const char *words);
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
/* The text of a tick. */
const char *leat_axis_text(const leat_axis *scale, double value, char text[32]);

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
leat_figure leat_chart_tick(const leat_axis *axis, double value);
void leat_chart_axis(FILE *out, const leat_axis *x, double top, double bottom, const char *name);

/* An interval as a thin line with ends; nothing if it is NaN. */
void leat_chart_whisker(FILE *out, double x1, double x2, double y);

/* --- writes a table of HTML, a cell at a time --- */

/* heads: names of the columns, NULL at the end. */
void leat_table_open(FILE *out, const char *const *heads);
void leat_table_row(FILE *out);
void leat_table_row_end(FILE *out);
void leat_table_text(FILE *out, const char *text);
void leat_table_number(FILE *out, double value);
void leat_table_percent(FILE *out, double share);
void leat_table_range(FILE *out, double low, double high);
void leat_table_close(FILE *out);

#endif
