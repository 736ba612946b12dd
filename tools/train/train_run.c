/* SPDX-License-Identifier: MIT
 *
 * train_run.c: runs the steps of `leat train` and the evaluation and saving after each epoch. */
#include "train_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/figure.h"
#include "host.h"
#include "print/terminal.h"
#include "setup.h"
#include "signals.h"

enum {
    TIMES_MAX = 65536, /* times that a trainer keeps */
    EARLY_MAX = 128,   /* times of the first step and of recorded ones, taken before */
    MEASURED_MIN = 5,  /* steps; shares and rates of fewer are not shown */
};

/* Fills the shares of the device's time, without the warm-up of the run. If too little of the first epoch is
 * steady (a short one, or a busy machine), its second half is used, and the report says so. */
static void take_meter(leat_train_run *t, leat_train_epoch *e)
{
    const size_t early = t->n_times; /* of the first steps; some behind them may be missing */
    const size_t n = early + leat_trainer_times(t->trainer, t->times + early, TIMES_MAX);
    t->n_times = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t left = i < early ? t->epoch_steps - (int64_t)i : (int64_t)(n - i);
        leat_loader_trace_step(t->loader, t->first + t->steps - left, t->times[i].compute_start_ns,
                               t->times[i].compute_end_ns);
    }
    const size_t least = t->unmeasured + 1;
    size_t first = t->warm ? 1 : leat_meter_warm(t->times, n);
    first = first < least ? least : first;
    e->steady = first + MEASURED_MIN <= n;
    if (!e->steady && !t->warm)
        first = n / 2 < least ? least : n / 2;
    t->warm = true;
    t->unmeasured = 0;
    e->has_meter =
        first + MEASURED_MIN <= n && leat_meter_account(t->times, first, n, &e->meter) == LEAT_OK;
    if (e->has_meter) {
        t->meter = e->meter;
        t->start.steady_step = (double)e->meter.step_p50_ns * 1e-6;
    }
    t->has_meter |= e->has_meter;
}

/* A run that keeps its weights ends only between two updates of them, so that it can go on there. */
static bool may_stop(const leat_train_run *t)
{
    const bool keeps = t->saves || leat_trainer_get_info(t->trainer)->checkpoint_dir;
    return !keeps || leat_checkpoint_ready(t->trainer);
}

static int is_caught(void *user)
{
    return may_stop(user) && leat_signals_caught() != 0;
}

/* By the data of `eval`, where a value of them is not finite: *err then names the record, and is no longer about the loss. */
static int explain_eval(const leat_train_run *t, int rc, leat_error *err)
{
    const int64_t n = leat_plan_get_info(t->eval_plan)->n_batches;
    leat_error why = { 0 };
    if (err->not_finite && leat_setup_find_not_finite(t->eval_plan, 0, n < 0 ? 0 : n, &why))
        rc = leat_fail(err, LEAT_E_DATA, "%s", why.message);
    return leat_fail_in(err, rc, "eval: ");
}

/* A signal ends the evaluation at the next batch; saving after the epoch is still done. Not where steps must follow before the
 * weights can be kept: a run that goes on behind them would not make up for the evaluation. */
static int evaluate(leat_train_run *t, leat_train_epoch *e, leat_error *err)
{
    leat_loader *loader = NULL;
    leat_loader_options how = { .device = t->device, .epochs = 1 };
    how.expect = leat_trainer_get_info(t->trainer)->expect;
    int rc = leat_loader_open(t->eval_plan, &how, &loader, err);
    rc = leat_ranks_agree(t->ranks, rc, NULL, err);
    if (rc == LEAT_OK)
        rc = leat_trainer_evaluate_until(t->trainer, loader, is_caught, t, &e->eval, err);
    if (rc == LEAT_OK && !t->eval_bad && t->talks) {
        leat_loader_stats_info stats;
        leat_loader_stats(loader, &stats);
        t->eval_bad = stats.n_masked + stats.n_replaced > 0;
        leat_bad_list_print("eval: ", loader, &stats);
    }
    leat_loader_close(&loader);
    e->has_eval = rc == LEAT_OK;
    e->eval_stopped = t->eval_stopped = rc == LEAT_E_CANCELED;
    if (e->eval_stopped)
        t->stopped = true;
    return rc < 0 && !e->eval_stopped ? explain_eval(t, rc, err) : LEAT_OK;
}

/* --- rates of an interval -----------------------------------------------------------------------*/

