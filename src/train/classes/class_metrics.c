/* SPDX-License-Identifier: MIT
 *
 * class_metrics.c: the functions of class_metrics.h, which describes them.
 *
 * AUC of a class is the Mann-Whitney statistic: the share of pairs (a sample of the class, one of another) in which the
 * first has the higher score; pairs with equal scores count half (Hanley and McNeil, "The meaning and use of the area
 * under a receiver operating characteristic (ROC) curve", Radiology 143, 1982). That is the area under the curve with
 * straight lines between its points. The score of softmax_cross_entropy is the logarithm of the probability,
 * (x - top) - log1p(sum of exp(x - top) over the other outputs), in double: it orders samples as the probability does, also
 * where that would round to 1. */
#include "class_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/figure.h"
#include "train/losses.h"

struct leat_class_metrics {
    const leat_model *model;
    int64_t n;                             /* outputs of a row */
    int64_t classes;                       /* leat_class_metrics_classes() */
    bool binary;                           /* the loss is binary_cross_entropy */
    float middle;                          /* of it: yes is above */
    uint64_t rows;                         /* that count */
    uint64_t *samples, *predicted, *right; /* [classes] */
    /* Kept outputs, for AUC. */
    leat_class_limit allowed;
    bool finite;    /* all of them */
    int64_t room;   /* rows they have memory for */
    float *outputs; /* [room][n] */
    uint8_t *is;    /* [room][n]: 1: the sample is of the class */
    double *
        shift; /* [room][2]: both are subtracted from every output of the row, one after the other */
    double *ordered; /* [room]: scores of a class's samples */
    double *aucs;    /* [classes]; if `known`, of all rows so far */
    bool known;
};

/* --- opening ------------------------------------------------------------------------------------- */

static int64_t n_outputs(const leat_model *model)
{
    return leat_shape_elements(&model->layers[model->n_layers - 1].out);
}

int64_t leat_class_metrics_classes(const leat_model *model)
{
    const int64_t n = n_outputs(model);
    if (!model->loss->classes)
        return 0;
    return n == 1 && model->loss == &leat_loss_binary_cross_entropy ? 2 : n;
}

static int64_t row_bytes(int64_t n)
{
    return n * (int64_t)(sizeof(float) + sizeof(uint8_t)) + 3 * (int64_t)sizeof(double);
}

int64_t leat_class_metrics_bytes(const leat_model *model, int64_t samples)
{
    return samples * row_bytes(n_outputs(model));
}

int leat_class_metrics_fits(const leat_model *model, const leat_class_limit *limit, int64_t samples,
                            leat_error *err)
{
    const int64_t n = n_outputs(model);
    if (samples <= limit->bytes / row_bytes(n))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_NOMEM,
                     "AUC keeps %lld output%s of every sample: %s for %lld samples, but %s can be "
                     "used for it (%s): leave out auc, or evaluate fewer samples",
                     (long long)n, n == 1 ? "" : "s",
                     leat_figure_bytes((double)(samples * row_bytes(n))).text, (long long)samples,
                     leat_figure_bytes(limit->bytes > 0 ? (double)limit->bytes : 0).text,
                     limit->why);
}

int leat_class_metrics_open(const leat_model *model, const leat_class_limit *limit,
                            leat_class_metrics **out, leat_error *err)
{
    leat_class_metrics *m = calloc(1, sizeof *m);
    *out = m;
    if (m) {
        *m = (leat_class_metrics){ .model = model,
                                   .n = n_outputs(model),
                                   .classes = leat_class_metrics_classes(model),
                                   .binary = model->loss == &leat_loss_binary_cross_entropy,
                                   .allowed = *limit,
                                   .finite = true };
        if (m->binary && !((const leat_binary_options *)model->loss_options)->with_logits)
            m->middle = 0.5f;
        m->samples = calloc((size_t)m->classes, 3 * sizeof *m->samples);
        m->aucs = calloc((size_t)m->classes, sizeof *m->aucs);
    }
    if (!m || !m->samples || !m->aucs) {
        leat_class_metrics_close(out);
        return leat_fail(err, LEAT_E_NOMEM, "no memory to count classes");
    }
    m->predicted = m->samples + m->classes;
    m->right = m->predicted + m->classes;
    return LEAT_OK;
}

