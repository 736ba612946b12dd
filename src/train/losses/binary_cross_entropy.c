/* SPDX-License-Identifier: MIT
 *
 * binary_cross_entropy: -t log p - (1 - t) log(1 - p), mean over a sample's values, t in [0, 1].
 * p = sigmoid(logit), or the model's output itself where its last layer is a sigmoid. A value is
 * right when p and t lie on the same side of 1/2. With label_smoothing e, t becomes (1 - e) t + e / 2; with
 * positive_weight c, the loss is -c t log p - (1 - t) log(1 - p). A sample's weight multiplies all that. */
#include <math.h>

#include "base/not_finite.h"
#include "train/losses.h"

static const leat_option options[] = {
    LEAT_GPU_OPTION(leat_binary_options, with_logits, BOOL, "true", 0, 1,
                    "true: the model ends without sigmoid; false: with one, whose results are kept "
                    "1e-7 away from 0 and 1"),
    LEAT_GPU_OPTION(leat_binary_options, label_smoothing, F32, "0", 0, 1,
                    "share of the target that is moved to 1/2"),
    LEAT_GPU_OPTION(leat_binary_options, positive_weight, F32, "1", 0, 1e9,
                    "factor of the loss of positive targets"),
    LEAT_OPTION_END
};

static int check(const void *opts, const leat_shape *logits, const leat_shape *target,
                 int32_t n_classes, leat_error *err)
{
    (void)opts;
    const int rc = leat_loss_check_values("binary_cross_entropy", logits, target, err);
    if (rc < 0)
        return rc;
    if (n_classes > 2 && logits->dims[0] == 1)
        return leat_fail(err, LEAT_E_CONFIG,
                         "binary_cross_entropy with one value has 2 classes, the source has %d: "
                         "use softmax_cross_entropy",
                         n_classes);
    return LEAT_OK;
}

static int64_t classes(const leat_shape *logits)
{
    (void)logits;
    return 2;
}

static int check_targets(const void *opts, const leat_shape *logits, const leat_loss_rows *rows,
                         leat_error *err)
{
    const int64_t n = logits->dims[0];
    (void)opts;
    for (int64_t i = 0; i < rows->rows * n; i++) {
        const float t = leat_target_f32(rows->target, i);
        if (!(t >= 0 && t <= 1) && leat_loss_counts(rows, i / n))
            return leat_not_finite(
                err, !isfinite(t),
                leat_fail(err, LEAT_E_DATA,
                          "row %lld of the batch has target %g, but binary_cross_entropy needs "
                          "targets from 0 to 1 (2 classes)",
                          (long long)(rows->first_row + i / n), (double)t));
    }
    return LEAT_OK;
}

/* Loss of a value: -positive log p - negative log(1 - p), and its slope. From the logit x, log p is
 * min(x, 0) - log(1 + exp(-|x|)) and log(1 - p) is log p - x, which neither overflow nor lose digits. */
static double from_logit(double x, double positive, double negative, double *slope)
{
    const double e = exp(-fabs(x)), p = x >= 0 ? 1 / (1 + e) : e / (1 + e);
    const double log_p = (x < 0 ? x : 0) - log1p(e);
    *slope = negative * p - positive * (x >= 0 ? e / (1 + e) : 1 / (1 + e));
    return negative * (x - log_p) - positive * log_p;
}

/* From the probability, kept 1e-7 away from 0 and 1, the resolution of float32 there. */
static double from_probability(double p, double positive, double negative, double *slope)
{
    const double q = p < 1e-7 ? 1e-7 : p > 1 - 1e-7 ? 1 - 1e-7 : p;
    *slope = negative / (1 - q) - positive / q;
    return -positive * log(q) - negative * log(1 - q);
}

static void eval(const void *opts, const leat_loss_rows *in, double *loss_sum, double *right)
{
    const leat_binary_options *o = opts;
    const double middle = o->with_logits ? 0 : 0.5, n = (double)in->n;
    const double smooth = (double)o->label_smoothing, weight = (double)o->positive_weight;
    double sum = 0, hits = 0;
    for (int64_t i = 0; i < in->rows * in->n; i++) {
        const double x = (double)in->logits[i], t = (double)leat_target_f32(in->target, i);
        const double positive = (1 - smooth) * t + smooth / 2, negative = 1 - positive;
        const bool counts = leat_loss_counts(in, i / in->n);
        const double sample = (double)leat_loss_weight(in, i / in->n);
        double slope = 0;
        if (counts) {
            sum += sample * (o->with_logits
                                 ? from_logit(x, weight * positive, negative, &slope)
                                 : from_probability(x, weight * positive, negative, &slope));
            hits += (x > middle) == (t > 0.5);
        }
        if (in->grad)
            in->grad[i] = counts ? (float)(sample * slope / ((double)in->batch_rows * n)) : 0;
    }
    *loss_sum += sum / n;
    *right += hits / n;
}

/* A model that ends with sigmoid gives probabilities already. */
static void probabilities(const void *opts, float *x, int64_t n)
{
    const leat_binary_options *o = opts;
    for (int64_t i = 0; o->with_logits && i < n; i++)
        x[i] = 1 / (1 + expf(-x[i]));
}

const leat_loss leat_loss_binary_cross_entropy = {
    .kind = { "binary_cross_entropy",
              "yes or no, per value; the model ends with one value per target", options },
    .options_size = sizeof(leat_binary_options),
    .accuracy = true,
    .check = check,
    .classes = classes,
    .check_targets = check_targets,
    .eval = eval,
    .probabilities = probabilities,
};
