/* SPDX-License-Identifier: MIT
 *
 * page_compare.c: `leat compare`: arms beside each other, and what bounds the first. */
#include <math.h>
#include <string.h>

#include "chart_arms.h"
#include "chart_bars.h"
#include "chart_waterfall.h"
#include "fields.h"
#include "leat/error.h"
#include "page_kinds.h"
#include "words.h"

/* The arm that the others are compared with. */
static const json_t *first_arm(const json_t *json)
{
    return json_array_get(json_object_get(json, "arms"), 0);
}

/* The arm with the largest speed-up whose interval excludes "no difference"; NULL: none. */
static const json_t *best_arm(const json_t *json)
{
    const json_t *const arms = leat_fields_list(json, "arms"), *best = NULL;
    double most = 1;
    for (size_t i = 1; i < json_array_size(arms); i++) {
        const json_t *const arm = json_array_get(arms, i);
        double low, high;
        leat_fields_interval(arm, "speedup_interval", &low, &high);
        if (low > 1 && leat_fields_number(arm, "speedup") > most) {
            most = leat_fields_number(arm, "speedup");
            best = arm;
        }
    }
    return best;
}

static double step_ms(const json_t *json, const json_t *arm)
{
    const double steps =
        leat_fields_number(arm, "steps") * fmax(leat_fields_number(json, "rounds"), 1);
    const double mean = 1000 * leat_fields_number(arm, "wall_s") / steps;
    return mean > 0 && mean < 1e12 ? mean : leat_fields_number(arm, "step_p50_ms");
}

/* --- the answer ------------------------------------------------------------------------------------*/

/* "simulated, input-bound: nothing overlaps": what follows the verdict, which stands above it. */
static const char *without_verdict(const char *sentence, const char *verdict)
{
    const char *const at = sentence ? strstr(sentence, verdict) : NULL;
    const char *const rest = at ? at + strlen(verdict) : NULL;
    return rest && rest - sentence < 48 && !strncmp(rest, ": ", 2) && rest[2] ? rest + 2 : sentence;
}

static void gain_facts(const json_t *json, const json_t *best, leat_answer *out)
{
    char value[LEAT_WORDS_SIZE], range[LEAT_WORDS_SIZE], note[200];
    double low, high;
    leat_fields_interval(best, "speedup_interval", &low, &high);
    snprintf(note, sizeof note, "as fast; 95 %% interval %s", leat_words_range(low, high, range));
    leat_answer_fact(out, "Could gain",
                     leat_words_times(leat_fields_number(best, "speedup"), value), note);
    struct leat_answer_change *const change =
        leat_answer_change(out, leat_fields_text_or(best, "name", "?"), NULL);
    for (const char *set = leat_fields_text_or(best, "name", ""), *end; *set; set = end) {
        char one[256];
        end = strstr(set, ", ");
        snprintf(one, sizeof one, "%.*s", end ? (int)(end - set) : 255, set);
        leat_answer_set(change, one);
        end = end ? end + 2 : set + strlen(set);
    }
    char a[LEAT_WORDS_SIZE], b[LEAT_WORDS_SIZE];
    snprintf(change->gain, sizeof change->gain, "measured: %s instead of %s per step; then %.60s",
             leat_words_unit(step_ms(json, best), "ms", a),
             leat_words_unit(step_ms(json, first_arm(json)), "ms", b),
             leat_fields_text_or(best, "verdict", "?"));
    change->title = "Use the fastest arm";
}

void leat_page_compare_answer(const json_t *json, leat_answer *out)
{
    const json_t *const first = first_arm(json), *const best = best_arm(json);
    const char *const verdict = leat_fields_text_or(first, "verdict", "no verdict");
    char value[LEAT_WORDS_SIZE], other[LEAT_WORDS_SIZE], note[200] = "";
    leat_answer_verdict(out, verdict, NULL, NULL);
    out->sentence = leat_fields_text(json, "summary");
    out->more = without_verdict(leat_fields_text(first, "sentence"), verdict);
    if (out->sentence && !strcmp(out->sentence, leat_fields_text_or(first, "sentence", "")))
        out->sentence = NULL;
    out->config = leat_fields_text(json, "config");
    out->device = leat_fields_text(first, "device");
    out->simulated = leat_fields_true(first, "simulated");
    if (best)
        snprintf(note, sizeof note, "%s in the fastest arm",
                 leat_words_percent(leat_fields_number(best, "idle"), other));
    leat_answer_fact(out, "Device idle",
                     leat_words_percent(leat_fields_number(first, "idle"), value), note);
    leat_answer_fact(out, "Mean step", leat_words_unit(step_ms(json, first), "ms", value),
                     leat_fields_text(first, "name"));
    if (best)
        gain_facts(json, best, out);
    else if (json_array_size(json_object_get(json, "arms")) > 1)
        leat_answer_fact(out, "Could gain", "nothing", "no arm is faster for certain");
    out->asked_changes = json_array_size(json_object_get(json, "arms")) > 1;
}

