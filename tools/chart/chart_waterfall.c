/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>
#include <string.h>

#include "leat/verdict.h"

enum { ROW = 30, BAR = 20, NAMES = 104, VALUES = 136 };

void leat_waterfall_add(leat_waterfall *data, const char *word, double share, double ms)
{
    const leat_share known = leat_verdict_find_share(word);
    const bool other = !strcmp(word, "other"); /* of a meter, which knows less */
    if (!(share >= 0 && share <= 1e6) || data->n == LEAT_WATERFALL_MOST)
        return;
    data->parts[data->n++] = (struct leat_waterfall_part){
        .kind = known < LEAT_N_SHARES
                    ? leat_verdict_share(known)->word
                    : leat_verdict_share(other ? LEAT_SHARE_OTHER_HOST : LEAT_SHARE_UNKNOWN)->word,
        .name = known < LEAT_N_SHARES ? leat_verdict_share(known)->name : word,
        .share = share,
        .ms = ms >= 0 ? ms : NAN,
    };
}

static double total_of(const leat_waterfall *w, double *ms)
{
    double total = 0;
    *ms = 0;
    for (int i = 0; i < w->n; i++) {
        total += w->parts[i].share;
        *ms += w->parts[i].ms;
    }
    return total;
}

static void put_values(FILE *out, const struct leat_waterfall_part *part, double x, double y)
{
    const leat_figure share = leat_figure_percent(part->share);
    char text[2 * sizeof share + 8];
    if (isnan(part->ms))
        snprintf(text, sizeof text, "%s", share.text);
    else
        snprintf(text, sizeof text, "%s · %s", leat_figure_unit(part->ms, "ms").text, share.text);
    leat_svg_text(out, x, y, part->share >= 0.0005 ? "strong" : "", "end", text);
}

static double draw(FILE *out, const void *data, double width)
{
    const leat_waterfall *const w = data;
    double ms, at = 0, bottom = w->n * ROW;
    const double total = total_of(w, &ms), length = width - NAMES - VALUES;
    const bool in_ms = ms > 0;
    const double unit = in_ms ? ms / total : 100;
    const leat_axis x =
        leat_axis_linear(0, total * unit, false, NAMES, length, width > 500 ? 8 : 3);
    leat_chart_axis(out, &x, 0, bottom, in_ms ? "milliseconds of a mean step" : "% of the time");
    for (int i = 0; i < w->n; i++) {
        const struct leat_waterfall_part *const part = &w->parts[i];
        const double y = i * ROW + (ROW - BAR) / 2.0, left = leat_axis_place(&x, at * unit);
        const double right = leat_axis_place(&x, (at + part->share) * unit);
        char kind[64];
        snprintf(kind, sizeof kind, "mark %s", part->kind);
        leat_svg_name(out, NAMES - 10, y + 14.5, "", "end", NAMES - 10, part->name);
        leat_svg_rect(out, left, y, fmax(right - left, 1), BAR, kind);
        if (i + 1 < w->n)
            leat_svg_line(out, right, y + BAR, right, y + ROW, "axis");
        put_values(out, part, width, y + 14.5);
        at += part->share;
    }
    return bottom + LEAT_CHART_AXIS;
}

static void put_table(FILE *out, const void *data)
{
    static const char *const heads[] = { "part of a step", "share of the time", "ms", NULL };
    const leat_waterfall *const w = data;
    leat_chart_table t = leat_chart_table_open(out, heads);
    for (int i = 0; i < w->n; i++) {
        leat_chart_cell_text(&t, w->parts[i].name);
        leat_chart_cell_percent(&t, w->parts[i].share);
        leat_chart_cell_number(&t, w->parts[i].ms);
    }
    leat_chart_table_close(&t);
}

leat_chart leat_chart_waterfall(const leat_waterfall *data)
{
    return (leat_chart){
        .id = "waterfall",
        .title = data->title ? data->title : "Where the time of a step goes",
        .simulated = data->simulated,
        .about = "From top to bottom, each part begins where the one above it ends. In all but "
                 "“busy” the device is idle. “Host is late” and “other”: it waits neither for a "
                 "batch nor for a copy; the thread that trains does something else, or has no "
                 "free core.",
        .data = data,
        .draw = draw,
        .table = put_table,
    };
}
