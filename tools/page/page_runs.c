/* SPDX-License-Identifier: MIT
 *
 * page_runs.c: what a page shows of runs: of `leat train`, `leat watch` and `leat bench`, of traces, and of logs. */
#include "page.h"

#include <math.h>
#include <string.h>

#include "formats/figure.h"

/* --- leat bench -----------------------------------------------------------------------------------*/

/* The first row of a list with the largest number; NULL: the list is empty. One without the number is the least. */
static const json_t *largest(const json_t *list, const char *key)
{
    const json_t *most = json_array_get(list, 0);
    for (size_t i = 1; i < json_array_size(list); i++)
        if (isnan(leat_fields_number(most, key)) ||
            leat_fields_number(json_array_get(list, i), key) > leat_fields_number(most, key))
            most = json_array_get(list, i);
    return most;
}

void leat_page_bench_answer(const json_t *json, leat_answer *out)
{
    const json_t *const slowest = largest(leat_fields_list(json, "stages"), "us_per_sample");
    const double us = leat_fields_number(slowest, "us_per_sample");
    char note[200];
    snprintf(out->verdict, sizeof out->verdict, "The loader alone makes %s samples/s",
             leat_figure_number(leat_fields_number(json, "samples_per_s")).text);
    leat_answer_fact(out, "Threads", leat_figure_number(leat_fields_number(json, "threads")).text,
                     NULL);
    snprintf(note, sizeof note, "%.100s", leat_fields_text_or(slowest, "name", "?"));
    if (us > 0)
        leat_answer_fact(out, "Most expensive stage", leat_figure_unit(us, "µs").text, note);
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
        const double samples = leat_fields_number(stage, "samples");
        if (!(samples > 0) || isnan(leat_fields_number(stage, "us_per_sample")))
            continue; /* a device ran it, or no sample of it was timed */
        leat_bars_add(&data,
                      (leat_bar){ .name = leat_fields_text_or(stage, "name", "?"),
                                  .kind = "input_wait",
                                  .value = leat_fields_number(stage, "us_per_sample"),
                                  .part = 1e6 * leat_fields_number(stage, "cpu_s") / samples });
    }
    leat_page_chart(page, leat_chart_bars(&data), data.n);
    if (!data.n && leat_fields_number(json, "samples_per_s") > 0) {
        leat_page_fact(page, "Stages", "the measurement was too short to time a sample");
        page->says_enough = true;
    }
}

/* --- leat watch -----------------------------------------------------------------------------------*/

static double share(const json_t *process, leat_share of)
{
    return leat_fields_number(json_object_get(process, "shares"), leat_verdict_share(of)->word);
}

void leat_page_watch_answer(const json_t *json, leat_answer *out)
{
    const json_t *const one = largest(leat_fields_list(json, "processes"), "seconds");
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

/* "largest" of a process of a watch, and of "recorded" of a train. */
static void put_kernels(leat_page *page, const json_t *json)
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
    page->says_enough |= json_array_size(list) == 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        put_shares(page, json_array_get(list, i));
        put_kernels(page, json_array_get(list, i));
    }
}

/* --- leat train -----------------------------------------------------------------------------------*/

/* Epochs are counted from 1 on the page, as in what `leat train` prints, and from 0 in its JSON. */
static double number_of(const json_t *epoch)
{
    return leat_fields_number(epoch, "epoch") + 1;
}

/* The last epoch with figures; NULL: none. */
static const json_t *last_measured(const json_t *json)
{
    const json_t *const epochs = leat_fields_list(json, "epochs");
    for (size_t i = json_array_size(epochs); i > 0; i--)
        if (!isnan(leat_fields_number(json_array_get(epochs, i - 1), "busy")))
            return json_array_get(epochs, i - 1);
    return NULL;
}

/* What the device did, where that is known. */
static void put_work(const json_t *json, const json_t *last, leat_answer *out)
{
    char note[200];
    const double flops = leat_fields_number(last, "flops_per_s"),
                 launches = leat_fields_number(last, "launches"),
                 most = leat_fields_number(json_object_get(json, "ceiling"), "flops_per_s");
    snprintf(note, sizeof note, "forward and backward, by the model's formula");
    if (most > 0 && flops <= 1.05 * most) /* else others used the device when that was measured */
        snprintf(note, sizeof note, "by the model's formula; %s of what a matrix product reaches",
                 leat_figure_percent(flops < most ? flops / most : 1).text);
    if (flops > 0)
        leat_answer_fact(out, "Computed", leat_figure_unit(flops * 1e-9, "GFLOP/s").text, note);
    if (launches > 0) {
        const bool is_graph = launches < leat_fields_number(last, "kernels");
        snprintf(note, sizeof note, "a step; %s %s%s",
                 is_graph ? "in them the host spends" : "they take the host",
                 leat_figure_unit(leat_fields_number(last, "launch_ms"), "ms").text,
                 is_graph ? ", its waits for earlier steps included" : "");
        leat_answer_fact(out, "Launches", leat_figure_number(launches).text, note);
    }
}

