/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>

enum { NAME_ROW = 18, ROW = 48, BAR = 20, GAP = 40, EDGE = 2, VALUES = 74 };

static const leat_chart_key keys[LEAT_ARMS_PARTS] = {
    { "busy", "busy", 0, NULL },
    { "input wait", "input_wait", 0, NULL },
    { "exposed copy", "exposed_copy", 0, NULL },
    { "other", "other_host", 0, NULL },
};

const char *const leat_arms_parts[] = { "busy", "input_wait", "exposed_copy", "other" };

bool leat_arms_check(leat_chart_arm *arm)
{
    double sum = 0;
    for (int i = 0; i < LEAT_ARMS_PARTS; i++) {
        if (!(arm->parts[i] >= 0 &&
              arm->parts[i] <= 1.5)) /* an overlap may make it a little more than 1 */
            return false;
        sum += arm->parts[i];
    }
    if (!(arm->idle_low >= 0 && arm->idle_low <= arm->idle_high && arm->idle_high <= 1))
        arm->idle_low = arm->idle_high = NAN;
    if (!(arm->step_ms >= 0 && arm->step_ms < 1e300))
        arm->step_ms = NAN;
    if (!(arm->step_low >= 0 && arm->step_low <= arm->step_high && arm->step_high < 1e300))
        arm->step_low = arm->step_high = NAN;
    return sum > 0;
}

static void put_shares(FILE *out, const leat_chart_arm *arm, const leat_axis *x, double y)
{
    char kind[64];
    double at = 0;
    for (int i = 0; i < LEAT_ARMS_PARTS; i++) {
        const double left = leat_axis_place(x, at * 100);
        const double right = leat_axis_place(x, (at + arm->parts[i]) * 100);
        snprintf(kind, sizeof kind, "mark %s", keys[i].kind);
        if (right - left >= 0.5)
            leat_svg_rect(out, left, y, fmax(right - left - 1, 0.5), BAR, kind);
        at += arm->parts[i];
    }
    leat_chart_whisker(out, leat_axis_place(x, 100 * (1 - arm->idle_high)),
                       leat_axis_place(x, 100 * (1 - arm->idle_low)), y + BAR / 2.0);
    leat_svg_text(out, x->at + x->length + VALUES, y + 14.5, "strong", "end",
                  leat_figure_percent(1 - arm->parts[0]).text);
}

/* Rows of shares with the idle share at their ends. Returns where they end. */
static double put_share_panel(FILE *out, const leat_arms *a, double width, double x, double y)
{
    const leat_axis scale = leat_axis_linear(0, 100, false, x + EDGE, width - VALUES, 5);
    const double bottom = y + a->n * ROW;
    leat_chart_axis(out, &scale, y, bottom, "% of the time");
    leat_svg_text(out, x + width, y - 6, "small", "end", "idle");
    for (int i = 0; i < a->n; i++) {
        leat_svg_name(out, x, y + i * ROW + 13, "", "start", width - 44, a->arms[i].name);
        put_shares(out, &a->arms[i], &scale, y + i * ROW + NAME_ROW + 2);
    }
    return bottom + LEAT_CHART_AXIS;
}

static double slowest(const leat_arms *a)
{
    double most = 0;
    for (int i = 0; i < a->n; i++)
        most = fmax(most, fmax(a->arms[i].step_ms, a->arms[i].step_high)); /* passes over NaN */
    return most;
}

static double put_step_panel(FILE *out, const leat_arms *a, double width, double x, double y,
                             bool names)
{
    const double most = slowest(a), bottom = y + a->n * ROW;
    const leat_axis scale =
        leat_axis_linear(0, most > 0 ? most : 1, false, x + EDGE, width - VALUES, 4);
    leat_chart_axis(out, &scale, y, bottom, "milliseconds per step");
    leat_svg_text(out, x + width, y - 6, "small", "end", a->step);
    for (int i = 0; i < a->n; i++) {
        const leat_chart_arm *const arm = &a->arms[i];
        const double at = y + i * ROW + NAME_ROW + 2;
        if (names)
            leat_svg_name(out, x, y + i * ROW + 13, "", "start", width, arm->name);
        if (isnan(arm->step_ms))
            continue;
        leat_svg_rect(out, x + EDGE, at + 3, leat_axis_place(&scale, arm->step_ms) - x - EDGE,
                      BAR - 6, "mark track");
        fprintf(out, "<circle class=\"mark busy\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n",
                leat_axis_place(&scale, arm->step_ms), at + BAR / 2.0);
        leat_chart_whisker(out, leat_axis_place(&scale, arm->step_low),
                           leat_axis_place(&scale, arm->step_high), at + BAR / 2.0);
        leat_svg_text(out, x + width, at + 14.5, "strong", "end",
                      leat_figure_unit(arm->step_ms, "ms").text);
    }
    return bottom + LEAT_CHART_AXIS;
}

static double draw(FILE *out, const void *data, double width)
{
    const leat_arms *const a = data;
    const double top = leat_chart_keys(out, keys, LEAT_ARMS_PARTS, width) + 18;
    const bool steps = slowest(a) > 0, beside = width > 500;
    const double left = steps && beside ? (width - GAP) * 0.6 : width;
    double end = put_share_panel(out, a, left, 0, top);
    if (steps && beside)
        put_step_panel(out, a, width - left - GAP, left + GAP, top, false);
    else if (steps)
        end = put_step_panel(out, a, width, 0, end + 28, true);
    return end;
}

static void put_table(FILE *out, const void *data)
{
    const leat_arms *const a = data;
    const char *const heads[] = { a->names,       "busy",  "idle",  "95 % interval", "input wait",
                                  "exposed copy", "other", a->step, "95 % interval", NULL };
    leat_chart_table t = leat_chart_table_open(out, heads);
    for (int i = 0; i < a->n; i++) {
        const leat_chart_arm *const arm = &a->arms[i];
        leat_chart_cell_text(&t, arm->name);
        leat_chart_cell_percent(&t, arm->parts[0]);
        leat_chart_cell_percent(&t, 1 - arm->parts[0]);
        leat_chart_cell_range(&t, 100 * arm->idle_low, 100 * arm->idle_high);
        for (int k = 1; k < LEAT_ARMS_PARTS; k++)
            leat_chart_cell_percent(&t, arm->parts[k]);
        leat_chart_cell_number(&t, arm->step_ms);
        leat_chart_cell_range(&t, arm->step_low, arm->step_high);
    }
    leat_chart_table_close(&t);
}

leat_chart leat_chart_arms(const leat_arms *data)
{
    return LEAT_CHART_OF(data, draw, put_table);
}
