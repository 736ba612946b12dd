/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 58, RIGHT = 24, HEIGHT = 260, LOG_FROM = 40, DOTS_MOST = 60, ROWS_MOST = 100 };

/* --- data ------------------------------------------------------------------------------------------*/

leat_chart_line *leat_lines_add(leat_lines *lines, const char *name, bool simulated, int n,
                                bool intervals)
{
    if (lines->n == LEAT_LINES_MOST)
        return NULL;
    double *const values = calloc((size_t)n + 1, (intervals ? 4 : 2) * sizeof *values);
    leat_chart_line *const line = &lines->lines[lines->n++];
    *line = (leat_chart_line){ .x = values };
    if (!values) {
        lines->failed = true;
        return NULL;
    }
    line->y = values + n;
    leat_svg_fit(name, 90 * 7, line->name, sizeof line->name - 16);
    if (simulated && !strstr(name, "(simulated)"))
        strcat(line->name, " (simulated)");
    if (intervals) {
        line->low = values + 2 * n;
        line->high = values + 3 * n;
    }
    return line;
}

void leat_line_point(leat_chart_line *line, double x, double y, double low, double high)
{
    const bool interval = low <= y && y <= high;
    if (isnan(x) || isnan(y))
        return;
    line->x[line->n] = x;
    line->y[line->n] = y;
    if (line->low) {
        line->low[line->n] = interval ? low : NAN;
        line->high[line->n] = interval ? high : NAN;
    }
    line->n++;
}

void leat_lines_close(leat_lines *lines)
{
    for (int i = 0; i < lines->n; i++)
        free(lines->lines[i].x);
    lines->n = 0;
}

/* --- axes ------------------------------------------------------------------------------------------*/

typedef struct range {
    double low, high;
} range;

static void extend(range *r, const double *values, int n)
{
    for (int i = 0; values && i < n; i++) {
        r->low = values[i] < r->low ? values[i] : r->low; /* false for NaN */
        r->high = values[i] > r->high ? values[i] : r->high;
    }
}

/* Logarithmic where values lie far apart, so that the small ones can be told apart. */
static bool wants_log(range r)
{
    return r.low > 0 && r.high / r.low >= LOG_FROM;
}

/* Steps and epochs: from 0 if the first is near it, and ticks at whole numbers. */
static leat_axis x_axis(range r, bool whole, double width)
{
    const int n_most = width > 500 ? 10 : 5;
    if (whole && r.low > 0 && r.low < r.high && r.low < r.high / 4)
        r.low = 0;
    leat_axis x = leat_axis_linear(r.low, r.high, false, LEFT, width - LEFT - RIGHT, n_most);
    if (whole && x.step < 1)
        x.step = 1;
    return x;
}

static bool is_whole(const leat_chart_line *line)
{
    for (int i = 0; i < line->n; i++)
        if (line->x[i] != floor(line->x[i]))
            return false;
    return true;
}

static void axes_of(const leat_lines *l, double width, double top, leat_axis *x, leat_axis *y)
{
    range xs = { INFINITY, -INFINITY }, ys = xs;
    bool whole = true;
    if (l->x_low < l->x_high)
        xs = (range){ l->x_low, l->x_high };
    for (int i = 0; i < l->n; i++) {
        const leat_chart_line *const line = &l->lines[i];
        extend(&xs, line->x, line->n);
        extend(&ys, line->y, line->n);
        extend(&ys, line->low, line->n);
        extend(&ys, line->high, line->n);
        whole &= is_whole(line);
    }
    *x = wants_log(xs) && !l->steps
             ? leat_axis_log(xs.low, xs.high, LEFT, width - LEFT - RIGHT, width > 500 ? 10 : 5)
             : x_axis(xs, whole, width);
    if (ys.low > 0 && (l->from_zero || ys.low < ys.high / 2) && !wants_log(ys))
        ys.low = 0;
    *y = wants_log(ys) && !l->steps
             ? leat_axis_log(ys.low, ys.high, top + HEIGHT, -HEIGHT, 9)
             : leat_axis_linear(ys.low, ys.high, true, top + HEIGHT, -HEIGHT, 6);
}

