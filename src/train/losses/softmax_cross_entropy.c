/* SPDX-License-Identifier: MIT
 *
 * softmax_cross_entropy: -sum over classes of t log softmax(logits). The target is a class number from
 * 0 (t is 1 there, else 0), or a row of weights t, one per class, that sum to 1 (one_hot with smoothing,
 * mixup, cutmix). A prediction is right when the largest logit is that of the class, or of the first
 * class with the largest weight.
 *
 * With label_smoothing e and n classes, t becomes (1 - e) t + e / n. With class_weights c, the loss of a row is
 * -sum of c t log softmax(logits). A sample's weight multiplies that. The batch's loss is the sum divided by the number
 * of rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/not_finite.h"
#include "train/losses.h"
#include "train/nn_text.h"

static const leat_option options[] = {
    LEAT_GPU_OPTION(leat_softmax_options, label_smoothing, F32, "0", 0, 1,
                    "share of the target that is spread evenly over all classes"),
    LEAT_GPU_OPTION(leat_softmax_options, class_weights, NODE, "", 0, 0,
                    "list of one factor of the loss per class; default: all 1"),
    LEAT_OPTION_END
};

static int read_weights(leat_softmax_options *o, int64_t n, leat_error *err)
{
    static const leat_option row = {
        "class_weights", LEAT_OPTION_TYPE_F32, 0, "1", 0, 1e9, NULL, "", 0
    };
    const leat_node *list = o->class_weights;
    if (list->kind != LEAT_NODE_LIST || leat_node_count(list) != (size_t)n)
        return leat_fail(err, LEAT_E_CONFIG,
                         "class_weights must be a list of %lld numbers, one per class",
                         (long long)n);
    o->weights = calloc((size_t)n, sizeof *o->weights);
    if (!o->weights)
        return leat_fail(err, LEAT_E_NOMEM, "class_weights: %lld", (long long)n);
    int64_t i = 0;
    bool any = false;
    for (const leat_node *node = list->first; node; node = node->next, i++) {
        const int rc = leat_option_set(&row, &o->weights[i], node->text ? node->text : "", err);
        if (rc < 0)
            return rc;
        any = any || o->weights[i] > 0;
    }
    if (!any)
        return leat_fail(err, LEAT_E_CONFIG, "class_weights are all 0: nothing would be learned");
    return LEAT_OK;
}

static int open_options(void *opts, const leat_shape *logits, leat_error *err)
{
    leat_softmax_options *o = opts;
    o->weights = NULL;
    return leat_node_is_null(o->class_weights) ? LEAT_OK : read_weights(o, logits->dims[0], err);
}

static void close_options(void *opts)
{
    leat_softmax_options *o = opts;
    free(o->weights);
    o->weights = NULL;
}

static int check(const void *opts, const leat_shape *logits, const leat_shape *target,
                 int32_t n_classes, leat_error *err)
{
    char text[160];
    (void)opts;
    if (logits->rank != 1)
        return leat_fail(err, LEAT_E_CONFIG,
                         "softmax_cross_entropy needs a vector of one value per class, the model "
                         "gives %s: end it with flatten and dense",
                         leat_nn_dims_text(logits, text, sizeof text));
    if (logits->dims[0] < n_classes)
        return leat_fail(
            err, LEAT_E_CONFIG,
            "the source has %d classes, the model's last layer gives %lld value%s: give "
            "it units: %d",
            n_classes, (long long)logits->dims[0], logits->dims[0] == 1 ? "" : "s", n_classes);
    const bool soft = target->dtype == LEAT_F32;
    if (soft && target->rank == 1 && target->dims[0] == logits->dims[0])
        return LEAT_OK;
    if (soft && leat_shape_elements(target) == 1)
        return leat_fail(err, LEAT_E_CONFIG,
                         "softmax_cross_entropy needs one whole number per sample as its target, "
                         "got %s: for classes write `type: int64` in the source `csv`, else add "
                         "`map: {tensor: label, ops: [cast: int64]}` to the pipeline; for numbers "
                         "take mean_squared_error",
                         leat_shape_text(target, text, sizeof text));
    if (soft)
        return leat_fail(err, LEAT_E_CONFIG,
                         "softmax_cross_entropy needs one weight per class as its target, %lld in "
                         "all, or a whole number, the class; got %s",
                         (long long)logits->dims[0], leat_shape_text(target, text, sizeof text));
    if (leat_shape_elements(target) != 1 || leat_dtype_is_float(target->dtype))
        return leat_fail(err, LEAT_E_CONFIG,
                         "softmax_cross_entropy needs one whole number per sample as its target, "
                         "or a float32 weight per class; got %s",
                         leat_shape_text(target, text, sizeof text));
    return LEAT_OK;
}

static const float *weights_of(const leat_view *target, int64_t row, int64_t n)
{
    return (const float *)target->data + row * n;
}

static int check_class(const leat_loss_rows *rows, int64_t row, int64_t n, leat_error *err)
{
    const int64_t label = leat_target_i64(rows->target, row);
    if (label >= 0 && label < n)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA,
                     "row %lld of the batch has label %lld, but the model has %lld class%s "
                     "(0 … %lld): give its last layer as many units as there are classes",
                     (long long)(rows->first_row + row), (long long)label, (long long)n,
                     n == 1 ? "" : "es", (long long)n - 1);
}

/* Weights are rounded, so their sum may differ a little from 1. */
static int check_weights(const leat_loss_rows *rows, int64_t row, int64_t n, leat_error *err)
{
    const float *const t = weights_of(rows->target, row, n);
    double sum = 0;
    bool negative = false;
    for (int64_t k = 0; k < n; k++) {
        sum += (double)t[k];
        negative |= !(t[k] >= 0);
    }
    if (!negative && fabs(sum - 1) <= 1e-3)
        return LEAT_OK;
    return leat_not_finite(
        err, !isfinite(sum),
        leat_fail(err, LEAT_E_DATA,
                  "row %lld of the batch has class weights that %s; softmax_cross_entropy needs "
                  "weights of 0 or more that sum to 1, or class numbers",
                  (long long)(rows->first_row + row),
                  negative ? "are not all 0 or more" : "do not sum to 1"));
}

