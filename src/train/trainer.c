/* SPDX-License-Identifier: MIT
 *
 * trainer.c: the steps of a trainer and their times.
 *
 * DESIGN: on a device with memory of its own a step is only enqueued: wait for the batch's copy,
 * start event, kernels, end event, give the batch back in stream order. The host runs ahead by as
 * many batches as the loader hands out, at most LEAT_TRAINER_IN_FLIGHT, and reads the events when
 * needed: when that ring is full, when times or metrics are requested, every sync_every steps.
 *
 *   compute stream:  wait(copy) · start · kernels · end · batch given back
 *   watch stream:    wait(copy) · copied
 *
 * The copy's times are in the batch's info if it is done when the step is enqueued. Otherwise the
 * event on the watch stream, which does nothing but wait for copies, tells when it ended. The batch is never
 * read after its release. */
#include "trainer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/float_mode.h"
#include "base/text.h"

static const leat_device_table *table_of(const leat_trainer *trainer)
{
    return trainer->device->table;
}

/* --- times ----------------------------------------------------------------------------------- */

/* Keeps the times of step n_done and counts it as done. */
static void keep(leat_trainer *trainer, const leat_step_times *times)
{
    trainer->times[trainer->n_done % LEAT_TRAINER_TIMES_KEPT] = *times;
    trainer->n_done++;
    if (trainer->n_done - trainer->n_given > LEAT_TRAINER_TIMES_KEPT)
        trainer->n_given = trainer->n_done - LEAT_TRAINER_TIMES_KEPT;
}

/* For a copy that ended after the host had checked: counts it from the end of the copy before it, but not from
 * before it was sent. */
static void complete_copy(const leat_trainer *trainer, leat_trainer_flight *flight)
{
    leat_step_times *t = &flight->times;
    if (t->copy_end_ns >= 0)
        return;
    const leat_step_times *before =
        trainer->n_done ? &trainer->times[(trainer->n_done - 1) % LEAT_TRAINER_TIMES_KEPT] : NULL;
    table_of(trainer)->event_sync(flight->copied); /* of another stream than the step's end */
    t->copy_end_ns = table_of(trainer)->event_ns(flight->copied);
    t->copy_start_ns =
        before && before->copy_end_ns > flight->sent_ns ? before->copy_end_ns : flight->sent_ns;
    if (t->copy_start_ns > t->copy_end_ns)
        t->copy_start_ns = t->copy_end_ns;
}

/* Waits for the oldest step in flight and stores its times. */
static int harvest(leat_trainer *trainer, leat_error *err)
{
    leat_trainer_flight *flight = &trainer->flights[trainer->n_done % LEAT_TRAINER_IN_FLIGHT];
    leat_step_times *t = &flight->times;
    const int rc = table_of(trainer)->event_sync(flight->end);
    if (rc < 0)
        return leat_fail(err, rc, "%s: a step failed: %s", trainer->info.device,
                         leat_code_text(rc));
    t->compute_start_ns = table_of(trainer)->event_ns(flight->start);
    t->compute_end_ns = table_of(trainer)->event_ns(flight->end);
    const int64_t span = t->compute_end_ns - t->compute_start_ns;
    if ((t->busy_ns <= 0 && t->elsewhere_ns == 0) || t->busy_ns > span)
        t->busy_ns = span;
    complete_copy(trainer, flight);
    keep(trainer, t);
    return LEAT_OK;
}

int leat_trainer_sync(leat_trainer *trainer, leat_error *err)
{
    int rc = LEAT_OK;
    while (trainer->n_done < trainer->n_begun && rc == LEAT_OK)
        rc = harvest(trainer, err);
    if (rc == LEAT_OK && trainer->stream)
        rc = table_of(trainer)->stream_sync(trainer->stream, err);
    return rc;
}

