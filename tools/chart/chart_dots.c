/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>

enum { NAME_ROW = 20, LANE = 11, EDGE = 8, LOG_FROM = 20 };

bool leat_dots_check(struct leat_dots_row *row)
{
    bool any = false;
    for (int k = 0; k < LEAT_DOTS_MOST; k++) {
        if (!(row->values[k] > 1e-300 && row->values[k] < 1e300))
            row->values[k] = NAN;
        any |= !isnan(row->values[k]);
        if (!(row->low[k] > 1e-300 && row->low[k] <= row->high[k] && row->high[k] < 1e300))
            row->low[k] = row->high[k] = NAN;
    }
    return any;
}

static leat_axis axis_of(const leat_dots *d, double width)
{
    double low = INFINITY, high = 0;
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k < d->n_keys; k++) {
            low = fmin(low, fmin(d->rows[i].values[k], d->rows[i].low[k])); /* passes over NaN */
            high = fmax(high, fmax(d->rows[i].values[k], d->rows[i].high[k]));
        }
    const int n_most = width > 500 ? 8 : 4;
    if (high / low >= LOG_FROM)
        return leat_axis_log(low, high, EDGE, width - 4 * EDGE, n_most);
    return leat_axis_linear(0, high, false, EDGE, width - 4 * EDGE, n_most);
}

static void put_row(FILE *out, const leat_dots *d, const struct leat_dots_row *row,
                    const leat_axis *x, double width, double y)
{
    char kind[64];
    leat_svg_name(out, 0, y + 14, "", "start", width, row->name);
    leat_svg_rect(out, x->at, y + NAME_ROW, x->length, d->n_keys * LANE + 4, "track");
    for (int k = 0; k < d->n_keys; k++) {
        const double middle =
            y + NAME_ROW + k * LANE + 7.5; /* one below the other: they may be equal */
        if (isnan(row->values[k]))
            continue;
        leat_chart_whisker(out, leat_axis_place(x, row->low[k]), leat_axis_place(x, row->high[k]),
                           middle);
        snprintf(kind, sizeof kind, "mark %s", d->keys[k].kind);
        leat_chart_dot(out, kind, d->keys[k].form, leat_axis_place(x, row->values[k]), middle);
    }
}

static double row_height(const leat_dots *d)
{
    return NAME_ROW + d->n_keys * LANE + 14;
}

static double draw(FILE *out, const void *data, double width)
{
    const leat_dots *const d = data;
    const double top = leat_chart_keys(out, d->keys, d->n_keys, width),
                 bottom = top + d->n * row_height(d);
    const leat_axis x = axis_of(d, width);
    leat_chart_axis(out, &x, top, bottom, d->axis);
    for (int i = 0; i < d->n; i++)
        put_row(out, d, &d->rows[i], &x, width, top + i * row_height(d));
    return bottom + LEAT_CHART_AXIS;
}

static void put_table(FILE *out, const void *data)
{
    const leat_dots *const d = data;
    const char *heads[2 * LEAT_DOTS_MOST + 2] = { d->names };
    for (int k = 0; k < d->n_keys; k++) {
        heads[1 + 2 * k] = d->keys[k].name;
        heads[2 + 2 * k] = "95 % interval";
    }
    leat_chart_table t = leat_chart_table_open(out, heads);
    for (int i = 0; i < d->n; i++) {
        leat_chart_cell_text(&t, d->rows[i].name);
        for (int k = 0; k < d->n_keys; k++) {
            leat_chart_cell_number(&t, d->rows[i].values[k]);
            leat_chart_cell_range(&t, d->rows[i].low[k], d->rows[i].high[k]);
        }
    }
    leat_chart_table_close(&t);
}

leat_chart leat_chart_dots(const leat_dots *data)
{
    return LEAT_CHART_OF(data, draw, put_table);
}
