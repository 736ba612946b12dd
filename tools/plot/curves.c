/* SPDX-License-Identifier: MIT */
#include "curves.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "chart/axis.h"
#include "chart/svg.h"

enum {
    WIDTH = 860,
    LEFT = 72, /* of the plots */
    RIGHT = 20,
    PLOT_WIDTH = WIDTH - LEFT - RIGHT,
    PLOT_HEIGHT = 220,
    PANEL_HEIGHT = PLOT_HEIGHT + 44, /* with its heading */
    LEGEND_ROW = 20,
    TICKS_MOST = 6,
    DOTS_MOST = 50, /* points that are also drawn as dots */
};

static const char style[] =
    "  .page { fill: #fcfcfb } .grid { stroke: #dddcd8 }\n"
    "  text { font-family: system-ui, -apple-system, \"Segoe UI\", \"DejaVu Sans\", sans-serif; "
    "font-size: 13px; fill: #52514e }\n"
    "  .title { font-weight: 600; fill: #0b0b0b }\n"
    "  path { fill: none; stroke-width: 1.75; stroke-linejoin: round }\n"
    "  .k1 { stroke-dasharray: 7 4 } .k2 { stroke-dasharray: 2 3 } .k3 { stroke-dasharray: 9 3 2 3 "
    "}\n"
    "  .key { stroke: #52514e }\n";

/* Of runs, on a light and on a dark page. */
static const char *const colours[LEAT_CURVES_RUNS_MOST][2] = {
    { "#2a78d6", "#3987e5" }, { "#eb6834", "#d95926" }, { "#1b7f5b", "#199e70" },
    { "#8a4fbe", "#a778d8" }, { "#c93a6b", "#e0608c" }, { "#178a9c", "#2bb0c4" },
    { "#8f6a20", "#b98d3a" }, { "#6f6e68", "#a3a29a" },
};

static void put_style(FILE *out, int n_runs)
{
    fprintf(out, "<style>\n%s", style);
    for (int dark = 0; dark < 2; dark++) {
        if (dark)
            fputs("  @media (prefers-color-scheme: dark) {\n    .page { fill: #1a1a19 } "
                  ".grid { stroke: #3d3d3a }\n    text { fill: #c3c2b7 } .title { fill: #ffffff } "
                  ".key { stroke: #c3c2b7 }\n",
                  out);
        for (int i = 0; i < n_runs; i++)
            fprintf(out, "  %s.r%d { stroke: %s } circle.r%d { fill: %s }\n", dark ? "  " : "", i,
                    colours[i][dark], i, colours[i][dark]);
    }
    fputs("  }\n</style>\n", out);
}

/* --- axes ------------------------------------------------------------------------------------------*/

static void put_axes(FILE *out, const leat_axis *x, const leat_axis *y, bool last)
{
    char text[32];
    double ticks[LEAT_AXIS_TICKS_MOST];
    int n = leat_axis_ticks(y, ticks);
    for (int i = 0; i < n; i++) {
        const double at = leat_axis_place(y, ticks[i]);
        leat_svg_line(out, LEFT, at, WIDTH - RIGHT, at, "grid");
        leat_svg_text(out, LEFT - 8, at + 4, "", "end", leat_axis_text(y, ticks[i], text));
    }
    n = leat_axis_ticks(x, ticks);
    for (int i = 0; i < n; i++) {
        const double at = leat_axis_place(x, ticks[i]);
        leat_svg_line(out, at, y->at, at, y->at + (last ? 5 : y->length), "grid");
        if (last)
            leat_svg_text(out, at, y->at + 19, "", "middle", leat_axis_text(x, ticks[i], text));
    }
}

/* --- curves ----------------------------------------------------------------------------------------*/

static void put_point(FILE *out, const leat_axis *x, const leat_axis *y, const leat_curve *c,
                      size_t i)
{
    fprintf(out, " %.1f %.1f", leat_axis_place(x, c->x[i]), leat_axis_place(y, c->y[i]));
}

/* Of the points from a to b - 1, which share a column of pixels: the lowest and the highest, in order. */
static void put_column(FILE *out, const leat_axis *x, const leat_axis *y, const leat_curve *c,
                       size_t a, size_t b)
{
    size_t low = a, high = a;
    for (size_t i = a; i < b; i++) {
        low = c->y[i] < c->y[low] ? i : low;
        high = c->y[i] > c->y[high] ? i : high;
    }
    put_point(out, x, y, c, low < high ? low : high);
    if (low != high)
        put_point(out, x, y, c, low < high ? high : low);
}

