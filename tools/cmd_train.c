/* SPDX-License-Identifier: MIT
 *
 * leat train: trains what a config describes, and says per epoch where the device's time went. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bad_list.h"
#include "files.h"
#include "jpeg_side.h"
#include "json.h"
#include "placement_print.h"
#include "progress.h"
#include "setup.h"
#include "summary.h"
#include "train_epoch.h"

enum {
    TIMES_MAX = 65536, /* what a trainer keeps */
    MEASURED_MIN = 5,  /* steps; shares and rates of fewer say nothing */
};

struct train_options {
    int64_t epochs, steps, start_epoch, start_batch;
    const char *device, *save, *restore, *errors, *json, *trace;
    leat_texts set;
    int32_t log_placement, quiet, progress;
};

static const leat_option options[] = {
    LEAT_ROW_AUTO(struct train_options, epochs, 1, 1e9,
                  "passes over the data; auto: as train.epochs says"),
    LEAT_ROW_AUTO(struct train_options, steps, 1, 1e12,
                  "stop after this many steps; auto: at the end of the last epoch"),
    LEAT_OPTION_STRING(struct train_options, device, NULL,
                       "train on this device instead of train.device"),
    LEAT_OPTION_STRING(struct train_options, save, NULL,
                       "write the weights after each epoch and at the end (safetensors), the "
                       "optimizer's state not; folders are made"),
    LEAT_OPTION_STRING(struct train_options, restore, NULL, "begin with these weights"),
    LEAT_OPTION_I64(struct train_options, start_epoch, "0", 0, 1e9,
                    "begin at this epoch, counted from 0, as a resumed run does"),
    LEAT_OPTION_I64(struct train_options, start_batch, "0", 0, 9e15,
                    "begin at this batch of that epoch, counted from 0"),
    LEAT_ROW_LOG_PLACEMENT(struct train_options),
    LEAT_ROW_ERRORS(struct train_options),
    LEAT_ROW_SET(struct train_options),
    LEAT_ROW_TRACE(struct train_options),
    LEAT_ROW_QUIET(struct train_options),
    LEAT_ROW_PROGRESS(struct train_options),
    LEAT_ROW_JSON(struct train_options),
    LEAT_OPTION_END
};

/* Everything of one run. */
struct train {
    const struct train_options *o;
    const char *path;
    leat_config *config;
    leat_plan *plan, *eval_plan; /* eval_plan NULL: the config has no `eval` */
    leat_device *device;
    leat_trainer *trainer;
    leat_loader *loader;
    leat_placement *placement; /* NULL: not asked for */
    int64_t epochs, steps;     /* steps done */
    int64_t epoch_steps;       /* of the current epoch */
    int64_t epoch_start_ns;
    leat_step_times *times;
    bool warm;     /* the warm-up has been taken off */
    bool diverged; /* the loss was no finite number */
    bool saved;    /* weights of an epoch before or of this one */
    double best_accuracy;
    int64_t best_epoch;
    json_t *list;
    leat_bad_list bad;
    bool eval_bad; /* said once */
    leat_progress progress;
    leat_summary_watching watch;
    int64_t first; /* batch of the run that it began with */
};

/* --- opening -----------------------------------------------------------------------------------*/

static int open_plans(struct train *t, leat_error *err)
{
    char text[64];
    int rc = leat_setup_config(t->path, &t->o->set, &t->config, err);
    if (rc == LEAT_OK && t->o->epochs > 0) {
        snprintf(text, sizeof text, "train.epochs=%lld", (long long)t->o->epochs);
        rc = leat_config_set(t->config, text, err);
    }
    if (rc == LEAT_OK)
        rc = leat_setup_trace(t->config, t->o->trace, err);
    if (rc == LEAT_OK)
        rc = leat_plan_open(t->config, NULL, &t->plan, err);
    if (rc == LEAT_OK && leat_config_get(t->config, "eval", text, sizeof text, NULL) == LEAT_OK)
        rc = leat_plan_open(t->config, "eval", &t->eval_plan, err);
    return rc;
}

