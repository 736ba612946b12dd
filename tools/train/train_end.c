/* SPDX-License-Identifier: MIT
 *
 * train_end.c: what `leat train` says of a whole run: at its end, and when a signal stopped it. */
#include "train_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "files.h"
#include "formats/figure.h"
#include "print/explain.h"
#include "print/terminal.h"

/* --- speed -------------------------------------------------------------------------------------*/

/* Shares alone prove no cause, because any thread can be late when all cores are busy. */
static void print_guess(const leat_train_run *t, const char *config)
{
    const leat_trainer_info *const info = leat_trainer_get_info(t->trainer);
    char text[256];
    if (!t->has_meter)
        return;
    leat_doctor_guess(&t->meter, !strcmp(info->device, "cpu"), text, sizeof text);
    leat_terminal_say(2, "%s%s; a guess from this run alone, `leat doctor %s` measures the parts",
                      info->simulated ? "simulated, " : "", text, config);
}

static void print_speed(const leat_train_run *t)
{
    const leat_trainer_info *const info = leat_trainer_get_info(t->trainer);
    leat_speed_print_start(&t->start);
    leat_train_first_print(t);
    if (!t->has_meter)
        return;
    leat_speed_print("steady", &t->meter, info->flops_per_sample, &t->ceiling, info->simulated);
    leat_speed_print_crossings(&t->meter);
    const char *const graph = leat_trainer_graph_failure(t->trainer);
    if (*graph)
        leat_terminal_say(2, "note: steps were launched call by call, not as one CUDA graph: %s",
                          graph);
    if (!info->simulated && strcmp(info->device, "cpu") != 0)
        leat_speed_print_recorded("steady", &t->record.result, &t->meter);
}

/* --- the best weights ---------------------------------------------------------------------------*/

/* The epoch of the best evaluation, from 0; -1: none, or the best weights are not kept. */
static int64_t best_epoch(const leat_train_run *t)
{
    const int64_t per_epoch = leat_plan_get_info(t->plan)->n_batches;
    const bool kept = leat_trainer_get_info(t->trainer)->checkpoint_best && t->keep.folder;
    return kept && t->decided.best_batch > 0 && per_epoch > 0
               ? t->decided.best_batch / per_epoch - 1
               : -1;
}

/* The file of its weights, in new memory. NULL: out of memory, or *why: it is damaged, of another evaluation, or missing, as
 * when the run went on in another folder and the best epoch was before that. */
static char *best_file(const leat_train_run *t, leat_error *why)
{
    char *path = leat_files_text("%s/" LEAT_CHECKPOINT_BEST, t->keep.folder);
    if (path && (!leat_train_checkpoint_held(&t->keep) ||
                 leat_checkpoint_check_best(t->trainer, t->keep.folder, why) < 0)) {
        free(path);
        path = NULL;
    }
    return path;
}

static void print_best(const leat_train_run *t)
{
    const char *const metric = leat_trainer_get_info(t->trainer)->checkpoint_best;
    if (best_epoch(t) < 0)
        return;
    leat_error why = { 0 };
    char *const path = best_file(t, &why);
    printf("; best weights, %s %.6g in epoch %lld, %s %s", metric, t->decided.best,
           (long long)best_epoch(t) + 1, path ? "in" : "not in",
           leat_terminal_name(path ? path : t->keep.folder));
    if (why.code == LEAT_E_DATA) /* of a missing file "not in" says enough */
        printf(" (%s)", leat_terminal_name(why.message));
    free(path);
}

static void add_best(json_t *object, const leat_train_run *t)
{
    const char *const metric = leat_trainer_get_info(t->trainer)->checkpoint_best;
    leat_json_add(object, "best", json_null());
    if (best_epoch(t) < 0)
        return;
    char *const path = best_file(t, NULL);
    json_t *json = leat_json_object(object, "best");
    leat_json_text(json, "metric", metric);
    leat_json_real(json, "value", t->decided.best);
    leat_json_int(json, "epoch", best_epoch(t));
    leat_json_text(json, "file", path);
    free(path);
}

