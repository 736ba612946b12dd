/* SPDX-License-Identifier: MIT
 *
 * trainer_metrics.c: losses and hits of training, and evaluation.
 *
 * Loss and accuracy of an evaluation are sums that the backend keeps. Only for metrics over classes, and for views, the
 * outputs of every batch come to host memory. */
#include <math.h>
#include <stdlib.h>

#include "base/float_mode.h"
#include "classes/class_ask.h"
#include "classes/host_rows.h"

static leat_net_sums add(leat_net_sums a, leat_net_sums b)
{
    return (leat_net_sums){ a.samples + b.samples, a.loss + b.loss, a.right + b.right };
}

static leat_metrics means(const leat_trainer *trainer, leat_net_sums sums)
{
    const double n = (double)sums.samples;
    return (leat_metrics){
        .samples = sums.samples,
        .loss = sums.samples && !isnan(sums.loss) ? sums.loss / n : NAN, /* never -NaN */
        .accuracy = leat_model_accuracy(&trainer->model, sums.right, sums.samples),
        .precision = NAN,
        .recall = NAN,
        .f1 = NAN,
        .auc = NAN,
    };
}

static int take_sums(leat_trainer *trainer, leat_net_sums *out, leat_error *err)
{
    const int rc = leat_trainer_sync(trainer, err);
    return rc < 0 ? rc : trainer->backend->sums(trainer->net, true, out, err);
}