/* --- charts ----------------------------------------------------------------------------------------*/

static int put_waterfall(leat_page *page, const json_t *json)
{
    static const char *const words[] = { "busy", "input_wait", "exposed_copy", "other" };
    const json_t *const first = first_arm(json);
    leat_waterfall data = { .name = leat_fields_text(first, "name") };
    for (int i = 0; i < 4; i++)
        leat_waterfall_add(&data, words[i], leat_fields_number(first, words[i]),
                           leat_fields_number(first, words[i]) * step_ms(json, first));
    if (data.n == 0)
        return LEAT_OK;
    const leat_chart chart = leat_chart_waterfall(&data);
    return leat_page_chart(page, &chart);
}

static void take_arm(const json_t *json, const json_t *arm, leat_arm *out)
{
    static const char *const words[] = { "busy", "input_wait", "exposed_copy", "other" };
    double low, high;
    const double rate = leat_fields_number(arm, "samples_per_s");
    out->name = leat_fields_text_or(arm, "name", "–");
    for (int i = 0; i < LEAT_ARMS_PARTS; i++)
        out->parts[i] = leat_fields_number(arm, words[i]);
    leat_fields_interval(arm, "idle_interval", &out->idle_low, &out->idle_high);
    leat_fields_interval(arm, "samples_per_s_interval", &low, &high);
    out->step_ms = step_ms(json, arm);
    out->step_low = out->step_ms * (rate / high); /* a batch over the rate */
    out->step_high = out->step_ms * (rate / low);
}

static int put_arms(leat_page *page, const json_t *json)
{
    const json_t *const arms = leat_fields_list(json, "arms");
    leat_arms data = {
        .title = "Device idle and step time, side by side",
        .about = "What the device’s time went to. The thin line is the 95 % interval of the idle "
                 "share, and of the step time.",
        .names = "arm",
        .step = "mean step",
    };
    for (size_t i = 0; i < json_array_size(arms) && data.n < LEAT_ARMS_MOST; i++) {
        take_arm(json, json_array_get(arms, i), &data.arms[data.n]);
        data.n += leat_arms_check(&data.arms[data.n]);
    }
    if (data.n == 0)
        return LEAT_OK;
    const leat_chart chart = leat_chart_arms(&data);
    return leat_page_chart(page, &chart);
}

static void add_rate(leat_bars *bars, const json_t *arm, const char *key, const char *name,
                     const char *kind)
{
    char interval[40];
    leat_bar bar = { .group = leat_fields_text_or(arm, "name", "–"),
                     .name = name,
                     .kind = kind,
                     .value = leat_fields_number(arm, key) };
    snprintf(interval, sizeof interval, "%s_interval", key);
    leat_fields_interval(arm, interval, &bar.low, &bar.high);
    leat_bars_add(bars, bar);
}

static int put_rates(leat_page *page, const json_t *json)
{
    const json_t *const arms = leat_fields_list(json, "arms");
    leat_bars data = { .id = "capacities",
                       .title = "What loader and step can do alone",
                       .about =
                           "The slower of the two is the wall: both together cannot be faster.",
                       .axis = "samples per second",
                       .unit = "",
                       .names = "run" };
    for (size_t i = 0; i < json_array_size(arms); i++) {
        const json_t *const arm = json_array_get(arms, i);
        add_rate(&data, arm, "loader", "loader alone", "input_wait");
        add_rate(&data, arm, "step", "step alone", "busy");
        add_rate(&data, arm, "samples_per_s", "both together", "both");
    }
    if (data.n == 0)
        return LEAT_OK;
    const leat_chart chart = leat_chart_bars(&data);
    return leat_page_chart(page, &chart);
}

int leat_page_arms(leat_page *page, const json_t *json)
{
    int rc = put_waterfall(page, json);
    if (rc == LEAT_OK)
        rc = put_arms(page, json);
    return rc == LEAT_OK ? put_rates(page, json) : rc;
}

int leat_page_compare_section(leat_page *page, const json_t *json)
{
    char text[200], taken[LEAT_WORDS_SIZE], cores[LEAT_WORDS_SIZE];
    snprintf(text, sizeof text, "%s, of which other programs used %s meanwhile",
             leat_words_number(leat_fields_number(json, "cores"), cores),
             leat_words_number(leat_fields_number(json, "cores_taken"), taken));
    leat_page_fact(page, "CPUs", text);
    snprintf(text, sizeof text, "%s, in which the arms alternate",
             leat_words_number(leat_fields_number(json, "rounds"), cores));
    leat_page_fact(page, "Rounds", text);
    return leat_page_arms(page, json);
}
