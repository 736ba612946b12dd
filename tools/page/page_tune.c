/* SPDX-License-Identifier: MIT
 *
 * page_tune.c: `leat tune`: the settings that won, and what else was tried. */
#include <math.h>
#include <string.h>

#include "files.h"
#include "formats/figure.h"
#include "page_kinds.h"

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
    if (change)
        change->diff = leat_fields_text(json, "patch");
}

/* What was best until then is compared with itself, and comes first among the values of an option. */
static bool begins_race(const leat_bar *bar)
{
    return bar->low == 1 && bar->high == 1;
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
        const bool is_first = begins_race(&bar),
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