void leat_class_metrics_close(leat_class_metrics **metrics)
{
    leat_class_metrics *const m = *metrics;
    if (!m)
        return;
    free(m->samples);
    free(m->outputs);
    free(m->is);
    free(m->shift);
    free(m->ordered);
    free(m->aucs);
    free(m);
    *metrics = NULL;
}

void leat_class_metrics_reset(leat_class_metrics *metrics)
{
    metrics->rows = 0;
    metrics->finite = true;
    metrics->known = false;
    memset(metrics->samples, 0, (size_t)metrics->classes * 3 * sizeof *metrics->samples);
}

/* --- adding -------------------------------------------------------------------------------------- */

static bool grow(void *block, size_t bytes)
{
    void **const at = block;
    void *const larger = realloc(*at, bytes);
    *at = larger ? larger : *at;
    return larger != NULL;
}

/* Memory for this many rows. It doubles, as long as the limit allows that. */
static int make_room(leat_class_metrics *m, int64_t rows, leat_error *err)
{
    if (rows <= m->room)
        return LEAT_OK;
    const int rc = leat_class_metrics_fits(m->model, &m->allowed, rows, err);
    if (rc < 0)
        return rc;
    const int64_t most = m->allowed.bytes / row_bytes(m->n), twice = 2 * m->room;
    const int64_t room = rows > twice ? rows : twice > most ? most : twice;
    const size_t values = (size_t)(room * m->n);
    if (!grow(&m->outputs, values * sizeof *m->outputs) || !grow(&m->is, values) ||
        !grow(&m->shift, 2 * (size_t)room * sizeof *m->shift) ||
        !grow(&m->ordered, (size_t)room * sizeof *m->ordered))
        return leat_fail(err, LEAT_E_NOMEM, "no memory to keep the outputs of %lld samples for AUC",
                         (long long)room);
    m->room = room;
    return LEAT_OK;
}

int64_t leat_class_metrics_predicted(const leat_class_metrics *metrics, const leat_loss_rows *rows,
                                     int64_t row)
{
    const float *const x = rows->logits + row * metrics->n;
    return metrics->binary ? *x > metrics->middle : leat_loss_largest(x, metrics->n);
}

/* Of weights the first with the largest one. */
int64_t leat_class_metrics_actual(const leat_class_metrics *metrics, const leat_loss_rows *rows,
                                  int64_t row)
{
    if (metrics->binary)
        return leat_target_f32(rows->target, row) > 0.5f;
    if (rows->target->shape.dtype == LEAT_F32)
        return leat_loss_largest((const float *)rows->target->data + row * metrics->n, metrics->n);
    return leat_target_i64(rows->target, row);
}

/* Outputs that are a yes or no each. */
static void count_values(leat_class_metrics *m, const leat_loss_rows *rows, int64_t row)
{
    for (int64_t k = 0; k < m->n; k++) {
        const bool yes = leat_target_f32(rows->target, row * m->n + k) > 0.5f;
        const bool said = rows->logits[row * m->n + k] > m->middle;
        m->samples[k] += yes;
        m->predicted[k] += said;
        m->right[k] += yes && said;
    }
}

static void count_row(leat_class_metrics *m, const leat_loss_rows *rows, int64_t row)
{
    if (m->classes == m->n && m->binary) {
        count_values(m, rows, row);
        return;
    }
    const int64_t actual = leat_class_metrics_actual(m, rows, row);
    const int64_t predicted = leat_class_metrics_predicted(m, rows, row);
    m->samples[actual]++;
    m->predicted[predicted]++;
    m->right[actual] += actual == predicted;
}

/* The largest output, and the logarithm of the sum of exp(x - that). */
static void log_sum(const float *x, int64_t n, double shift[2])
{
    const int64_t top = leat_loss_largest(x, n);
    double others = 0;
    for (int64_t i = 0; i < n; i++)
        others += i == top ? 0 : exp((double)x[i] - (double)x[top]);
    shift[0] = (double)x[top];
    shift[1] = log1p(others);
}

static void keep_row(leat_class_metrics *m, const leat_loss_rows *rows, int64_t row)
{
    const float *const x = rows->logits + row * m->n;
    const int64_t at = (int64_t)m->rows;
    for (int64_t k = 0; k < m->n; k++) {
        m->finite &= isfinite(x[k]) != 0;
        m->outputs[at * m->n + k] = x[k];
        m->is[at * m->n + k] = m->binary && leat_target_f32(rows->target, row * m->n + k) > 0.5f;
    }
    if (!m->binary)
        m->is[at * m->n + leat_class_metrics_actual(m, rows, row)] = 1;
    m->shift[2 * at] = m->shift[2 * at + 1] = 0;
    if (!m->binary)
        log_sum(x, m->n, m->shift + 2 * at);
}