/* They never wait for the device: what only a wait would tell is NaN. */
typedef struct interval_rate {
    int64_t samples;       /* that are not masked; on the CPU of all ranks */
    double loss, accuracy; /* means over the interval; NaN on devices other than the CPU */
    double samples_per_s;
    double idle;       /* share of the time without a step; NaN likewise */
    double wait_share; /* share of the time in which the loop waited for a batch */
} interval_rate;

static leat_train_snapshot snapshot_now(const leat_train_run *run)
{
    leat_loader_stats_info stats;
    leat_train_snapshot now = { .busy_ns = run->busy_ns,
                                .rows = run->rows,
                                .samples = run->samples };
    leat_loader_stats(run->loader, &stats);
    leat_trainer_so_far(run->trainer, &now.so_far);
    now.wait_ns = stats.wait_ns;
    now.at_ns = leat_host_now_ns();
    return now;
}

/* Mean of the samples after n, from the mean of the first n and that of all. */
static double mean_since(double before, uint64_t n, double all, uint64_t n_all)
{
    const double sum = all * (double)n_all - (n ? before * (double)n : 0);
    return n_all > n ? sum / (double)(n_all - n) : NAN;
}

static double share(int64_t part, int64_t whole)
{
    const double s = whole > 0 ? (double)part / (double)whole : NAN;
    return s < 0 ? 0 : s > 1 ? 1 : s;
}

/* Ends an interval, and begins the next. */
static interval_rate rate_since(const leat_train_run *run, leat_train_snapshot *from)
{
    const leat_train_snapshot a = *from, b = snapshot_now(run);
    const int64_t ns = b.at_ns - a.at_ns;
    *from = b;
    return (interval_rate){
        .samples = b.so_far.samples > a.so_far.samples
                       ? (int64_t)(b.so_far.samples - a.so_far.samples)
                       : b.samples - a.samples,
        .loss = mean_since(a.so_far.loss, a.so_far.samples, b.so_far.loss, b.so_far.samples),
        .accuracy =
            mean_since(a.so_far.accuracy, a.so_far.samples, b.so_far.accuracy, b.so_far.samples),
        .samples_per_s = ns > 0 ? (double)(b.rows - a.rows) * 1e9 / (double)ns : NAN,
        .idle = run->is_cpu ? 1 - share(b.busy_ns - a.busy_ns, ns) : NAN,
        .wait_share = share(b.wait_ns - a.wait_ns, ns),
    };
}

/* --- some early steps with the device's own records --------------------------------------------*/

/* Early, so that a library that fails there costs little. As many steps stay unrecorded in the epoch, for its shares. After
 * the pause at the begin the loader is ahead, and some steps pass until it is not. */
enum { STEPS_BEFORE = 20, LEFT_LEAST = 20, STEPS_MOST = 60, SETTLE_MOST = 10 };

static void begin_record(leat_train_run *t, int64_t left)
{
    leat_train_record *const record = &t->record;
    leat_error err = { 0 };
    record->tried = true;
    if (leat_trainer_record(t->trainer, &err) < 0)
        snprintf(record->result.why, sizeof record->result.why, "%.250s", err.message);
    else {
        record->steps = record->left = left / 2 < STEPS_MOST ? left / 2 : STEPS_MOST;
        snprintf(record->result.why, sizeof record->result.why,
                 "the run ended while steps were recorded");
    }
}

/* After a step that `left` others follow in its epoch. The pause after a recording is part of the next step. */
static void record_step(leat_train_run *t, int64_t left)
{
    leat_train_record *const record = &t->record;
    if (!record->tried && t->steps >= STEPS_BEFORE && left >= LEFT_LEAST)
        begin_record(t, left);
    else if (record->left && --record->left == 0) {
        const int64_t settle = record->steps / 4;
        leat_trainer_recorded(t->trainer, settle < SETTLE_MOST ? settle : SETTLE_MOST,
                              &record->result);
        t->n_times += leat_trainer_times(t->trainer, t->times + t->n_times, EARLY_MAX - t->n_times);
        t->unmeasured = t->n_times;
    }
}

/* --- logging -----------------------------------------------------------------------------------*/

/* Passes over the data after this many steps; NaN: a pass has no end. */
static double epochs_done(const leat_train_run *t)
{
    const int64_t per_epoch = leat_plan_get_info(t->plan)->n_batches;
    return per_epoch > 0 ? (double)(t->first + t->steps) / (double)per_epoch : NAN;
}

