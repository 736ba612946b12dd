/* SPDX-License-Identifier: MIT
 *
 * leat eval: how good a trained model is, over all and per class. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/trained.h"
#include "files.h"
#include "formats/figure.h"
#include "host.h"
#include "print/bad_list.h"
#include "print/classes.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "setup.h"
#include "signals.h"

struct eval_options {
    const char *weights, *section, *labels, *sheet, *device, *json;
    int64_t top, threads;
    leat_texts set;
    int32_t quiet, progress;
};

static const leat_option options[] = {
    LEAT_ROW_WEIGHTS(struct eval_options),
    LEAT_ROW_SECTION(struct eval_options),
    LEAT_OPTION_I64(struct eval_options, top, "5", 1, 10000,
                    "also report top-N accuracy: the class is among the N largest outputs"),
    LEAT_OPTION_STRING(struct eval_options, sheet, NULL,
                       "draw the wrongly classified images with the highest predicted "
                       "probability, as SVG"),
    LEAT_ROW_LABELS(struct eval_options),
    LEAT_OPTION_STRING(struct eval_options, device, NULL,
                       "compute on this device instead of train.device"),
    LEAT_ROW_THREADS(struct eval_options),
    LEAT_ROW_SET(struct eval_options),
    LEAT_ROW_PROGRESS(struct eval_options),
    LEAT_ROW_JSON(struct eval_options),
    LEAT_OPTION_END
};

enum { MATRIX_MOST = 12, CLASSES_MOST = 200 }; /* classes in the tables on the terminal */

struct eval {
    const struct eval_options *o;
    const char *path;
    leat_trained t;
    leat_loader *loader;
    leat_score *score;
    leat_wrong_sheet wrong;
    float *outputs;
    int64_t *predicted, *actual;
    uint64_t *records; /* of a batch */
    leat_score_info info;
    double seconds;
};

/* --- running -----------------------------------------------------------------------------------*/

static int open_all(struct eval *e, leat_error *err)
{
    const leat_trained_how how = { .path = e->path,
                                   .section = e->o->section,
                                   .weights = e->o->weights,
                                   .device = e->o->device,
                                   .labels = e->o->labels,
                                   .threads = e->o->threads,
                                   .set = &e->o->set };
    int rc = leat_json_check(e->o->json, err);
    if (rc == LEAT_OK && e->o->sheet &&
        (rc = leat_files_check(e->o->sheet, &leat_files_svg, err)) < 0)
        return leat_fail_in(err, rc, "--sheet: ");
    if (rc < 0 || (rc = leat_trained_open_config(&e->t, &how, err)) < 0 ||
        (rc = leat_trained_open(&e->t, &how, err)) < 0 ||
        (!how.labels &&
         (rc = leat_trained_take_classes(&e->t, leat_trained_section(&how), e->t.plan, err)) < 0) ||
        (rc = leat_trained_check_classes(&e->t, &how, err)) < 0 ||
        (rc = leat_trainer_check(e->t.trainer, e->t.plan, err)) < 0)
        return rc;
    leat_trained_say_classes(&e->t, e->o->section);
    const leat_trainer_info *info = leat_trainer_get_info(e->t.trainer);
    const size_t rows = (size_t)leat_plan_get_info(e->t.plan)->batch_size;
    if (e->o->sheet && strcmp(info->device, "cpu") != 0)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--sheet draws images in host memory: add --device cpu");
    rc = leat_wrong_sheet_open(&e->wrong, &leat_plan_tensor(e->t.plan, info->input)->shape,
                               e->o->sheet, err);
    if (rc < 0 || (rc = leat_score_open(e->t.trainer, (int32_t)e->o->top, &e->score, err)) < 0)
        return rc;
    leat_score_get(e->score, &e->info);
    if (e->o->sheet && e->info.n_classes == 0)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--sheet draws images with a wrong class, and the samples of this loss "
                         "have no class each: leave it out");
    e->outputs = calloc(rows * (size_t)info->n_outputs, sizeof *e->outputs);
    e->predicted = calloc(rows, sizeof *e->predicted);
    e->actual = calloc(rows, sizeof *e->actual);
    e->records = calloc(rows, sizeof *e->records);
    if (!e->outputs || !e->predicted || !e->actual || !e->records)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    const leat_loader_options run = { .device = e->t.device, .epochs = 1, .expect = info->expect };
    return leat_loader_open(e->t.plan, &run, &e->loader, err);
}

