/* SPDX-License-Identifier: MIT
 *
 * page_whatif.c: `leat whatif`: how idle devices would be with more or fewer CPU threads, or what processes that train
 * together would wait for. */
#include <string.h>

#include "formats/figure.h"
#include "page_kinds.h"

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
        for (const char *set = leat_fields_text_or(trial, "set", ""), *end; *set; set = end) {
            char one[256];
            end = strstr(set, "; ");
            end = end ? end : set + strlen(set);
            snprintf(one, sizeof one, "%.*s", (int)(end - set), set);
            leat_answer_set(change, one);
            end += *end ? 2 : 0;
        }
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

static void show_ranks(leat_page *page, const json_t *json)
{
    const json_t *const rows = leat_fields_list(json, "rows");
    char names[LEAT_BARS_MOST][sizeof(leat_figure) + 24];
    leat_bars data = { .id = "whatif",
                       .title = "How long each process would communicate",
                       .simulated = true,
                       .about = "Share of the time of a process that goes into exchanges with the "
                                "others, on a simulated network.",
                       .axis = "% of the time",
                       .unit = "%",
                       .names = "ranks" };
    for (size_t i = 0; i < json_array_size(rows) && data.n < LEAT_BARS_MOST; i++) {
        const json_t *const row = json_array_get(rows, i);
        snprintf(names[data.n], sizeof names[0], "%s ranks",
                 leat_figure_number(leat_fields_number(row, "ranks")).text);
        leat_bars_add(&data, (leat_bar){ .group = "processes that train together",
                                         .name = names[data.n],
                                         .kind = "other",
                                         .value = leat_fields_number(row, "communication") });
    }
    leat_page_chart(page, leat_chart_bars(&data), data.n);
}

void leat_page_whatif_section(leat_page *page, const json_t *json)
{
    const json_t *const rows = leat_fields_list(json, "rows");
    if (row_of_ranks(json)) {
        show_ranks(page, json);
        return;
    }
    char names[LEAT_BARS_MOST][sizeof(leat_figure) + 24];
    leat_bars data = { .id = "whatif",
                       .title = "How long each device would wait",
                       .simulated = is_simulated(json),
                       .about = "Share of the time in which the device would be idle, because this "
                                "machine cannot feed it.",
                       .axis = "% of the time idle",
                       .unit = "%",
                       .names = "threads" };
    for (size_t i = 0; i < json_array_size(rows) && data.n < LEAT_BARS_MOST; i++) {
        const json_t *const row = json_array_get(rows, i);
        snprintf(names[data.n], sizeof names[0], "%s threads%s",
                 leat_figure_number(leat_fields_number(row, "threads")).text,
                 leat_fields_true(row, "predicted") ? ", predicted" : "");
        leat_bars_add(&data, (leat_bar){ .group = leat_fields_text_or(row, "device", "?"),
                                         .name = names[data.n],
                                         .kind = "input_wait",
                                         .value = leat_fields_number(row, "idle") });
    }
    leat_page_chart(page, leat_chart_bars(&data), data.n);
}