/* For --json and --log. */
static void note_epoch(leat_train_run *t, leat_train_epoch *e)
{
    e->rate = leat_trainer_learning_rate(t->trainer);
    if (e->has_eval && e->eval.accuracy > t->best_accuracy) {
        t->best_accuracy = e->eval.accuracy;
        t->best_epoch = e->number;
    }
    if (t->list)
        json_array_append_new(t->list, leat_train_epoch_json(t, e));
    json_t *line = leat_train_epoch_json(t, e);
    leat_json_real(line, "epochs_done", epochs_done(t));
    leat_train_log_add(t->log, "epoch", t->first + t->steps, line);
}

static void log_step(leat_train_run *t, int64_t epoch)
{
    if (!t->log || (t->first + t->steps) % t->log_every != 0)
        return;
    const interval_rate now = rate_since(t, &t->logged);
    json_t *line = json_object();
    leat_json_int(line, "epoch", epoch);
    leat_json_real(line, "epochs_done", epochs_done(t));
    leat_json_int(line, "samples", now.samples);
    leat_json_real(line, "loss", now.loss);
    leat_json_real(line, "accuracy", now.accuracy);
    leat_json_real(line, "samples_per_s", now.samples_per_s);
    leat_json_real(line, "idle", now.idle);
    leat_json_real(line, "wait_share", now.wait_share);
    leat_train_log_add(t->log, "step", t->first + t->steps, line);
}

/* --- steps -------------------------------------------------------------------------------------*/

static int save(leat_train_run *t, leat_error *err)
{
    if (!t->save)
        return LEAT_OK;
    const int rc = leat_trainer_save(t->trainer, t->save, err);
    t->saved |= rc == LEAT_OK;
    t->unsaved = rc < 0;
    if (rc == LEAT_OK) {
        t->saved_steps = t->steps;
        t->saved_update = t->keep.ready_steps;
    }
    return rc;
}

/* A disk that is full for a while does not end a run that can save again later. */
static int save_epoch(leat_train_run *t, int64_t number, leat_error *err)
{
    const int rc = save(t, err);
    if (rc != LEAT_E_IO || number + 1 >= t->epochs || t->steps == t->steps_most || t->ended_early)
        return rc;
    t->unsaved = false;
    fprintf(stderr, "leat train: cannot save the weights, the run goes on: %s\n", err->message);
    return LEAT_OK;
}

/* Saves the weights of the last step, unless they are already saved or not finite. */
static int save_stopped(leat_train_run *t, leat_error *err)
{
    leat_metrics now;
    leat_trainer_so_far(t->trainer, &now);
    return t->epoch_steps > 0 && (now.samples == 0 || isfinite(now.loss)) ? save(t, err) : LEAT_OK;
}

static void begin_epoch(leat_train_run *t)
{
    t->epoch_steps = 0;
    t->epoch_start_ns = leat_host_now_ns();
    t->logged = snapshot_now(t);
    leat_train_first_begin(t);
}

/* An evaluation that fails, as by a damaged record, ends the run but loses none of its steps. */
static void save_unevaluated(leat_train_run *t, const leat_train_epoch *e, const leat_error *why)
{
    leat_error err;
    if (why->not_finite || (e->train.samples > 0 && !isfinite(e->train.loss)))
        return;
    t->has_results = true;
    if (leat_train_checkpoint_end(t, &err) < 0)
        fprintf(stderr, "leat train: cannot write a checkpoint: %s\n", err.message);
    else if (*t->keep.path && t->keep.saved_steps == t->keep.ready_steps)
        fprintf(stderr, "leat train: all updates before the evaluation are in %s\n",
                leat_terminal_name(t->keep.path));
    if (save(t, &err) < 0)
        fprintf(stderr, "leat train: cannot save the weights: %s\n", err.message);
    t->unsaved = false;
}