void leat_page_train_answer(const json_t *json, leat_answer *out)
{
    const json_t *const last = last_measured(json);
    const double busy = leat_fields_number(last, "busy"),
                 accuracy = leat_fields_number(json, "best_eval_accuracy");
    if (leat_fields_true(json, "diverged")) {
        strcpy(out->verdict, "The loss diverged: training stopped");
        out->tone = LEAT_TONE_BAD;
    } else if (isnan(busy)) {
        strcpy(out->verdict, "Too few steps to say how busy the device was");
        out->tone = LEAT_TONE_OPEN;
    } else {
        snprintf(out->verdict, sizeof out->verdict, "The device was busy %s of the time",
                 leat_figure_percent(busy).text);
    }
    leat_answer_fact(out, "Samples/s",
                     leat_figure_number(leat_fields_number(last, "samples_per_s")).text,
                     "in the last measured epoch");
    leat_answer_fact(out, "Step, median",
                     leat_figure_unit(leat_fields_number(last, "step_p50_ms"), "ms").text, NULL);
    put_work(json, last, out);
    if (!isnan(accuracy))
        leat_answer_fact(out, "Best accuracy", leat_figure_percent(accuracy).text,
                         "on the eval part");
    leat_answer_fact(out, "Whole run",
                     leat_figure_unit(leat_fields_number(json, "seconds"), "s").text, NULL);
}

static void put_epochs(leat_page *page, const json_t *json)
{
    const json_t *const epochs = leat_fields_list(json, "epochs");
    const size_t n = json_array_size(epochs);
    char names[LEAT_ARMS_MOST][sizeof(leat_figure) + 8];
    leat_arms data = { .id = "arms",
                       .title = "Device and step time, epoch by epoch",
                       .about =
                           "What the device’s time went to after the warm-up, and the median step.",
                       .simulated = leat_fields_true(json, "simulated"),
                       .names = "epoch",
                       .step = "median step" };
    for (size_t i = n > 12 ? n - 12 : 0; i < n; i++) {
        const json_t *const epoch = json_array_get(epochs, i);
        leat_chart_arm *const arm = &data.arms[data.n];
        snprintf(names[data.n], sizeof names[0], "epoch %s",
                 leat_figure_number(number_of(epoch)).text);
        *arm = (leat_chart_arm){ .name = names[data.n],
                                 .idle_low = NAN,
                                 .idle_high = NAN,
                                 .step_ms = leat_fields_number(epoch, "step_p50_ms"),
                                 .step_low = NAN,
                                 .step_high = NAN };
        for (int k = 0; k < LEAT_ARMS_PARTS; k++)
            arm->parts[k] = leat_fields_number(epoch, leat_arms_parts[k]);
        data.n += leat_arms_check(arm);
    }
    leat_page_chart(page, leat_chart_arms(&data), data.n);
}

static void put_losses(leat_page *page, const json_t *json)
{
    static const char *const keys[] = { "loss", "eval_loss" };
    const json_t *const epochs = leat_fields_list(json, "epochs");
    const int n = leat_fields_count(epochs, 100000);
    leat_lines data = { .id = "loss",
                        .title = "Loss, epoch by epoch",
                        .about = "Mean over the epoch, and on the eval part after it.",
                        .x_name = "epoch",
                        .y_name = "loss",
                        .steps = true,
                        .wall = NAN };
    for (int k = 0; k < 2; k++) {
        leat_chart_line *const line = leat_lines_add(&data, keys[k], false, n, false);
        if (!line)
            break;
        line->colour = k;
        for (int i = 0; i < n; i++) {
            const json_t *const epoch = json_array_get(epochs, (size_t)i);
            leat_line_point(line, number_of(epoch), leat_fields_number(epoch, keys[k]), NAN, NAN);
        }
    }
    leat_page_lines(page, &data);
}