/* Of class k, from a row of probabilities. One output is the probability of class 1 of two. */
static float probability_of(const float *row, int64_t n, int64_t k)
{
    return k < 0 ? 0 : n > 1 ? row[k] : k ? *row : 1 - *row;
}

static void take_wrong(struct eval *e, leat_batch *batch)
{
    const leat_batch_info *info = leat_batch_get_info(batch);
    const leat_trainer_info *trainer = leat_trainer_get_info(e->t.trainer);
    const int64_t n = trainer->n_outputs;
    const leat_view images = leat_batch_tensor(batch, trainer->input);
    const leat_row_error *bad;
    leat_plan_records(e->t.plan, info->number, e->records, info->rows);
    for (int32_t k = 0; (bad = leat_batch_error(batch, k)); k++)
        if (bad->replaced)
            e->records[bad->row] = bad->replacement;
    leat_trainer_probabilities(e->t.trainer, e->outputs, info->rows);
    for (int64_t i = 0; i < info->rows; i++) {
        const leat_wrong wrong = { .record = e->records[i],
                                   .row = i,
                                   .actual = e->actual[i],
                                   .predicted = e->predicted[i],
                                   .probability =
                                       probability_of(e->outputs + i * n, n, e->predicted[i]) };
        if (wrong.actual >= 0 && wrong.actual != wrong.predicted)
            leat_wrong_sheet_add(&e->wrong, &wrong, &images);
    }
}

static int one_batch(struct eval *e, leat_batch *batch, leat_error *err)
{
    int rc = LEAT_OK;
    if (leat_batch_get_info(batch)->rows > 0)
        rc = leat_trainer_predict(e->t.trainer, batch, e->outputs, err);
    if (rc < 0)
        return leat_trained_explain(&e->t, leat_batch_get_info(batch)->number, rc, err);
    rc = leat_score_add(e->score, batch, e->outputs, e->predicted, e->actual, err);
    if (rc == LEAT_OK)
        take_wrong(e, batch);
    return rc;
}

static int run_all(struct eval *e, leat_error *err)
{
    const int64_t start = leat_host_now_ns();
    const int64_t n = leat_plan_get_info(e->t.plan)->n_batches;
    uint64_t done = 0;
    leat_progress progress;
    leat_batch *batch;
    int rc;
    leat_progress_init(&progress, "eval", "batches", (uint64_t)n,
                       e->o->quiet ? LEAT_PROGRESS_OFF : e->o->progress);
    while ((rc = leat_loader_next(e->loader, &batch, err)) == LEAT_OK) {
        rc = one_batch(e, batch, err);
        leat_batch_release(batch);
        if (rc < 0)
            break;
        leat_progress_show(&progress, ++done);
    }
    leat_progress_fini(&progress);
    e->seconds = (double)(leat_host_now_ns() - start) * 1e-9;
    leat_score_get(e->score, &e->info);
    return rc == LEAT_E_END ? LEAT_OK : rc;
}

/* --- as text -----------------------------------------------------------------------------------*/

static const char *share_text(double share, char text[16])
{
    if (isnan(share))
        snprintf(text, 16, "-");
    else
        snprintf(text, 16, "%.2f %%", share * 100);
    return text;
}

