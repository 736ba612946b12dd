/* SPDX-License-Identifier: MIT
 *
 * page_compare.c: `leat compare`: arms beside each other, and what bounds the first. */
#include <string.h>

#include "formats/figure.h"
#include "page.h"

/* As `leat compare` itself, which then claims no difference. */
static bool has_few_rounds(const json_t *json)
{
    return leat_fields_number(json, "rounds") < 5;
}

/* The arm with the largest speed-up whose interval excludes "no difference"; NULL: none. */
static const json_t *best_arm(const json_t *json)
{
    if (has_few_rounds(json))
        return NULL;
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

static double step_ms(const json_t *arm)
{
    return leat_fields_number(arm, "step_mean_ms");
}

/* --- the answer ------------------------------------------------------------------------------------*/

static void gain_facts(const json_t *first, const json_t *best, leat_answer *out)
{
    char note[200];
    double low, high;
    leat_fields_interval(best, "speedup_interval", &low, &high);
    snprintf(note, sizeof note, "as fast as the first arm; with 95 %% certainty %s×",
             leat_figure_range(low, high).text);
    leat_answer_fact(out, "Could gain", leat_figure_times(leat_fields_number(best, "speedup")).text,
                     note);
    struct leat_answer_change *const change =
        leat_answer_change(out, leat_fields_text_or(best, "name", "?"), NULL);
    leat_answer_sets(change, leat_fields_text_or(best, "name", ""), ", ");
    snprintf(change->gain, sizeof change->gain, "measured: %s instead of %s per step; then %.60s",
             leat_figure_unit(step_ms(best), "ms").text,
             leat_figure_unit(step_ms(first), "ms").text,
             leat_fields_text_or(best, "verdict", "?"));
    change->title = "Use the fastest arm";
}

void leat_page_compare_answer(const json_t *json, leat_answer *out)
{
    const json_t *const arms = json_object_get(json, "arms");
    const json_t *const first = json_array_get(arms, 0), *const best = best_arm(json);
    const char *const verdict = leat_fields_text_or(first, "verdict", "no verdict");
    char note[200] = "";
    leat_answer_verdict(out, verdict, NULL, NULL);
    out->sentence = leat_fields_text(json, "summary");
    out->more = leat_fields_text(first, "why");
    if (out->sentence && !strcmp(out->sentence, leat_fields_text_or(first, "sentence", "")))
        out->sentence = NULL;
    out->device = leat_fields_text(first, "device");
    out->simulated = leat_fields_true(first, "simulated");
    if (best)
        snprintf(note, sizeof note, "%s in the fastest arm",
                 leat_figure_percent(leat_fields_number(best, "idle")).text);
    leat_answer_fact(out, "Device idle",
                     leat_figure_percent(leat_fields_number(first, "idle")).text, note);
    leat_answer_fact(out, "Mean step", leat_figure_unit(step_ms(first), "ms").text,
                     leat_fields_text(first, "name"));
    if (best)
        gain_facts(first, best, out);
    else if (json_array_size(arms) > 1)
        leat_answer_fact(out, "Could gain", has_few_rounds(json) ? "unknown" : "nothing",
                         has_few_rounds(json) ? "fewer than 5 rounds are too few to tell"
                                              : "no arm is faster for certain");
    out->asked_changes = json_array_size(arms) > 1 && !has_few_rounds(json);
}

/* --- charts ----------------------------------------------------------------------------------------*/

/* The arms of one JSON, with names that say where each ran if not all ran on one device. */
typedef struct arm_list {
    const json_t *list;
    int n;
    bool simulated; /* all are */
    char names[LEAT_ARMS_MOST][200];
} arm_list;

static const json_t *arm_of(const arm_list *arms, int i)
{
    return json_array_get(arms->list, (size_t)i);
}

static void list_arms(const json_t *json, arm_list *out)
{
    bool mixed = false;
    out->list = leat_fields_list(json, "arms");
    out->n = leat_fields_count(out->list, LEAT_ARMS_MOST);
    out->simulated = out->n > 0;
    for (int i = 0; i < out->n; i++) {
        out->simulated &= leat_fields_true(arm_of(out, i), "simulated");
        mixed |= strcmp(leat_fields_text_or(arm_of(out, i), "device", "?"),
                        leat_fields_text_or(arm_of(out, 0), "device", "?")) != 0;
    }
    for (int i = 0; i < out->n; i++) {
        const json_t *const arm = arm_of(out, i);
        const char *const name = leat_fields_text_or(arm, "name",
                                                     leat_fields_text_or(json, "config", "–")),
                          *const device = leat_fields_text_or(arm, "device", "?");
        const bool place = mixed && !strstr(name, device),
                   say = leat_fields_true(arm, "simulated") && !out->simulated;
        snprintf(out->names[i], sizeof out->names[0], "%.120s%s%.50s%s", name, place ? " · " : "",
                 place ? device : "", say && !strstr(name, "(simulated)") ? " (simulated)" : "");
    }
}

static void put_waterfall(leat_page *page, const arm_list *arms)
{
    const json_t *const first = arm_of(arms, 0);
    char title[300];
    leat_waterfall data = { .title = title, .simulated = leat_fields_true(first, "simulated") };
    snprintf(title, sizeof title, "Where the time of a step goes%s%s", arms->n > 1 ? ": " : "",
             arms->n > 1 ? arms->names[0] : "");
    for (int i = 0; i < LEAT_ARMS_PARTS; i++)
        leat_waterfall_add(&data, leat_arms_parts[i], leat_fields_number(first, leat_arms_parts[i]),
                           leat_fields_number(first, leat_arms_parts[i]) * step_ms(first));
    leat_page_chart(page, leat_chart_waterfall(&data), data.n);
}

static void take_arm(const arm_list *arms, int i, leat_chart_arm *out)
{
    double low, high;
    const json_t *const arm = arm_of(arms, i);
    const double rate = leat_fields_number(arm, "samples_per_s");
    out->name = arms->names[i];
    for (int k = 0; k < LEAT_ARMS_PARTS; k++)
        out->parts[k] = leat_fields_number(arm, leat_arms_parts[k]);
    leat_fields_interval(arm, "idle_interval", &out->idle_low, &out->idle_high);
    leat_fields_interval(arm, "samples_per_s_interval", &low, &high);
    out->step_ms = step_ms(arm);
    out->step_low = out->step_ms * (rate / high); /* a batch over the rate */
    out->step_high = out->step_ms * (rate / low);
}

static void put_arms(leat_page *page, const arm_list *arms)
{
    leat_arms data = {
        .id = "arms",
        .title = "Device idle and step time, side by side",
        .simulated = arms->simulated,
        .about = "What the device’s time went to. The thin line is the 95 % interval of the idle "
                 "share, and of the step time.",
        .names = "arm",
        .step = "mean step",
    };
    for (int i = 0; i < arms->n; i++) {
        take_arm(arms, i, &data.arms[data.n]);
        data.n += leat_arms_check(&data.arms[data.n]);
    }
    leat_page_chart(page, leat_chart_arms(&data), data.n);
}

static void put_rates(leat_page *page, const arm_list *arms)
{
    static const char *const keys[LEAT_DOTS_MOST] = { "loader", "step", "samples_per_s" };
    leat_dots data = { .simulated = arms->simulated };
    for (int i = 0; i < arms->n; i++) {
        struct leat_dots_row *const row = &data.rows[data.n];
        *row = (struct leat_dots_row){ .name = arms->names[i] };
        for (int k = 0; k < LEAT_DOTS_MOST; k++) {
            char interval[40];
            snprintf(interval, sizeof interval, "%s_interval", keys[k]);
            row->values[k] = leat_fields_number(arm_of(arms, i), keys[k]);
            leat_fields_interval(arm_of(arms, i), interval, &row->low[k], &row->high[k]);
        }
        data.n += leat_dots_check(row);
    }
    leat_page_chart(page, leat_chart_dots(&data), data.n);
}

void leat_page_arms(leat_page *page, const json_t *json)
{
    arm_list arms;
    list_arms(json, &arms);
    if ((size_t)arms.n < json_array_size(arms.list)) {
        char text[80];
        snprintf(text, sizeof text, "%d of %zu are drawn; the JSON has them all", arms.n,
                 json_array_size(arms.list));
        leat_page_fact(page, "Arms", text);
    }
    put_waterfall(page, &arms);
    put_arms(page, &arms);
    put_rates(page, &arms);
}

void leat_page_compare_section(leat_page *page, const json_t *json)
{
    char text[200];
    snprintf(text, sizeof text, "%s, of which other programs used %s meanwhile",
             leat_figure_number(leat_fields_number(json, "cores")).text,
             leat_figure_number(leat_fields_number(json, "cores_taken")).text);
    leat_page_fact(page, "CPUs", text);
    snprintf(text, sizeof text, "%s, in which the arms alternate",
             leat_figure_number(leat_fields_number(json, "rounds")).text);
    leat_page_fact(page, "Rounds", text);
    leat_page_arms(page, json);
}
