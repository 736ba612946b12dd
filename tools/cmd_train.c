/* SPDX-License-Identifier: MIT
 *
 * leat train: trains the model of a config, and reports per epoch where the device's time went. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "eval/trained.h"
#include "files.h"
#include "formats/figure.h"
#include "host.h"
#include "print/bad_list.h"
#include "print/json.h"
#include "print/terminal.h"
#include "setup.h"
#include "signals.h"
#include "train/train_run.h"

struct train_options {
    int64_t epochs, steps, threads, start_epoch, start_batch;
    int64_t log_every, ranks;
    double deadline;
    const char *checkpoint, *resume;
    const char *input;
    const char *device, *save, *restore, *log, *errors, *json, *trace;
    leat_texts set;
    int32_t quiet, progress, summary, overlap;
};

static const char *const rank_words[] = { "auto", "mpi", NULL };

static const leat_option options[] = {
    LEAT_ROW_AUTO(struct train_options, epochs, 1, 1e9,
                  "passes over the data; auto: as train.epochs says"),
    LEAT_ROW_STEPS(struct train_options),
    LEAT_ROW_THREADS(struct train_options),
    LEAT_OPTION_I64_OR(struct train_options, ranks, "auto", 1, 256, rank_words,
                       "processes of this machine that train together on the CPU, each on its rows "
                       "of every batch; the weights are those of one process, bit for bit; mpi: "
                       "the processes that mpirun or srun started; auto: 1"),
    LEAT_OPTION_F64(struct train_options, deadline, "300", 0, 1e6,
                    "with ranks: seconds that the others wait for a rank that does not come before "
                    "the run ends; 0: for ever"),
    LEAT_OPTION_ENUM(struct train_options, overlap, "auto", leat_progress_words,
                     "with ranks: exchange gradients during the backward pass, on a thread of its "
                     "own; the weights are the same; auto: where ranks are on several machines"),
    LEAT_OPTION_STRING(struct train_options, device, NULL,
                       "train on this device instead of train.device"),
    LEAT_OPTION_STRING(struct train_options, save, NULL,
                       "save the weights after each epoch and at the end (safetensors, without the "
                       "optimizer's state)"),
    LEAT_OPTION_STRING(struct train_options, restore, NULL,
                       "start with these weights alone: what evaluations decided, averages and the "
                       "optimizer's state begin anew"),
    LEAT_OPTION_STRING(
        struct train_options, checkpoint, NULL,
        "save what the run needs to continue in this folder; overrides train.checkpoint.dir"),
    LEAT_OPTION_STRING(struct train_options, resume, NULL,
                       "continue from this checkpoint; without a file: from the newest whole one "
                       "of --checkpoint, if there is one"),
    LEAT_OPTION_I64(struct train_options, start_epoch, "0", 0, 1e9,
                    "start at this epoch, counted from 0, like a resumed run"),
    LEAT_OPTION_I64(struct train_options, start_batch, "0", 0, 9e15,
                    "start at this batch of that epoch, counted from 0"),
    LEAT_OPTION_STRING(
        struct train_options, log, NULL,
        "log to this folder: log.jsonl (keys: docs/json.md), an event file for TensorBoard, and "
        "batch.png with the first batch; a resumed run appends to it, and a new run needs a folder "
        "without a log"),
    LEAT_OPTION_I64(struct train_options, log_every, "50", 1, 1e9,
                    "with --log: steps between lines"),
    LEAT_OPTION_BOOL(struct train_options, summary, "false",
                     "print layers, shapes, parameters, operations and memory, and do not train"),
    LEAT_OPTION_STRING(struct train_options, input, NULL,
                       "with --summary: shape of a sample, such as 32x32x3, so that no data are "
                       "needed; default: of the first record"),
    LEAT_ROW_ERRORS(struct train_options),
    LEAT_ROW_SET(struct train_options),
    LEAT_ROW_TRACE(struct train_options),
    LEAT_ROW_PROGRESS(struct train_options),
    LEAT_ROW_JSON(struct train_options),
    LEAT_OPTION_END
};

/* Everything of one run. */
struct train {
    const leat_call *call;
    const struct train_options *o;
    const char *path;
    leat_config *config;
    leat_checkpoint_found found; /* path "": the run is not resumed */
    leat_train_ranks ranks;
    leat_train_run run;
};

