/* SPDX-License-Identifier: MIT
 *
 * leat plot: draws curves of what training runs logged. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart/chart.h"
#include "command.h"
#include "files.h"
#include "plot/run_rows.h"
#include "print/json.h"
#include "print/terminal.h"
#include "signals.h"

struct plot_options {
    const char *output, *json;
    leat_texts y;
    int32_t x;
};

static const char *const x_words[] = { "step", "epoch", "time", NULL };

static const leat_option options[] = {
    LEAT_OPTION_STRING(struct plot_options, output, NULL, "the picture to write (SVG)"),
    LEAT_OPTION_ENUM(struct plot_options, x, "step", x_words,
                     "what the horizontal axis shows; time: since the run began"),
    LEAT_OPTION_STRINGS(struct plot_options, y, NULL,
                        "keys to draw in one panel, up to 4 with commas between; given again: one "
                        "more panel; default: loss,eval_loss and accuracy,eval_accuracy"),
    LEAT_ROW_JSON(struct plot_options), LEAT_OPTION_END
};

enum {
    RUNS_MOST = LEAT_CHART_COLOURS,
    PANELS_MOST = 16,
    KEYS_MOST = LEAT_LINES_DASHES,
    TEXT_MOST = 512
};

/* Keys over one axis: a colour per run, a pattern per key. */
struct panel {
    char title[2 * TEXT_MOST];
    char text[TEXT_MOST]; /* of the keys */
    const char *keys[KEYS_MOST];
    int n_keys;
    leat_lines lines;
};

struct plot {
    const struct plot_options *o;
    const leat_call *call;
    leat_run_rows rows[RUNS_MOST];
    int n_rows;
    char *names[RUNS_MOST];
    struct panel panels[PANELS_MOST];
    int n_panels;
};

/* --- reading ---------------------------------------------------------------------------------------*/

/* The name of a run in the picture: its path. SVG is UTF-8, which a path may not be. */
static char *name_of(const char *path)
{
    json_t *const text = leat_json_string(path);
    char *const name = text ? leat_files_text("%s", json_string_value(text)) : NULL;
    json_decref(text);
    return leat_files_cut_slashes(name);
}

static int read_runs(struct plot *p, leat_error *err)
{
    for (int i = 0; i < p->call->n_arguments; i++) {
        const char *const path = p->call->arguments[i];
        p->n_rows++;
        const int rc = leat_run_rows_read(path, &p->rows[i], err);
        if (rc < 0)
            return rc;
        if (p->rows[i].n_damaged)
            fprintf(stderr, "leat plot: %s: passed over %d damaged place%s: %s\n",
                    leat_terminal_name(path), p->rows[i].n_damaged,
                    p->rows[i].n_damaged == 1 ? "" : "s", leat_terminal_name(p->rows[i].damaged));
        p->names[i] = name_of(path);
        if (!p->names[i])
            return leat_fail(err, LEAT_E_NOMEM, "%s: out of memory", path);
    }
    return LEAT_OK;
}

/* --- curves ----------------------------------------------------------------------------------------*/

/* The error of a key without a curve, with the keys that there are. */
static int fail_no_key(const struct plot *p, const char *key, leat_error *err)
{
    char list[400] = "";
    const char *name;
    json_t *ignored, *const keys = json_object();
    int state = LEAT_RUN_CURVES_NO_KEY;
    for (int i = 0; i < p->n_rows; i++) {
        const int of_run = leat_run_curves_state(&p->rows[i], key);
        state = of_run > state ? of_run : state;
        leat_run_curves_keys(&p->rows[i], keys);
    }
    json_object_foreach(keys, name, ignored)
    {
        const char *const between = *list ? ", " : "";
        if (strlen(list) + strlen(between) + strlen(name) >= sizeof list)
            break;
        leat_files_append(list, sizeof list, "%s%s", between, name);
    }
    json_decref(keys);
    if (state == LEAT_RUN_CURVES_NO_NUMBER)
        return leat_fail(
            err, LEAT_E_ARGUMENT,
            "no value of '%s' can be drawn: all are NaN, infinite or not known (null); "
            "there are: %s",
            key, list);
    return leat_fail(err, LEAT_E_ARGUMENT, "no run has '%s'%s%s; there are: %s", key,
                     p->o->x == LEAT_RUN_CURVES_STEP ? "" : " over ",
                     p->o->x == LEAT_RUN_CURVES_STEP ? "" : x_words[p->o->x], list);
}

