/* SPDX-License-Identifier: MIT
 *
 * page_choices.c: what another choice would give: of settings (`leat tune`), of the machine or the number of processes
 * (`leat whatif`), and of the device for a batch size (`leat doctor --devices`). */
#include "page.h"

#include <math.h>
#include <string.h>

#include "files.h"
#include "formats/figure.h"

/* --- leat tune ------------------------------------------------------------------------------------*/

/* "a=1, b=2" of a list of texts. */
static const char *set_text(const json_t *one, char text[300])
{
    const json_t *const sets = leat_fields_list(one, "set");
    text[0] = 0;
    for (size_t i = 0; i < json_array_size(sets) && strlen(text) < 260; i++) {
        const char *const set = json_string_value(json_array_get(sets, i));
        leat_files_append(text, 300, "%s%.120s", *text ? ", " : "", set ? set : "?");
    }
    return *text ? text : strcpy(text, "?");
}

void leat_page_tune_answer(const json_t *json, leat_answer *out)
{
    const json_t *const best = json_object_get(json, "best"), *const sets =
                                                                  leat_fields_list(best, "set");
    const double speedup = leat_fields_number(best, "speedup");
    double low, high;
    char note[200];
    leat_fields_interval(best, "speedup_interval", &low, &high);
    out->asked_changes = leat_fields_true(json, "complete");
    out->tone = LEAT_TONE_GOOD;
    if (!(low > 1) || json_array_size(sets) == 0) {
        strcpy(out->verdict, "No setting is faster for certain");
        return;
    }
    snprintf(out->verdict, sizeof out->verdict, "%s as fast with other settings",
             leat_figure_times(speedup).text);
    snprintf(note, sizeof note, "as fast; 95 %% interval %s", leat_figure_range(low, high).text);
    leat_answer_fact(out, "Could gain", leat_figure_times(speedup).text, note);
    leat_answer_fact(out, "Samples/s",
                     leat_figure_number(leat_fields_number(best, "samples_per_s")).text,
                     "with the settings below");
    struct leat_answer_change *const change =
        leat_answer_change(out, "Write these settings into the config", NULL);
    for (size_t i = 0; i < json_array_size(sets); i++)
        leat_answer_set(change, json_string_value(json_array_get(sets, i)));
    change->diff = leat_fields_text(json, "patch");
}

/* Rates measured minutes apart are hard to compare, so each is shown relative to what was best in the same rounds. */
void leat_page_tune_section(leat_page *page, const json_t *json)
{
    const json_t *const tried = leat_fields_list(json, "tried");
    char names[LEAT_BARS_MOST][340];
    leat_bars data = { .id = "tune",
                       .title = "What was tried",
                       .simulated = leat_fields_true(json, "simulated"),
                       .about = "The values of one option below what was best before it, and their "
                                "speed against that. Where an interval holds 1, the difference may "
                                "be chance.",
                       .axis = "times as fast as what was best before",
                       .unit = "×",
                       .names = "settings" };
    for (size_t i = 0; i < json_array_size(tried) && data.n < LEAT_BARS_MOST; i++) {
        const json_t *const one = json_array_get(tried, i);
        char text[300] = "the config as it is";
        leat_bar bar = { .name = names[data.n],
                         .kind = "input_wait",
                         .value = leat_fields_number(one, "speedup") };
        leat_fields_interval(one, "speedup_interval", &bar.low, &bar.high);
        /* What was best until then is compared with itself, and comes first among the values of an option. */
        const bool is_first = bar.low == 1 && bar.high == 1,
                   is_once = !is_first && leat_fields_number(one, "rounds") == 1;
        if (json_array_size(json_object_get(one, "set")) > 0)
            set_text(one, text);
        if (is_first || is_once)
            bar.low = bar.high = NAN;
        snprintf(names[data.n], sizeof names[0], "%s%s%s", is_first ? "best before: " : "", text,
                 is_once ? " (one round: says nothing)" : "");
        leat_bars_add(&data, bar);
    }
    leat_bars_wall(&data, "best before:", 1);
    leat_page_chart(page, leat_chart_bars(&data), data.n);
}

/* --- leat whatif ----------------------------------------------------------------------------------*/

/* What this machine can do: the first device with the most threads that were measured; else its first row. */
static const json_t *row_of_now(const json_t *json)
{
    const json_t *const rows = leat_fields_list(json, "rows"), *now = json_array_get(rows, 0);
    const char *const device = leat_fields_text_or(now, "device", "?");
    double most = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *const row = json_array_get(rows, i);
        if (leat_fields_number(row, "threads") > most && !leat_fields_true(row, "predicted") &&
            !strcmp(leat_fields_text_or(row, "device", "?"), device)) {
            most = leat_fields_number(row, "threads");
            now = row;
        }
    }
    return now;
}

/* A row without the key is taken for simulated. */
static bool is_simulated(const json_t *json)
{
    const json_t *const rows = leat_fields_list(json, "rows");
    bool simulated = false;
    for (size_t i = 0; i < json_array_size(rows); i++)
        simulated |= !json_is_false(json_object_get(json_array_get(rows, i), "simulated"));
    return simulated;
}

/* What would make the loader faster: by 3 % or more, as for `leat doctor`. */
static void take_trials(const json_t *json, leat_answer *out)
{
    const json_t *const trials = leat_fields_list(json, "trials");
    for (size_t i = 0; i < json_array_size(trials); i++) {
        const json_t *const trial = json_array_get(trials, i);
        const double speedup = leat_fields_number(trial, "speedup");
        struct leat_answer_change *const change =
            speedup >= 1.03
                ? leat_answer_change(out, leat_fields_text_or(trial, "text", "change"), NULL)
                : NULL;
        if (!change)
            continue;
        leat_answer_sets(change, leat_fields_text_or(trial, "set", ""), "; ");
        snprintf(change->gain, sizeof change->gain, "%s: the loader alone is %s as fast",
                 leat_fields_true(trial, "predicted") ? "predicted" : "measured",
                 leat_figure_times(speedup).text);
    }
}