size_t leat_trainer_times(leat_trainer *trainer, leat_step_times *out, size_t n)
{
    if (!trainer || (!out && n))
        return 0;
    size_t written = 0;
    (void)leat_trainer_sync(trainer, NULL);
    for (; written < n && trainer->n_given < trainer->n_done; written++)
        out[written] = trainer->times[trainer->n_given++ % LEAT_TRAINER_TIMES_KEPT];
    return written;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Dims but the first, and the type. */
static bool fits(const leat_view *view, const leat_shape *sample)
{
    if (view->shape.dtype != sample->dtype || view->shape.rank != sample->rank + 1)
        return false;
    for (int32_t i = 0; i < sample->rank; i++)
        if (view->shape.dims[i + 1] != sample->dims[i])
            return false;
    return true;
}

static int check_rows(const leat_trainer *trainer, const leat_net_rows *rows, leat_error *err)
{
    const leat_model *model = &trainer->model;
    const bool x_fits = fits(&rows->x, &model->input);
    char got[160], wanted[160];
    if (rows->rows == 0 && rows->all_rows > 0)
        return LEAT_OK; /* a rank without rows in a short batch */
    if (rows->rows < 1)
        return leat_fail(err, LEAT_E_ARGUMENT, "a step over %lld rows", (long long)rows->rows);
    if (model->weighted != (rows->weights.data && rows->weights.shape.dtype == LEAT_F32 &&
                            leat_shape_elements(&rows->weights.shape) == rows->rows))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "train.sample_weight: the batch has not one float32 per row");
    if (x_fits && fits(&rows->y, &model->target))
        return LEAT_OK;
    return leat_fail(
        err, LEAT_E_ARGUMENT, "the batch's %s is %s, the trainer was opened for samples of %s",
        x_fits ? "target" : "input",
        leat_shape_text(x_fits ? &rows->y.shape : &rows->x.shape, got, sizeof got),
        leat_shape_text(x_fits ? &model->target : &model->input, wanted, sizeof wanted));
}

/* A step in training: memory of a device is for the rows of a batch of the trainer's plan, and rates, masks of dropout
 * and micro-batches count on no more. */
static int check_count(const leat_trainer *trainer, const leat_net_rows *rows, leat_error *err)
{
    const int64_t n = rows->all_rows > rows->rows ? rows->all_rows : rows->rows;
    const int64_t most = trainer->model.batch_size;
    return n <= most ? LEAT_OK
                     : leat_fail(err, LEAT_E_ARGUMENT,
                                 "the batch has %lld rows, the trainer was opened for batches of "
                                 "%lld: open it with the plan of this batch",
                                 (long long)n, (long long)most);
}

static int check_trains(const leat_trainer *trainer, leat_error *err)
{
    return trainer->model.evaluates ? leat_fail(err, LEAT_E_ARGUMENT,
                                                "the trainer was opened for evaluation "
                                                "(leat_trainer_open_evaluation())")
                                    : LEAT_OK;
}

/* What the next training step does. */
static leat_net_step next_step(const leat_trainer *trainer)
{
    const leat_model *model = &trainer->model;
    const int64_t at = trainer->n_accumulated % model->accumulate;
    return (leat_net_step){ .train = true,
                            .first = at == 0,
                            .last = at + 1 == model->accumulate,
                            .rows_before = at * model->batch_size,
                            .share = 1.0f / (float)model->accumulate,
                            .clip = trainer->clip,
                            .rate = trainer->still ? 0 : leat_trainer_learning_rate(trainer) };
}

/* After a training batch; updated: the weights changed. The last batch ends the run, updates or not. */
static int average_weights(leat_trainer *trainer, bool updated, leat_error *err)
{
    const leat_average *const average = &trainer->average;
    const int64_t n = trainer->n_accumulated, every = trainer->model.accumulate;
    const bool ended = average->batches > 0 && n + trainer->n_skipped == average->batches;
    const int rc = updated
                       ? leat_average_after(average, n / every, trainer->backend, trainer->net, err)
                       : LEAT_OK;
    return rc == LEAT_OK && ended ? leat_average_end(average, trainer->backend, trainer->net, err)
                                  : rc;
}

