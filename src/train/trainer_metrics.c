/* SPDX-License-Identifier: MIT
 *
 * trainer_metrics.c: losses and hits of training, and evaluation. */
#include <math.h>

#include "trainer.h"

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
        .accuracy = sums.samples && trainer->model.loss->accuracy ? sums.right / n : NAN,
    };
}

static int take_sums(leat_trainer *trainer, leat_net_sums *out, leat_error *err)
{
    const int rc = leat_trainer_sync(trainer, err);
    return rc < 0 ? rc : trainer->backend->sums(trainer->net, true, out, err);
}

int leat_trainer_metrics(leat_trainer *trainer, leat_metrics *out, leat_error *err)
{
    if (!trainer || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_metrics: trainer and out must be given");
    leat_net_sums sums;
    const int rc = take_sums(trainer, &sums, err);
    if (rc < 0)
        return rc;
    *out = means(trainer, add(trainer->carried, sums));
    trainer->carried = (leat_net_sums){ 0 };
    return LEAT_OK;
}

void leat_trainer_so_far(const leat_trainer *trainer, leat_metrics *out)
{
    if (!out)
        return;
    *out = (leat_metrics){ .loss = NAN, .accuracy = NAN };
    if (!trainer)
        return;
    leat_net_sums sums = { 0, NAN, NAN };
    if (!trainer->stream && trainer->backend->sums(trainer->net, false, &sums, NULL) == LEAT_OK)
        sums = add(trainer->carried, sums);
    *out = means(trainer, sums);
}

static int evaluate_rows(leat_trainer *trainer, const leat_net_rows *rows, leat_error *err)
{
    if (trainer->views == LEAT_VIEWS_NONE || rows->n_valid == 0)
        return leat_trainer_step_rows(trainer, rows, false, err);
    return leat_views_evaluate(&trainer->model, trainer->backend, trainer->net, trainer->views,
                               rows, &trainer->view_sums, err);
}

static int evaluate_batch(leat_trainer *trainer, leat_batch *batch, leat_error *err)
{
    leat_net_rows rows;
    int rc = trainer->stream ? leat_batch_wait_on(batch, trainer->stream) : LEAT_OK;
    if (rc == LEAT_OK && leat_batch_get_info(batch)->rows > 0 &&
        (rc = leat_trainer_rows_of(trainer, batch, &rows, err)) == LEAT_OK)
        rc = evaluate_rows(trainer, &rows, err);
    leat_trainer_give_back(trainer, batch);
    return rc;
}

static int evaluate_all(leat_trainer *trainer, leat_loader *loader, int (*stop)(void *user),
                        void *user, leat_error *err)
{
    leat_batch *batch;
    for (;;) {
        if (stop && stop(user))
            return leat_fail(err, LEAT_E_CANCELED, "the evaluation was stopped");
        int rc = leat_loader_next(loader, &batch, err);
        if (rc == LEAT_OK)
            rc = evaluate_batch(trainer, batch, err);
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

/* Keeps the sums of training for the next leat_trainer_metrics(). */
int leat_trainer_evaluate_until(leat_trainer *trainer, leat_loader *loader, int (*stop)(void *user),
                                void *user, leat_metrics *out, leat_error *err)
{
    if (!trainer || !loader || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_evaluate: trainer, loader and out must be given");
    leat_net_sums sums = { 0 };
    int rc = leat_pretrained_load(trainer, err);
    if (rc < 0 || (rc = take_sums(trainer, &sums, err)) < 0)
        return rc;
    trainer->carried = add(trainer->carried, sums);
    if ((rc = swap_average(trainer, err)) < 0)
        return rc;
    trainer->view_sums = (leat_net_sums){ 0 };
    rc = evaluate_all(trainer, loader, stop, user, err);
    int after = take_sums(trainer, &sums, rc == LEAT_OK ? err : NULL);
    if (trainer->views != LEAT_VIEWS_NONE)
        sums = trainer->view_sums;
    *out = means(trainer, sums);
    const int back = swap_average(trainer, rc == LEAT_OK && after == LEAT_OK ? err : NULL);
    after = after < 0 ? after : back;
    return rc < 0 ? rc : after;
}