static void put_curve(FILE *out, const leat_axis *x, const leat_axis *y, const leat_curve *c)
{
    const bool dense = c->n > 2 * PLOT_WIDTH;
    if (c->n > 1) {
        fprintf(out, "<path class=\"r%d k%d\" d=\"M", c->run, c->key);
        for (size_t i = 0, end; i < c->n; i = end) {
            const double column = floor(leat_axis_place(x, c->x[i]));
            for (end = i + 1;
                 dense && end < c->n && floor(leat_axis_place(x, c->x[end])) == column;)
                end++;
            put_column(out, x, y, c, i, end);
        }
        fputs("\"/>\n", out);
    }
    for (size_t i = 0; c->n <= DOTS_MOST && i < c->n; i++)
        fprintf(out, "<circle class=\"r%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n", c->run,
                leat_axis_place(x, c->x[i]), leat_axis_place(y, c->y[i]));
}

static void extend(double *low, double *high, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        *low = values[i] < *low ? values[i] : *low;
        *high = values[i] > *high ? values[i] : *high;
    }
}

/* The heading of a panel: its keys with their patterns. */
static void put_keys(FILE *out, const leat_curves_panel *p, int top)
{
    double at = LEFT;
    for (int i = 0; i < p->n_keys; i++) {
        if (p->n_keys > 1) {
            fprintf(out, "<path class=\"key k%d\" d=\"M %.1f %d h 26\"/>\n", i, at, top - 4);
            at += 32;
        }
        leat_svg_text(out, at, top, "title", "start", p->keys[i]);
        at += leat_svg_width(p->keys[i]) * 1.1 + 24; /* it is bold */
    }
}

static void put_panel(FILE *out, const leat_curves_panel *p, leat_axis x, int top, bool last)
{
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < p->n_curves; i++)
        extend(&low, &high, p->curves[i].y, p->curves[i].n);
    const leat_axis y =
        leat_axis_linear(low, high, true, top + 16 + PLOT_HEIGHT, -PLOT_HEIGHT, TICKS_MOST);
    put_keys(out, p, top);
    put_axes(out, &x, &y, last);
    for (int i = 0; i < p->n_curves; i++)
        put_curve(out, &x, &y, &p->curves[i]);
}

/* --- the picture -----------------------------------------------------------------------------------*/

static leat_axis x_axis(const leat_curves_picture *picture)
{
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < picture->n_panels; i++)
        for (int k = 0; k < picture->panels[i].n_curves; k++)
            extend(&low, &high, picture->panels[i].curves[k].x, picture->panels[i].curves[k].n);
    if (low > 0 && low < high && low < (high - low) / 4)
        low = 0; /* a run begins at 0, though its first line comes later */
    return leat_axis_linear(low, high, false, LEFT, PLOT_WIDTH, TICKS_MOST);
}

static void put_legend(FILE *out, const leat_curves_picture *picture)
{
    for (int i = 0; i < picture->n_runs; i++) {
        const int y = 28 + i * LEGEND_ROW;
        fprintf(out, "<path class=\"r%d\" d=\"M %d %d h 26\"/>\n", i, LEFT, y - 4);
        leat_svg_text(out, LEFT + 34, y, "", "start", picture->runs[i]);
    }
}

char *leat_curves_draw(const leat_curves_picture *picture, size_t *size)
{
    char *text = NULL;
    FILE *const out = open_memstream(&text, size);
    const int head = 28 + picture->n_runs * LEGEND_ROW + 12;
    const int height = head + picture->n_panels * PANEL_HEIGHT + 30;
    const leat_axis x = x_axis(picture);
    if (!out)
        return NULL;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\">\n<title>Curves of training runs</title>\n",
            WIDTH, height, WIDTH, height);
    put_style(out, picture->n_runs);
    fprintf(out, "<rect class=\"page\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", WIDTH, height);
    put_legend(out, picture);
    for (int i = 0; i < picture->n_panels; i++)
        put_panel(out, &picture->panels[i], x, head + i * PANEL_HEIGHT, i == picture->n_panels - 1);
    leat_svg_text(out, LEFT + PLOT_WIDTH / 2.0, height - 14, "", "middle", picture->x_name);
    fputs("</svg>\n", out);
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        text = NULL;
    }
    return text;
}