static int open_trainer(struct train *t, leat_error *err)
{
    int rc = leat_setup_device(t->config, t->o->device, &t->device, err);
    if (rc == LEAT_OK)
        rc = leat_trainer_open(t->config, t->plan, t->device, &t->trainer, err);
    if (rc == LEAT_OK && t->eval_plan &&
        (rc = leat_trainer_check(t->trainer, t->eval_plan, err)) < 0)
        return leat_fail_in(err, rc, "eval: ");
    if (rc == LEAT_OK && t->o->restore)
        rc = leat_trainer_restore(t->trainer, t->o->restore, err);
    if (rc < 0)
        return rc;
    t->epochs = leat_trainer_get_info(t->trainer)->epochs;
    t->times = calloc(TIMES_MAX, sizeof *t->times);
    return t->times ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
}

/* Place of the first batch in the run. */
static int first_batch(const struct train *t, int64_t *out, leat_error *err)
{
    const int64_t per_epoch = leat_plan_get_info(t->plan)->n_batches;
    const struct train_options *o = t->o;
    *out = o->start_batch;
    if (per_epoch == 0)
        return leat_fail(err, LEAT_E_CONFIG, "%s: the pipeline gives no batch at all", t->path);
    if (per_epoch < 0 && o->steps < 0)
        return leat_fail(err, LEAT_E_ARGUMENT, "the pipeline repeats without end; give --steps");
    if (per_epoch < 0)
        return o->start_epoch ? leat_fail(err, LEAT_E_ARGUMENT,
                                          "--start-epoch: the pipeline repeats without end")
                              : LEAT_OK;
    if (o->start_epoch >= t->epochs || o->start_batch > per_epoch ||
        o->start_epoch * per_epoch + o->start_batch >= t->epochs * per_epoch)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--start-epoch %lld --start-batch %lld: the run has %lld epochs of %lld "
                         "batches",
                         (long long)o->start_epoch, (long long)o->start_batch, (long long)t->epochs,
                         (long long)per_epoch);
    *out += o->start_epoch * per_epoch;
    return LEAT_OK;
}

/* What is written at the end must be writable at the start. */
static int check_outputs(const struct train *t, leat_error *err)
{
    const leat_trainer_info *info = leat_trainer_get_info(t->trainer);
    int rc = leat_json_check(t->o->json, err);
    if (rc < 0 || !t->o->save)
        return rc;
    if (info->simulated)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--save: device %s is simulated and has no weights to save", info->device);
    rc = leat_files_make_parents(t->o->save, err);
    if (rc == LEAT_OK)
        rc = leat_files_check(t->o->save, err);
    if (rc == LEAT_OK)
        rc = leat_files_check_kind(t->o->save, "a file of weights (safetensors)", "{\"", 8, err);
    return rc < 0 ? leat_fail_in(err, rc, "--save: ") : rc;
}

static int open_all(struct train *t, leat_error *err)
{
    leat_loader_options how = { .epochs = 1 };
    int rc = open_plans(t, err);
    if (rc == LEAT_OK)
        rc = open_trainer(t, err);
    if (rc == LEAT_OK)
        rc = first_batch(t, &how.first_batch, err);
    if (rc == LEAT_OK)
        rc = check_outputs(t, err);
    if (rc == LEAT_OK)
        rc = leat_bad_list_open(&t->bad, t->o->errors, err);
    how.device = t->device;
    how.epochs = t->epochs;
    t->first = how.first_batch;
    if (rc == LEAT_OK)
        rc = leat_loader_open(t->plan, &how, &t->loader, err);
    if (rc == LEAT_OK && t->o->log_placement &&
        !(t->placement = leat_placement_print_find(t->plan, &how, err)))
        rc = err->code;
    return rc;
}

/* --- the end of an epoch -----------------------------------------------------------------------*/

/* Where the device's time went, without the warm-up of the run. If too little of the first epoch is
 * steady (short, or a busy machine), its second half is taken and said to be what it is. */
