/* SPDX-License-Identifier: MIT
 *
 * score.c: the functions of score.h, which describes them. */
#include "leat/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "losses.h"
#include "trainer.h"

struct leat_score {
    leat_trainer *trainer;
    int64_t n;   /* outputs of a row */
    bool binary; /* one output that says which of two classes it is: 1 above the middle */
    float middle;
    leat_score_info info;
    double loss, right, in_top; /* sums */
    uint64_t *confusion;
};

/* Several yes or no of one sample are no classes. */
static void set_classes(leat_score *score, const leat_model *model)
{
    score->binary = model->loss == &leat_loss_binary_cross_entropy && score->n == 1;
    if (score->binary) {
        const leat_binary_options *o = model->loss_options;
        score->middle = o->with_logits ? 0.0f : 0.5f;
        score->info.n_classes = 2;
    } else if (model->loss == &leat_loss_softmax_cross_entropy && score->n <= 1 << 14) {
        score->info.n_classes = score->n;
    }
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
    const size_t cells = (size_t)(score->info.n_classes * score->info.n_classes);
    score->confusion = calloc(cells + 1, sizeof *score->confusion);
    if (!score->confusion) {
        leat_score_close(&score);
        return leat_fail(err, LEAT_E_NOMEM, "score: a confusion matrix of %zu values", cells);
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
    free(*score);
    *score = NULL;
}

/* --- targets --------------------------------------------------------------------------------- */

/* A batch's target, weights and mask in host memory. */
typedef struct host_rows {
    leat_view y;
    const float *weights; /* NULL: all 1 */
    const uint8_t *valid;
    void *copies[3]; /* NULL: the batch itself lies there */
} host_rows;

static int copy_back(leat_trainer *trainer, const void *from, size_t bytes, void **to,
                     leat_error *err)
{
    const leat_device_table *t = trainer->device->table;
    *to = malloc(bytes ? bytes : 1);
    if (!*to)
        return leat_fail(err, LEAT_E_NOMEM, "score: %zu bytes", bytes);
    const int rc = t->copy_to_host(trainer->stream, *to, from, bytes);
    return rc < 0 ? leat_fail(err, rc, "%s: cannot copy targets back", trainer->info.device)
                  : t->stream_sync(trainer->stream, err);
}

static int fetch(leat_trainer *trainer, const leat_batch *batch, int64_t rows, host_rows *out,
                 leat_error *err)
{
    *out = (host_rows){ .y = leat_batch_tensor(batch, trainer->target_at),
                        .valid = leat_batch_valid(batch) };
    if (trainer->model.weighted)
        out->weights = leat_batch_tensor(batch, trainer->weight_at).data;
    if (!trainer->stream)
        return LEAT_OK;
    int rc = copy_back(trainer, out->y.data, (size_t)leat_shape_bytes(&out->y.shape),
                       &out->copies[0], err);
    out->y.data = out->copies[0];
    if (rc == LEAT_OK && out->valid) {
        rc = copy_back(trainer, out->valid, (size_t)rows, &out->copies[1], err);
        out->valid = out->copies[1];
    }
    if (rc == LEAT_OK && out->weights) {
        rc = copy_back(trainer, out->weights, (size_t)rows * sizeof(float), &out->copies[2], err);
        out->weights = out->copies[2];
    }
    return rc;
}

/* The class of a row; of weights the first with the largest one. */
static int64_t class_of(const leat_score *score, const leat_view *y, int64_t row)
{
    if (score->binary)
        return leat_target_f32(y, row) > 0.5f;
    if (y->shape.dtype == LEAT_F32)
        return leat_loss_largest((const float *)y->data + row * score->n, score->n);
    return leat_target_i64(y, row);
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

static void add_row(leat_score *score, const leat_loss_rows *rows, int64_t row, int64_t *predicted,
                    int64_t *actual)
{
    const float *x = rows->logits + row * score->n;
    const float pair[2] = { score->middle, *x }; /* of class 1, when it is larger than the middle */
    const int64_t n = score->binary ? 2 : score->n;
    *predicted = *actual = -1;
    if (!leat_loss_counts(rows, row))
        return;
    x = score->binary ? pair : x;
    score->info.samples++;
    *predicted = leat_loss_largest(x, n);
    if (!score->info.n_classes)
        return;
    *actual = class_of(score, rows->target, row);
    score->confusion[*actual * n + *predicted]++;
    score->in_top += is_in_top(score, x, n, *actual);
}

static int64_t count_valid(const uint8_t *valid, int64_t rows)
{
    int64_t n = 0;
    for (int64_t i = 0; valid && i < rows; i++)
        n += valid[i] != 0;
    return valid ? n : rows;
}

int leat_score_add(leat_score *score, const leat_batch *batch, const float *outputs,
                   int64_t *predicted, int64_t *actual, leat_error *err)
{
    if (!score || !batch || !outputs)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_score_add: score, batch and outputs must be given");
    const int64_t n = leat_batch_tensor(batch, score->trainer->target_at).shape.dims[0];
    host_rows host;
    int rc = fetch(score->trainer, batch, n, &host, err);
    const leat_loss_rows rows = { .logits = outputs,
                                  .n = score->n,
                                  .rows = n,
                                  .target = &host.y,
                                  .weights = host.weights,
                                  .valid = host.valid,
                                  .batch_rows = count_valid(host.valid, n) };
    if (rc == LEAT_OK)
        rc = add_losses(score, &rows, err);
    for (int64_t i = 0; i < n && rc == LEAT_OK; i++) {
        int64_t a, b;
        add_row(score, &rows, i, predicted ? &predicted[i] : &a, actual ? &actual[i] : &b);
    }
    for (int k = 0; k < 3; k++)
        free(host.copies[k]);
    return rc;
}

/* --- results --------------------------------------------------------------------------------- */

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

void leat_score_get(const leat_score *score, leat_score_info *out)
{
    if (!out)
        return;
    *out = (leat_score_info){ .loss = NAN, .accuracy = NAN, .top = NAN };
    if (!score)
        return;
    const double n = (double)score->info.samples;
    *out = score->info;
    out->loss = share(score->loss, n);
    out->accuracy = score->trainer->model.loss->accuracy ? share(score->right, n) : NAN;
    out->top = score->info.n_classes ? share(score->in_top, n) : NAN;
}

void leat_score_get_class(const leat_score *score, int64_t i, leat_score_class *out)
{
    if (!out)
        return;
    *out = (leat_score_class){ .precision = NAN, .recall = NAN, .f1 = NAN };
    if (!score || i < 0 || i >= score->info.n_classes)
        return;
    const int64_t n = score->info.n_classes;
    for (int64_t k = 0; k < n; k++) {
        out->samples += score->confusion[i * n + k];
        out->predicted += score->confusion[k * n + i];
    }
    out->right = score->confusion[i * n + i];
    out->precision = share((double)out->right, (double)out->predicted);
    out->recall = share((double)out->right, (double)out->samples);
    const double sum = out->precision + out->recall; /* 0: nothing was right */
    out->f1 = sum > 0 ? 2 * out->precision * out->recall / sum : sum;
}
