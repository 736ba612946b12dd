/* SPDX-License-Identifier: MIT
 *
 * page_experiment.c: `leat experiment`: what was found, and the sweeps and arms that show it. */
#include <math.h>
#include <string.h>

#include "page.h"

enum { POINTS_MOST = 5000 };

void leat_page_experiment_answer(const json_t *json, leat_answer *out)
{
    const json_t *const list = leat_fields_list(json, "findings");
    int n_true = 0, n_false = 0;
    char value[64];
    for (size_t i = 0; i < json_array_size(list); i++) {
        n_true += json_is_true(json_object_get(json_array_get(list, i), "holds"));
        n_false += json_is_false(json_object_get(json_array_get(list, i), "holds"));
    }
    snprintf(out->verdict, sizeof out->verdict, "%.200s",
             leat_fields_text_or(json, "title", leat_fields_text_or(json, "name", "experiment")));
    out->config = leat_fields_text(json, "name");
    out->tone = n_false                                ? LEAT_TONE_WARN
                : n_true == (int)json_array_size(list) ? LEAT_TONE_GOOD
                                                       : LEAT_TONE_OPEN;
    snprintf(value, sizeof value, "%d of %d", n_true, (int)json_array_size(list));
    leat_answer_fact(out, "Findings that hold", value,
                     leat_fields_true(json, "quick") ? "a quick run" : NULL);
}

static void put_findings(leat_page *page, const json_t *json)
{
    const json_t *const list = leat_fields_list(json, "findings");
    if (json_array_size(list) == 0)
        return;
    fputs("<h3>Findings</h3>\n<ul class=\"findings\">\n", page->out);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *const one = json_array_get(list, i), *const holds =
                                                               json_object_get(one, "holds");
        fputs(json_is_true(holds) ? "<li class=\"yes\"><b title=\"holds\">✓</b> "
              : json_is_false(holds)
                  ? "<li class=\"no\"><b title=\"does not hold\">✗</b> does not hold: "
                  : "<li class=\"open\"><b title=\"open\">?</b> not decided: ",
              page->out);
        leat_svg_put(page->out, "%s</li>\n", leat_fields_text_or(one, "text", "?"));
    }
    fputs("</ul>\n", page->out);
}

/* "batch (samples)" */
static void axis_name(const json_t *series, const char *key, const char *unit_key, char text[200])
{
    const char *const name = leat_fields_text_or(series, key, key), *const unit = leat_fields_text(
                                                                        series, unit_key);
    if (unit && strcmp(unit, name) != 0)
        snprintf(text, 200, "%.90s (%.90s)", name, unit);
    else
        snprintf(text, 200, "%.90s", name);
}

static void add_series(leat_lines *lines, const json_t *series)
{
    const json_t *const points = leat_fields_list(series, "points");
    const int n = leat_fields_count(points, POINTS_MOST);
    const int colour = lines->n % LEAT_CHART_COLOURS;
    leat_chart_line *const line = leat_lines_add(lines, leat_fields_text_or(series, "name", "?"),
                                                 leat_fields_true(series, "simulated"), n, true);
    if (!line)
        return;
    line->colour = colour;
    for (int i = 0; i < n; i++) {
        const json_t *const point = json_array_get(points, (size_t)i);
        leat_line_point(line, leat_fields_number(point, "x"), leat_fields_number(point, "y"),
                        leat_fields_number(point, "low"), leat_fields_number(point, "high"));
    }
}

/* One chart of all series from the first on that have its axes; later ones of other axes are left. */
static void put_series(leat_page *page, const json_t *list, int n, int first, bool *done)
{
    char x_name[200], y_name[200], other[200];
    const json_t *const head = json_array_get(list, (size_t)first);
    leat_lines data = { .id = "series",
                        .about =
                            "Axes are logarithmic where values lie far apart. Thin lines are 95 % "
                            "intervals.",
                        .x_name = x_name,
                        .y_name = y_name,
                        .wall = NAN };
    axis_name(head, "x", "x_unit", x_name);
    axis_name(head, "y", "y_unit", y_name);
    char title[500];
    snprintf(title, sizeof title, "%s over %s", y_name, x_name);
    title[0] = title[0] >= 'a' && title[0] <= 'z' ? (char)(title[0] - 'a' + 'A') : title[0];
    data.title = title;
    for (int i = first; i < n && data.n < LEAT_LINES_MOST; i++) {
        const json_t *const one = json_array_get(list, (size_t)i);
        axis_name(one, "x", "x_unit", other);
        bool same = !done[i] && !strcmp(other, x_name);
        axis_name(one, "y", "y_unit", other);
        same = same && !strcmp(other, y_name);
        if (same)
            add_series(&data, one);
        done[i] |= same;
    }
    leat_page_lines(page, &data);
}

void leat_page_experiment_section(leat_page *page, const json_t *json)
{
    enum { SERIES_MOST = 64 };
    char text[100];
    const json_t *const list = leat_fields_list(json, "series"), *const notes = leat_fields_list(
                                                                     json, "notes");
    bool done[SERIES_MOST] = { false };
    const int n = leat_fields_count(list, SERIES_MOST);
    leat_page_fact(page, "Expected", leat_fields_text(json, "expect"));
    leat_page_fact(page, "Machine", leat_fields_text(json, "machine"));
    for (size_t i = 0; i < json_array_size(notes); i++)
        leat_page_fact(page, "Note", json_string_value(json_array_get(notes, i)));
    put_findings(page, json);
    if (json_array_size(list) > SERIES_MOST) {
        snprintf(text, sizeof text, "the first %d of %zu are drawn", n, json_array_size(list));
        leat_page_fact(page, "Series", text);
    }
    for (int i = 0; i < n; i++)
        if (!done[i])
            put_series(page, list, n, i, done);
    if (leat_fields_list(json, "arms"))
        leat_page_arms(page, json);
}
