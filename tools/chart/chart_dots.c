/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>

/* In the order of the values of a row. */
static const leat_chart_key keys[LEAT_DOTS_MOST] = {
    { .name = "loader alone", .kind = "input_wait", .form = 2 },
    { .name = "step alone", .kind = "busy", .form = 4 },
    { .name = "both together", .kind = "both", .form = 1 },
};

enum {
    NAME_ROW = 20,
    LANE = 11,
    ROW = NAME_ROW + LEAT_DOTS_MOST * LANE + 14,
    EDGE = 8,
    LOG_FROM = 20
};

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
        for (int k = 0; k < LEAT_DOTS_MOST; k++) {
            low = fmin(low, fmin(d->rows[i].values[k], d->rows[i].low[k])); /* passes over NaN */
            high = fmax(high, fmax(d->rows[i].values[k], d->rows[i].high[k]));
        }
    const int n_most = width > 500 ? 8 : 4;
    if (high / low >= LOG_FROM)
        return leat_axis_log(low, high, EDGE, width - 4 * EDGE, n_most);
    return leat_axis_linear(0, high, false, EDGE, width - 4 * EDGE, n_most);
}

static void put_row(FILE *out, const struct leat_dots_row *row, const leat_axis *x, double width,
                    double y)
{
    char kind[64];
    leat_svg_name(out, 0, y + 14, "", "start", width, row->name);
    leat_svg_rect(out, x->at, y + NAME_ROW, x->length, LEAT_DOTS_MOST * LANE + 4, "track");
    for (int k = 0; k < LEAT_DOTS_MOST; k++) {
        const double middle =
            y + NAME_ROW + k * LANE + 7.5; /* one below the other: they may be equal */
        if (isnan(row->values[k]))
            continue;
        leat_chart_whisker(out, leat_axis_place(x, row->low[k]), leat_axis_place(x, row->high[k]),
                           middle);
        snprintf(kind, sizeof kind, "mark %s", keys[k].kind);
        leat_chart_dot(out, kind, keys[k].form, leat_axis_place(x, row->values[k]), middle);
    }
}

static double draw(FILE *out, const void *data, double width)
{
    const leat_dots *const d = data;
    const double top = leat_chart_keys(out, keys, LEAT_DOTS_MOST, width), bottom = top + d->n * ROW;
    const leat_axis x = axis_of(d, width);
    leat_chart_axis(out, &x, top, bottom, "samples per second");
    for (int i = 0; i < d->n; i++)
        put_row(out, &d->rows[i], &x, width, top + i * ROW);
    return bottom + LEAT_CHART_AXIS;
}

static void put_table(FILE *out, const void *data)
{
    const leat_dots *const d = data;
    const char *heads[2 * LEAT_DOTS_MOST + 2] = { "arm" };
    for (int k = 0; k < LEAT_DOTS_MOST; k++) {
        heads[1 + 2 * k] = keys[k].name;
        heads[2 + 2 * k] = "95 % interval";
    }
    leat_chart_table t = leat_chart_table_open(out, heads);
    for (int i = 0; i < d->n; i++) {
        leat_chart_cell_text(&t, d->rows[i].name);
        for (int k = 0; k < LEAT_DOTS_MOST; k++) {
            leat_chart_cell_number(&t, d->rows[i].values[k]);
            leat_chart_cell_range(&t, d->rows[i].low[k], d->rows[i].high[k]);
        }
    }
    leat_chart_table_close(&t);
}

leat_chart leat_chart_dots(const leat_dots *data)
{
    return (leat_chart){
        .id = "rates",
        .title = "What loader and step can do alone",
        .simulated = data->simulated,
        .about = "The slower of the two is the wall: both together cannot be faster for long.",
        .data = data,
        .draw = draw,
        .table = put_table,
    };
}