/* Runs a step over checked rows. If all are masked, the optimiser makes no step. */
static int run_step(leat_trainer *trainer, const leat_net_rows *given, bool train,
                    leat_step_times *times, leat_error *err)
{
    LEAT_FLOAT_MODE;
    const leat_net_step how = train ? next_step(trainer) : (leat_net_step){ .train = false };
    leat_net_rows here = *given;
    const leat_net_rows *const rows = &here;
    int rc = train ? check_count(trainer, rows, err) : LEAT_OK;
    if (rc < 0)
        return rc;
    if (trainer->model.ranks && train &&
        (rc = leat_ranks_rows(&trainer->model, &here, trainer->micro_valid, err)) < 0)
        return rc;
    trainer->n_skipped += train && rows->n_valid == 0;
    if (rows->n_valid == 0)
        return train ? average_weights(trainer, false, err) : LEAT_OK;
    if ((rc = leat_pretrained_load(trainer, err)) < 0)
        return rc;
    if (train && trainer->whiten && (rc = leat_trainer_whiten_rows(trainer, rows, err)) < 0)
        return rc;
    if (train &&
        (rc = leat_average_before(&trainer->average, trainer->backend, trainer->net, err)) < 0)
        return rc;
    rc = trainer->backend->step(trainer->net, trainer->stream, rows, &how, times, err);
    trainer->n_accumulated += rc == LEAT_OK && train;
    return rc == LEAT_OK && train ? average_weights(trainer, how.last, err) : rc;
}

int leat_trainer_step_rows(leat_trainer *trainer, const leat_net_rows *rows, bool train,
                           leat_error *err)
{
    leat_step_times times = { 0 };
    int rc = train ? check_trains(trainer, err) : LEAT_OK;
    if (rc == LEAT_OK)
        rc = leat_ranks_agree(trainer->model.ranks, check_rows(trainer, rows, err), NULL, err);
    return rc < 0 ? rc : run_step(trainer, rows, train, &times, err);
}

int leat_trainer_step_views(leat_trainer *trainer, const leat_view *x, const leat_view *y,
                            int64_t rows, bool train, leat_error *err)
{
    const leat_net_rows all = { .x = *x, .y = *y, .rows = rows, .n_valid = rows };
    return leat_trainer_step_rows(trainer, &all, train, err);
}

/* Whether the trainer can read a batch where it is. A simulated device reads none. */
static bool reaches(const leat_trainer *trainer, leat_batch *batch)
{
    const leat_device *const on = leat_batch_get_info(batch)->device;
    return on ? !strcmp(on->info.name, trainer->info.device)
              : trainer->device->table->host_memory || trainer->info.simulated;
}

int leat_trainer_rows_of(const leat_trainer *trainer, leat_batch *batch, leat_net_rows *out,
                         leat_error *err)
{
    const leat_batch_info *const info = leat_batch_get_info(batch);
    if (!reaches(trainer, batch))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "the batch is in memory of %s, and the trainer is on %s: open the loader "
                         "for the trainer's device",
                         info->device ? info->device->info.name : "the host", trainer->info.device);
    *out = (leat_net_rows){ .x = leat_batch_tensor(batch, trainer->input_at),
                            .y = leat_batch_tensor(batch, trainer->target_at),
                            .valid = leat_batch_valid(batch),
                            .rows = info->rows,
                            .n_valid = info->rows - info->n_masked };
    if (trainer->model.ranks) {
        out->all_rows = info->global_rows;
        out->first_row = info->first_row;
    }
    if (trainer->model.weighted)
        out->weights = leat_batch_tensor(batch, trainer->weight_at);
    return check_rows(trainer, out, err);
}

/* again: not the first step on this batch, which is copied once. */
static leat_step_times times_of(const leat_trainer *trainer, const leat_batch_info *info,
                                bool again)
{
    return (leat_step_times){
        .asked_ns = info->asked_ns,
        .ready_ns = info->ready_ns,
        .copy_start_ns = info->copy_start_ns,
        .copy_end_ns = info->copy_end_ns,
        .rows = trainer->model.ranks ? info->global_rows : info->rows,
        .copied_bytes = again ? 0 : info->copied_bytes,
    };
}