/* --- opening -----------------------------------------------------------------------------------*/

/* Without a `train` part these would begin one; leat_trainer_open() says that it is missing. */
static int set_train(struct train *t, leat_error *err)
{
    char text[64];
    int rc = LEAT_OK;
    if (leat_config_get(t->config, "train", text, sizeof text, NULL) < 0)
        return LEAT_OK;
    snprintf(text, sizeof text, "train.epochs=%lld", (long long)t->o->epochs);
    if (t->o->epochs > 0)
        rc = leat_config_set_as(t->config, text, "--epochs", err);
    if (rc < 0 || !t->o->checkpoint)
        return rc;
    char *const folder = leat_files_text("train.checkpoint.dir=%s", t->o->checkpoint);
    rc = folder ? leat_config_set_as(t->config, folder, "--checkpoint", err)
                : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    free(folder);
    return rc;
}

static int open_plans(struct train *t, leat_error *err)
{
    char text[64];
    int rc;
    if (t->o->resume && (t->o->restore || t->o->start_epoch || t->o->start_batch))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--resume has the weights and the place of the run: leave out --restore, "
                         "--start-epoch and --start-batch");
    if ((rc = leat_setup_config(t->call, t->path, &t->o->set, &t->config, err)) < 0 ||
        (rc = leat_setup_threads(t->config, t->o->threads, err)) < 0 ||
        (rc = set_train(t, err)) < 0 || (rc = leat_setup_trace(t->config, t->o->trace, err)) < 0 ||
        (rc = leat_train_ranks_config(&t->ranks, t->config, false, err)) < 0 ||
        (rc = leat_plan_open(t->config, NULL, &t->run.plan, err)) < 0 ||
        (rc = leat_train_ranks_config(&t->ranks, t->config, true, err)) < 0)
        return rc;
    if (leat_config_get(t->config, "eval", text, sizeof text, NULL) == LEAT_OK)
        rc = leat_plan_open(t->config, "eval", &t->run.eval_plan, err);
    if (rc == LEAT_OK && t->run.eval_plan)
        rc = leat_trained_same_classes(t->config, "eval", err);
    return rc < 0 ? rc : leat_setup_check_eval(t->config, t->run.eval_plan, t->run.plan, err);
}

/* The images of the section `whiten` decide the weights of layers with `init: whiten` that have none yet. Without the
 * section the first batch does so. */
static int whiten(struct train *t, leat_error *err)
{
    const leat_loader_options how = { .device = t->run.device, .epochs = 1 };
    leat_plan *plan = NULL;
    leat_loader *loader = NULL;
    char text[64];
    if (!leat_trainer_whitens(t->run.trainer) ||
        leat_config_get(t->config, "whiten", text, sizeof text, NULL) < 0)
        return LEAT_OK;
    int rc = leat_plan_open(t->config, "whiten", &plan, err);
    if (rc == LEAT_OK && (rc = leat_trainer_check(t->run.trainer, plan, err)) == LEAT_OK &&
        (rc = leat_loader_open(plan, &how, &loader, err)) == LEAT_OK)
        rc = leat_trainer_whiten(t->run.trainer, loader, err);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    return rc < 0 ? leat_fail_in(err, rc, "whiten: ") : rc;
}

/* Files of the same sizes with other content give another run. Whether the content is another one, only reading all of it
 * would tell, and a copy may be newer, too. */
static void say_changed(const struct train *t)
{
    struct stat saved;
    if (!*t->found.path || t->ranks.rank > 0 || stat(t->found.path, &saved) < 0)
        return;
    const int64_t ns = (int64_t)saved.st_mtim.tv_sec * 1000000000 + saved.st_mtim.tv_nsec;
    const bool data = leat_plan_changed_ns(t->run.plan) > ns;
    if (data || leat_plan_changed_ns(t->run.eval_plan) > ns)
        fprintf(stderr,
                "leat train: files of %s were written to or replaced after %s was saved: if their "
                "content is another one, the run does not go on as it would have\n",
                data ? "the data" : "the `eval` part", leat_terminal_name(t->found.path));
}