/* --- drawing ---------------------------------------------------------------------------------------*/

static void put_y_axis(FILE *out, const leat_axis *y, double width)
{
    double ticks[LEAT_AXIS_TICKS_MOST];
    const int n = leat_axis_ticks(y, ticks);
    for (int i = 0; i < n; i++) {
        const double at = leat_axis_place(y, ticks[i]);
        leat_svg_line(out, LEFT, at, width - RIGHT, at, "grid");
        leat_svg_text(out, LEFT - 8, at + 4, "small", "end", leat_axis_tick(y, ticks[i]).text);
    }
}

/* Marks the chart's main point, if it is inside the axes. */
static void put_wall(FILE *out, const leat_lines *l, const leat_axis *x, double top)
{
    char text[200];
    if (!(l->wall >= x->low && l->wall <= x->high))
        return;
    const double at = leat_axis_place(x, l->wall);
    const double low = leat_axis_place(x, fmax(l->wall_low, x->low));
    const double high = leat_axis_place(x, fmin(l->wall_high, x->high));
    if (l->wall_low <= l->wall && l->wall <= l->wall_high)
        leat_svg_rect(out, low, top, fmax(high - low, 1), HEIGHT, "band");
    leat_svg_line(out, at, top, at, top + HEIGHT, "wall");
    snprintf(text, sizeof text, "%.100s %s", l->wall_name, leat_figure_number(l->wall).text);
    const bool left = at > x->at + x->length / 2;
    leat_svg_text(out, left ? at - 6 : at + 6, top + 14, "strong small", left ? "end" : "start",
                  text);
}

static const char *const dashes[LEAT_LINES_DASHES] = { "", " stroke-dasharray=\"7 4\"",
                                                       " stroke-dasharray=\"2 3\"",
                                                       " stroke-dasharray=\"9 3 2 3\"" };

/* Marks differ in form, too, for colour-blind people. From the ninth line on, colours repeat with other marks. */
static int form_of(const leat_lines *l, int i)
{
    const int colour = l->lines[i].colour;
    return (colour + l->lines[i].dash + i / LEAT_CHART_COLOURS) % 4 + 1;
}

/* Points of one column of pixels become its lowest and its highest. Returns where the next column begins. */
static int put_column(FILE *out, const leat_chart_line *line, const leat_axis *x,
                      const leat_axis *y, int from)
{
    const bool dense = line->n > 2 * LEAT_CHART_WIDE;
    const double column = floor(leat_axis_place(x, line->x[from]));
    int low = from, high = from, end = from + 1;
    while (dense && end < line->n && floor(leat_axis_place(x, line->x[end])) == column) {
        low = line->y[end] < line->y[low] ? end : low;
        high = line->y[end] > line->y[high] ? end : high;
        end++;
    }
    const int first = low < high ? low : high, second = low < high ? high : low;
    fprintf(out, "%s%.1f %.1f", from ? "L" : "M", leat_axis_place(x, line->x[first]),
            leat_axis_place(y, line->y[first]));
    if (second != first)
        fprintf(out, "L%.1f %.1f", leat_axis_place(x, line->x[second]),
                leat_axis_place(y, line->y[second]));
    return end;
}

static void put_intervals(FILE *out, const leat_chart_line *line, const leat_axis *x,
                          const leat_axis *y)
{
    for (int i = 0; line->low && line->n <= DOTS_MOST && i < line->n; i++)
        if (!isnan(line->low[i])) {
            const double at = leat_axis_place(x, line->x[i]);
            fprintf(out, "<path class=\"line r%d\" d=\"M%.1f %.1fV%.1fm-3 0h6M%.1f %.1fh6\"/>\n",
                    line->colour, at, leat_axis_place(y, line->low[i]),
                    leat_axis_place(y, line->high[i]), at - 3, leat_axis_place(y, line->low[i]));
        }
}

