/* SPDX-License-Identifier: MIT
 *
 * page_doctor.c: `leat doctor`: verdict, evidence, capacities, what to change. */
#include <math.h>
#include <string.h>

#include "files.h"
#include "formats/figure.h"
#include "page.h"

/* --- the answer ------------------------------------------------------------------------------------*/

static double busy_share(const json_t *json)
{
    const json_t *const parts = leat_fields_list(json, "shares");
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *const part = json_array_get(parts, i);
        if (leat_verdict_find_share(leat_fields_text_or(part, "class", "")) == LEAT_SHARE_BUSY)
            return leat_fields_number(part, "share");
    }
    return NAN;
}

/* As many times as fast as the job is now: as measured, or as predicted. */
static double gained(const json_t *change)
{
    const double measured = leat_fields_number(change, "verified_gain");
    return 1 + (isnan(measured) ? leat_fields_number(change, "gain") : measured);
}

static bool is_unsure(const json_t *change)
{
    return json_is_false(json_object_get(change, "sure"));
}

static bool may_gain_nothing(const json_t *change)
{
    double low, high;
    leat_fields_interval(change, "gain_range", &low, &high);
    return is_unsure(change) && !(low > 0);
}

/* As measured; false if it was not verified, or there is none. */
static bool gains_too_little(const json_t *change)
{
    return leat_fields_number(change, "verified_gain") < 0.03;
}

/* Whether a gain is measured, or how else it is known. */
static const char *how_known(const json_t *json, const json_t *change)
{
    if (leat_fields_number(change, "verified_step_ms") > 0)
        return leat_fields_true(json, "simulated") ? "measured (simulated device)" : "measured";
    if (leat_fields_text(change, "not_tried"))
        return "only predicted, not tried";
    return !is_unsure(change)         ? "tried in short runs"
           : may_gain_nothing(change) ? "tried in short runs that disagree"
                                      : "tried in too few short runs";
}

static void say_range(const json_t *change, const char *before, char *text, size_t size)
{
    double low, high;
    leat_fields_interval(change, "gain_range", &low, &high);
    if (low < high)
        leat_files_append(text, size, "%s%s to %s", before, leat_figure_times(1 + low).text,
                          leat_figure_times(1 + high).text);
}

/* All figures are the job's as measured, times a ratio: that of two runs side by side, or of predictions. */
static void say_gain(const json_t *json, const json_t *from, struct leat_answer_change *change)
{
    const double then = leat_fields_number(from, "predicted_step_ms"),
                 verified = leat_fields_number(from, "verified_step_ms"),
                 before = leat_fields_number(from, "before_step_ms"),
                 step = leat_fields_number(json, "measured_step_ms"),
                 rate = leat_fields_number(json, "samples_per_s"), times = gained(from);
    const bool measured = verified > 0;
    const double ms = measured ? step * verified / before : then;
    const double batch = leat_fields_number(json, "batch"), rows = rate * times * ms * 1e-3;
    const char *const why = leat_fields_text(from, "not_tried");
    const size_t size = sizeof change->gain;
    char *const gain = change->gain;
    if (!(ms > 0) || !(step > 0) || isnan(times)) /* a key is missing */
        return;
    snprintf(gain, size, "%s%s%.60s: ", how_known(json, from), why ? ", because " : "",
             why ? why : "");
    if (may_gain_nothing(from)) {
        say_range(from, "", gain, size);
        leat_files_append(gain, size, " as fast");
        return;
    }
    const leat_figure into = leat_figure_unit(ms, "ms"), now = leat_figure_unit(step, "ms");
    leat_files_append(gain, size, "%s as fast, ", leat_figure_times(times).text);
    if (fabs(rows / batch - 1) > 0.1) /* the change is of the batch */
        leat_files_append(gain, size, "a step of %.0f samples takes %s, one of %.0f takes %s now",
                          rows, into.text, batch, now.text);
    else
        leat_files_append(gain, size, "%s instead of %s per step", into.text, now.text);
    if (rate > 0)
        leat_files_append(gain, size, ", %s instead of %s samples/s",
                          leat_figure_number(rate * times).text, leat_figure_number(rate).text);
    if (measured && !isnan(leat_fields_number(from, "gain")))
        leat_files_append(gain, size, " (predicted: %s)",
                          leat_figure_times(1 + leat_fields_number(from, "gain")).text);
    else
        say_range(from, why ? "; likely " : "; in single runs ", gain, size);
}