/* whole: not one that --steps cuts short. */
static int end_epoch(leat_train_run *t, int64_t number, bool whole, leat_error *err)
{
    leat_train_epoch e = { .number = number, .steps = t->epoch_steps };
    int rc =
        (whole ? leat_trainer_metrics : leat_trainer_metrics_within)(t->trainer, &e.train, err);
    const int64_t end_ns = leat_host_now_ns();
    e.seconds = (double)(end_ns - t->epoch_start_ns) * 1e-9;
    if (rc == LEAT_OK) {
        leat_train_first_end(t, e.seconds);
        take_meter(t, &e);
    }
    if (rc == LEAT_OK && t->eval_plan && (rc = evaluate(t, &e, err)) < 0)
        save_unevaluated(t, &e, err);
    if (rc == LEAT_OK && whole && e.has_eval)
        rc = leat_train_decide(t, &e, err);
    if (rc < 0)
        return rc;
    t->ended_early = e.decided.stop;
    leat_progress_hide(&t->progress);
    if (t->talks)
        leat_train_epoch_print(t, &e);
    t->has_epoch = true;
    note_epoch(t, &e);
    rc = leat_train_keep_best(t, &e, err);
    if (rc == LEAT_OK)
        rc = leat_train_loss_check(t, &e, err);
    if (rc < 0 && !t->diverged)
        save_unevaluated(t, &e, err);
    if (rc == LEAT_OK) {
        leat_train_checkpoint_step(t, 0);
        rc = save_epoch(t, number, err);
    }
    begin_epoch(t);
    t->shown.at_ns += t->epoch_start_ns - end_ns; /* no steps were made in this time */
    return rc;
}

/* Steps that follow in the epoch of batch `number`, and in the run. */
static int64_t left_in_epoch(const leat_train_run *t, int64_t number)
{
    const int64_t per_epoch = leat_plan_get_info(t->plan)->n_batches;
    const int64_t of_run = t->steps_most > 0 ? t->steps_most - t->steps : INT64_MAX;
    const int64_t left = per_epoch > 0 ? per_epoch - 1 - number % per_epoch : INT64_MAX;
    return left < of_run ? left : of_run;
}

/* One step; *end: the run is over. */
static int step(leat_train_run *t, bool *end, leat_error *err)
{
    leat_batch *batch;
    const int64_t asked_ns = leat_host_now_ns();
    int rc = leat_loader_next(t->loader, &batch, err);
    leat_train_first_wait(t, leat_host_now_ns() - asked_ns);
    rc = leat_ranks_agree(t->ranks, rc, NULL, err);
    if (rc == LEAT_E_END) {
        *end = true;
        return LEAT_OK;
    }
    if (rc < 0)
        return rc;
    const leat_batch_info info = *leat_batch_get_info(batch); /* a copy: the batch is passed on */
    leat_bad_list_take(&t->bad, batch);
    const int64_t per_epoch = leat_plan_get_info(t->plan)->n_batches;
    const int64_t epoch = per_epoch > 0 ? info.number / per_epoch : info.epoch;
    const int64_t start_ns = leat_host_now_ns();
    if ((rc = leat_trainer_step(t->trainer, batch, err)) < 0)
        return leat_train_loss_explain(t, info.number, epoch, rc, err);
    if (t->steps == 0) { /* waits for this step, whose times stay for the meter of its epoch */
        t->n_times = leat_trainer_times(t->trainer, t->times, 1);
        t->start.first_step = (double)(leat_host_now_ns() - start_ns) * 1e-6;
    }
    t->busy_ns += leat_host_now_ns() - start_ns;
    t->rows += t->ranks ? info.global_rows : info.rows;
    t->samples += info.rows - info.n_masked;
    t->steps++;
    t->epoch_steps++;
    record_step(t, left_in_epoch(t, info.number));
    log_step(t, epoch);
    leat_progress_show(&t->progress, (uint64_t)t->steps);
    *end = t->steps_most > 0 && t->steps == t->steps_most;
    if (*end &&
        (rc = leat_ranks_agree(t->ranks, leat_loader_check_files(t->loader, err), NULL, err)) < 0)
        return rc;
    const bool last = per_epoch > 0 && (info.number + 1) % per_epoch == 0;
    if (last || *end)
        rc = end_epoch(t, epoch, last, err);
    else
        leat_train_checkpoint_step(t, left_in_epoch(t, info.number));
    *end |= t->ended_early;
    return rc;
}

/* The evaluation of the epoch before the first batch, which the last run did not finish. */
static int evaluate_owed(leat_train_run *t, leat_error *err)
{
    leat_train_epoch e = { .seconds = NAN, .train = { .loss = NAN, .accuracy = NAN } };
    if (!t->owes_evaluation || !t->eval_plan)
        return LEAT_OK;
    e.number = t->first / leat_plan_get_info(t->plan)->n_batches - 1;
    int rc = evaluate(t, &e, err);
    if (rc < 0 || !e.has_eval || (rc = leat_train_decide(t, &e, err)) < 0)
        return rc;
    t->ended_early = e.decided.stop;
    if (t->talks) {
        printf("evaluation that the last run did not finish: loss %.4f\n", e.eval.loss);
        leat_train_decide_print(t, &e);
    }
    note_epoch(t, &e);
    return leat_train_keep_best(t, &e, err);
}