static void put_line(FILE *out, const leat_lines *l, int n, const leat_axis *x, const leat_axis *y)
{
    const leat_chart_line *const line = &l->lines[n];
    char kind[24];
    if (line->n > 1 && !line->dots) {
        fprintf(out, "<path class=\"%s r%d\"%s d=\"", line->fit ? "fit" : "mark line", line->colour,
                dashes[line->dash]);
        for (int i = 0; i < line->n;)
            i = put_column(out, line, x, y, i);
        fputs("\"/>\n", out);
    }
    if (line->fit)
        return;
    put_intervals(out, line, x, y);
    snprintf(kind, sizeof kind, "mark f%d", line->colour);
    for (int i = 0; line->n <= DOTS_MOST && i < line->n; i++)
        leat_chart_dot(out, kind, form_of(l, n), leat_axis_place(x, line->x[i]),
                       leat_axis_place(y, line->y[i]));
}

static double put_names(FILE *out, const leat_lines *l, double width)
{
    leat_chart_key keys[LEAT_LINES_MOST];
    char kinds[LEAT_LINES_MOST][8];
    int n = 0;
    for (int i = 0; i < l->n; i++)
        if (!l->lines[i].fit) {
            snprintf(kinds[n], sizeof kinds[n], "f%d", l->lines[i].colour);
            keys[n] = (leat_chart_key){ l->lines[i].name, kinds[n], form_of(l, i),
                                        l->lines[i].dash ? dashes[l->lines[i].dash] : NULL };
            n++;
        }
    return leat_chart_keys(out, keys, n, width);
}

static double draw(FILE *out, const void *data, double width)
{
    const leat_lines *const l = data;
    leat_axis x, y;
    const double top = put_names(out, l, width) + 26;
    axes_of(l, width, top, &x, &y);
    if (l->y_name)
        leat_svg_text(out, 0, top - 14, "small", "start", l->y_name);
    put_y_axis(out, &y, width);
    leat_chart_axis(out, &x, top, top + HEIGHT, l->x_name);
    put_wall(out, l, &x, top);
    for (int i = 0; i < l->n; i++)
        put_line(out, l, i, &x, &y);
    return top + HEIGHT + LEAT_CHART_AXIS;
}

/* --- the table -------------------------------------------------------------------------------------*/

static void put_row(leat_chart_table *t, const leat_chart_line *line, int i)
{
    leat_chart_cell_text(t, line->name);
    leat_chart_cell_number(t, line->x[i]);
    leat_chart_cell_number(t, line->y[i]);
    if (line->low)
        leat_chart_cell_range(t, line->low[i], line->high[i]);
    else
        leat_chart_cell_text(t, NULL);
}

/* Of long series every n-th point, and the last. */
static void put_table(FILE *out, const void *data)
{
    const leat_lines *const l = data;
    const char *const heads[] = { "series", l->x_name, l->y_name, "95 % interval", NULL };
    int most = 0;
    for (int i = 0; i < l->n; i++)
        most = l->lines[i].n > most && !l->lines[i].fit ? l->lines[i].n : most;
    const int stride = (most + ROWS_MOST - 1) / ROWS_MOST;
    leat_chart_table t = leat_chart_table_open(out, heads);
    for (int i = 0; i < l->n; i++)
        for (int k = 0; !l->lines[i].fit && k < l->lines[i].n; k++)
            if (k % stride == 0 || k + 1 == l->lines[i].n)
                put_row(&t, &l->lines[i], k);
    if (!isnan(l->wall)) {
        leat_chart_cell_text(&t, l->wall_name);
        leat_chart_cell_number(&t, l->wall);
        leat_chart_cell_text(&t, NULL);
        leat_chart_cell_range(&t, l->wall_low, l->wall_high);
    }
    leat_chart_table_close(&t);
    if (stride > 1)
        fprintf(out, "<p class=\"small\">One of %d points is in the table; the file has all.</p>\n",
                stride);
}

leat_chart leat_chart_lines(const leat_lines *data)
{
    return LEAT_CHART_OF(data, draw, put_table);
}