/* A curve of run i, if it has the key. */
static int add_curve(struct plot *p, struct panel *panel, int i, const char *key, leat_error *err)
{
    char run[TEXT_MOST], name[TEXT_MOST + 64];
    leat_svg_fit(p->names[i], 400, run, sizeof run);
    snprintf(name, sizeof name, "%s: %.60s", run, key);
    leat_chart_line *const line =
        leat_run_curves_add(&p->rows[i], key, p->o->x, name, &panel->lines);
    if (line) {
        line->colour = i;
        line->dash = panel->n_keys;
    }
    return panel->lines.failed ? leat_fail(err, LEAT_E_NOMEM, "out of memory") : LEAT_OK;
}

/* The curves of a key. asked: some run must have it. */
static int add_key(struct plot *p, struct panel *panel, const char *key, bool asked,
                   leat_error *err)
{
    const int before = panel->lines.n;
    int rc = LEAT_OK;
    if (panel->n_keys == KEYS_MOST)
        return leat_fail(err, LEAT_E_ARGUMENT, "--y %s: at most %d keys in a panel", panel->title,
                         KEYS_MOST);
    for (int i = 0; i < p->n_rows && rc == LEAT_OK; i++)
        rc = add_curve(p, panel, i, key, err);
    if (rc == LEAT_OK && asked && panel->lines.n == before)
        return fail_no_key(p, key, err);
    if (panel->lines.n > before)
        panel->keys[panel->n_keys++] = key;
    return rc;
}

/* A panel of keys with commas between. */
static int add_panel(struct plot *p, const char *keys, bool asked, leat_error *err)
{
    struct panel *const panel = &p->panels[p->n_panels];
    int rc = LEAT_OK;
    if (p->n_panels == PANELS_MOST || strlen(keys) >= TEXT_MOST)
        return leat_fail(err, LEAT_E_ARGUMENT, "--y: at most %d panels, and %d bytes of keys each",
                         PANELS_MOST, TEXT_MOST - 1);
    panel->lines = (leat_lines){ .id = "curves",
                                 .title = panel->title,
                                 .about = "A colour per run, a pattern per key.",
                                 .steps = true,
                                 .wall = NAN };
    strcpy(panel->text, keys);
    for (size_t i = 0, n = 0; keys[i] && n + 3 < sizeof panel->title; i++)
        n += (size_t)snprintf(panel->title + n, sizeof panel->title - n, "%c%s", keys[i],
                              keys[i] == ',' ? " " : "");
    char *rest = panel->text;
    for (char *key; rc == LEAT_OK && (key = strsep(&rest, ","));)
        rc = add_key(p, panel, key, asked, err);
    p->n_panels += rc == LEAT_OK && panel->lines.n > 0;
    return rc;
}

static int add_panels(struct plot *p, leat_error *err)
{
    int rc = LEAT_OK;
    for (int i = 0; i < p->o->y.n && rc == LEAT_OK; i++)
        rc = add_panel(p, p->o->y.values[i], true, err);
    if (p->o->y.n == 0) {
        rc = add_panel(p, "loss,eval_loss", false, err);
        if (rc == LEAT_OK)
            rc = add_panel(p, "accuracy,eval_accuracy", false, err);
        if (rc == LEAT_OK && p->n_panels == 0)
            rc = fail_no_key(p, "loss", err);
    }
    return rc;
}

/* The panels have one horizontal axis. Seconds are minutes or hours on it, where a run is long. */
static void choose_axis(struct plot *p)
{
    static const char *const names[] = { "steps", "epochs", "seconds", "minutes", "hours" };
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < p->n_panels; i++)
        for (int k = 0; k < p->panels[i].lines.n; k++) {
            const leat_chart_line *const line = &p->panels[i].lines.lines[k];
            low = fmin(low, line->x[0]);
            high = fmax(high, line->x[line->n - 1]);
        }
    const double unit = p->o->x != LEAT_RUN_CURVES_TIME || high < 300 ? 1
                        : high < 10800                                ? 60
                                                                      : 3600;
    for (int i = 0; i < p->n_panels; i++) {
        leat_lines *const lines = &p->panels[i].lines;
        lines->x_name = names[p->o->x + (unit > 1) + (unit > 60)];
        lines->x_low = low / unit;
        lines->x_high = high / unit;
        for (int k = 0; k < lines->n; k++)
            for (int j = 0; j < lines->lines[k].n; j++)
                lines->lines[k].x[j] /= unit;
    }
}

/* --- the command -----------------------------------------------------------------------------------*/

static int write_picture(struct plot *p, leat_error *err)
{
    leat_chart charts[PANELS_MOST];
    size_t size;
    int rc = leat_files_check(p->o->output, &leat_files_svg, err);
    for (int i = 0; i < p->n_panels; i++)
        charts[i] = leat_chart_lines(&p->panels[i].lines);
    char *const text = rc == LEAT_OK ? leat_chart_file(charts, p->n_panels, &size) : NULL;
    if (text)
        rc = leat_files_write(p->o->output, text, size, err);
    else if (rc == LEAT_OK)
        rc = leat_fail(err, LEAT_E_NOMEM, "%s: out of memory", p->o->output);
    free(text);
    return rc;
}

