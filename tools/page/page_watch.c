/* SPDX-License-Identifier: MIT
 *
 * page_watch.c: `leat watch`: where the device's time went in each process, and its kernels; and the kernels of commands
 * that record steps. */
#include <string.h>

#include "formats/figure.h"
#include "page_kinds.h"

static double share(const json_t *process, leat_share of)
{
    return leat_fields_number(json_object_get(process, "shares"), leat_verdict_share(of)->word);
}

/* The process that used the device longest; NULL: none did. */
static const json_t *main_process(const json_t *json)
{
    const json_t *const list = leat_fields_list(json, "processes"), *most = NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *const one = json_array_get(list, i);
        if (!most || leat_fields_number(one, "seconds") > leat_fields_number(most, "seconds"))
            most = one;
    }
    return most;
}

void leat_page_watch_answer(const json_t *json, leat_answer *out)
{
    const json_t *const one = main_process(json);
    const double seconds = leat_fields_number(json, "seconds"),
                 alone = leat_fields_number(json, "seconds_alone"),
                 cpu = leat_fields_number(json, "cpu_seconds");
    const char *const verdict = leat_fields_text(one, "verdict");
    char note[128];
    out->config = leat_fields_text_or(
        one, "program", json_string_value(json_array_get(leat_fields_list(json, "program"), 0)));
    if (!one) {
        strcpy(out->verdict, "No CUDA was used");
        out->tone = LEAT_TONE_OPEN;
    } else if (verdict) {
        leat_answer_verdict(out, verdict, NULL, NULL);
    } else {
        snprintf(out->verdict, sizeof out->verdict, "%s",
                 leat_fields_text_or(one, "trouble",
                                     leat_fields_number(one, "kernels") > 0
                                         ? "The host was late"
                                         : "Nothing ran on the device"));
        out->tone = LEAT_TONE_OPEN;
    }
    if (one) {
        leat_answer_fact(out, "Device idle",
                         leat_figure_percent(1 - share(one, LEAT_SHARE_BUSY)).text,
                         "from its first work to its last");
        leat_answer_fact(out, "Kernel, median",
                         leat_figure_unit(leat_fields_number(one, "kernel_us"), "µs").text, NULL);
        snprintf(note, sizeof note, "from one to the next %s, median",
                 leat_figure_unit(leat_fields_number(one, "launch_us"), "µs").text);
        leat_answer_fact(out, "Launches",
                         leat_figure_number(leat_fields_number(one, "launches")).text, note);
    }
    leat_answer_fact(out, "Whole run", leat_figure_unit(seconds, "s").text, NULL);
    if (alone > 0)
        leat_answer_fact(out, "Watching costs", leat_figure_times(seconds / alone).text,
                         "of the time without it");
    if (cpu > 0 && seconds > 0)
        leat_answer_fact(out, "CPU cores busy", leat_figure_number(cpu / seconds).text, "mean");
}

static void put_shares(leat_page *page, const json_t *process)
{
    char title[128];
    snprintf(title, sizeof title, "Where the device’s time went: process %.0f",
             leat_fields_number(process, "pid"));
    leat_bars data = { .id = "shares",
                       .title = title,
                       .about = "From the process’s first work on the device to its last, by "
                                "records of the device itself.",
                       .axis = "share of the time",
                       .unit = "%",
                       .names = "share" };
    for (leat_share i = 0; i < LEAT_N_SHARES; i++) {
        const double value = share(process, i);
        if (value >= 0.0005)
            leat_bars_add(&data, (leat_bar){ .name = leat_verdict_share(i)->name,
                                             .kind = leat_verdict_share(i)->word,
                                             .value = value });
    }
    leat_page_chart(page, leat_chart_bars(&data), data.n);
}

void leat_page_kernels(leat_page *page, const json_t *json)
{
    const json_t *const list = leat_fields_list(json, "largest");
    leat_bars data = {
        .id = "kernels",
        .title = "The kernels that took most",
        .about = "All runs of a kernel together. C++ names are as the device’s records have them.",
        .axis = "milliseconds, summed",
        .unit = "ms",
        .names = "kernel"
    };
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *const one = json_array_get(list, i);
        const double ms = 1e3 * leat_fields_number(one, "seconds");
        if (ms > 0)
            leat_bars_add(&data, (leat_bar){ .name = leat_fields_text_or(one, "name", "?"),
                                             .kind = leat_verdict_share(LEAT_SHARE_BUSY)->word,
                                             .value = ms });
    }
    leat_page_chart(page, leat_chart_bars(&data), data.n);
}

void leat_page_watch_section(leat_page *page, const json_t *json)
{
    const json_t *const list = leat_fields_list(json, "processes");
    for (size_t i = 0; i < json_array_size(list); i++) {
        put_shares(page, json_array_get(list, i));
        leat_page_kernels(page, json_array_get(list, i));
    }
}
