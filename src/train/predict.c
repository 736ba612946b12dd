/* SPDX-License-Identifier: MIT
 *
 * predict.c: a trained model's outputs for batches. */
#include <math.h>

#include "base/float_mode.h"
#include "base/not_finite.h"
#include "trainer.h"

/* The loss of these rows does not count for training. */
static int forward(leat_trainer *trainer, const leat_net_rows *rows, float *out, leat_error *err)
{
    const leat_net_step how = { .train = false, .logits = out };
    leat_net_sums sums;
    leat_step_times times = { 0 };
    int rc = trainer->backend->sums(trainer->net, true, &sums, err);
    if (rc < 0)
        return rc;
    trainer->carried.samples += sums.samples;
    trainer->carried.loss += sums.loss;
    trainer->carried.right += sums.right;
    rc = trainer->views != LEAT_VIEWS_NONE
             ? leat_views_outputs(trainer, rows, out, err)
             : trainer->backend->step(trainer->net, trainer->stream, rows, &how, &times, err);
    if (rc == LEAT_OK)
        rc = leat_trainer_sync(trainer, err);
    const int dropped = trainer->backend->sums(trainer->net, true, &sums, rc < 0 ? NULL : err);
    return rc < 0 ? rc : dropped;
}

static int check_outputs(const leat_trainer *trainer, const leat_net_rows *rows, const float *out,
                         leat_error *err)
{
    const int64_t n = trainer->info.n_outputs;
    for (int64_t i = 0; i < rows->rows * n; i++)
        if (!isfinite(out[i]))
            return leat_not_finite(
                err, true,
                leat_fail(err, LEAT_E_DATA,
                          "the model's output for row %lld is not a finite number",
                          (long long)(i / n)));
    return LEAT_OK;
}

int leat_trainer_predict(leat_trainer *trainer, leat_batch *batch, float *out, leat_error *err)
{
    if (!trainer || !batch || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_predict: trainer, batch and out must be given");
    if (trainer->info.simulated)
        return leat_fail(err, LEAT_E_UNSUPPORTED,
                         "%s is simulated and computes nothing, so there are no predictions",
                         trainer->info.simulated_by);
    LEAT_FLOAT_MODE;
    leat_net_rows rows;
    int rc = leat_trainer_rows_of(trainer, batch, &rows, err);
    if (rc < 0 || (rc = leat_trainer_sync(trainer, err)) < 0 ||
        (rc = leat_pretrained_load(trainer, err)) < 0)
        return rc;
    rows.n_valid = rows.n_valid > 0 ? rows.n_valid : 1; /* outputs of masked rows, too */
    if (trainer->stream && (rc = leat_batch_wait_on(batch, trainer->stream)) < 0)
        return leat_fail(err, rc, "%s: cannot wait for a batch", trainer->info.device);
    if ((rc = leat_average_swap(&trainer->average, trainer->backend, trainer->net, err)) < 0)
        return rc;
    if ((rc = forward(trainer, &rows, out, err)) == LEAT_OK)
        rc = check_outputs(trainer, &rows, out, err);
    const int back = leat_average_swap(&trainer->average, trainer->backend, trainer->net,
                                       rc == LEAT_OK ? err : NULL);
    return rc < 0 ? rc : back;
}

int32_t leat_trainer_probabilities(const leat_trainer *trainer, float *outputs, int64_t rows)
{
    if (!trainer || !outputs || !trainer->model.loss->probabilities)
        return 0;
    const int64_t n = trainer->info.n_outputs;
    for (int64_t i = 0; i < rows; i++)
        trainer->model.loss->probabilities(trainer->model.loss_options, outputs + i * n, n);
    return 1;
}