/* Runs a step in host memory: done on return. */
static int step_here(leat_trainer *trainer, leat_batch *batch, const leat_net_rows *rows,
                     bool again, leat_error *err)
{
    leat_step_times t = times_of(trainer, leat_batch_get_info(batch), again);
    t.compute_start_ns = leat_clock_ns();
    const int rc = run_step(trainer, rows, true, &t, err);
    t.compute_end_ns = leat_clock_ns();
    if (t.busy_ns <= 0 && t.elsewhere_ns == 0) /* else all layers are on other devices */
        t.busy_ns = t.compute_end_ns - t.compute_start_ns;
    if (rc == LEAT_OK) {
        trainer->n_begun++;
        keep(trainer, &t);
    }
    return rc;
}

/* The end of a copy in progress is -1 until harvest. If the event is done at once although the info has no
 * times, there is no copy: the batch is in host memory. */
static int watch_copy(leat_trainer *trainer, leat_batch *batch, leat_trainer_flight *flight)
{
    leat_step_times *t = &flight->times;
    if (t->copy_end_ns)
        return LEAT_OK;
    int rc = leat_batch_wait_on(batch, trainer->watch);
    if (rc == LEAT_OK)
        rc = table_of(trainer)->event_record(flight->copied, trainer->watch);
    if (rc < 0)
        return rc;
    t->copy_end_ns = -1;
    flight->sent_ns = leat_batch_get_info(batch)->sent_ns;
    if (table_of(trainer)->event_query(flight->copied) == LEAT_OK) {
        const leat_batch_info *info = leat_batch_get_info(batch);
        t->copy_start_ns = info->copy_start_ns;
        t->copy_end_ns = info->copy_end_ns;
    }
    return LEAT_OK;
}

static int enqueue(leat_trainer *trainer, leat_batch *batch, const leat_net_rows *rows,
                   leat_trainer_flight *flight, leat_error *err)
{
    const leat_device_table *t = table_of(trainer);
    const int64_t from_ns = leat_clock_ns();
    int rc = watch_copy(trainer, batch, flight);
    if (rc == LEAT_OK)
        rc = leat_batch_wait_on(batch, trainer->stream);
    if (rc == LEAT_OK)
        rc = t->event_record(flight->start, trainer->stream);
    if (rc < 0)
        return leat_fail(err, rc, "%s: cannot enqueue a step", trainer->info.device);
    rc = run_step(trainer, rows, true, &flight->times, err);
    if (rc == LEAT_OK && (rc = t->event_record(flight->end, trainer->stream)) < 0)
        return leat_fail(err, rc, "%s: cannot enqueue a step", trainer->info.device);
    if (!trainer->info.simulated && flight->times.launch_ns == 0)
        flight->times.launch_ns = leat_clock_ns() - from_ns;
    return rc;
}

static int step_there(leat_trainer *trainer, leat_batch *batch, const leat_net_rows *rows,
                      bool again, leat_error *err)
{
    int rc = LEAT_OK;
    if (trainer->n_begun - trainer->n_done == LEAT_TRAINER_IN_FLIGHT)
        rc = harvest(trainer, err);
    leat_trainer_flight *flight = &trainer->flights[trainer->n_begun % LEAT_TRAINER_IN_FLIGHT];
    flight->times = times_of(trainer, leat_batch_get_info(batch), again);
    if (rc == LEAT_OK)
        rc = enqueue(trainer, batch, rows, flight, err);
    trainer->n_begun += rc == LEAT_OK;
    return rc;
}

static int sync_if_due(leat_trainer *trainer, leat_error *err)
{
    const uint64_t every = (uint64_t)trainer->sync_every;
    return trainer->stream && every && trainer->n_begun % every == 0
               ? leat_trainer_sync(trainer, err)
               : LEAT_OK;
}