static void say_left_out(const struct plot *p, const struct panel *panel,
                         const leat_chart_line *line)
{
    if (line->n_left_out)
        fprintf(stderr, "leat plot: %s: %s: %d of %d values are not drawn: NaN, infinite or null\n",
                leat_terminal_name(p->call->arguments[line->colour]),
                leat_terminal_name(panel->keys[line->dash]), line->n_left_out,
                line->n + line->n_left_out);
}

static void add_curve_json(json_t *list, const struct plot *p, const struct panel *panel,
                           const leat_chart_line *line)
{
    double low = line->y[0], high = line->y[0];
    json_t *one = leat_json_row(list);
    for (int i = 1; i < line->n; i++) {
        low = fmin(low, line->y[i]);
        high = fmax(high, line->y[i]);
    }
    leat_json_text(one, "run", p->call->arguments[line->colour]);
    leat_json_text(one, "key", panel->keys[line->dash]);
    leat_json_int(one, "points", line->n);
    leat_json_int(one, "left_out", line->n_left_out);
    leat_json_real(one, "last", line->y[line->n - 1]);
    leat_json_real(one, "min", low);
    leat_json_real(one, "max", high);
}

static int write_json(const struct plot *p, leat_error *err)
{
    json_t *json = leat_json_open("plot"), *list = json_array();
    int64_t n_damaged = 0;
    for (int i = 0; i < p->n_panels; i++)
        for (int k = 0; k < p->panels[i].lines.n; k++) {
            const leat_chart_line *const line = &p->panels[i].lines.lines[k];
            say_left_out(p, &p->panels[i], line);
            add_curve_json(list, p, &p->panels[i], line);
        }
    for (int i = 0; i < p->n_rows; i++)
        n_damaged += p->rows[i].n_damaged;
    if (!leat_json_to_stdout(p->o->json))
        printf("%s: %d run%s, %zu curve%s\n", leat_terminal_name(p->o->output), p->n_rows,
               p->n_rows == 1 ? "" : "s", json_array_size(list),
               json_array_size(list) == 1 ? "" : "s");
    leat_json_text(json, "output", p->o->output);
    leat_json_text(json, "x", x_words[p->o->x]);
    leat_json_int(json, "damaged", n_damaged);
    leat_json_add(json, "curves", list);
    return leat_json_write(json, p->o->json, err);
}

static void close_plot(struct plot *p)
{
    for (int i = 0; i < p->n_rows; i++) {
        leat_run_rows_close(&p->rows[i]);
        free(p->names[i]);
    }
    for (int i = 0; i < PANELS_MOST; i++)
        leat_lines_close(&p->panels[i].lines);
    free(p);
}

static int run(const leat_call *call, leat_error *err)
{
    const struct plot_options *const o = call->options;
    struct plot *const p = calloc(1, sizeof *p);
    int rc;
    leat_signals_stop_at_once("plot");
    if (!p)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    p->o = o;
    p->call = call;
    if (!o->output || !*o->output)
        rc = leat_fail(err, LEAT_E_ARGUMENT, "needs -o FILE.svg");
    else if ((rc = leat_json_check(o->json, err)) == LEAT_OK)
        rc = read_runs(p, err);
    if (rc == LEAT_OK)
        rc = add_panels(p, err);
    if (rc == LEAT_OK) {
        choose_axis(p);
        rc = write_picture(p, err);
    }
    if (rc == LEAT_OK)
        rc = write_json(p, err);
    close_plot(p);
    return rc;
}

const leat_command leat_command_plot = {
    .name = "plot",
    .summary = "draw curves of training runs",
    .arguments = "RUN...",
    .text =
        "Draws what up to eight runs logged as one picture, a colour per run. RUN is a folder of "
        "`leat train --log`, a log.jsonl, a folder with event files of TensorBoard (scalars, also "
        "of other programs), or one such file.\n\n"
        "--y takes the keys of log.jsonl (docs/json.md), or tags of an event file. Values of steps "
        "are drawn where a run has them, else those of epochs; step/KEY and epoch/KEY name one of "
        "them. With many points, each column of pixels shows the lowest and the highest.\n\n"
        "The picture is one SVG file that needs nothing else, and fits light and dark pages. Steps "
        "that a resumed run logged again are drawn once.",
    .example = "  leat plot runs/first runs/second -o curves.svg\n"
               "  leat plot runs/first -o time.svg --x time --y idle --y samples_per_s",
    .n_min = 1,
    .n_max = RUNS_MOST,
    LEAT_COMMAND_OPTIONS(struct plot_options),
    .run = run,
};