static void print_classes(const struct eval *e)
{
    char name[24], a[16], b[16], c[16], auc[16];
    leat_classes_absent absent = { .n = 0 };
    const bool has_auc = !isnan(e->info.auc);
    printf("\n%-20s %10s %10s %10s %10s%s\n", "class", "samples", "precision", "recall", "F1",
           has_auc ? "        AUC" : "");
    for (int64_t i = 0; i < e->info.n_labels; i++) {
        leat_score_class one;
        leat_score_get_class(e->score, i, &one);
        leat_classes_note(&absent, i, &one);
        snprintf(auc, sizeof auc, isnan(one.auc) ? "-" : "%.4f", one.auc);
        if (one.samples + one.predicted > 0)
            printf("%-20.20s %10s %10s %10s %10s%s%s\n",
                   leat_terminal_name(leat_trained_class(&e->t, i, name)),
                   leat_figure_count(one.samples).text, share_text(one.precision, a),
                   share_text(one.recall, b), share_text(one.f1, c), has_auc ? "     " : "",
                   has_auc ? auc : "");
    }
    if (leat_classes_absent_text(&absent))
        leat_terminal_say(2, "%s", absent.text);
}

static void print_matrix(const struct eval *e)
{
    const int64_t n = e->info.n_classes;
    char name[24];
    printf("\nrows: class, columns: predicted\n%-14s", "");
    for (int64_t k = 0; k < n; k++)
        printf(" %4lld", (long long)k);
    putchar('\n');
    for (int64_t i = 0; i < n; i++) {
        printf("%2lld %-11.11s", (long long)i,
               i < e->t.n_classes ? leat_terminal_name(leat_trained_class(&e->t, i, name)) : "");
        for (int64_t k = 0; k < n; k++)
            printf(" %4llu", (unsigned long long)e->info.confusion[i * n + k]);
        putchar('\n');
    }
}

static void print_means(const struct eval *e)
{
    char text[LEAT_CLASSES_TEXT];
    const leat_metrics means = { .precision = e->info.precision,
                                 .recall = e->info.recall,
                                 .f1 = e->info.f1,
                                 .auc = e->info.auc };
    if (*leat_classes_text(&means, text))
        printf("means over classes: %s\n", text);
}

static void print_all(const struct eval *e)
{
    char text[16];
    leat_loader_stats_info stats;
    printf("%s samples in %.1f s: loss %.4f", leat_figure_count(e->info.samples).text, e->seconds,
           e->info.loss);
    if (!isnan(e->info.accuracy))
        printf(", accuracy %s", share_text(e->info.accuracy, text));
    if (!isnan(e->info.top))
        printf(", top-%d %s", e->info.top_k, share_text(e->info.top, text));
    putchar('\n');
    print_means(e);
    if (e->info.n_labels && e->info.n_labels <= CLASSES_MOST)
        print_classes(e);
    if (e->info.n_classes && e->info.n_classes <= MATRIX_MOST)
        print_matrix(e);
    leat_setup_say_left_out(e->t.plan, "");
    leat_loader_stats(e->loader, &stats);
    leat_bad_list_print("", e->loader, &stats);
}

/* --- as JSON -----------------------------------------------------------------------------------*/

static void add_classes(json_t *json, const struct eval *e)
{
    json_t *list = leat_json_list(json, "classes");
    for (int64_t i = 0; i < e->info.n_labels; i++) {
        leat_score_class one;
        leat_score_get_class(e->score, i, &one);
        leat_classes_add(list, i, i < e->t.n_classes ? e->t.classes[i] : NULL, &one);
    }
}

static void add_confusion(json_t *json, const struct eval *e)
{
    const int64_t n = e->info.confusion ? e->info.n_classes : 0;
    json_t *list = leat_json_list(json, "confusion");
    for (int64_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (int64_t k = 0; k < n; k++)
            json_array_append_new(row, json_integer((json_int_t)e->info.confusion[i * n + k]));
        json_array_append_new(list, row);
    }
}