/* The weights and the place of the run. */
static int open_weights(struct train *t, leat_error *err)
{
    char policy[64];
    int rc;
    if (t->run.eval_plan && (rc = leat_trainer_check(t->run.trainer, t->run.eval_plan, err)) < 0)
        return leat_fail_in(err, rc, "eval: ");
    if (t->o->restore && (rc = leat_trainer_restore(t->run.trainer, t->o->restore, err)) < 0)
        return rc;
    t->run.epochs = leat_trainer_get_info(t->run.trainer)->epochs;
    if (t->run.eval_plan &&
        (rc = leat_trainer_add_files(t->run.trainer, "eval", t->run.eval_plan, err)) < 0)
        return rc;
    rc = leat_train_checkpoint_open(&t->run, t->o->resume, t->ranks.rank == 0, &t->found, err);
    if (rc < 0 || (rc = leat_trainer_load(t->run.trainer, err)) < 0)
        return rc;
    if (t->ranks.rank == 0 && !*t->found.path &&
        (rc = leat_train_weights_classes(&t->run, t->config, t->o->restore, err)) < 0)
        return rc;
    t->run.keep.masks =
        leat_config_get(t->config, "pipeline.on_error", policy, sizeof policy, NULL) == LEAT_OK &&
        strstr(policy, "mask");
    say_changed(t);
    return whiten(t, err);
}

static int open_trainer(struct train *t, leat_error *err)
{
    const int64_t start_ns = leat_host_now_ns();
    int rc = leat_setup_device(t->config, t->o->device, &t->run.device, err);
    if (rc == LEAT_OK && t->ranks.group && t->o->resume)
        rc = leat_train_checkpoint_parts(t->config, t->o->resume,
                                         leat_plan_get_info(t->run.plan)->batch_size, err);
    if ((rc = leat_ranks_agree(t->ranks.group, rc, NULL, err)) < 0 ||
        (rc = leat_trainer_open_ranks(t->config, t->run.plan, t->run.device, t->ranks.group,
                                      &t->run.trainer, err)) < 0)
        return rc;
    t->run.start.creation = (double)(leat_host_now_ns() - start_ns) * 1e-6;
    return leat_ranks_agree(t->ranks.group, open_weights(t, err), NULL, err);
}

/* Place of the first batch in the run. */
static int first_batch(struct train *t, int64_t *out, leat_error *err)
{
    const int64_t per_epoch = leat_plan_get_info(t->run.plan)->n_batches;
    const struct train_options *o = t->o;
    *out = *t->found.path ? t->found.state.next_batch : o->start_batch;
    t->run.finished = t->run.ended_early = t->found.ended;
    t->run.decided.best = t->found.best;
    t->run.decided.best_batch = t->found.best_batch;
    if (per_epoch == 0)
        return leat_fail(err, LEAT_E_CONFIG, "%s: the pipeline gives no batch", t->path);
    if (per_epoch < 0 && o->steps < 0)
        return leat_fail(err, LEAT_E_ARGUMENT, "the pipeline repeats without end; give --steps");
    if (per_epoch < 0)
        return o->start_epoch ? leat_fail(err, LEAT_E_ARGUMENT,
                                          "--start-epoch: the pipeline repeats without end")
                              : LEAT_OK;
    if (*t->found.path && t->found.state.n_batches != per_epoch)
        return LEAT_OK; /* of other data: the loader says so */
    if (*t->found.path && *out > t->run.epochs * per_epoch)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "%s is from a longer run than one of %lld epoch%s: give more --epochs",
                         t->found.path, (long long)t->run.epochs, t->run.epochs == 1 ? "" : "s");
    if (*t->found.path) {
        t->run.finished |= *out == t->run.epochs * per_epoch;
        return LEAT_OK;
    }
    if (o->start_epoch >= t->run.epochs || o->start_batch > per_epoch ||
        o->start_epoch * per_epoch + o->start_batch >= t->run.epochs * per_epoch)
        return leat_fail(
            err, LEAT_E_ARGUMENT,
            "--start-epoch %lld --start-batch %lld: the run has %lld epochs of %lld batches",
            (long long)o->start_epoch, (long long)o->start_batch, (long long)t->run.epochs,
            (long long)per_epoch);
    *out += o->start_epoch * per_epoch;
    return LEAT_OK;
}