void leat_trainer_give_back(leat_trainer *trainer, leat_batch *batch)
{
    if (trainer->stream && reaches(trainer, batch))
        leat_batch_release_on(batch, trainer->stream);
    else
        leat_batch_release(batch);
}

/* Before the first step of all ranks: whether their weights are the same, whatever files they come from. */
static int compare_weights(leat_trainer *trainer, int rc, leat_error *err)
{
    const leat_model *const model = &trainer->model;
    uint64_t digest = 0;
    char text[64];
    for (int32_t i = 0; i < model->n_layers && trainer->backend->values; i++)
        for (int32_t k = 0; k < model->layers[i].n_params; k++) {
            const float *const values =
                trainer->backend->values(trainer->net, i, k, LEAT_VALUES_WEIGHT);
            const size_t bytes = (size_t)leat_shape_bytes(&model->layers[i].params[k].shape);
            digest = values ? leat_digest_chain(digest, leat_digest_row(values, bytes, 0)) : digest;
        }
    leat_text(text, sizeof text, "weights %016llx", (unsigned long long)digest);
    trainer->compared = true;
    return leat_ranks_same(model->ranks, rc, text, err);
}

/* The batch is released after the last step is enqueued, and before anything waits for that step. */
static int steps_on(leat_trainer *trainer, leat_batch *batch, int64_t n, leat_error *err)
{
    leat_net_rows rows;
    int rc = leat_trainer_rows_of(trainer, batch, &rows, err);
    leat_ranks_batch(trainer->model.ranks, leat_batch_get_info(batch), trainer->compared);
    rc = trainer->model.ranks && !trainer->compared
             ? compare_weights(trainer, rc, err)
             : leat_ranks_agree(trainer->model.ranks, rc, NULL, err);
    for (int64_t i = 0; i < n && rc == LEAT_OK; i++) {
        if (i)
            rc = sync_if_due(trainer, err);
        if (rc == LEAT_OK)
            rc = (trainer->stream ? step_there : step_here)(trainer, batch, &rows, i > 0, err);
    }
    leat_trainer_give_back(trainer, batch); /* also after a failure: the trainer owns it */
    return rc == LEAT_OK ? sync_if_due(trainer, err) : rc;
}

static int make_steps(leat_trainer *trainer, leat_batch *batch, int64_t n, bool still,
                      leat_error *err)
{
    if (!trainer || !batch)
        return leat_fail(err, LEAT_E_ARGUMENT, "a step needs a trainer and a batch");
    const int allowed = check_trains(trainer, err);
    if (allowed < 0) {
        leat_batch_release(batch);
        return allowed;
    }
    const leat_batch_info *const info = leat_batch_get_info(batch);
    if (n < 0) {
        leat_batch_release(batch);
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_trainer_repeat: n is 0 or more, got %lld",
                         (long long)n);
    }
    if ((trainer->model.ranks ? info->global_rows : info->rows) < 1 || n < 1) {
        leat_batch_release(batch); /* a rank without rows in a short batch: no step */
        return LEAT_OK;
    }
    trainer->still = still;
    const int rc = steps_on(trainer, batch, n, err);
    trainer->still = false;
    return rc;
}

int leat_trainer_step(leat_trainer *trainer, leat_batch *batch, leat_error *err)
{
    return make_steps(trainer, batch, 1, false, err);
}

int leat_trainer_repeat(leat_trainer *trainer, leat_batch *batch, int64_t n, leat_error *err)
{
    return make_steps(trainer, batch, n, true, err);
}

int leat_trainer_start_at(leat_trainer *trainer, int64_t batch, leat_error *err)
{
    if (!trainer || batch < 0 || trainer->n_accumulated)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_start_at: a trainer without steps, and batch of 0 or more");
    trainer->n_skipped = batch % trainer->model.accumulate; /* of a sum that is not taken up */
    trainer->n_accumulated = batch - trainer->n_skipped;
    return LEAT_OK;
}
