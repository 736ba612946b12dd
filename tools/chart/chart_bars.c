/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>
#include <string.h>

enum { ROW = 28, BAR = 18, NAME_ROW = 18, GROUP_ROW = 24, VALUES = 84, NAMES_MOST = 190, EDGE = 2 };

void leat_bars_add(leat_bars *bars, leat_bar bar)
{
    if (!(bar.value >= 0 && bar.value < 1e300) || bars->n == LEAT_BARS_MOST)
        return;
    if (!(bar.low >= 0 && bar.low <= bar.high && bar.high > 0 && bar.high < 1e300))
        bar.low = bar.high = NAN;
    if (!(bar.part > 0))
        bar.part = 0;
    bars->has_parts |= bar.part > 0;
    bars->bars[bars->n++] = bar;
}

void leat_bars_wall(leat_bars *bars, const char *name, double value)
{
    if (!(value >= 0 && value < 1e300) || bars->n_walls == LEAT_BARS_WALLS_MOST)
        return;
    bars->walls[bars->n_walls++] =
        (leat_bar){ .name = name, .value = value, .low = NAN, .high = NAN };
}

static bool is_percent(const leat_bars *b)
{
    return !strcmp(b->unit, "%");
}

static double highest(const leat_bars *b)
{
    double most = 0;
    for (int i = 0; i < b->n; i++)
        most = fmax(most, fmax(b->bars[i].value, b->bars[i].high)); /* passes over NaN */
    for (int i = 0; i < b->n_walls; i++)
        most = fmax(most, b->walls[i].value);
    return most > 0 ? most : 1;
}

/* The width of a column for the names; 0: they stand above their bars, because they are long. */
static double names_width(const leat_bars *b, double width)
{
    double most = 0;
    for (int i = 0; i < b->n; i++)
        most = fmax(most, leat_svg_width(b->bars[i].name));
    return most + 12 <= fmin(width * 0.36, NAMES_MOST) ? most + 12 : 0;
}

static bool begins_group(const leat_bars *b, int i)
{
    const char *const group = b->bars[i].group;
    return group && (i == 0 || !b->bars[i - 1].group || strcmp(group, b->bars[i - 1].group) != 0);
}

static leat_figure value_of(const leat_bars *b, double value)
{
    return is_percent(b) ? leat_figure_percent(value) : leat_figure_unit(value, b->unit);
}

static double put_bar(FILE *out, const leat_bars *b, int i, const leat_axis *x, double width,
                      double y)
{
    const leat_bar *const bar = &b->bars[i];
    const double scaled = is_percent(b) ? 100 : 1, end = leat_axis_place(x, bar->value * scaled);
    char kind[64];
    const bool above = x->at <= EDGE;
    if (above) {
        leat_svg_name(out, 0, y + 13, "", "start", width, bar->name);
        y += NAME_ROW;
    } else {
        leat_svg_name(out, x->at - 10, y + 18, "", "end", x->at - 10, bar->name);
    }
    snprintf(kind, sizeof kind, "mark %s", bar->kind);
    leat_svg_rect(out, x->at, y + 5, fmax(end - x->at, 1), BAR, kind);
    if (bar->part > 0)
        leat_svg_rect(out, x->at, y + 5, leat_axis_place(x, fmin(bar->part, bar->value)) - x->at,
                      BAR, "mark busy");
    leat_chart_whisker(out, leat_axis_place(x, bar->low * scaled),
                       leat_axis_place(x, bar->high * scaled), y + 5 + BAR / 2.0);
    leat_svg_text(out, width, y + 18, "strong", "end", value_of(b, bar->value).text);
    return y + ROW + (above ? 6 : 0);
}

/* Lines that bars are compared with; their names stand in rows of their own above. */
static void put_walls(FILE *out, const leat_bars *b, const leat_axis *x, double width, double top,
                      double bottom)
{
    for (int i = 0; i < b->n_walls; i++) {
        char text[200];
        const double at = leat_axis_place(x, b->walls[i].value * (is_percent(b) ? 100 : 1));
        const bool left = at > width / 2;
        snprintf(text, sizeof text, "%.100s %s", b->walls[i].name,
                 value_of(b, b->walls[i].value).text);
        leat_svg_line(out, at, top + 18 * i, at, bottom, "wall");
        leat_svg_name(out, left ? at - 6 : at + 6, top + 18 * i + 9, "strong small",
                      left ? "end" : "start", left ? at : width - at, text);
    }
}

static double height_of(const leat_bars *b, double top, bool above)
{
    double height = top;
    for (int i = 0; i < b->n; i++)
        height += ROW + (above ? NAME_ROW + 6 : 0) + (begins_group(b, i) ? GROUP_ROW : 0);
    return height;
}

static double draw(FILE *out, const void *data, double width)
{
    const leat_bars *const b = data;
    const double names = names_width(b, width), most = highest(b) * (is_percent(b) ? 100 : 1);
    const double at = names > 0 ? names : EDGE;
    const double top = (b->has_parts ? leat_chart_keys(out, b->keys, 2, width) : 0) + 4;
    double y = b->n_walls * 18.0 + top;
    const double bottom = height_of(b, y, names == 0);
    const leat_axis x =
        leat_axis_linear(0, most, false, at, width - at - VALUES, width > 500 ? 8 : 4);
    leat_chart_axis(out, &x, y, bottom, b->axis);
    for (int i = 0; i < b->n; i++) {
        if (begins_group(b, i)) {
            leat_svg_name(out, 0, y + 17, "strong", "start", width, b->bars[i].group);
            y += GROUP_ROW;
        }
        y = put_bar(out, b, i, &x, width, y);
    }
    put_walls(out, b, &x, width, top, bottom);
    return bottom + LEAT_CHART_AXIS;
}

static void put_value(leat_chart_table *t, const leat_bars *b, double value)
{
    if (is_percent(b))
        leat_chart_cell_percent(t, value);
    else
        leat_chart_cell_number(t, value);
}

static void put_row(leat_chart_table *t, const leat_bars *b, const leat_bar *bar, bool groups,
                    bool intervals)
{
    const double scaled = is_percent(b) ? 100 : 1;
    if (groups)
        leat_chart_cell_text(t, bar->group);
    leat_chart_cell_text(t, bar->name);
    put_value(t, b, bar->value);
    if (b->has_parts)
        put_value(t, b, bar->part);
    if (intervals)
        leat_chart_cell_range(t, bar->low * scaled, bar->high * scaled);
}

static void put_table(FILE *out, const void *data)
{
    const leat_bars *const b = data;
    const char *heads[6] = { NULL };
    bool groups = false, intervals = false;
    int n = 0;
    for (int i = 0; i < b->n; i++) {
        groups |= b->bars[i].group != NULL;
        intervals |= !isnan(b->bars[i].low);
    }
    if (groups)
        heads[n++] = "of";
    heads[n++] = b->names;
    heads[n++] = b->axis;
    if (b->has_parts)
        heads[n++] = b->keys[0].name;
    if (intervals)
        heads[n++] = "95 % interval";
    leat_chart_table t = leat_chart_table_open(out, heads);
    for (int i = 0; i < b->n; i++)
        put_row(&t, b, &b->bars[i], groups, intervals);
    for (int i = 0; i < b->n_walls; i++)
        put_row(&t, b, &b->walls[i], groups, intervals);
    leat_chart_table_close(&t);
}

leat_chart leat_chart_bars(const leat_bars *data)
{
    return LEAT_CHART_OF(data, draw, put_table);
}