/* Checks at the start that the files written at the end are writable. */
static int check_outputs(const struct train *t, leat_error *err)
{
    const leat_trainer_info *info = leat_trainer_get_info(t->run.trainer);
    if (t->ranks.rank > 0)
        return LEAT_OK;
    int rc = leat_json_check(t->o->json, err);
    if (rc < 0 || !t->o->save)
        return rc;
    if (info->simulated)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--save: %s is simulated, so there are no weights to save",
                         info->simulated_by);
    return leat_train_check_save(&t->run, t->config, t->o->save, t->o->resume, err);
}

/* Opens the log and draws the first batch. Before the loader of the run takes its memory. */
static int open_log(struct train *t, int64_t first_batch, leat_error *err)
{
    const leat_trainer_info *const info = leat_trainer_get_info(t->run.trainer);
    const leat_plan_info *const plan = leat_plan_get_info(t->run.plan);
    if (!t->o->log || t->ranks.rank > 0)
        return LEAT_OK;
    json_t *line = json_object();
    leat_json_text(line, "config", t->path);
    leat_json_text(line, "device", info->device);
    leat_json_bool(line, "simulated", info->simulated);
    leat_json_int(line, "parameters", info->n_parameters);
    leat_json_int(line, "records", (int64_t)plan->n_records);
    leat_json_int(line, "batch_size", plan->batch_size);
    leat_json_int(line, "batches", plan->n_batches);
    leat_json_int(line, "n_epochs", info->epochs);
    leat_json_int(line, "log_every", t->o->log_every);
    t->run.log_every = t->o->log_every;
    const bool goes_on = t->o->resume || first_batch > 0;
    const int rc = leat_train_log_open(&t->run.log, t->o->log, line, first_batch, goes_on, err);
    return rc < 0 ? rc
                  : leat_train_log_sheet(t->run.log, t->run.plan, info->input, first_batch, err);
}

static int plan_loaders(const struct train *t, leat_train_loaders *out, leat_error *err)
{
    const leat_loader_options how = { .device = t->run.device };
    *out = (leat_train_loaders){ .eval = { .total_bytes = 0 } };
    int rc = LEAT_OK;
    if (t->run.loader)
        out->train = *leat_loader_budget(t->run.loader);
    else
        rc = leat_plan_budget(t->run.plan, &how, &out->train, err);
    if (rc == LEAT_OK && t->run.eval_plan &&
        (rc = leat_plan_budget(t->run.eval_plan, &how, &out->eval, err)) < 0)
        leat_fail_in(err, rc, "eval: ");
    return rc;
}

/* What each rank opens for itself. */
static int open_own(struct train *t, leat_error *err)
{
    leat_loader_options how = { .epochs = 1 };
    int rc;
    if ((rc = first_batch(t, &how.first_batch, err)) < 0 || (rc = check_outputs(t, err)) < 0 ||
        (rc = leat_bad_list_open(&t->run.bad, t->o->errors, *t->found.path || how.first_batch > 0,
                                 err)) < 0 ||
        (rc = open_log(t, how.first_batch, err)) < 0)
        return rc;
    how.device = t->run.device;
    how.epochs = t->run.epochs;
    how.expect = leat_trainer_get_info(t->run.trainer)->expect;
    how.state = *t->found.path ? &t->found.state : NULL;
    t->run.first = how.first_batch;
    t->run.owes_evaluation = t->found.owes_evaluation;
    if (!how.state && (rc = leat_trainer_start_at(t->run.trainer, how.first_batch, err)) < 0)
        return rc;
    rc = leat_loader_open(t->run.plan, &how, &t->run.loader, err);
    if (rc == LEAT_E_ARGUMENT && how.state)
        leat_fail_in(err, rc,
                     "--resume: %s needs the data and the pipeline of its run (--restore takes its "
                     "weights alone): ",
                     t->found.path);
    leat_train_loaders loaders;
    if (rc == LEAT_OK && (rc = plan_loaders(t, &loaders, err)) == LEAT_OK)
        leat_train_summary_memory(t->run.trainer, &loaders);
    return rc == LEAT_OK ? leat_train_checkpoint_known_best(&t->run, &t->found, err) : rc;
}

