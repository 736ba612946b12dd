/* SPDX-License-Identifier: MIT
 *
 * page_crossover.c: step time over batch size on two devices, and from which batch on the second is faster. */
#include <math.h>
#include <string.h>

#include "formats/figure.h"
#include "page_kinds.h"

enum { POINTS_MOST = 2000, FIT_POINTS = 40 };

/* The measured points of a device. */
static void add_points(leat_lines *lines, const json_t *device, int colour)
{
    const bool simulated = leat_fields_true(device, "simulated");
    const json_t *const points = leat_fields_list(device, "points");
    const int n = leat_fields_count(points, POINTS_MOST);
    leat_chart_line *const line =
        leat_lines_add(lines, leat_fields_text_or(device, "name", "?"), simulated, n, true);
    if (!line)
        return;
    line->colour = colour;
    for (int i = 0; i < n; i++) {
        const json_t *const point = json_array_get(points, (size_t)i);
        double low, high;
        leat_fields_interval(point, "interval", &low, &high);
        leat_line_point(line, leat_fields_number(point, "batch"),
                        leat_fields_number(point, "step_ms"), low, high);
    }
}

/* T = alpha + beta * batch over the same batches. */
static void add_fit(leat_lines *lines, const json_t *device, int colour)
{
    const leat_chart_line *const measured = &lines->lines[lines->n - 1];
    const double alpha = leat_fields_number(device, "alpha_ms"),
                 beta = leat_fields_number(device, "beta_ms_per_sample");
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < measured->n; i++) {
        low = fmin(low, measured->x[i]);
        high = fmax(high, measured->x[i]);
    }
    if (!(low > 0 && low < high) || isnan(alpha) || isnan(beta))
        return;
    leat_chart_line *const line =
        leat_lines_add(lines, measured->name, false, FIT_POINTS + 1, false);
    if (!line)
        return;
    lines->lines[lines->n - 2].dots = true;
    line->colour = colour;
    line->fit = true;
    for (int i = 0; i <= FIT_POINTS; i++) {
        const double x = low * pow(high / low, (double)i / FIT_POINTS), y = alpha + beta * x;
        if (y > 0 && y < 1e300)
            leat_line_point(line, x, y, NAN, NAN);
    }
}

void leat_page_crossover_section(leat_page *page, const json_t *json)
{
    const json_t *const devices = leat_fields_list(json, "devices");
    const int n = leat_fields_count(devices, LEAT_CHART_COLOURS);
    leat_lines data = {
        .id = "crossover",
        .title = "Where the one overtakes the other",
        .about = "Step time over batch size. Dashed: the fit α + β·batch. The band is the "
                 "95 % interval of the batch at which both are equally fast.",
        .x_name = "samples per batch",
        .y_name = "milliseconds per step",
        .from_zero = true,
        .wall = leat_fields_number(json, "crossover_batch"),
        .wall_name = "b* ="
    };
    leat_fields_interval(json, "interval", &data.wall_low, &data.wall_high);
    for (int i = 0; i < n; i++) {
        const json_t *const device = json_array_get(devices, (size_t)i);
        add_points(&data, device, i);
        add_fit(&data, device, i);
    }
    leat_page_lines(page, &data);
}

void leat_page_crossover_answer(const json_t *json, leat_answer *out)
{
    const json_t *const devices = leat_fields_list(json, "devices");
    const char *a = leat_fields_text_or(json_array_get(devices, 0), "name", "?"),
               *b = leat_fields_text_or(json_array_get(devices, 1), "name", "?");
    if (!strcmp(leat_fields_text_or(json, "faster_below", a), b)) {
        b = a;
        a = leat_fields_text_or(json, "faster_below", "?");
    }
    const double batch = leat_fields_number(json, "crossover_batch");
    char note[200];
    double low, high;
    for (size_t i = 0; i < json_array_size(devices); i++)
        out->simulated |= leat_fields_true(json_array_get(devices, i), "simulated");
    if (isnan(batch)) {
        if (leat_fields_text(json, "faster_below"))
            snprintf(out->verdict, sizeof out->verdict,
                     "%.80s is faster than %.80s at all batch sizes that were measured", a, b);
        else
            snprintf(out->verdict, sizeof out->verdict, "%.80s and %.80s do not cross", a, b);
        return;
    }
    snprintf(out->verdict, sizeof out->verdict, "%.80s is faster than %.80s from batch %s on", b, a,
             leat_figure_number(ceil(batch)).text);
    leat_fields_interval(json, "interval", &low, &high);
    snprintf(note, sizeof note, "95 %% interval %s", leat_figure_range(low, high).text);
    leat_answer_fact(out, "Crossover batch b*", leat_figure_number(batch).text, note);
    const double steps = leat_fields_number(json, "steps_to_pay");
    if (!isnan(steps))
        leat_answer_fact(out, "Steps to pay", leat_figure_number(steps).text,
                         "until the one-time cost is won back");
}
