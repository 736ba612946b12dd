/* SPDX-License-Identifier: MIT
 *
 * leat predict: what a trained model says of image files, or of the records of a source. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "eval/picture_folder.h"
#include "eval/trained.h"
#include "files.h"
#include "leat/error.h"
#include "print/json.h"
#include "print/terminal.h"
#include "setup.h"
#include "signals.h"

struct predict_options {
    const char *weights, *section, *labels, *device, *json;
    int64_t top, threads;
    leat_texts set;
};

static const leat_option options[] = {
    LEAT_ROW_WEIGHTS(struct predict_options),
    LEAT_ROW_SECTION(struct predict_options),
    LEAT_OPTION_I64(struct predict_options, top, "3", 1, 10000, "classes shown for each image"),
    LEAT_ROW_LABELS(struct predict_options),
    LEAT_OPTION_STRING(struct predict_options, device, NULL,
                       "compute on this device instead of train.device"),
    LEAT_ROW_THREADS(struct predict_options),
    LEAT_ROW_SET(struct predict_options),
    LEAT_ROW_JSON(struct predict_options),
    LEAT_OPTION_END
};

struct predict {
    const struct predict_options *o;
    const leat_call *call;
    leat_trained t;
    leat_picture_folder folder; /* n 0: the records of the section */
    leat_loader *loader;
    float *outputs, *values; /* of a batch: the model's, and what is shown of them */
    float **kept;            /* outputs and values of images that wait for those before them */
    int n_out;               /* images that were put out */
    int64_t n_outputs;
    bool probabilities;
    bool binary;  /* the one output is the probability of class 1 of two */
    json_t *list; /* NULL: no --json */
};

/* --- opening -----------------------------------------------------------------------------------*/

static int set(struct predict *p, const char *section, const char *what, leat_error *err)
{
    char *text = leat_files_text("%s%s%s", section ? section : "", section ? "." : "", what);
    const int rc = text ? leat_config_set_as(p->t.config, text, p->call->arguments[0], err)
                        : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    free(text);
    return rc;
}

/* The number of classes of the data, and their names, if these exist; else the number of class names. */
static int count_classes(struct predict *p, const char *section, const leat_plan *plan, int64_t *n,
                         leat_error *err)
{
    char target[LEAT_OPTION_STRING_MAX];
    int rc = LEAT_OK;
    if (plan && !p->o->labels && (section || *n == 0)) {
        rc = leat_trained_take_classes(&p->t, section, plan, err);
        leat_setup_target(p->t.config, target);
        *n = leat_plan_n_classes(plan, target);
    }
    if (*n < p->t.n_classes)
        *n = p->t.n_classes;
    return rc;
}

/* The pipeline reads the images in the place of its source, whose own plan tells the names as far as it can be opened. */
static int read_images(struct predict *p, const char *section, leat_error *err)
{
    int64_t n = p->t.n_classes;
    bool real;
    leat_plan *plan = NULL;
    const int n_labels = leat_picture_labels(p->t.config, section, &real);
    leat_plan_open(p->t.config, section, &plan, NULL);
    int rc = count_classes(p, section, plan, &n, err);
    leat_signals_catch(); /* from here on there is a folder to remove */
    if (rc == LEAT_OK)
        rc = leat_picture_folder_open(&p->folder, p->call->arguments + 1, p->call->n_arguments - 1,
                                      n, n_labels, real, err);
    if (rc == LEAT_OK)
        rc = leat_picture_pipeline(p->t.config, section, plan, err);
    leat_plan_close(&plan);
    char *const source = leat_picture_folder_source(&p->folder);
    if (rc == LEAT_OK)
        rc = source ? set(p, section, source, err) : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    free(source);
    if (rc == LEAT_OK) /* images have no weights */
        rc = set(p, NULL, "train.sample_weight=''", err);
    return rc;
}