static int open_all(struct train *t, leat_error *err)
{
    leat_ranks *const ranks = t->ranks.group;
    int rc;
    if ((rc = leat_ranks_agree(ranks, open_plans(t, err), NULL, err)) < 0 ||
        (rc = open_trainer(t, err)) < 0)
        return rc;
    rc = open_own(t, err);
    return leat_train_ranks_same_run(&t->ranks, rc, &t->run, t->o->steps, err);
}

/* --- begin and end -----------------------------------------------------------------------------*/

static bool measures_evaluations(const leat_config *config)
{
    char text[64];
    return (leat_config_get(config, "train.metrics", text, sizeof text, NULL) == LEAT_OK &&
            strcmp(text, "[]") != 0) ||
           (leat_config_get(config, "train.views", text, sizeof text, NULL) == LEAT_OK &&
            strcmp(text, "none") != 0);
}

static void print_head(const struct train *t)
{
    const leat_trainer_info *info = leat_trainer_get_info(t->run.trainer);
    const leat_plan_info *plan = leat_plan_get_info(t->run.plan);
    char frozen[64] = "";
    if (info->n_frozen)
        snprintf(frozen, sizeof frozen, " (and %s frozen)",
                 leat_figure_count((uint64_t)info->n_frozen).text);
    leat_terminal_say(
        2, "%s: %s parameters%s, %.4g MFLOP per sample, %s records in batches of %s, on %s",
        t->path, leat_figure_count((uint64_t)info->n_parameters).text, frozen,
        info->flops_per_sample * 1e-6, leat_figure_count(plan->n_records).text,
        leat_figure_count((uint64_t)plan->batch_size).text, info->device);
    if (info->simulated)
        leat_terminal_say(
            2, "simulated: times are modelled, no arithmetic is done, so there is no loss");
    if (info->note)
        leat_terminal_say(2, "note: %s", info->note);
    if (!t->run.eval_plan && measures_evaluations(t->config))
        leat_terminal_say(
            2,
            "note: there is no `eval` part, so train.metrics and train.views have no effect here");
    leat_setup_say_left_out(t->run.eval_plan, "eval: ");
    leat_train_weights_print(t->run.trainer);
    fflush(stdout);
}

/* True if it goes on from the last update of the run: what is left is evaluated, and makes none. */
static bool has_last_update(const struct train *t)
{
    const int64_t per_epoch = leat_plan_get_info(t->run.plan)->n_batches;
    return *t->found.path && per_epoch > 0 &&
           leat_checkpoint_is_last(t->run.trainer, t->run.epochs * per_epoch - t->run.first);
}

/* A script that starts a job again until it succeeds comes to its end. */
static void say_finished(const struct train *t)
{
    if (!t->run.finished) {
        fprintf(stderr,
                "leat train: the run is finished: %s has its last update, and the batches after it "
                "make none (train.accumulate); with more --epochs it goes on\n",
                leat_terminal_name(t->found.path));
        return;
    }
    fprintf(stderr, "leat train: the run is finished: %s is from its end; %s\n",
            leat_terminal_name(t->found.path),
            t->found.ended ? "train.stop ended it because its evaluations were no longer better: "
                             "with a larger train.stop.patience, or without train.stop, it goes on"
                           : "with more --epochs it goes on");
}

