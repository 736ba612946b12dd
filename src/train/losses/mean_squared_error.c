/* SPDX-License-Identifier: MIT
 *
 * mean_squared_error: (x - t)², mean over a sample's values, times the sample's weight. */
#include <math.h>

#include "base/not_finite.h"
#include "train/losses.h"

static int check(const void *opts, const leat_shape *logits, const leat_shape *target,
                 int32_t n_classes, leat_error *err)
{
    (void)opts;
    (void)n_classes;
    return leat_loss_check_values("mean_squared_error", logits, target, err);
}

static int check_targets(const void *opts, const leat_shape *logits, const leat_loss_rows *rows,
                         leat_error *err)
{
    const int64_t n = logits->dims[0];
    (void)opts;
    for (int64_t i = 0; i < rows->rows * n; i++)
        if (!isfinite(leat_target_f32(rows->target, i)) && leat_loss_counts(rows, i / n))
            return leat_not_finite(
                err, true,
                leat_fail(err, LEAT_E_DATA,
                          "row %lld of the batch has target %g; mean_squared_error needs "
                          "numbers",
                          (long long)(rows->first_row + i / n),
                          (double)leat_target_f32(rows->target, i)));
    return LEAT_OK;
}

static void eval(const void *opts, const leat_loss_rows *in, double *loss_sum, double *right)
{
    const double n = (double)in->n, scale = 2 / (n * (double)in->batch_rows);
    double sum = 0;
    (void)opts;
    (void)right;
    for (int64_t i = 0; i < in->rows * in->n; i++) {
        const bool counts = leat_loss_counts(in, i / in->n);
        const double d =
            counts ? (double)in->logits[i] - (double)leat_target_f32(in->target, i) : 0;
        const double weight = counts ? (double)leat_loss_weight(in, i / in->n) : 0;
        sum += weight * (d * d);
        if (in->grad)
            in->grad[i] = (float)(weight * (scale * d));
    }
    *loss_sum += sum / n;
}

const leat_loss leat_loss_mean_squared_error = {
    .kind = { "mean_squared_error", "numbers; the model ends with one value per target",
              leat_loss_no_options },
    .check = check,
    .check_targets = check_targets,
    .eval = eval,
};
