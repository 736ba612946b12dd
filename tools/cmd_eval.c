/* SPDX-License-Identifier: MIT
 *
 * leat eval: how good a trained model is, over all and per class. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart/chart.h"
#include "convert/image_file.h"
#include "eval/trained.h"
#include "files.h"
#include "formats/figure.h"
#include "host.h"
#include "print/bad_list.h"
#include "print/classes.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/sheet.h"
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

/* --- the samples that the model got wrong with the highest probability, and a picture of them ------*/

enum {
    WRONG_MOST = 64, /* as many as leat_sheet_make() draws */
    COLUMNS = 8,     /* of leat_sheet_make() */
    GAP_PX = 2,
    CELL_PX = 128, /* of the picture */
    TEXT_PX = 40,
    MARGIN_PX = 8
};

typedef struct wrong_sample {
    uint64_t record; /* whose sample it is: of a replaced one the other */
    int64_t row;
    int64_t actual, predicted; /* classes */
    float probability;         /* of the predicted one */
    int32_t image;             /* place in wrong_sheet.images */
} wrong_sample;

/* Sorted by probability, the highest first. */
typedef struct wrong_sheet {
    int32_t n;
    wrong_sample list[WRONG_MOST];
    char *images; /* of the list; NULL: not kept */
    size_t image_bytes;
    leat_shape shape; /* of an image */
} wrong_sheet;

/* images: they are kept, for a picture. */
static int open_sheet(wrong_sheet *sheet, const leat_shape *shape, bool images, leat_error *err)
{
    *sheet = (wrong_sheet){ .shape = *shape };
    if (!images)
        return LEAT_OK;
    if (!leat_sheet_fits(shape))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--sheet: the model reads no images of 1 or 3 channels");
    sheet->image_bytes = (size_t)leat_shape_bytes(shape);
    sheet->images = calloc(WRONG_MOST, sheet->image_bytes);
    return sheet->images ? LEAT_OK
                         : leat_fail(err, LEAT_E_NOMEM, "--sheet: %zu bytes",
                                     WRONG_MOST * sheet->image_bytes);
}

/* batch: in host memory; only read if images are kept. */
static void add_to_sheet(wrong_sheet *sheet, const wrong_sample *wrong, const leat_view *batch)
{
    const bool full = sheet->n == WRONG_MOST;
    if (full && wrong->probability <= sheet->list[sheet->n - 1].probability)
        return;
    const int32_t image = full ? sheet->list[--sheet->n].image : sheet->n;
    int32_t at = sheet->n++;
    for (; at > 0 && sheet->list[at - 1].probability < wrong->probability; at--)
        sheet->list[at] = sheet->list[at - 1];
    sheet->list[at] = *wrong;
    sheet->list[at].image = image;
    if (sheet->images)
        memcpy(sheet->images + (size_t)image * sheet->image_bytes,
               (const char *)batch->data + (size_t)wrong->row * sheet->image_bytes,
               sheet->image_bytes);
}

static void put_base64(FILE *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const unsigned a = bytes[i], b = i + 1 < n ? bytes[i + 1] : 0;
        const unsigned c = i + 2 < n ? bytes[i + 2] : 0;
        putc(digits[a >> 2], out);
        putc(digits[(a & 3) << 4 | b >> 4], out);
        putc(i + 1 < n ? digits[(b & 15) << 2 | c >> 6] : '=', out);
        putc(i + 2 < n ? digits[c & 63] : '=', out);
    }
}

/* Cut to about what fits in a cell. */
static void put_text(FILE *out, int x, int y, const char *before, const char *name)
{
    char cut[19];
    snprintf(cut, sizeof cut, "%s", name);
    leat_svg_put(out, "<text x=\"%d\" y=\"%d\">%s%s</text>\n", x, y, before, cut);
}