/* Sets `what` of all stages of that name: of the first, the second and so on, or takes all away. */
static int set_stage(struct predict *p, const char *section, const char *name, const char *what,
                     leat_error *err)
{
    char text[96];
    int rc = LEAT_OK;
    for (int i = 0; rc == LEAT_OK; i++) {
        snprintf(text, sizeof text, "pipeline.%s[%d]%s", name, *what == '-' ? 0 : i, what);
        rc = set(p, section, text, err);
    }
    return rc == LEAT_E_CONFIG || rc == LEAT_E_ARGUMENT ? LEAT_OK : rc; /* there is no other one */
}

static int set_stages(struct predict *p, const char *section, leat_error *err)
{
    static const char *const stages[][2] = {
        /* the last ones count, too */
        { "batch", ".drop_remainder=false" },
        { "padded_batch", ".drop_remainder=false" },
        { "bucket_by_length", ".drop_remainder=false" },
        /* a record that was masked or replaced would have the guesses of zeros, or of another one */
        { "on_error", "=fail" },
        /* of images that were named: a cache is of the section's own source */
        { "cache", "-" },
    };
    int rc = LEAT_OK;
    for (size_t i = 0; rc == LEAT_OK && i < sizeof stages / sizeof *stages - (p->folder.n ? 0 : 1);
         i++)
        rc = set_stage(p, section, stages[i][0], stages[i][1], err);
    return rc;
}

/* Each image that was named comes once, in any order. */
static int check_images(const struct predict *p, leat_error *err)
{
    const leat_plan_info *const info = leat_plan_get_info(p->t.plan);
    bool *const seen = calloc((size_t)p->folder.n, sizeof *seen);
    uint64_t *const records = calloc((size_t)info->batch_size, sizeof *records);
    int64_t rows = 0;
    int n = 0, rc = LEAT_OK;
    if (!seen || !records)
        rc = leat_files_no_memory(err);
    for (int64_t b = 0; rc == LEAT_OK && b < info->n_batches; b++) {
        const int64_t in_batch = leat_plan_records(p->t.plan, b, records, info->batch_size);
        for (int64_t i = 0; i < in_batch; i++) {
            n += !seen[records[i]];
            seen[records[i]] = true;
        }
        rows += in_batch;
    }
    if (rc == LEAT_OK && (n != p->folder.n || rows != n))
        rc = leat_fail(err, LEAT_E_CONFIG,
                       "the pipeline of '%s' gives %lld samples, of %d of the %d images: leave out "
                       "stages that drop or repeat some",
                       p->o->section, (long long)rows, n, p->folder.n);
    free(records);
    free(seen);
    return rc;
}

static int open_all(struct predict *p, leat_error *err)
{
    const leat_trained_how how = { .call = p->call,
                                   .path = p->call->arguments[0],
                                   .section = p->o->section,
                                   .weights = p->o->weights,
                                   .device = p->o->device,
                                   .labels = p->o->labels,
                                   .threads = p->o->threads,
                                   .set = &p->o->set };
    int rc = leat_json_check(p->o->json, err);
    if (rc < 0 || (rc = leat_trained_open_config(&p->t, &how, err)) < 0 ||
        (rc = leat_trained_leave_out_blends(&p->t, &how, err)) < 0)
        return rc;
    const char *const section = leat_trained_section(&how);
    if (p->call->n_arguments > 1 && (rc = read_images(p, section, err)) < 0)
        return rc;
    if ((rc = set_stages(p, section, err)) < 0)
        return rc;
    rc = leat_trained_open(&p->t, &how, err);
    if (rc < 0)
        return p->o->labels ? leat_fail_in(err, rc, "with the %lld names of --labels %s: ",
                                           (long long)p->t.n_classes, p->o->labels)
                            : rc;
    if (p->folder.n == 0 && !p->o->labels &&
        (rc = leat_trained_take_classes(&p->t, section, p->t.plan, err)) < 0)
        return rc;
    if ((rc = leat_trained_check_classes(&p->t, &how, err)) < 0)
        return rc;
    leat_trained_say_notes(&p->t, p->o->section);
    const leat_plan_info *info = leat_plan_get_info(p->t.plan);
    if (info->n_batches < 0)
        return leat_fail(err, LEAT_E_CONFIG, "the pipeline of '%s' repeats without end",
                         p->o->section);
    if (p->folder.n > 0 && (rc = check_images(p, err)) < 0)
        return rc;
    p->n_outputs = leat_trainer_get_info(p->t.trainer)->n_outputs;
    p->binary = p->n_outputs == 1 && leat_trainer_get_info(p->t.trainer)->expect.classes == 2;
    p->outputs = calloc((size_t)(info->batch_size * p->n_outputs), 2 * sizeof *p->outputs);
    p->kept = calloc((size_t)p->folder.n + 1, sizeof *p->kept);
    if (!p->outputs || !p->kept)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    p->values = p->outputs + info->batch_size * p->n_outputs;
    const leat_loader_options run = { .device = p->t.device, .epochs = 1 };
    return leat_loader_open(p->t.plan, &run, &p->loader, err);
}