static void take_suggestion(const json_t *json, const json_t *from, leat_answer *out)
{
    const json_t *const sets = leat_fields_list(from, "set");
    struct leat_answer_change *const change = leat_answer_change(
        out, leat_fields_text_or(from, "title", "change"), leat_fields_text(from, "why"));
    if (!change)
        return;
    change->differs = leat_fields_text(from, "differs");
    change->off = json_is_false(json_object_get(from, "right"));
    say_gain(json, from, change);
    if (gains_too_little(from)) {
        change->note = "it gains less than 3 %: change nothing";
        return;
    }
    for (size_t i = 0; i < json_array_size(sets); i++)
        leat_answer_set(change, json_string_value(json_array_get(sets, i)));
    change->diff = leat_fields_text(from, "diff");
    change->note = leat_fields_text(from, "diff_note");
}

/* "mean; with 95 % certainty 2.28–2.46 ms": the range in which the mean is with 95 % certainty. */
static void step_fact(const json_t *json, leat_answer *out)
{
    char note[128] = "measured";
    double low, high;
    const double batch = leat_fields_number(json, "batch");
    leat_fields_interval(json, "samples_per_s_interval", &low, &high);
    const leat_figure range = leat_figure_range(batch / high * 1e3, batch / low * 1e3);
    if (range.text[0])
        snprintf(note, sizeof note, "mean; with 95 %% certainty %s ms", range.text);
    leat_answer_fact(out, "Step now",
                     leat_figure_unit(leat_fields_number(json, "measured_step_ms"), "ms").text,
                     note);
}

static void facts(const json_t *json, leat_answer *out)
{
    char note[200];
    char name[32];
    size_t i = 0;
    const json_t *const list = leat_fields_list(json, "suggestions"), *const wall = json_object_get(
                                                                          json, "next_limit");
    while (gains_too_little(json_array_get(list, i)))
        i++;
    const json_t *const first = json_array_get(list, i);
    snprintf(name, sizeof name, "Change %zu", i + 1);
    const double times = gained(first);
    leat_answer_fact(out, "Device idle", leat_figure_percent(1 - busy_share(json)).text,
                     "after the warm-up");
    step_fact(json, out);
    snprintf(note, sizeof note, "as fast, %s", how_known(json, first));
    if (may_gain_nothing(first))
        leat_answer_fact(out, name, "not sure", "it may gain nothing");
    else if (times > 1)
        leat_answer_fact(out, name, leat_figure_times(times).text, note);
    else if (!(first && isnan(times)) && leat_fields_number(json, "tried") > 0)
        leat_answer_fact(out, "To gain", "nothing", "that this command can predict");
    if (leat_fields_text(wall, "name")) {
        snprintf(note, sizeof note, "per step if today's limit alone were gone: %.80s",
                 leat_fields_text(wall, "name"));
        leat_answer_fact(out, "Next limit",
                         leat_figure_unit(leat_fields_number(wall, "step_ms"), "ms").text, note);
    }
}

void leat_page_doctor_answer(const json_t *json, leat_answer *out)
{
    const json_t *const verdict = json_object_get(json, "verdict"), *const list = leat_fields_list(
                                                                        json, "suggestions");
    const char *const kind = leat_fields_text_or(verdict, "class", "no verdict"),
                      *const label = leat_fields_text(verdict, "label");
    leat_answer_verdict(out, kind, label, leat_fields_text(verdict, "severity"));
    if (leat_fields_text(verdict, "also")) {
        const size_t n = strlen(out->verdict);
        snprintf(out->verdict + n, sizeof out->verdict - n, "; also %.60s",
                 leat_fields_text(verdict, "also"));
    }
    out->sentence = leat_fields_text(verdict, "sentence");
    facts(json, out);
    for (size_t i = 0; i < json_array_size(list); i++)
        take_suggestion(json, json_array_get(list, i), out);
    out->asked_changes = json_array_size(leat_fields_list(json, "tried_without_gain")) > 0 ||
                         leat_fields_number(json, "tried") > 0;
}