static void close_all(struct train *t)
{
    leat_train_checkpoint_close(&t->run.keep);
    leat_loader_close(&t->run.loader);
    leat_trainer_close(&t->run.trainer);
    leat_train_ranks_end(&t->ranks);
    leat_device_close(&t->run.device);
    leat_plan_close(&t->run.eval_plan);
    leat_plan_close(&t->run.plan);
    leat_config_close(&t->config);
    json_decref(t->run.list);
}

/* --input 32x32x3 */
static int parse_shape(const char *text, leat_shape *out, leat_error *err)
{
    int64_t dims[LEAT_MAX_RANK];
    int32_t rank = 0;
    const char *at = text;
    char *end = NULL;
    for (; rank < LEAT_MAX_RANK; at = end + 1) {
        dims[rank] = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : 0;
        if (dims[rank] < 1 || dims[rank] > 1 << 24 || (*end != 0 && *end != 'x'))
            break;
        rank++;
        if (*end)
            continue;
        *out = leat_shape_make(LEAT_F32, rank, dims);
        if (leat_shape_bytes(out) > 0)
            return LEAT_OK;
        break;
    }
    return leat_fail(err, LEAT_E_ARGUMENT,
                     "--input '%s' is no shape: write height x width x channels, such as 32x32x3, "
                     "or the number of values of a vector, such as 784",
                     text);
}

static int64_t batch_size_of(const leat_config *config)
{
    char text[64];
    if (leat_config_get(config, "pipeline.batch.size", text, sizeof text, NULL) < 0 &&
        leat_config_get(config, "pipeline.batch", text, sizeof text, NULL) < 0)
        return 1;
    const int64_t n = strtoll(text, NULL, 10);
    return n > 0 ? n : 1;
}

/* The model for samples of the shape of --input: no plan, so no data. */
static int open_shape(struct train *t, leat_train_loaders *loaders, leat_error *err)
{
    leat_shape shape;
    int rc = parse_shape(t->o->input, &shape, err);
    *loaders = (leat_train_loaders){ .batch_size = 0 };
    if (rc < 0 || (rc = leat_setup_config(t->call, t->path, &t->o->set, &t->config, err)) < 0 ||
        (rc = leat_setup_device(t->config, t->o->device, &t->run.device, err)) < 0)
        return rc;
    loaders->batch_size = batch_size_of(t->config);
    return leat_trainer_open_shape(t->config, &shape, loaders->batch_size, t->run.device,
                                   &t->run.trainer, err);
}

static int open_planned(struct train *t, leat_train_loaders *loaders, leat_error *err)
{
    int rc;
    if ((rc = open_plans(t, err)) < 0 ||
        (rc = leat_setup_device(t->config, t->o->device, &t->run.device, err)) < 0 ||
        (rc = leat_trainer_open(t->config, t->run.plan, t->run.device, &t->run.trainer, err)) < 0)
        return rc;
    if (t->run.eval_plan && (rc = leat_trainer_check(t->run.trainer, t->run.eval_plan, err)) < 0)
        return leat_fail_in(err, rc, "eval: ");
    return plan_loaders(t, loaders, err);
}

/* --summary: only what the plan and the model say. */
static int run_summary(struct train *t, leat_error *err)
{
    leat_train_loaders loaders;
    int rc = leat_json_check(t->o->json, err);
    if (rc == LEAT_OK)
        rc = t->o->input ? open_shape(t, &loaders, err) : open_planned(t, &loaders, err);
    if (rc == LEAT_OK && t->run.talks)
        rc = leat_train_summary_print(t->run.trainer, t->path, &loaders, err);
    if (rc == LEAT_OK)
        leat_train_summary_memory(t->run.trainer, &loaders);
    if (rc == LEAT_OK && t->o->json) {
        json_t *const json = leat_train_summary_json(t->run.trainer, &loaders, err);
        rc = json || !err->code ? leat_json_write(json, t->o->json, err) : err->code;
    }
    close_all(t);
    fflush(stdout);
    return rc;
}