/* --- results -----------------------------------------------------------------------------------*/

/* Returns the index of the largest output that is not marked in `used`, and marks it. */
static int64_t take_largest(const float *x, bool *used, int64_t n)
{
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++)
        if (!used[i] && (best < 0 || x[i] > x[best]))
            best = i;
    used[best] = true;
    return best;
}

static void add_guess(json_t *list, const struct predict *p, int64_t class, float value)
{
    json_t *json = leat_json_row(list);
    leat_json_int(json, "class", class);
    leat_json_text(json, "name", class < p->t.n_classes ? p->t.classes[class] : NULL);
    if (p->probabilities)
        leat_json_real(json, "probability", (double)value);
    else
        leat_json_real(json, "value", (double)value);
}

/* Text of guess k: a class with its probability, or an output. */
static void print_guess(const struct predict *p, int64_t k, int64_t class, float value)
{
    char name[24];
    if (p->probabilities)
        printf("%s %s %.1f %%", k ? "," : "",
               leat_terminal_name(leat_trained_class(&p->t, class, name)), (double)value * 100);
    else
        printf("%s %.6g", k ? "," : "", (double)value);
}

/* The best guesses of a row, or all outputs in order where they are no probabilities. Of probabilities that are equal,
 * as those of many classes are 0, the class with the larger output comes first. */
static int add_one(struct predict *p, const char *file, const float *outputs, const float *values,
                   leat_error *err)
{
    const bool talks = !leat_json_to_stdout(p->o->json);
    const float pair[2] = { 1 - *values, *values };
    const float *const x = p->binary ? pair : values;
    const float *const order = p->binary ? pair : outputs;
    const int64_t n = p->binary ? 2 : p->n_outputs;
    const int64_t shown = p->probabilities && p->o->top < n ? p->o->top : n;
    bool *used = calloc((size_t)n, sizeof *used);
    if (!used)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    json_t *json = leat_json_row(p->list);
    leat_json_text(json, "file", file);
    json_t *guesses = leat_json_list(json, "guesses");
    if (talks)
        printf("%s:", leat_terminal_name(file));
    for (int64_t k = 0; k < shown; k++) {
        const int64_t class = p->probabilities ? take_largest(order, used, n) : k;
        if (talks)
            print_guess(p, k, class, x[class]);
        add_guess(guesses, p, class, x[class]);
    }
    if (talks)
        putchar('\n');
    free(used);
    return LEAT_OK;
}

/* Images are put out in the order in which they were named, each when those before it are. */
static int keep_one(struct predict *p, uint64_t image, const float *outputs, const float *values,
                    leat_error *err)
{
    const size_t n = (size_t)p->n_outputs;
    float *row = p->kept[image] = calloc(n, 2 * sizeof *row);
    int rc = row ? LEAT_OK : leat_files_no_memory(err);
    if (row) {
        memcpy(row, outputs, n * sizeof *row);
        memcpy(row + n, values, n * sizeof *row);
    }
    while (rc == LEAT_OK && (row = p->kept[p->n_out])) {
        rc = add_one(p, p->folder.files[p->n_out], row, row + n, err);
        p->kept[p->n_out++] = NULL;
        free(row);
    }
    return rc;
}