static void put_cell(FILE *out, const wrong_sample *w, const leat_trained *t,
                     const leat_sheet *drawn, int32_t i, int32_t n)
{
    const int columns = n < COLUMNS ? n : COLUMNS, rows = (n + COLUMNS - 1) / COLUMNS;
    const int wide = (drawn->width + GAP_PX) / columns, tall = (drawn->height + GAP_PX) / rows;
    const int x = MARGIN_PX + i % COLUMNS * (CELL_PX + MARGIN_PX);
    const int y = MARGIN_PX + i / COLUMNS * (CELL_PX + TEXT_PX + MARGIN_PX);
    char text[24], before[32];
    fprintf(out,
            "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" viewBox=\"%d %d %d %d\"><use "
            "href=\"#sheet\"/></svg>\n",
            x, y, CELL_PX, CELL_PX, i % COLUMNS * wide, i / COLUMNS * tall, wide - GAP_PX,
            tall - GAP_PX);
    put_text(out, x, y + CELL_PX + 15, "", leat_trained_class(t, w->actual, text));
    snprintf(before, sizeof before, "%.0f %% ", (double)w->probability * 100);
    put_text(out, x, y + CELL_PX + 31, before, leat_trained_class(t, w->predicted, text));
}

static void put_picture(FILE *out, const wrong_sheet *sheet, const leat_trained *t,
                        const leat_sheet *drawn, const uint8_t *png, size_t size)
{
    const int rows = (sheet->n + COLUMNS - 1) / COLUMNS;
    const int columns = sheet->n < COLUMNS ? sheet->n : COLUMNS;
    const int width = MARGIN_PX + columns * (CELL_PX + MARGIN_PX);
    const int height = MARGIN_PX + rows * (CELL_PX + TEXT_PX + MARGIN_PX);
    fprintf(out,
            LEAT_FILES_SVG
            "\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\">\n<title>classes, and what was predicted instead</title>\n<style>text { "
            "font-family: sans-serif; font-size: 13px } image { image-rendering: pixelated "
            "}</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n<defs><image "
            "id=\"sheet\" width=\"%d\" height=\"%d\" href=\"data:image/png;base64,",
            width, height, width, height, drawn->width, drawn->height);
    put_base64(out, png, size);
    fputs("\"/></defs>\n", out);
    for (int32_t i = 0; i < sheet->n; i++)
        put_cell(out, &sheet->list[i], t, drawn, i, sheet->n);
    fputs("</svg>\n", out);
}

/* The images in the order of the list, drawn together so that they have the same levels. */
static int draw(const wrong_sheet *sheet, leat_sheet *drawn, leat_error *err)
{
    const int64_t *d = sheet->shape.dims;
    const int64_t dims[] = { sheet->n, d[0], d[1], d[2] };
    leat_view view = { .shape = leat_shape_make(sheet->shape.dtype, 4, dims) };
    char *sorted = malloc((size_t)sheet->n * sheet->image_bytes + 1);
    if (!sorted)
        return leat_fail(err, LEAT_E_NOMEM, "--sheet: out of memory");
    for (int32_t i = 0; i < sheet->n; i++)
        memcpy(sorted + (size_t)i * sheet->image_bytes,
               sheet->images + (size_t)sheet->list[i].image * sheet->image_bytes,
               sheet->image_bytes);
    view.data = sorted;
    const int rc = leat_sheet_make(&view, drawn);
    free(sorted);
    return rc < 0 ? leat_fail(err, rc, "--sheet: %s", leat_code_text(rc)) : rc;
}

/* Writes the picture of one image or more as SVG: each with its class and what was predicted. */
static int write_sheet(const wrong_sheet *sheet, const leat_trained *t, const char *path,
                       leat_error *err)
{
    leat_sheet drawn = { 0 };
    char *text = NULL;
    uint8_t *png = NULL;
    size_t length = 0, size = 0;
    int rc = draw(sheet, &drawn, err);
    if (rc == LEAT_OK)
        rc = leat_image_encode_png(drawn.pixels, drawn.height, drawn.width, &png, &size, err);
    FILE *out = rc == LEAT_OK ? open_memstream(&text, &length) : NULL;
    if (out)
        put_picture(out, sheet, t, &drawn, png, size);
    if (rc == LEAT_OK)
        rc = leat_files_close_text(out, &text)
                 ? leat_files_write(path, text, length, err)
                 : leat_fail(err, LEAT_E_NOMEM, "--sheet: out of memory");
    free(png);
    free(text);
    free(drawn.pixels);
    return rc;
}