static void describe(void *user, leat_progress_fields *fields)
{
    leat_train_run *const t = user;
    leat_metrics now;
    const interval_rate recent = rate_since(t, &t->shown);
    const int64_t per_epoch = leat_plan_get_info(t->plan)->n_batches;
    leat_trainer_so_far(t->trainer, &now);
    if (now.samples && !isnan(now.loss))
        leat_progress_add(fields, "loss %.4g", now.loss);
    if (now.samples && !isnan(now.accuracy))
        leat_progress_add(fields, "acc. %.1f %%", now.accuracy * 100);
    if (recent.samples > 0)
        leat_progress_add(fields, "%s samples/s", leat_figure_rate(recent.samples_per_s).text);
    if (recent.samples > 0 && !isnan(recent.idle))
        leat_progress_add(fields, "idle %.0f %%", recent.idle * 100);
    if (per_epoch > 0 && t->steps > 0)
        leat_progress_add(fields, "epoch %lld/%lld",
                          (long long)((t->first + t->steps - 1) / per_epoch) + 1,
                          (long long)t->epochs);
    leat_summary_describe(&t->watch, fields);
}

/* *stops after a signal to any rank. An error of one rank, such as a full disk, ends all. */
static int must_stop(const leat_train_run *t, int rc, int32_t *stops, leat_error *err)
{
    *stops = may_stop(t) && leat_signals_caught();
    return leat_ranks_agree(t->ranks, rc, stops, err);
}

/* The checkpoint, and after a signal the weights, each also where the other or an earlier --save failed. Returns the first
 * error. */
static int end_run(leat_train_run *t, int rc, leat_error *err)
{
    leat_error other;
    const int kept = leat_train_checkpoint_end(t, rc == LEAT_OK ? err : &other);
    t->kept = kept == LEAT_OK && t->keep.folder && (t->keep.goes_on || *t->keep.path);
    rc = rc == LEAT_OK ? kept : rc;
    const int saved = t->stopped ? save_stopped(t, rc == LEAT_OK ? err : &other) : LEAT_OK;
    rc = rc == LEAT_OK ? saved : rc;
    t->has_results = true;
    return rc;
}

int leat_train_run_all(leat_train_run *t, leat_error *err)
{
    const int64_t n = t->steps_most > 0
                          ? t->steps_most
                          : t->epochs * leat_plan_get_info(t->plan)->n_batches - t->first;
    bool end = false;
    t->times = calloc(TIMES_MAX + EARLY_MAX, sizeof *t->times);
    int rc = t->times ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if ((rc = leat_ranks_agree(t->ranks, rc, NULL, err)) < 0) {
        free(t->times);
        return rc;
    }
    leat_progress_init(&t->progress, "train", "steps", (uint64_t)n, t->progress_when);
    leat_summary_watch(&t->watch, t->loader, &t->progress);
    t->progress.describe = describe;
    t->progress.user = t;
    t->progress.own_rate = true;
    t->is_cpu = !strcmp(leat_device_get_info(t->device)->name, "cpu");
    t->shown = snapshot_now(t);
    snprintf(t->record.result.why, sizeof t->record.result.why,
             "after %d steps no epoch had another %d", STEPS_BEFORE, LEFT_LEAST);
    rc = evaluate_owed(t, err);
    begin_epoch(t);
    end = t->ended_early || t->finished;
    if (rc == LEAT_OK && end)
        rc = save(t, err);
    int32_t stops = 0;
    while ((rc = must_stop(t, rc, &stops, err)) == LEAT_OK && !end && !stops)
        rc = step(t, &end, err);
    t->stopped |= rc == LEAT_OK && !end;
    if (rc == LEAT_OK || t->unsaved)
        rc = end_run(t, rc, err);
    leat_loader_stats(t->loader, &t->stats);
    uint64_t bad[] = { t->stats.n_masked, t->stats.n_replaced };
    rc = leat_ranks_total(t->ranks, rc, bad, 2, err);
    t->stats.n_masked = bad[0];
    t->stats.n_replaced = bad[1];
    leat_progress_fini(&t->progress);
    free(t->times);
    return rc;
}