/* --- the section -----------------------------------------------------------------------------------*/

static void put_evidence(leat_page *page, const json_t *json)
{
    const json_t *const list = leat_fields_list(json, "evidence");
    if (json_array_size(list) == 0)
        return;
    fputs("<h3>Evidence</h3>\n<ul>\n", page->out);
    for (size_t i = 0; i < json_array_size(list); i++)
        leat_svg_put(page->out, "<li>%s</li>\n",
                     leat_fields_text_or(json_array_get(list, i), "text", "?"));
    fputs("</ul>\n", page->out);
}

static void put_waterfall(leat_page *page, const json_t *json)
{
    const json_t *const list = leat_fields_list(json, "shares");
    leat_waterfall data = { .simulated = leat_fields_true(json, "simulated") };
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *const part = json_array_get(list, i);
        leat_waterfall_add(&data, leat_fields_text_or(part, "class", "?"),
                           leat_fields_number(part, "share"), leat_fields_number(part, "ms"));
    }
    leat_page_chart(page, leat_chart_waterfall(&data), data.n);
}

/* Parts have the colours of the shares that they make. */
static const char *colour_of(leat_part part)
{
    static const leat_share as[LEAT_N_PARTS] = {
        [LEAT_PART_NONE] = LEAT_SHARE_INPUT_WAIT,   [LEAT_PART_FIRST_BATCH] = LEAT_SHARE_LAUNCH,
        [LEAT_PART_COPY] = LEAT_SHARE_EXPOSED_COPY, [LEAT_PART_STEP] = LEAT_SHARE_BUSY,
        [LEAT_PART_STEP_QUEUED] = LEAT_SHARE_BUSY,  [LEAT_PART_SHARED] = LEAT_SHARE_INPUT_WAIT,
        [LEAT_PART_STAGE] = LEAT_SHARE_INPUT_WAIT,
    };
    return part == LEAT_PART_LOADER ? "both" : leat_verdict_share(as[part])->word;
}

static void put_capacities(leat_page *page, const json_t *json)
{
    const json_t *const list = leat_fields_list(json, "capacities");
    leat_bars data = { .id = "capacities",
                       .title = "What each part needs for a step, alone",
                       .simulated = leat_fields_true(json, "simulated"),
                       .about =
                           "Of loader, copy and step, the longest is the wall. What overlaps "
                           "with it costs nothing, and "
                           "making that faster gains nothing. The thin line at the end of a bar is "
                           "the range in which the mean is with 95 % certainty.",
                       .axis = "milliseconds per batch",
                       .unit = "ms",
                       .names = "part" };
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *const one = json_array_get(list, i);
        const double rate = leat_fields_number(one, "samples_per_s"),
                     ms = leat_fields_number(one, "step_ms");
        double low, high;
        leat_fields_interval(one, "interval", &low, &high); /* of the rate */
        leat_bars_add(&data, (leat_bar){ .name = leat_fields_text_or(one, "name", "?"),
                                         .kind = colour_of(leat_verdict_find_part(
                                             leat_fields_text_or(one, "kind", ""))),
                                         .value = ms,
                                         .low = ms * (rate / high),
                                         .high = ms * (rate / low) });
    }
    leat_bars_wall(&data, "measured step", leat_fields_number(json, "measured_step_ms"));
    leat_bars_wall(&data, "predicted step", leat_fields_number(json, "predicted_step_ms"));
    leat_page_chart(page, leat_chart_bars(&data), data.n);
}