static void take_meter(struct train *t, leat_train_epoch *e)
{
    const size_t n = leat_trainer_times(t->trainer, t->times, TIMES_MAX);
    for (size_t i = 0; i < n; i++)
        leat_loader_trace_step(t->loader, t->first + t->steps - (int64_t)(n - i),
                               t->times[i].compute_start_ns, t->times[i].compute_end_ns);
    size_t first = t->warm ? 1 : leat_meter_warm(t->times, n);
    e->steady = first + MEASURED_MIN <= n;
    if (!e->steady && !t->warm)
        first = n / 2;
    if (first < 1)
        first = 1;
    t->warm = true;
    e->has_meter =
        first + MEASURED_MIN <= n && leat_meter_account(t->times, first, n, &e->meter) == LEAT_OK;
}

static int evaluate(struct train *t, leat_train_epoch *e, leat_error *err)
{
    leat_loader *loader = NULL;
    const leat_loader_options how = { .device = t->device, .epochs = 1 };
    int rc = leat_loader_open(t->eval_plan, &how, &loader, err);
    if (rc == LEAT_OK)
        rc = leat_trainer_evaluate(t->trainer, loader, &e->eval, err);
    if (rc == LEAT_OK && !t->eval_bad && !leat_json_to_stdout(t->o->json)) {
        leat_loader_stats_info stats;
        leat_loader_stats(loader, &stats);
        t->eval_bad = stats.n_masked + stats.n_replaced > 0;
        leat_bad_list_print("eval: ", loader);
    }
    leat_loader_close(&loader);
    e->has_eval = rc == LEAT_OK;
    return rc < 0 ? leat_fail_in(err, rc, "eval: ") : rc;
}

/* What comes after such a loss is lost time, and the weights are of no use. */
static int check_loss(struct train *t, const leat_train_epoch *e, leat_error *err)
{
    const bool trained = isfinite(e->train.loss);
    if (leat_trainer_get_info(t->trainer)->simulated ||
        (trained && (!e->has_eval || isfinite(e->eval.loss))))
        return LEAT_OK;
    t->diverged = true;
    return leat_fail(err, LEAT_E_DATA,
                     "epoch %lld, steps %lld to %lld: the %sloss is no finite number; most often "
                     "the learning rate is too high (train.optimizer), else look for values in the "
                     "input that are not finite or not normalized%s",
                     (long long)e->number + 1, (long long)(t->steps - e->steps + 1),
                     (long long)t->steps, trained ? "eval " : "",
                     !t->o->save ? ""
                     : t->saved  ? "; the weights saved are of the epoch before"
                                 : "; no weights were saved");
}

static int end_epoch(struct train *t, int64_t number, leat_error *err)
{
    leat_train_epoch e = { .number = number, .steps = t->epoch_steps };
    int rc = leat_trainer_metrics(t->trainer, &e.train, err);
    e.seconds = (double)(leat_files_now_ns() - t->epoch_start_ns) * 1e-9;
    if (rc == LEAT_OK)
        take_meter(t, &e);
    if (rc == LEAT_OK && t->eval_plan)
        rc = evaluate(t, &e, err);
    if (rc < 0)
        return rc;
    if (e.has_eval && e.eval.accuracy > t->best_accuracy) {
        t->best_accuracy = e.eval.accuracy;
        t->best_epoch = number;
    }
    if (t->progress.terminal && !t->progress.silent)
        fputs("\r\033[K", stderr); /* the bar's line is where this one goes */
    if (!leat_json_to_stdout(t->o->json))
        leat_train_epoch_print(&e, t->epochs, leat_trainer_get_info(t->trainer)->simulated);
    json_array_append_new(t->list, leat_train_epoch_json(&e));
    rc = check_loss(t, &e, err);
    if (rc == LEAT_OK && t->o->save) {
        rc = leat_trainer_save(t->trainer, t->o->save, err);
        t->saved |= rc == LEAT_OK;
    }
    t->epoch_steps = 0;
    t->epoch_start_ns = leat_files_now_ns();
    return rc;
}

/* --- the run -----------------------------------------------------------------------------------*/

