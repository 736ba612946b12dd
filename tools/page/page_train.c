/* SPDX-License-Identifier: MIT
 *
 * page_train.c: `leat train`: epochs, and where the device's time went in them. */
#include <math.h>
#include <string.h>

#include "formats/figure.h"
#include "page_kinds.h"

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
        snprintf(note, sizeof note, "a step; they take the host %s",
                 leat_figure_unit(leat_fields_number(last, "launch_ms"), "ms").text);
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

static void put_shares(leat_page *page, const json_t *json)
{
    const json_t *const epochs = leat_fields_list(json, "epochs");
    const size_t n = json_array_size(epochs);
    char names[LEAT_ARMS_MOST][sizeof(leat_figure) + 8];
    leat_arms data = { .title = "Device and step time, epoch by epoch",
                       .about =
                           "What the device’s time went to after the warm-up, and the median step.",
                       .simulated = leat_fields_true(json, "simulated"),
                       .names = "epoch",
                       .step = "median step" };
    for (size_t i = n > 12 ? n - 12 : 0; i < n; i++) {
        const json_t *const epoch = json_array_get(epochs, i);
        leat_chart_arm *const arm = &data.arms[data.n];
        snprintf(names[data.n], sizeof names[0], "epoch %s",
                 leat_figure_number(leat_fields_number(epoch, "epoch")).text);
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
            leat_line_point(line, leat_fields_number(epoch, "epoch"),
                            leat_fields_number(epoch, keys[k]), NAN, NAN);
        }
    }
    leat_page_lines(page, &data);
}

void leat_page_train_section(leat_page *page, const json_t *json)
{
    put_shares(page, json);
    put_losses(page, json);
    leat_page_kernels(page, json_object_get(json, "recorded"));
    leat_page_bench_section(page, json_object_get(json, "input"));
}