static void put_one_time(leat_page *page, const json_t *json)
{
    const json_t *const list = leat_fields_list(json, "one_time");
    leat_bars data = { .id = "one-time",
                       .title = "What is paid once",
                       .simulated = leat_fields_true(json, "simulated"),
                       .about = "Before the steady state; kept out of all other figures.",
                       .axis = "milliseconds",
                       .unit = "ms",
                       .names = "cost" };
    for (size_t i = 0; i < json_array_size(list); i++)
        leat_bars_add(&data,
                      (leat_bar){ .name = leat_fields_text_or(json_array_get(list, i), "name", "?"),
                                  .kind = "launch",
                                  .value = leat_fields_number(json_array_get(list, i), "ms") });
    leat_page_chart(page, leat_chart_bars(&data), data.n);
}

static void put_environment(leat_page *page, const json_t *json)
{
    const json_t *const from = json_object_get(json, "environment");
    char text[200];
    if (!json_is_object(from))
        return;
    snprintf(text, sizeof text, "%s, of which other programs used %s meanwhile%s",
             leat_figure_number(leat_fields_number(from, "cores")).text,
             leat_figure_number(leat_fields_number(from, "cores_taken")).text,
             leat_fields_number(from, "throttled") > 0 ? "; the CPU was throttled" : "");
    leat_page_fact(page, "CPUs", text);
}

/* What limits the job as it is, beside other programs. */
static void put_beside(leat_page *page, const json_t *verdict)
{
    const char *const kind = leat_fields_text_or(verdict, "beside", ""), *const label =
                                                                             leat_fields_text_or(
                                                                                 verdict,
                                                                                 "beside_label",
                                                                                 "");
    char text[200];
    if (!*kind || leat_verdict_find(kind) == LEAT_VERDICT_INCONCLUSIVE)
        return;
    snprintf(text, sizeof text, "%.60s%s%.120s%s", kind, *label ? " (" : "", label,
             *label ? ")" : "");
    leat_page_fact(page, "With other programs running", text);
}

static void put_without_gain(leat_page *page, const json_t *json)
{
    const json_t *const list = leat_fields_list(json, "tried_without_gain");
    char text[1200] = "";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *const one = json_string_value(json_array_get(list, i));
        leat_files_append(text, sizeof text, "%s%.200s", *text ? "; " : "", one ? one : "?");
    }
    leat_page_fact(page, "No gain from", text);
}

/* Changes that could not be tried. */
static void put_left_out(leat_page *page, const json_t *json)
{
    static const char *const rows[][2] = {
        { "no_memory", "%.0f did not fit in memory" },
        { "not_filled", "the cache of %.0f was not filled in 5 s" },
        { "no_time", "no time for %.0f (--seconds)" },
    };
    const json_t *const from = json_object_get(json, "left_out");
    char text[200] = "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double count = leat_fields_number(from, rows[i][0]);
        if (count > 0 && count < 1e6) {
            leat_files_append(text, sizeof text, "%s", *text ? ", " : "");
            leat_files_append(text, sizeof text, rows[i][1], count);
        }
    }
    leat_page_fact(page, "Changes left out", text);
}

/* What makes the figures doubtful, or others than expected, as on the screen. */
static void put_warnings(leat_page *page, const json_t *json)
{
    const double uncached = leat_fields_number(json, "uncached"),
                 epochs = leat_fields_number(json, "least_epochs");
    char text[128];
    if (uncached > 0 && uncached <= 1) {
        snprintf(text, sizeof text,
                 "it held %.0f %% of the samples; the others were made as in a first epoch",
                 100 * (1 - uncached));
        leat_page_fact(page, "Cache", text);
    }
    if (epochs > 0 && epochs < 1e9) {
        snprintf(text, sizeof text, "train %.0f epochs or more: one-time costs weigh too much",
                 epochs);
        leat_page_fact(page, "Too short", text);
    }
    leat_page_fact(page, "Note", leat_fields_text(json, "note"));
    put_without_gain(page, json);
    put_left_out(page, json);
}

void leat_page_doctor_section(leat_page *page, const json_t *json)
{
    put_environment(page, json);
    put_beside(page, json_object_get(json, "verdict"));
    put_warnings(page, json);
    put_evidence(page, json);
    put_waterfall(page, json);
    put_capacities(page, json);
    put_one_time(page, json);
    leat_page_crossover_section(page, json_object_get(json, "crossover"));
}