int leat_trainer_metrics_within(leat_trainer *trainer, leat_metrics *out, leat_error *err)
{
    if (!trainer || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_metrics: trainer and out must be given");
    leat_net_sums sums;
    const int rc = take_sums(trainer, &sums, err);
    if (rc < 0)
        return rc;
    trainer->carried = add(trainer->carried, sums);
    *out = means(trainer, trainer->carried);
    return LEAT_OK;
}

int leat_trainer_metrics(leat_trainer *trainer, leat_metrics *out, leat_error *err)
{
    const int rc = leat_trainer_metrics_within(trainer, out, err);
    if (rc == LEAT_OK)
        trainer->carried = (leat_net_sums){ 0 };
    return rc;
}

void leat_trainer_so_far(const leat_trainer *trainer, leat_metrics *out)
{
    if (!out)
        return;
    if (!trainer) {
        *out = (leat_metrics){
            .loss = NAN, .accuracy = NAN, .precision = NAN, .recall = NAN, .f1 = NAN, .auc = NAN
        };
        return;
    }
    leat_net_sums sums = { 0, NAN, NAN };
    if (!trainer->stream && trainer->backend->sums(trainer->net, false, &sums, NULL) == LEAT_OK)
        sums = add(trainer->carried, sums);
    *out = means(trainer, sums);
}

/* --- evaluation ---------------------------------------------------------------------------------- */

static int add_classes(leat_trainer *trainer, const leat_net_rows *rows, const float *outputs,
                       leat_error *err)
{
    leat_host_rows host;
    int rc = leat_trainer_sync(trainer, err);
    if (rc < 0)
        return rc;
    if ((rc = leat_host_rows_init(&host, trainer, rows, err)) == LEAT_OK) {
        const leat_loss_rows all = leat_host_rows_with(&host, trainer, outputs);
        rc = leat_model_check_rows(&trainer->model, &all, err);
        if (rc == LEAT_OK)
            rc = leat_class_metrics_add(trainer->classes, &all, err);
    }
    leat_host_rows_fini(&host);
    return rc;
}

/* Where the outputs of rows are needed: for metrics over classes, or the mean over views. */
static int evaluate_outputs(leat_trainer *trainer, const leat_net_rows *rows, float *out,
                            leat_error *err)
{
    const leat_net_step how = { .train = false, .logits = out };
    leat_step_times times = { 0 };
    const int rc =
        trainer->views == LEAT_VIEWS_NONE
            ? trainer->backend->step(trainer->net, trainer->stream, rows, &how, &times, err)
            : leat_views_evaluate(trainer, rows, out, &trainer->view_sums, err);
    return rc == LEAT_OK && trainer->classes ? add_classes(trainer, rows, out, err) : rc;
}

static int evaluate_rows(leat_trainer *trainer, const leat_net_rows *rows, leat_error *err)
{
    if (rows->n_valid == 0 || (trainer->views == LEAT_VIEWS_NONE && !trainer->classes))
        return leat_trainer_step_rows(trainer, rows, false, err);
    float *const out = malloc((size_t)(rows->rows * trainer->info.n_outputs) * sizeof *out);
    const int rc = out ? evaluate_outputs(trainer, rows, out, err)
                       : leat_fail(err, LEAT_E_NOMEM, "evaluation: no memory for outputs");
    free(out);
    return rc;
}

static int evaluate_batch(leat_trainer *trainer, leat_batch *batch, leat_error *err)
{
    leat_net_rows rows;
    int rc = LEAT_OK;
    leat_ranks_batch(trainer->model.ranks, leat_batch_get_info(batch), false);
    if (leat_batch_get_info(batch)->rows > 0 &&
        (rc = leat_trainer_rows_of(trainer, batch, &rows, err)) == LEAT_OK &&
        (rc = leat_batch_wait_on(batch, trainer->stream)) == LEAT_OK)
        rc = evaluate_rows(trainer, &rows, err);
    leat_trainer_give_back(trainer, batch);
    return rc;
}

/* The next batch; one that has the rows of one rank alone is refused, before ranks agree on the result. */
static int next_whole(leat_loader *loader, leat_batch **out, leat_error *err)
{
    const int rc = leat_loader_next(loader, out, err);
    if (rc < 0)
        return rc;
    const leat_batch_info *const info = leat_batch_get_info(*out);
    if (info->rows == info->global_rows)
        return LEAT_OK;
    leat_fail(err, LEAT_E_ARGUMENT,
              "an evaluation needs whole batches, and its loader gives %lld of %lld rows: write "
              "`engine: {}` in its part of the config, such as `eval`",
              (long long)info->rows, (long long)info->global_rows);
    leat_batch_release(*out);
    *out = NULL;
    return LEAT_E_ARGUMENT;
}

static int evaluate_all(leat_trainer *trainer, leat_loader *loader, int (*stop)(void *user),
                        void *user, leat_error *err)
{
    leat_ranks *const ranks = trainer->model.ranks;
    for (;;) {
        leat_batch *batch = NULL;
        int32_t stopped = stop && stop(user);
        int rc = leat_ranks_agree(ranks, LEAT_OK, &stopped, err);
        if (rc == LEAT_OK && stopped)
            return leat_fail(err, LEAT_E_CANCELED, "the evaluation was stopped");
        if (rc == LEAT_OK)
            rc = leat_ranks_agree(ranks, next_whole(loader, &batch, err), NULL, err);
        if (rc == LEAT_OK)
            rc = evaluate_batch(trainer, batch, err);
        else
            leat_batch_release(batch); /* another rank has none */
        if (rc < 0)
            return rc == LEAT_E_END ? LEAT_OK : rc;
    }
}

static int swap_average(leat_trainer *trainer, leat_error *err)
{
    return leat_average_swap(&trainer->average, trainer->backend, trainer->net, err);
}

int leat_trainer_evaluate(leat_trainer *trainer, leat_loader *loader, leat_metrics *out,
                          leat_error *err)
{
    return leat_trainer_evaluate_until(trainer, loader, NULL, NULL, out, err);
}

/* Opens or empties the counters of metrics per class, if any are asked for. A simulated device has no outputs. */
static int reset_class_metrics(leat_trainer *trainer, leat_error *err)
{
    trainer->evaluated = false;
    if (!trainer->asked || trainer->info.simulated)
        return LEAT_OK;
    if (!trainer->classes)
        return leat_class_ask_open(trainer, &trainer->classes, err);
    leat_class_metrics_reset(trainer->classes);
    return LEAT_OK;
}

/* Keeps the sums of training for the next leat_trainer_metrics(). */
static int begin_evaluation(leat_trainer *trainer, leat_error *err)
{
    leat_net_sums sums = { 0 };
    int rc = leat_pretrained_load(trainer, err);
    if (rc < 0 || (rc = take_sums(trainer, &sums, err)) < 0)
        return rc;
    trainer->carried = add(trainer->carried, sums);
    trainer->view_sums = (leat_net_sums){ 0 };
    rc = reset_class_metrics(trainer, err);
    return rc < 0 ? rc : swap_average(trainer, err);
}

/* Puts the weights of training back. */
static int end_evaluation(leat_trainer *trainer, leat_metrics *out, leat_error *err)
{
    leat_net_sums sums = { 0 };
    const int rc = take_sums(trainer, &sums, err);
    *out = means(trainer, trainer->views == LEAT_VIEWS_NONE ? sums : trainer->view_sums);
    if (trainer->classes)
        leat_class_metrics_means(trainer->classes, out);
    trainer->evaluated = trainer->classes != NULL;
    const int back = swap_average(trainer, rc == LEAT_OK ? err : NULL);
    return rc < 0 ? rc : back;
}

int leat_trainer_evaluate_until(leat_trainer *trainer, leat_loader *loader, int (*stop)(void *user),
                                void *user, leat_metrics *out, leat_error *err)
{
    if (!trainer || !loader || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_evaluate: trainer, loader and out must be given");
    LEAT_FLOAT_MODE;
    int rc = begin_evaluation(trainer, err);
    if (rc < 0)
        return rc;
    rc = evaluate_all(trainer, loader, stop, user, err);
    const int ended = end_evaluation(trainer, out, rc == LEAT_OK ? err : NULL);
    return rc < 0 ? rc : ended;
}