/* FLOP/s of several devices are no share of one. Ranks that were forked share the CPU. */
static void find_ceiling(struct train *t)
{
    leat_train_run *const run = &t->run;
    const leat_trainer_info *const info = leat_trainer_get_info(run->trainer);
    const char *why = NULL;
    if (info->crossings > 0)
        why = "layers run on several devices";
    else if (t->ranks.mpi)
        why = "ranks of MPI may run on several machines";
    else if (!run->has_meter || run->stopped)
        why = "not measured: the run was stopped, or is too short";
    if (why)
        snprintf(run->ceiling.why, sizeof run->ceiling.why, "%s", why);
    else
        leat_ceiling_measure(run->device, info->precision, &run->ceiling);
    run->ceiling.precision = info->precision;
}

/* After it was stopped. Batch systems begin a job again that ends with the code AGAIN, which must have something to go on
 * from; MPI's launchers would report ranks that ended by a signal as crashed. */
static int end_stopped(const struct train *t, bool goes_on)
{
    if (!t->ranks.mpi && leat_signals_caught() != SIGUSR1)
        leat_signals_raise(); /* not if another rank has caught it */
    return goes_on ? LEAT_EXIT_AGAIN : LEAT_EXIT_FAILED;
}

/* Rank 0 writes the results. */
static int write_results(struct train *t, const leat_call *call, double seconds, int rc,
                         leat_error *err)
{
    const struct train_options *const o = t->o;
    if (rc == LEAT_OK)
        find_ceiling(t);
    if (rc == LEAT_OK && t->run.talks)
        leat_train_end_print(&t->run, t->path, o->log, seconds);
    /* Of a run that diverged, the JSON of earlier epochs is written; its error is reported. */
    if (o->json && (rc == LEAT_OK || t->run.diverged || t->run.has_results)) {
        json_t *const json = leat_train_end_json(&t->run, call, t->found.path, seconds);
        const int written = leat_json_write(json, o->json, rc == LEAT_OK ? err : NULL);
        rc = rc == LEAT_OK ? written : rc;
    }
    rc = leat_setup_trace_write(t->run.loader, o->trace, t->run.talks, rc, err);
    int closed = leat_bad_list_close(&t->run.bad, rc == LEAT_OK ? err : NULL);
    rc = rc == LEAT_OK ? closed : rc;
    closed = leat_train_log_close(&t->run.log, rc == LEAT_OK ? err : NULL);
    rc = rc == LEAT_OK ? closed : rc;
    fflush(stdout);
    if (rc == LEAT_OK && t->run.stopped)
        leat_train_stop_print(&t->run, t->config, call);
    return rc;
}

static int run(const leat_call *call, leat_error *err)
{
    const struct train_options *const o = call->options;
    if (o->input && !o->summary)
        return leat_command_misuse("train", "--input is for --summary; a run reads its data");
    if (o->ranks != 1 && o->ranks != LEAT_TRAIN_RANKS_AUTO && (o->errors || o->summary))
        return leat_command_misuse(
            "train", "--ranks: leave out --errors and --summary, which are of one process");
    leat_train_ranks ranks;
    leat_signals_note_usr1();
    int rc = leat_train_ranks_start(&ranks, o->ranks, o->deadline, o->overlap, err);
    const bool speaks = ranks.rank == 0;
    struct train t = { .call = call,
                       .o = o,
                       .ranks = ranks,
                       .path = call->arguments[0],
                       .run = { .steps_most = o->steps,
                                .ranks = ranks.group,
                                .save = speaks ? o->save : NULL,
                                .saves = o->save != NULL,
                                .talks = speaks && !leat_json_to_stdout(o->json),
                                .progress_when =
                                    o->quiet || !speaks ? LEAT_PROGRESS_OFF : o->progress,
                                .best_accuracy = -1,
                                .start = { NAN, NAN, NAN },
                                .list = o->json ? json_array() : NULL } };
    const int64_t start = leat_host_now_ns();
    leat_signals_stop_at_once("train");
    if (o->summary)
        return run_summary(&t, err);
    leat_signals_outlive_readers();
    rc = rc == LEAT_OK ? open_all(&t, err) : rc;
    if (rc == LEAT_OK && t.run.talks)
        print_head(&t);
    if (rc == LEAT_OK && speaks && (t.run.finished || has_last_update(&t)))
        say_finished(&t);
    leat_signals_stop_soon("train"); /* until here there was nothing to save */
    if (rc == LEAT_OK)
        rc = leat_train_run_all(&t.run, err);
    /* Of ranks at once: the others end all of them when they have waited too long. */
    const bool told = rc < 0 && ranks.group && leat_train_ranks_speaks(&ranks);
    if (told)
        leat_command_fail("train", err);
    if (speaks)
        rc = write_results(&t, call, (double)(leat_host_now_ns() - start) * 1e-9, rc, err);
    int code = rc == LEAT_OK           ? LEAT_EXIT_OK
               : rc == LEAT_E_ARGUMENT ? LEAT_EXIT_USAGE
                                       : LEAT_EXIT_FAILED;
    if (rc < 0 && !told && leat_train_ranks_speaks(&ranks))
        code = leat_command_fail("train", err); /* before closing, which may end all ranks */
    const bool goes_on = t.run.trainer && leat_trainer_get_info(t.run.trainer)->checkpoint_dir;
    close_all(&t);
    if (rc < 0 && t.run.stopped && t.run.kept && leat_signals_caught() == SIGUSR1)
        code = LEAT_EXIT_AGAIN;
    return rc == LEAT_OK && t.run.stopped ? end_stopped(&t, goes_on) : code;
}