/* --- what ranks waited for ---------------------------------------------------------------------*/

/* Owned by the caller; NULL: there is one process, or nothing was measured. */
static leat_ranks_time *rank_times(const leat_train_run *t, int32_t *n)
{
    *n = leat_ranks_times(t->ranks, NULL, 0);
    leat_ranks_time *const times = *n > 1 ? calloc((size_t)*n, sizeof *times) : NULL;
    if (times)
        leat_ranks_times(t->ranks, times, *n);
    return times;
}

/* False: there are no such times. */
static bool print_ranks(const leat_train_run *t)
{
    char text[256], label[LEAT_VERDICT_LABEL];
    leat_verdict verdict;
    int32_t n;
    leat_ranks_time *const times = rank_times(t, &n);
    if (!times)
        return false;
    printf("%-24s %9s %9s %12s %14s %6s\n", "", "computes", "input", "other ranks", "communication",
           "late");
    for (int32_t r = 0; r < n; r++)
        printf("%-24s %7.1f %% %7.1f %% %10.1f %% %12.1f %% %4.1f %%\n",
               leat_terminal_name(times[r].name), 100 * times[r].compute, 100 * times[r].input,
               100 * times[r].others, 100 * times[r].exchange, 100 * times[r].late);
    leat_doctor_ranks(times, n, &verdict, text, sizeof text);
    const char *const name = leat_verdict_about(verdict.kind)->name;
    leat_verdict_label(&verdict, label);
    leat_terminal_say(2, "%s%s%s%s%s", name, *label ? ": " : "", label, *name ? ": " : "",
                      leat_terminal_name(text));
    free(times);
    return true;
}

static void add_ranks(json_t *object, const leat_train_run *t)
{
    char text[256], label[LEAT_VERDICT_LABEL];
    leat_verdict verdict;
    int32_t n;
    leat_ranks_time *const times = rank_times(t, &n);
    leat_json_add(object, "ranks", json_null());
    if (!times)
        return;
    json_t *const json = leat_json_object(object, "ranks");
    leat_doctor_ranks(times, n, &verdict, text, sizeof text);
    leat_json_text(json, "verdict", leat_verdict_about(verdict.kind)->name);
    leat_json_text(json, "label", leat_verdict_label(&verdict, label));
    leat_json_text(json, "severity", leat_verdict_severity(verdict.severity));
    leat_json_text(json, "sentence", text);
    json_t *const list = leat_json_list(json, "list");
    for (int32_t r = 0; r < n; r++) {
        json_t *const row = leat_json_row(list);
        leat_json_text(row, "name", times[r].name);
        leat_json_real(row, "computing", times[r].compute);
        leat_json_real(row, "input_wait", times[r].input);
        leat_json_real(row, "rank_wait", times[r].others);
        leat_json_real(row, "communication", times[r].exchange);
        leat_json_real(row, "late", times[r].late);
    }
    free(times);
}

/* --- after a signal ---------------------------------------------------------------------------*/

/* Steps of an epoch; 0: it has no end. */
static int64_t steps_of_epoch(const leat_train_run *t)
{
    const int64_t n = leat_plan_get_info(t->plan)->n_batches;
    return n > 0 ? n : 0;
}

/* True if all steps were made: the signal came during the evaluation after the last one. */
static bool is_complete(const leat_train_run *t)
{
    return t->steps == t->steps_most ||
           (steps_of_epoch(t) && t->first + t->steps == t->epochs * steps_of_epoch(t));
}