/* One step; *end: the run is over. */
static int step(struct train *t, bool *end, leat_error *err)
{
    leat_batch *batch;
    int rc = leat_loader_next(t->loader, &batch, err);
    if (rc == LEAT_E_END) {
        *end = true;
        return LEAT_OK;
    }
    if (rc < 0)
        return rc;
    const leat_batch_info info = *leat_batch_get_info(batch); /* the trainer takes the batch */
    leat_bad_list_take(&t->bad, batch);
    if (t->epoch_steps == 0)
        leat_placement_print_again(t->plan, t->loader, t->placement,
                                   !leat_json_to_stdout(t->o->json));
    const int64_t per_epoch = leat_plan_get_info(t->plan)->n_batches;
    if ((rc = leat_trainer_step(t->trainer, batch, err)) < 0)
        return rc;
    t->steps++;
    t->epoch_steps++;
    leat_progress_show(&t->progress, (uint64_t)t->steps);
    *end = t->o->steps > 0 && t->steps == t->o->steps;
    const bool last = per_epoch > 0 && (info.number + 1) % per_epoch == 0;
    if (last || *end)
        rc = end_epoch(t, per_epoch > 0 ? info.number / per_epoch : info.epoch, err);
    return rc;
}

static uint64_t steps_expected(const struct train *t)
{
    const int64_t per_epoch = leat_plan_get_info(t->plan)->n_batches;
    if (t->o->steps > 0)
        return (uint64_t)t->o->steps;
    return (uint64_t)((t->epochs - t->o->start_epoch) * per_epoch - t->o->start_batch);
}

static int run_all(struct train *t, leat_error *err)
{
    bool end = false;
    int rc = LEAT_OK;
    leat_progress_init(&t->progress, "train", "steps", steps_expected(t),
                       t->o->quiet ? LEAT_PROGRESS_OFF : t->o->progress);
    leat_summary_watch(&t->watch, t->loader, &t->progress);
    t->epoch_start_ns = leat_files_now_ns();
    while (rc == LEAT_OK && !end)
        rc = step(t, &end, err);
    leat_progress_fini(&t->progress);
    return rc;
}

/* --- begin and end -----------------------------------------------------------------------------*/

static void print_head(const struct train *t)
{
    const leat_trainer_info *info = leat_trainer_get_info(t->trainer);
    char count[32], records[32];
    printf("%s: %s parameters, %.4g MFLOP per sample, %s records in batches of %lld, on %s\n",
           t->path, leat_files_count_text((uint64_t)info->n_parameters, count),
           info->flops_per_sample * 1e-6,
           leat_files_count_text(leat_plan_get_info(t->plan)->n_records, records),
           (long long)leat_plan_get_info(t->plan)->batch_size, info->device);
    if (info->simulated)
        printf("simulated: times are modelled and no arithmetic is done, so there is no loss\n");
    if (t->placement)
        leat_placement_print_ops(t->plan, t->placement);
    fflush(stdout);
}

static void print_end(const struct train *t, double seconds)
{
    leat_loader_stats_info stats;
    leat_loader_stats(t->loader, &stats);
    printf("%lld step%s in %.1f s", (long long)t->steps, t->steps == 1 ? "" : "s", seconds);
    if (t->best_accuracy >= 0)
        printf("; best eval accuracy %.2f %% in epoch %lld", t->best_accuracy * 100,
               (long long)t->best_epoch + 1);
    if (t->o->save)
        printf("; weights in %s", t->o->save);
    putchar('\n');
    leat_bad_list_print("", t->loader);
    leat_summary_print(&(leat_loader_stats_info){ 0 }, &stats);
    leat_jpeg_side_print(&stats);
}

static json_t *input_json(const struct train *t)
{
    static const leat_loader_stats_info none;
    leat_loader_stats_info stats;
    leat_loader_stats(t->loader, &stats);
    json_t *json = json_object();
    leat_summary_add(json, &none, &stats);
    return json;
}