const leat_command leat_command_train = {
    .name = "train",
    .summary = "train the model of a config",
    .arguments = "CONFIG",
    .text =
        "Trains the model of a config's `train` part from its pipeline, until the last epoch or "
        "after --steps, and evaluates it after each epoch if the config has an `eval` part. Each "
        "epoch prints loss and accuracy, samples/s, and where the device's time went: busy, or "
        "idle for input, for copies, or for other reasons. Samples/s and the shares do not include "
        "the warm-up of the first epoch; fewer than five steps are not measured. The end prints "
        "creation, first step and steady step, what the first epoch took longer for, FLOP/s and "
        "bytes copied with their share of what "
        "the device reaches, launches per step, and on a GPU idle time by CUPTI beside that by "
        "events. If the loss is not a finite number, the run stops with exit code 1 and does not "
        "save its weights.\n\n"
        "Ctrl-C (or SIGTERM, SIGHUP) stops the run after the current step, or an evaluation at its "
        "next batch; with train.accumulate and --save or --checkpoint, after the current update of "
        "the weights. With --save the weights are then saved, and the command that resumes the run "
        "is printed; with --json the finished epochs are in the file. A second Ctrl-C stops it at "
        "once.\n\n"
        "--log writes a folder that other programs read while the run is alive: one JSON object "
        "per line, an event file that TensorBoard opens, and a picture of the first batch as the "
        "model gets it. `leat plot` draws curves of it. Reading the loss does not make a device "
        "wait: on devices other than the CPU it is known at the end of an epoch only.\n\n"
        "--checkpoint saves weights, the optimizer's state and the place in the data after each "
        "epoch, at the end, when the run is stopped, and as often as train.checkpoint says. With "
        "--resume the run continues from the newest undamaged checkpoint, also after a crash; on "
        "the CPU with the same weights, bit for bit, as if it had not stopped. Of a run that is "
        "finished it says so, writes what --save and --json ask for, and ends with exit code 0.\n\n"
        "A run begins with the weights of train.weights, which may fit the model in part: what is "
        "not taken is listed. --restore and --resume have other weights.\n\n"
        "--restore with --start-epoch and --start-batch also starts with saved weights, at any "
        "position in the data, but without the optimizer's state; its updates, from which dropout "
        "and Adam count, begin at 0. What evaluations decided begins anew, too (the rate that "
        "the schedule `plateau` lowered, the patience of train.stop), as do averages "
        "(train.average). --resume goes on with all of it.",
    .example = "  leat train examples/cifar10.yaml --epochs 10 --save cifar10.safetensors\n"
               "  leat train examples/cifar10.yaml --log runs/first",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct train_options),
    .run = run,
};