/* The command line that resumes at the saved weights, in new memory; NULL: none are saved. */
static char *go_on(const leat_train_run *t, const leat_call *call)
{
    static const char *const changed[] = { "restore", "start_epoch", "start_batch",
                                           "steps",   "resume",      NULL };
    const bool whole = *t->keep.path;
    const int64_t per_epoch = steps_of_epoch(t), at = t->first + t->saved_update;
    const int64_t done = whole ? t->keep.saved_steps : t->saved_update;
    char epoch[24], batch[24], steps[24];
    const char *more[9] = { "--restore", t->save, "--start-batch", batch };
    int n = 4;
    if ((!t->saved && !whole) || is_complete(t))
        return NULL;
    if (whole) {
        more[0] = "--resume";
        n = 1;
    }
    snprintf(batch, sizeof batch, "%lld", (long long)(per_epoch ? at % per_epoch : at));
    if (per_epoch && !whole) {
        snprintf(epoch, sizeof epoch, "%lld", (long long)(at / per_epoch));
        more[n++] = "--start-epoch";
        more[n++] = epoch;
    }
    if (t->steps_most > 0) {
        snprintf(steps, sizeof steps, "%lld", (long long)(t->steps_most - done));
        more[n++] = "--steps";
        more[n++] = steps;
    }
    more[n] = NULL;
    return leat_cli_again(call, changed, more);
}

static bool is_set(const leat_config *config, const char *path)
{
    char text[64];
    return leat_config_get(config, path, text, sizeof text, NULL) == LEAT_OK && *text &&
           strcmp(text, "null") != 0;
}

/* `schedule: plateau` or `schedule: {plateau: …}` */
static bool is_kind(const leat_config *config, const char *path, const char *kind)
{
    char text[64], key[64];
    snprintf(key, sizeof key, "%s.%s", path, kind);
    return leat_config_get(config, key, text, sizeof text, NULL) == LEAT_OK ||
           (leat_config_get(config, path, text, sizeof text, NULL) == LEAT_OK &&
            !strcmp(text, kind));
}

/* What a file of weights does not have, if the config uses it. */
static void print_anew(const leat_config *config)
{
    const struct {
        bool on;
        const char *what;
    } lost[] = {
        { is_kind(config, "train.schedule", "plateau"),
          "the learning rate that `plateau` lowered" },
        { is_set(config, "train.stop"), "the patience of train.stop" },
        { is_kind(config, "train.average", "ema"), "the average `ema`" },
        { is_kind(config, "train.average", "lookahead"), "the average `lookahead`" },
    };
    char text[200] = "";
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        if (lost[i].on)
            leat_files_append(text, sizeof text, "%s%s", *text ? ", " : "", lost[i].what);
    if (*text)
        fprintf(stderr, "what begins anew then: %s; a run with --checkpoint keeps it (--resume)\n",
                text);
}

static void print_place(const leat_train_run *t)
{
    const int64_t per_epoch = steps_of_epoch(t), at = t->first + t->steps;
    if (is_complete(t))
        fprintf(stderr, "leat train: stopped after the last step");
    else if (per_epoch)
        fprintf(stderr, "leat train: stopped in epoch %lld of %lld, after %s of its %s steps",
                (long long)(at / per_epoch) + 1, (long long)t->epochs,
                leat_figure_count((uint64_t)(at % per_epoch)).text,
                leat_figure_count((uint64_t)per_epoch).text);
    else
        fprintf(stderr, "leat train: stopped after batch %s", leat_figure_count((uint64_t)at).text);
    fprintf(stderr, "; this run made %s step%s\n", leat_figure_count((uint64_t)t->steps).text,
            t->steps == 1 ? "" : "s");
}

void leat_train_stop_print(const leat_train_run *t, const leat_config *config,
                           const leat_call *call)
{
    char *const command = go_on(t, call);
    print_place(t);
    if (t->eval_stopped)
        fprintf(stderr,
                "the evaluation of the last epoch was not finished; `leat eval` makes one with "
                "saved weights\n");
    if (*t->keep.path)
        fprintf(stderr, "%s has all that the run needs to go on\n",
                leat_terminal_name(t->keep.path));
    if (t->saved)
        fprintf(stderr, "%s has the weights %s (without the optimizer's state)\n",
                leat_terminal_name(t->save),
                t->saved_steps == t->steps ? "of the last step" : "of the previous epoch");
    else if (t->save && !*t->keep.path)
        fprintf(stderr, "nothing was saved: there is nothing to save yet\n");
    else if (!t->keep.folder)
        fprintf(stderr, "nothing was saved: use --checkpoint DIR or --save FILE\n");
    if (command)
        fprintf(stderr, "to resume: %s\n", command);
    if (command && !*t->keep.path)
        print_anew(config);
    free(command);
}