static int one_batch(struct predict *p, leat_batch *batch, leat_error *err)
{
    const int64_t most = leat_plan_get_info(p->t.plan)->batch_size;
    const leat_batch_info info = *leat_batch_get_info(batch);
    uint64_t *records = calloc((size_t)most, sizeof *records);
    int rc = records ? leat_trainer_predict(p->t.trainer, batch, p->outputs, err)
                     : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc < 0)
        rc = leat_trained_explain(&p->t, info.number, rc, err);
    if (rc == LEAT_OK) {
        memcpy(p->values, p->outputs, (size_t)(info.rows * p->n_outputs) * sizeof *p->values);
        p->probabilities = leat_trainer_probabilities(p->t.trainer, p->values, info.rows);
        leat_plan_records(p->t.plan, info.number, records, most);
    }
    for (int64_t i = 0; i < info.rows && rc == LEAT_OK; i++) {
        const float *const outputs = p->outputs + i * p->n_outputs;
        const float *const values = p->values + i * p->n_outputs;
        char text[512];
        rc = p->folder.n > 0
                 ? keep_one(p, records[i], outputs, values, err)
                 : add_one(p, leat_plan_record_text(p->t.plan, records[i], text, sizeof text),
                           outputs, values, err);
    }
    free(records);
    return rc;
}

static int run_all(struct predict *p, leat_error *err)
{
    leat_batch *batch;
    int rc;
    while ((rc = leat_signals_caught() ? leat_fail(err, LEAT_E_CANCELED, "stopped by a signal")
                                       : leat_loader_next(p->loader, &batch, err)) == LEAT_OK) {
        rc = one_batch(p, batch, err);
        leat_batch_release(batch);
        if (rc < 0)
            return rc;
    }
    return rc == LEAT_E_END ? LEAT_OK : rc;
}

static int run(const leat_call *call, leat_error *err)
{
    struct predict p = { .o = call->options, .call = call };
    p.list = p.o->json ? json_array() : NULL;
    leat_signals_stop_at_once("predict");
    int rc = open_all(&p, err);
    leat_signals_catch();
    if (rc == LEAT_OK)
        rc = run_all(&p, err);
    if (rc == LEAT_OK && p.list) {
        json_t *json = leat_json_open("predict");
        leat_json_text(json, "config", call->arguments[0]);
        leat_json_text(json, "weights", p.o->weights);
        leat_json_add(json, "images", p.list);
        p.list = NULL;
        rc = leat_json_write(json, p.o->json, err);
    }
    leat_picture_folder_name(&p.folder, err);
    leat_loader_close(&p.loader);
    leat_trained_close(&p.t);
    for (int i = 0; p.kept && i < p.folder.n; i++)
        free(p.kept[i]);
    leat_picture_folder_close(&p.folder);
    free(p.kept);
    free(p.outputs);
    json_decref(p.list);
    fflush(stdout);
    return rc;
}

const leat_command leat_command_predict = {
    .name = "predict",
    .summary = "say what a trained model sees in images or records",
    .arguments = "CONFIG [IMAGE...]",
    .text = "Prepares image files as the config's `eval` part does, runs the model of its `train` "
            "part with trained weights, and prints the most probable classes of each image. Data "
            "sets are not needed; class names come from the data if these exist, or from "
            "--labels.\n\n"
            "Without images it takes the records of the `eval` part, such as the lines of a CSV "
            "file, also those that drop_remainder would leave out. If the loss has no "
            "probabilities (mean_squared_error) it prints all outputs, "
            "in order. A file or record that cannot be read is an error. Ops that blend samples "
            "(mixup, cutmix) are left out, with a note.",
    .example =
        "  leat predict examples/cifar10.yaml --weights cifar10.safetensors cat.jpg dog.png\n"
        "  leat predict prices.yaml --weights prices.safetensors --json prices.json",
    .n_min = 1,
    .n_max = -1,
    LEAT_COMMAND_OPTIONS(struct predict_options),
    .run = run,
};