/* --- running -----------------------------------------------------------------------------------*/

enum { MATRIX_MOST = 12, CLASSES_MOST = 200 }; /* classes in the tables on the terminal */

struct eval {
    const leat_call *call;
    const struct eval_options *o;
    const char *path;
    leat_trained t;
    leat_loader *loader;
    leat_score *score;
    wrong_sheet wrong;
    float *outputs;
    int64_t *predicted, *actual;
    uint64_t *records; /* of a batch */
    leat_score_info info;
    double seconds;
};

static int open_all(struct eval *e, leat_error *err)
{
    const leat_trained_how how = { .call = e->call,
                                   .path = e->path,
                                   .section = e->o->section,
                                   .weights = e->o->weights,
                                   .device = e->o->device,
                                   .labels = e->o->labels,
                                   .threads = e->o->threads,
                                   .scores = true,
                                   .set = &e->o->set };
    int rc = leat_json_check(e->o->json, err);
    if (rc == LEAT_OK && e->o->sheet &&
        (rc = leat_files_check(e->o->sheet, &leat_files_svg, err)) < 0)
        return leat_fail_in(err, rc, "--sheet: ");
    if (rc < 0 || (rc = leat_trained_open_config(&e->t, &how, err)) < 0 ||
        (rc = leat_trained_leave_out_blends(&e->t, &how, err)) < 0 ||
        (rc = leat_trained_open(&e->t, &how, err)) < 0 ||
        (!how.labels &&
         (rc = leat_trained_take_classes(&e->t, leat_trained_section(&how), e->t.plan, err)) < 0) ||
        (rc = leat_trained_check_classes(&e->t, &how, err)) < 0 ||
        (rc = leat_trainer_check(e->t.trainer, e->t.plan, err)) < 0)
        return rc;
    leat_trained_say_notes(&e->t, e->o->section);
    const leat_trainer_info *info = leat_trainer_get_info(e->t.trainer);
    const size_t rows = (size_t)leat_plan_get_info(e->t.plan)->batch_size;
    if (e->o->sheet && strcmp(info->device, "cpu") != 0)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--sheet draws images in host memory: add --device cpu");
    rc = open_sheet(&e->wrong, &leat_plan_tensor(e->t.plan, info->input)->shape, e->o->sheet, err);
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
        const wrong_sample wrong = { .record = e->records[i],
                                     .row = i,
                                     .actual = e->actual[i],
                                     .predicted = e->predicted[i],
                                     .probability =
                                         probability_of(e->outputs + i * n, n, e->predicted[i]) };
        if (wrong.actual >= 0 && wrong.actual != wrong.predicted)
            add_to_sheet(&e->wrong, &wrong, &images);
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
        const wrong_sample *w = &e->wrong.list[i];
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
    leat_trained_close(&e->t);
    free(e->wrong.images);
    free(e->outputs);
    free(e->predicted);
    free(e->actual);
    free(e->records);
}

static int run(const leat_call *call, leat_error *err)
{
    struct eval e = { .call = call, .o = call->options, .path = call->arguments[0] };
    leat_signals_stop_at_once("eval");
    int rc = open_all(&e, err);
    if (rc == LEAT_OK)
        rc = run_all(&e, err);
    if (rc == LEAT_OK && !leat_json_to_stdout(e.o->json))
        print_all(&e);
    if (rc == LEAT_OK && e.o->json) /* of many classes the confusion takes gigabytes */
        rc = leat_json_write(eval_json(&e), e.o->json, err);
    if (rc == LEAT_OK && e.o->sheet && e.wrong.n > 0)
        rc = write_sheet(&e.wrong, &e.t, e.o->sheet, err);
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
            "model was trained on are not needed. Ops that blend samples (mixup, cutmix) are left "
            "out, with a note.\n\n"
            "--sheet draws the images that the model got wrong with the highest probability, each "
            "with its class and what was predicted. --json has them by record.",
    .example = "  leat eval examples/cifar10.yaml --weights cifar10.safetensors --sheet wrong.svg",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct eval_options),
    .run = run,
};