static json_t *stop_json(const leat_train_run *t, const leat_call *call)
{
    if (!t->stopped)
        return json_null();
    char *const command = go_on(t, call);
    const int64_t per_epoch = steps_of_epoch(t), at = t->first + t->steps;
    json_t *json = json_object();
    leat_json_int(json, "epoch", per_epoch ? at / per_epoch : 0);
    leat_json_int(json, "batch", per_epoch ? at % per_epoch : at);
    leat_json_text(json, "go_on", command);
    free(command);
    return json;
}

/* --- the end -----------------------------------------------------------------------------------*/

void leat_train_end_print(const leat_train_run *t, const char *config, const char *log,
                          double seconds)
{
    printf("\n%s step%s in %.1f s", leat_figure_count((uint64_t)t->steps).text,
           t->steps == 1 ? "" : "s", seconds);
    if (t->best_accuracy >= 0)
        printf("; best eval accuracy %.2f %% in epoch %lld", t->best_accuracy * 100,
               (long long)t->best_epoch + 1);
    print_best(t);
    if (t->saved && t->saved_steps == t->steps)
        printf("; weights in %s", leat_terminal_name(t->save));
    if (*t->keep.path)
        printf("; checkpoint %s", leat_terminal_name(t->keep.path));
    if (log)
        printf("; log in %s", leat_terminal_name(log));
    putchar('\n');
    print_speed(t);
    leat_bad_list_print("", t->loader, &t->stats);
    leat_summary_print(&(leat_loader_stats_info){ 0 }, &t->stats);
    leat_explain_jpeg(&t->stats);
    if (!print_ranks(t))
        print_guess(t, config);
}

json_t *leat_train_end_json(leat_train_run *t, const leat_call *call, const char *resumed,
                            double seconds)
{
    const leat_trainer_info *info = leat_trainer_get_info(t->trainer);
    json_t *json = leat_json_open("train");
    leat_json_text(json, "config", call->arguments[0]);
    leat_json_text(json, "device", info->device);
    leat_json_bool(json, "simulated", info->simulated);
    leat_json_int(json, "parameters", info->n_parameters);
    leat_json_real(json, "flops_per_sample", info->flops_per_sample);
    leat_json_int(json, "records", (int64_t)leat_plan_get_info(t->plan)->n_records);
    leat_json_int(json, "batch_size", leat_plan_get_info(t->plan)->batch_size);
    leat_json_add(json, "epochs", t->list);
    t->list = NULL;
    leat_json_int(json, "steps", t->steps);
    leat_bad_list_json(json, &t->stats);
    leat_json_real(json, "seconds", seconds);
    leat_speed_add_start(json, &t->start);
    leat_train_first_add(json, t);
    leat_speed_add_device(json, &t->ceiling, &t->record.result);
    leat_json_text(json, "graph_failure", leat_trainer_graph_failure(t->trainer));
    leat_json_real(json, "best_eval_accuracy", t->best_accuracy >= 0 ? t->best_accuracy : NAN);
    add_best(json, t);
    leat_json_bool(json, "ended_early", t->ended_early);
    leat_json_bool(json, "diverged", t->diverged);
    leat_json_add(json, "stopped", stop_json(t, call));
    leat_summary_add(leat_json_object(json, "input"), &(leat_loader_stats_info){ 0 }, &t->stats);
    add_ranks(json, t);
    leat_json_add(json, "weights", leat_train_weights_json(t->trainer));
    leat_json_text(json, "resumed", *resumed ? resumed : NULL);
    leat_json_text(json, "checkpoint", *t->keep.path ? t->keep.path : NULL);
    leat_json_text(json, "saved", t->saved ? t->save : NULL);
    return json;
}
