/* SPDX-License-Identifier: MIT
 *
 * page_bench.c: `leat bench`: the loader alone, and what its stages cost. */
#include "formats/figure.h"
#include "page_kinds.h"

static double cpu_us(const json_t *stage)
{
    return 1e6 * leat_fields_number(stage, "cpu_s") / leat_fields_number(stage, "samples");
}

void leat_page_bench_answer(const json_t *json, leat_answer *out)
{
    const json_t *const stages = leat_fields_list(json, "stages"), *slowest = NULL;
    char note[200];
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *const stage = json_array_get(stages, i);
        if (!slowest || leat_fields_number(stage, "us_per_sample") >
                            leat_fields_number(slowest, "us_per_sample"))
            slowest = stage;
    }
    snprintf(out->verdict, sizeof out->verdict, "The loader alone makes %s samples/s",
             leat_figure_number(leat_fields_number(json, "samples_per_s")).text);
    leat_answer_fact(out, "Threads", leat_figure_number(leat_fields_number(json, "threads")).text,
                     NULL);
    snprintf(note, sizeof note, "%.100s", leat_fields_text_or(slowest, "name", "?"));
    leat_answer_fact(out, "Most expensive stage",
                     leat_figure_unit(leat_fields_number(slowest, "us_per_sample"), "µs").text,
                     note);
    leat_answer_fact(
        out, "Read",
        leat_figure_unit(leat_fields_number(json, "bytes_read_per_s") / 1e6, "MB/s").text, NULL);
}

void leat_page_bench_section(leat_page *page, const json_t *json)
{
    const json_t *const stages = leat_fields_list(json, "stages");
    leat_bars data = {
        .id = "stages",
        .title = "What a sample costs in each stage",
        .about = "Time of one thread. Where it is much longer than the time on a CPU, the "
                 "thread waited: for storage, for a lock, or for a free CPU.",
        .axis = "microseconds per sample",
        .unit = "µs",
        .names = "stage",
        .keys = { { .name = "on a CPU", .kind = "busy" },
                  { .name = "waiting", .kind = "input_wait" } }
    };
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *const stage = json_array_get(stages, i);
        const char *const name = leat_fields_text_or(stage, "name", "?");
        if (!(leat_fields_number(stage, "samples") > 0))
            continue; /* a device ran it */
        leat_bars_add(&data, (leat_bar){ .name = name,
                                         .kind = "input_wait",
                                         .value = leat_fields_number(stage, "us_per_sample"),
                                         .part = cpu_us(stage) });
    }
    leat_page_chart(page, leat_chart_bars(&data), data.n);
}