static void add_wrong(json_t *json, const struct eval *e)
{
    json_t *list = leat_json_list(json, "wrong");
    for (int32_t i = 0; i < e->wrong.n; i++) {
        const leat_wrong *w = &e->wrong.list[i];
        char text[512];
        json_t *one = leat_json_row(list);
        leat_json_int(one, "record", (int64_t)w->record);
        leat_json_text(one, "text", leat_plan_record_text(e->t.plan, w->record, text, sizeof text));
        leat_json_int(one, "class", w->actual);
        leat_json_int(one, "predicted", w->predicted);
        leat_json_real(one, "probability", (double)w->probability);
    }
}

static json_t *eval_json(const struct eval *e)
{
    leat_loader_stats_info stats;
    leat_loader_stats(e->loader, &stats);
    const int64_t left = leat_setup_left_out(e->t.plan);
    json_t *json = leat_json_open("eval");
    leat_json_text(json, "config", e->path);
    leat_json_text(json, "weights", e->o->weights);
    leat_json_text(json, "device", leat_trainer_get_info(e->t.trainer)->device);
    leat_json_int(json, "samples", (int64_t)e->info.samples);
    leat_json_add(json, "left_out", left < 0 ? json_null() : json_integer(left));
    leat_json_real(json, "loss", e->info.loss);
    leat_json_real(json, "accuracy", e->info.accuracy);
    leat_json_int(json, "top_k", e->info.top_k);
    leat_json_real(json, "top_accuracy", e->info.top);
    leat_json_real(json, "precision", e->info.precision);
    leat_json_real(json, "recall", e->info.recall);
    leat_json_real(json, "f1", e->info.f1);
    leat_json_real(json, "auc", e->info.auc);
    add_classes(json, e);
    add_confusion(json, e);
    add_wrong(json, e);
    leat_bad_list_json(json, &stats);
    leat_json_real(json, "seconds", e->seconds);
    return json;
}

/* --- the command -------------------------------------------------------------------------------*/

static void close_all(struct eval *e)
{
    leat_loader_close(&e->loader);
    leat_score_close(&e->score);
    leat_wrong_sheet_close(&e->wrong);
    leat_trained_close(&e->t);
    free(e->outputs);
    free(e->predicted);
    free(e->actual);
    free(e->records);
}

static int run(const leat_call *call, leat_error *err)
{
    struct eval e = { .o = call->options, .path = call->arguments[0] };
    leat_signals_stop_at_once("eval");
    int rc = open_all(&e, err);
    if (rc == LEAT_OK)
        rc = run_all(&e, err);
    if (rc == LEAT_OK && !leat_json_to_stdout(e.o->json))
        print_all(&e);
    if (rc == LEAT_OK && e.o->json) /* of many classes the confusion takes gigabytes */
        rc = leat_json_write(eval_json(&e), e.o->json, err);
    if (rc == LEAT_OK && e.o->sheet && e.wrong.n > 0)
        rc = leat_wrong_sheet_write(&e.wrong, &e.t, e.o->sheet, err);
    else if (rc == LEAT_OK && e.o->sheet)
        leat_terminal_put(stderr, 0, 2, "note: nothing was wrong, so --sheet has no picture\n");
    close_all(&e);
    fflush(stdout);
    return rc;
}

const leat_command leat_command_eval = {
    .name = "eval",
    .summary = "measure how good a trained model is",
    .arguments = "CONFIG",
    .text = "Runs the model of a config's `train` part, with trained weights, over the data of its "
            "`eval` part, and prints loss, accuracy, top-k accuracy, precision, recall and F1 of "
            "each class with their means, and a confusion matrix; with `--set "
            "train.metrics=[auc]` also the area under each class's ROC curve. The data that the "
            "model was trained on are not needed.\n\n"
            "--sheet draws the images that the model got wrong with the highest probability, each "
            "with its class and what was predicted. --json has them by record.",
    .example = "  leat eval examples/cifar10.yaml --weights cifar10.safetensors --sheet wrong.svg",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct eval_options),
    .run = run,
};
