/* SPDX-License-Identifier: MIT
 *
 * softmax_cross_entropy: -log softmax(logits)[label], labels are class numbers from 0. */
#include <math.h>

#include "losses.h"
#include "nn_text.h"

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
        return leat_fail(err, LEAT_E_CONFIG,
                         "the source has %d classes, the model's last layer gives %lld values",
                         n_classes, (long long)logits->dims[0]);
    if (leat_shape_elements(target) != 1 || target->dtype == LEAT_F32)
        return leat_fail(err, LEAT_E_CONFIG,
                         "softmax_cross_entropy needs one whole number per sample as its target, "
                         "got %s",
                         leat_shape_text(target, text, sizeof text));
    return LEAT_OK;
}

static int check_targets(const void *opts, const leat_shape *logits, const leat_view *target,
                         int64_t rows, leat_error *err)
{
    const int64_t n = logits->dims[0];
    (void)opts;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t label = leat_target_i64(target, i);
        if (label < 0 || label >= n)
            return leat_fail(err, LEAT_E_DATA,
                             "row %lld of the batch has label %lld, but the model has %lld "
                             "classes (0 … %lld)",
                             (long long)i, (long long)label, (long long)n, (long long)n - 1);
    }
    return LEAT_OK;
}

/* One row: log of the sum of exponentials in double; gives whether the label has the largest. */
static bool eval_row(const float *x, int64_t n, int64_t label, float scale, float *grad,
                     double *loss_sum)
{
    double sum = 0;
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    const float top = x[best];
    for (int64_t i = 0; i < n; i++)
        sum += (double)expf(x[i] - top);
    *loss_sum += log(sum) - (double)(x[label] - top);
    if (grad) {
        const float inverse = (float)(1 / sum);
        for (int64_t i = 0; i < n; i++)
            grad[i] = scale * (expf(x[i] - top) * inverse - (i == label ? 1.0f : 0.0f));
    }
    return best == label;
}

static void eval(const void *opts, const float *logits, int64_t n, const leat_view *target,
                 int64_t rows, int64_t batch_rows, float *grad, double *loss_sum, double *right)
{
    const float scale = 1.0f / (float)batch_rows;
    (void)opts;
    for (int64_t i = 0; i < rows; i++)
        *right += eval_row(logits + i * n, n, leat_target_i64(target, i), scale,
                           grad ? grad + i * n : NULL, loss_sum);
}

const leat_loss leat_loss_softmax_cross_entropy = {
    .kind = { "softmax_cross_entropy",
              "one class of several; the model ends with one value per class",
              leat_layer_no_options },
    .accuracy = true,
    .check = check,
    .check_targets = check_targets,
    .eval = eval,
};