/* Of processes that train together: the last row; else NULL. */
static const json_t *row_of_ranks(const json_t *json)
{
    const json_t *const rows = leat_fields_list(json, "rows");
    const json_t *const last = json_array_get(rows, json_array_size(rows) - 1);
    return json_object_get(last, "ranks") ? last : NULL;
}

static void answer_ranks(const json_t *row, leat_answer *out)
{
    const double ranks = leat_fields_number(row, "ranks"),
                 speedup = leat_fields_number(row, "speedup");
    snprintf(out->verdict, sizeof out->verdict, "%s processes would train %s as fast as one",
             leat_figure_number(ranks).text, leat_figure_times(speedup).text);
    out->tone = speedup > 0.8 * ranks ? LEAT_TONE_GOOD : LEAT_TONE_WARN;
    out->simulated = true;
    leat_answer_fact(out, "Communication",
                     leat_figure_percent(leat_fields_number(row, "communication")).text,
                     "of the time of each");
}

void leat_page_whatif_answer(const json_t *json, leat_answer *out)
{
    const json_t *const row = row_of_now(json);
    if (row_of_ranks(json)) {
        answer_ranks(row_of_ranks(json), out);
        return;
    }

    const double idle = leat_fields_number(row, "idle"),
                 bytes = leat_fields_number(row, "bytes_per_s_needed");
    snprintf(out->verdict, sizeof out->verdict,
             "%.80s would be idle %s of the time with %s threads",
             leat_fields_text_or(row, "device", "?"), leat_figure_percent(idle).text,
             leat_figure_number(leat_fields_number(row, "threads")).text);
    out->tone = idle < 0.05 ? LEAT_TONE_GOOD : LEAT_TONE_WARN;
    out->simulated = is_simulated(json);
    if (leat_fields_text(row, "bound"))
        leat_answer_fact(out, "Bound by", leat_fields_text(row, "bound"), NULL);
    if (leat_fields_number(row, "cores_needed") > 0)
        leat_answer_fact(out, "Cores needed",
                         leat_figure_number(leat_fields_number(row, "cores_needed")).text,
                         "to keep it busy");
    if (bytes > 0)
        leat_answer_fact(out, "Storage needed", leat_figure_unit(bytes / 1e6, "MB/s").text,
                         "to keep it busy");
    take_trials(json, out);
}

void leat_page_whatif_section(leat_page *page, const json_t *json)
{
    const json_t *const rows = leat_fields_list(json, "rows");
    const bool ranks = row_of_ranks(json) != NULL;
    char names[LEAT_BARS_MOST][sizeof(leat_figure) + 24];
    leat_bars data = { .id = "whatif",
                       .title = "How long each device would wait",
                       .simulated = ranks || is_simulated(json),
                       .about = "Share of the time in which the device would be idle, because this "
                                "machine cannot feed it.",
                       .axis = "% of the time idle",
                       .unit = "%",
                       .names = "threads" };
    if (ranks) {
        data.title = "How long each process would communicate";
        data.about = "Share of the time of a process that goes into exchanges with the others, on "
                     "a simulated network.";
        data.axis = "% of the time";
        data.names = "ranks";
    }
    for (size_t i = 0; i < json_array_size(rows) && data.n < LEAT_BARS_MOST; i++) {
        const json_t *const row = json_array_get(rows, i);
        leat_bar bar = { .group = leat_fields_text_or(row, "device", "?"),
                         .name = names[data.n],
                         .kind = "input_wait",
                         .value = leat_fields_number(row, "idle") };
        if (ranks)
            bar = (leat_bar){ .group = "processes that train together",
                              .name = names[data.n],
                              .kind = "other",
                              .value = leat_fields_number(row, "communication") };
        snprintf(names[data.n], sizeof names[0], "%s %s%s",
                 leat_figure_number(leat_fields_number(row, data.names)).text, data.names,
                 !ranks && leat_fields_true(row, "predicted") ? ", predicted" : "");
        leat_bars_add(&data, bar);
    }
    leat_page_chart(page, leat_chart_bars(&data), data.n);
}

/* --- crossover: step time over batch size on two devices, and from which batch on the second is faster */

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

/* a, b: the devices; a is faster at all sizes if one is. */
static void say_no_crossing(const json_t *json, const char *a, const char *b, leat_answer *out)
{
    const json_t *const faster = leat_fields_list(json, "faster");
    const size_t n = json_array_size(faster);
    size_t n_a = 0, n_b = 0;
    for (size_t i = 0; i < n; i++) {
        const char *const name = json_string_value(json_array_get(faster, i));
        n_a += name && !strcmp(name, a);
        n_b += name && !strcmp(name, b);
    }
    if (leat_fields_text(json, "faster_below"))
        snprintf(out->verdict, sizeof out->verdict,
                 "%.80s is faster than %.80s at all batch sizes that were measured", a, b);
    else if (n_a + n_b > 0)
        snprintf(out->verdict, sizeof out->verdict,
                 "%.80s is faster than %.80s at %zu of the %zu batch sizes that were measured",
                 n_a ? a : b, n_a ? b : a, n_a ? n_a : n_b, n);
    else
        snprintf(out->verdict, sizeof out->verdict, "%.80s and %.80s do not cross", a, b);
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
        say_no_crossing(json, a, b, out);
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