void leat_page_train_section(leat_page *page, const json_t *json)
{
    page->says_enough |= json_array_size(leat_fields_list(json, "epochs")) == 0;
    put_epochs(page, json);
    put_losses(page, json);
    put_kernels(page, json_object_get(json, "recorded"));
    leat_page_bench_section(page, json_object_get(json, "input"));
}

/* --- traces ---------------------------------------------------------------------------------------*/

void leat_page_traces(leat_page *page, const leat_input *inputs, int n)
{
    leat_timeline timeline = { 0 };
    int n_traces = 0, n_shown = 0;
    for (int i = 0; i < n; i++)
        if (inputs[i].kind == LEAT_INPUT_TRACE) {
            n_traces++;
            n_shown += leat_timeline_add(&timeline, inputs[i].title, &inputs[i].spans);
        }
    if (n_traces == 0)
        return;
    fputs("<section id=\"traces\">\n<h2>Timeline</h2>\n", page->out);
    if (n_shown < n_traces)
        fprintf(page->out,
                "<p class=\"fact\">%d of %d traces: the others have fewer than two batches, "
                "or no room here (%d at most).</p>\n",
                n_shown, n_traces, LEAT_TIMELINE_MOST);
    if (n_shown > 0) {
        leat_timeline_choose(&timeline);
        leat_page_chart(page, leat_chart_timeline(&timeline), n_shown);
    }
    fputs("</section>\n", page->out);
}

/* --- logs -----------------------------------------------------------------------------------------*/

/* Curves that logs may have. Keys of one chart have one unit. */
static const struct {
    const char *id, *title, *about, *y_name, *keys[2];
} curves[] = {
    { "loss",
      "Loss",
      "Lower is better. Where the loss of the eval part rises while the other falls, the model "
      "learns its data by heart.",
      "loss",
      { "loss", "eval_loss" } },
    { "accuracy",
      "Accuracy",
      "Share of the samples that are classified correctly.",
      "accuracy",
      { "accuracy", "eval_accuracy" } },
    { "rate",
      "Speed",
      "Samples per second while the run went on.",
      "samples/s",
      { "samples_per_s" } },
    { "idle",
      "Idle device, waiting loop",
      "Shares of the time without a training step, and in which the loop waited for a batch.",
      "share of the time",
      { "idle", "wait_share" } },
};

/* Adds one run's curve of a key, if the run has it. A colour that repeats has another dash. */
static void add_curve(leat_lines *lines, const leat_input *input, const char *key)
{
    const int before = lines->n;
    char name[160];
    snprintf(name, sizeof name, "%.80s: %s", input->title, key);
    leat_chart_line *const line =
        leat_run_curves_add(&input->rows, key, LEAT_RUN_CURVES_STEP, name, lines);
    if (line) {
        line->colour = before % LEAT_CHART_COLOURS;
        line->dash = before / LEAT_CHART_COLOURS;
    }
}

/* More curves than one chart has room for make another one. */
static void put_curves(leat_page *page, const leat_input *inputs, int n, size_t c)
{
    leat_lines lines = { .id = curves[c].id,
                         .title = curves[c].title,
                         .about = curves[c].about,
                         .x_name = "steps",
                         .y_name = curves[c].y_name,
                         .steps = true,
                         .from_zero = true,
                         .wall = NAN };
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 2 && inputs[i].kind == LEAT_INPUT_LOG && curves[c].keys[k]; k++)
            add_curve(&lines, &inputs[i], curves[c].keys[k]);
        if (lines.n > LEAT_LINES_MOST - 2 || i == n - 1)
            leat_page_lines(page, &lines);
    }
}

void leat_page_logs(leat_page *page, const leat_input *inputs, int n)
{
    int n_logs = 0;
    for (int i = 0; i < n; i++)
        n_logs += inputs[i].kind == LEAT_INPUT_LOG;
    if (n_logs == 0)
        return;
    fputs("<section id=\"logs\">\n<h2>Learning curves</h2>\n", page->out);
    for (int i = 0; i < n; i++)
        if (inputs[i].kind == LEAT_INPUT_LOG) {
            leat_page_fact(page, "Log", inputs[i].name);
            if (inputs[i].rows.n_damaged)
                leat_page_fact(page, "Not read", inputs[i].rows.damaged);
        }
    for (size_t c = 0; c < sizeof curves / sizeof *curves; c++)
        put_curves(page, inputs, n, c);
    fputs("</section>\n", page->out);
}