static int64_t classes(const leat_shape *logits)
{
    return logits->dims[0];
}

static int check_targets(const void *opts, const leat_shape *logits, const leat_loss_rows *rows,
                         leat_error *err)
{
    const bool soft = rows->target->shape.dtype == LEAT_F32;
    int rc = LEAT_OK;
    (void)opts;
    for (int64_t i = 0; i < rows->rows && rc == LEAT_OK; i++)
        if (leat_loss_counts(rows, i))
            rc = (soft ? check_weights : check_class)(rows, i, logits->dims[0], err);
    return rc;
}

int64_t leat_loss_largest(const float *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* Sum of exp(x - top), in double. */
static double exp_sum(const float *x, int64_t n, float top)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)expf(x[i] - top);
    return sum;
}

/* The target's weight of class i, smoothed, times the class's factor. t: weights; NULL: class `label`. */
static float target_of(const leat_softmax_options *o, int64_t n, const float *t, int64_t label,
                       int64_t i)
{
    const float plain = t ? t[i] : i == label ? 1.0f : 0.0f;
    const float smooth = (1 - o->label_smoothing) * plain + o->label_smoothing / (float)n;
    return o->weights ? smooth * o->weights[i] : smooth;
}

/* One row; gives whether the prediction is right. With targets t the gradient is (sum of t) softmax - t. */
static bool eval_row(const leat_softmax_options *o, const float *x, int64_t n, const float *t,
                     int64_t label, float scale, float *grad, double *loss)
{
    const int64_t best = leat_loss_largest(x, n);
    const float top = x[best];
    const double sum = exp_sum(x, n, top), log_sum = log(sum);
    double all = 0;
    *loss = 0;
    for (int64_t i = 0; i < n; i++) {
        const float part = target_of(o, n, t, label, i);
        all += (double)part;
        if (part > 0) /* 0 · ∞ counts as 0 */
            *loss += (double)part * (log_sum - (double)(x[i] - top));
    }
    if (grad) {
        const float factor = (float)(all / sum);
        for (int64_t i = 0; i < n; i++)
            grad[i] = scale * (expf(x[i] - top) * factor - target_of(o, n, t, label, i));
    }
    return best == (t ? leat_loss_largest(t, n) : label);
}

/* The usual case, without options: one row whose target is a class. */
static bool eval_class(const float *x, int64_t n, int64_t label, float scale, float *grad,
                       double *loss)
{
    const int64_t best = leat_loss_largest(x, n);
    const float top = x[best];
    const double sum = exp_sum(x, n, top);
    *loss = log(sum) - (double)(x[label] - top);
    if (grad) {
        const float inverse = (float)(1 / sum);
        for (int64_t i = 0; i < n; i++)
            grad[i] = scale * (expf(x[i] - top) * inverse - (i == label ? 1.0f : 0.0f));
    }
    return best == label;
}

static void eval(const void *opts, const leat_loss_rows *in, double *loss_sum, double *right)
{
    const leat_softmax_options *o = opts;
    const bool soft = in->target->shape.dtype == LEAT_F32;
    const bool plain = !soft && o->label_smoothing == 0 && !o->weights;
    const int64_t n = in->n;
    for (int64_t i = 0; i < in->rows; i++) {
        const float *const x = in->logits + i * n, *t = soft ? weights_of(in->target, i, n) : NULL;
        float *const grad = in->grad ? in->grad + i * n : NULL;
        if (!leat_loss_counts(in, i)) {
            if (grad)
                memset(grad, 0, (size_t)n * sizeof *grad);
            continue;
        }
        const int64_t label = soft ? 0 : leat_target_i64(in->target, i);
        const float weight = leat_loss_weight(in, i), scale = weight / (float)in->batch_rows;
        double loss;
        *right += plain ? eval_class(x, n, label, scale, grad, &loss)
                        : eval_row(o, x, n, t, label, scale, grad, &loss);
        *loss_sum += (double)weight * loss;
    }
}

static void probabilities(const void *opts, float *x, int64_t n)
{
    const float top = x[leat_loss_largest(x, n)];
    const double sum = exp_sum(x, n, top);
    (void)opts;
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((double)expf(x[i] - top) / sum);
}

const leat_loss leat_loss_softmax_cross_entropy = {
    .kind = { "softmax_cross_entropy",
              "one class of several; the model ends with one value per class", options },
    .options_size = sizeof(leat_softmax_options),
    .accuracy = true,
    .check = check,
    .open = open_options,
    .close = close_options,
    .classes = classes,
    .check_targets = check_targets,
    .eval = eval,
    .probabilities = probabilities,
};