int leat_class_metrics_add(leat_class_metrics *metrics, const leat_loss_rows *rows, leat_error *err)
{
    metrics->known = false;
    for (int64_t i = 0; i < rows->rows; i++) {
        if (!leat_loss_counts(rows, i))
            continue;
        const int rc =
            metrics->allowed.keep ? make_room(metrics, (int64_t)metrics->rows + 1, err) : LEAT_OK;
        if (rc < 0)
            return rc;
        count_row(metrics, rows, i);
        if (metrics->allowed.keep)
            keep_row(metrics, rows, i);
        metrics->rows++;
    }
    return LEAT_OK;
}

/* --- results ------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How many of n ordered values are below x, or (equal) not above it. */
static uint64_t below(const double *ordered, uint64_t n, double x, bool equal)
{
    uint64_t from = 0;
    while (n > 0) {
        const uint64_t half = n / 2;
        const double value = ordered[from + half];
        if (value < x || (equal && value == x)) {
            from += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return from;
}

static double score_of(const leat_class_metrics *m, uint64_t row, int64_t k)
{
    return (double)m->outputs[(int64_t)row * m->n + k] - m->shift[2 * row] - m->shift[2 * row + 1];
}

/* NaN: no sample is of the class, or all are, or an output is not finite. */
static double auc_of(leat_class_metrics *m, int64_t k)
{
    uint64_t n = 0, halves = 0;
    if (!m->allowed.keep || !m->finite)
        return NAN;
    for (uint64_t i = 0; i < m->rows; i++)
        if (m->is[(int64_t)i * m->n + k])
            m->ordered[n++] = score_of(m, i, k);
    if (n == 0 || n == m->rows)
        return NAN;
    qsort(m->ordered, n, sizeof *m->ordered, compare);
    for (uint64_t i = 0; i < m->rows; i++) {
        if (m->is[(int64_t)i * m->n + k])
            continue;
        const double x = score_of(m, i, k);
        halves += 2 * n - below(m->ordered, n, x, false) - below(m->ordered, n, x, true);
    }
    return (double)halves / (2 * (double)n * (double)(m->rows - n));
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

static void counts_of(const leat_class_metrics *m, int64_t i, leat_score_class *out)
{
    *out = (leat_score_class){ .samples = m->samples[i],
                               .predicted = m->predicted[i],
                               .right = m->right[i],
                               .precision = share(m->right[i], m->predicted[i]),
                               .recall = share(m->right[i], m->samples[i]),
                               .f1 = NAN,
                               .auc = NAN };
    if (out->samples > 0)
        out->f1 = share(2 * out->right, out->samples + out->predicted);
}

void leat_class_metrics_get(leat_class_metrics *metrics, int64_t i, leat_score_class *out)
{
    /* One output says the same of both classes. */
    for (int64_t k = 0; k < metrics->classes && !metrics->known; k++)
        metrics->aucs[k] = k < metrics->n ? auc_of(metrics, k) : metrics->aucs[0];
    metrics->known = true;
    counts_of(metrics, i, out);
    out->auc = metrics->aucs[i];
}

/* A mean of the values that exist. */
typedef struct mean {
    double sum;
    int64_t n;
} mean;

static void add_value(mean *to, double value)
{
    to->sum += isnan(value) ? 0 : value;
    to->n += !isnan(value);
}

static double mean_of(mean m)
{
    return m.n > 0 ? m.sum / (double)m.n : NAN;
}

void leat_class_metrics_means(leat_class_metrics *metrics, leat_metrics *out)
{
    mean precision = { 0 }, recall = { 0 }, f1 = { 0 }, auc = { 0 };
    for (int64_t i = 0; i < metrics->classes; i++) {
        leat_score_class c;
        leat_class_metrics_get(metrics, i, &c);
        add_value(&auc, c.auc);
        if (c.samples == 0)
            continue;
        add_value(&precision, c.predicted ? c.precision : 0);
        add_value(&recall, c.recall);
        add_value(&f1, c.f1);
    }
    out->precision = mean_of(precision);
    out->recall = mean_of(recall);
    out->f1 = mean_of(f1);
    out->auc = mean_of(auc);
}
