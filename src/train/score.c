/* SPDX-License-Identifier: MIT
 *
 * score.c: the functions of score.h, which describes them. */
#include "leat/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "classes/class_ask.h"
#include "classes/host_rows.h"
#include "losses.h"

enum { MATRIX_MOST = 1 << 14 }; /* classes of a confusion matrix */

struct leat_score {
    leat_trainer *trainer;
    int64_t n;   /* outputs of a row */
    bool binary; /* one output that says which of two classes it is */
    leat_score_info info;
    double loss, right, in_top;  /* sums */
    uint64_t *confusion;         /* NULL: too many classes, or none */
    leat_class_metrics *classes; /* NULL: the loss has no classes */
};

/* Several yes or no of one sample are no classes. */
static void set_classes(leat_score *score, const leat_model *model)
{
    score->binary = model->loss == &leat_loss_binary_cross_entropy && score->n == 1;
    score->info.n_labels = leat_class_metrics_classes(model);
    if (score->binary)
        score->info.n_classes = 2;
    else if (model->loss == &leat_loss_softmax_cross_entropy)
        score->info.n_classes = score->n;
}

int leat_score_open(leat_trainer *trainer, int32_t top_k, leat_score **out, leat_error *err)
{
    if (!trainer || top_k < 1 || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_score_open: trainer, top_k (1 or more) and out must be given");
    const leat_model *const model = &trainer->model;
    leat_score *score = calloc(1, sizeof *score);
    *out = NULL;
    if (!score)
        return leat_fail(err, LEAT_E_NOMEM, "score: %zu bytes", sizeof *score);
    score->trainer = trainer;
    score->n = leat_shape_elements(&model->layers[model->n_layers - 1].out);
    score->info.top_k = top_k;
    set_classes(score, model);
    const int64_t n = score->info.n_classes;
    int rc = LEAT_OK;
    if (n > 0 && n <= MATRIX_MOST &&
        !(score->confusion = calloc((size_t)(n * n), sizeof *score->confusion)))
        rc = leat_fail(err, LEAT_E_NOMEM, "score: a confusion matrix of %lld values",
                       (long long)(n * n));
    if (rc == LEAT_OK && score->info.n_labels > 0)
        rc = leat_class_ask_open(trainer, &score->classes, err);
    if (rc < 0) {
        leat_score_close(&score);
        return rc;
    }
    score->info.confusion = score->confusion;
    *out = score;
    return LEAT_OK;
}

void leat_score_close(leat_score **score)
{
    if (!score || !*score)
        return;
    free((*score)->confusion);
    leat_class_metrics_close(&(*score)->classes);
    free(*score);
    *score = NULL;
}

/* --- adding ---------------------------------------------------------------------------------- */

/* The rank of the class: the number of outputs that are larger than its own, or equal and before it. */
static bool is_in_top(const leat_score *score, const float *x, int64_t n, int64_t class)
{
    int64_t before = 0;
    for (int64_t i = 0; i < n; i++)
        before += x[i] > x[class] || (x[i] == x[class] && i < class);
    return before < score->info.top_k;
}

static int add_losses(leat_score *score, const leat_loss_rows *rows, leat_error *err)
{
    const leat_model *model = &score->trainer->model;
    const int rc = leat_model_check_rows(model, rows, err);
    if (rc == LEAT_OK)
        model->loss->eval(model->loss_options, rows, &score->loss, &score->right);
    return rc;
}

/* The class of a row whose samples have one each, as outputs; one output becomes two. */
static void add_class(leat_score *score, const leat_loss_rows *rows, int64_t row, int64_t predicted,
                      int64_t actual)
{
    const float pair[2] = { predicted == 0, predicted == 1 };
    const int64_t n = score->info.n_classes;
    if (score->confusion)
        score->confusion[actual * n + predicted]++;
    score->in_top +=
        is_in_top(score, score->binary ? pair : rows->logits + row * score->n, n, actual);
}

static void add_row(leat_score *score, const leat_loss_rows *rows, int64_t row, int64_t *predicted,
                    int64_t *actual)
{
    *predicted = *actual = -1;
    if (!leat_loss_counts(rows, row))
        return;
    score->info.samples++;
    *predicted = score->binary ? leat_class_metrics_predicted(score->classes, rows, row)
                               : leat_loss_largest(rows->logits + row * score->n, score->n);
    if (!score->info.n_classes)
        return;
    *actual = leat_class_metrics_actual(score->classes, rows, row);
    add_class(score, rows, row, *predicted, *actual);
}

int leat_score_add(leat_score *score, leat_batch *batch, const float *outputs, int64_t *predicted,
                   int64_t *actual, leat_error *err)
{
    if (!score || !batch || !outputs)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_score_add: score, batch and outputs must be given");
    leat_trainer *const trainer = score->trainer;
    leat_net_rows batch_rows;
    leat_host_rows host;
    int rc = leat_trainer_rows_of(trainer, batch, &batch_rows, err);
    if (rc < 0)
        return rc;
    rc = leat_host_rows_init(&host, trainer, &batch_rows, err);
    leat_loss_rows rows = leat_host_rows_with(&host, trainer, outputs);
    rows.batch_rows = leat_net_count_valid(host.valid, host.rows);
    if (rc == LEAT_OK)
        rc = add_losses(score, &rows, err);
    if (rc == LEAT_OK && score->classes)
        rc = leat_class_metrics_add(score->classes, &rows, err);
    for (int64_t i = 0; i < rows.rows && rc == LEAT_OK; i++) {
        int64_t a, b;
        add_row(score, &rows, i, predicted ? &predicted[i] : &a, actual ? &actual[i] : &b);
    }
    leat_host_rows_fini(&host);
    return rc;
}

/* --- results --------------------------------------------------------------------------------- */

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static const leat_score_class no_class = { .precision = NAN, .recall = NAN, .f1 = NAN, .auc = NAN };

void leat_score_get(const leat_score *score, leat_score_info *out)
{
    leat_metrics means = { .precision = NAN, .recall = NAN, .f1 = NAN, .auc = NAN };
    if (!out)
        return;
    *out = (leat_score_info){ .loss = NAN,
                              .accuracy = NAN,
                              .top = NAN,
                              .precision = NAN,
                              .recall = NAN,
                              .f1 = NAN,
                              .auc = NAN };
    if (!score)
        return;
    const double n = (double)score->info.samples;
    *out = score->info;
    out->loss = share(score->loss, n);
    out->accuracy = leat_model_accuracy(&score->trainer->model, score->right, score->info.samples);
    out->top = score->info.n_classes ? share(score->in_top, n) : NAN;
    if (score->classes)
        leat_class_metrics_means(score->classes, &means);
    out->precision = means.precision;
    out->recall = means.recall;
    out->f1 = means.f1;
    out->auc = means.auc;
}

void leat_score_get_class(const leat_score *score, int64_t i, leat_score_class *out)
{
    if (!out)
        return;
    *out = no_class;
    if (score && i >= 0 && i < score->info.n_labels)
        leat_class_metrics_get(score->classes, i, out);
}

int64_t leat_score_n_evaluated(const leat_trainer *trainer)
{
    return trainer && trainer->evaluated ? leat_class_metrics_classes(&trainer->model) : 0;
}

void leat_score_evaluated_class(const leat_trainer *trainer, int64_t i, leat_score_class *out)
{
    if (!out)
        return;
    *out = no_class;
    if (i >= 0 && i < leat_score_n_evaluated(trainer))
        leat_class_metrics_get(trainer->classes, i, out);
}