static json_t *run_json(struct train *t, double seconds)
{
    const leat_trainer_info *info = leat_trainer_get_info(t->trainer);
    leat_loader_stats_info stats;
    json_t *json = leat_json_open("train");
    leat_loader_stats(t->loader, &stats);
    leat_json_text(json, "config", t->path);
    leat_json_text(json, "device", info->device);
    leat_json_bool(json, "simulated", info->simulated);
    leat_json_int(json, "parameters", info->n_parameters);
    leat_json_real(json, "flops_per_sample", info->flops_per_sample);
    leat_json_int(json, "records", (int64_t)leat_plan_get_info(t->plan)->n_records);
    leat_json_int(json, "batch_size", leat_plan_get_info(t->plan)->batch_size);
    leat_json_add(json, "epochs", t->list);
    t->list = NULL;
    leat_json_int(json, "steps", t->steps);
    leat_bad_list_json(json, &stats);
    leat_json_real(json, "seconds", seconds);
    leat_json_real(json, "best_eval_accuracy", t->best_accuracy >= 0 ? t->best_accuracy : NAN);
    leat_json_bool(json, "diverged", t->diverged);
    leat_json_add(json, "input", input_json(t));
    if (t->placement)
        leat_json_add(json, "placement", leat_placement_print_json(t->plan, t->placement));
    leat_json_add(json, "saved", t->saved ? json_string(t->o->save) : json_null());
    return json;
}

static void close_all(struct train *t)
{
    leat_loader_close(&t->loader);
    leat_trainer_close(&t->trainer);
    leat_device_close(&t->device);
    leat_plan_close(&t->eval_plan);
    leat_plan_close(&t->plan);
    leat_config_close(&t->config);
    json_decref(t->list);
    free(t->times);
    free(t->placement);
}

static int run(const leat_call *call)
{
    struct train t = {
        .o = call->options, .path = call->arguments[0], .best_accuracy = -1, .list = json_array()
    };
    leat_error err = { 0 };
    const int64_t start = leat_files_now_ns();
    leat_files_stop_at_once("train");
    int rc = open_all(&t, &err);
    const bool talk = !leat_json_to_stdout(t.o->json);
    if (rc == LEAT_OK && talk)
        print_head(&t);
    if (rc == LEAT_OK)
        rc = run_all(&t, &err);
    const double seconds = (double)(leat_files_now_ns() - start) * 1e-9;
    if (rc == LEAT_OK && talk)
        print_end(&t, seconds);
    if (t.loader && t.o->trace) { /* also of a run that failed; the error to tell is the first */
        const int written = leat_loader_trace_write(t.loader, t.o->trace, rc < 0 ? NULL : &err);
        rc = rc < 0 ? rc : written;
    }
    if (rc == LEAT_OK)
        rc = leat_json_write(run_json(&t, seconds), t.o->json, &err);
    else if (t.diverged) /* the epochs before it are worth keeping; the error to tell is this one */
        leat_json_write(run_json(&t, seconds), t.o->json, NULL);
    const int closed = leat_bad_list_close(&t.bad, rc == LEAT_OK ? &err : NULL);
    rc = rc == LEAT_OK ? closed : rc;
    close_all(&t);
    return rc == LEAT_OK ? LEAT_EXIT_OK : leat_command_fail("train", &err);
}

const leat_command leat_command_train = {
    .name = "train",
    .summary = "train the model of a config",
    .arguments = "CONFIG",
    .text = "Trains the model of a config's `train` part from its pipeline, and evaluates it after "
            "each epoch if the config has an `eval` part. Each epoch prints loss and accuracy, "
            "samples/s, and where the device's time went: busy, or idle for input, for copies, or "
            "for other reasons. The warm-up of the first epoch is left out of samples/s and "
            "shares; fewer than five steps are not measured. A loss that is no finite number ends "
            "the run with exit code 1; its weights are not saved.\n\n"
            "A resumed run (--restore with --start-epoch and --start-batch) sees the same batches "
            "as the straight run from there.",
    .example = "  leat train examples/cifar10.yaml --epochs 10 --save cifar10.safetensors",
    .n_min = 1,
    .n_max = 1,
    .options_size = sizeof(struct train_options),
    .options = options,
    .run = run,
};
