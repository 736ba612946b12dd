/* SPDX-License-Identifier: MIT */
#include "page_kinds.h"

#include <math.h>

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
    leat_run_curves_add(&input->rows, key, LEAT_RUN_CURVES_STEP, name, lines);
    if (lines->n > before) {
        lines->lines[before].colour = before % LEAT_CHART_COLOURS;
        lines->lines[before].dash = before / LEAT_CHART_COLOURS;
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
