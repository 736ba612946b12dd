/* SPDX-License-Identifier: MIT
 *
 * train_end.c: what `leat train` says of a whole run: at its end, and when a signal stopped it. */
#include "train_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "convert/jpeg_side.h"
#include "formats/figure.h"
#include "print/terminal.h"
#include "train_weights.h"

/* --- at the end -------------------------------------------------------------------------------*/

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

void leat_train_end_print(const leat_train_run *t, const char *config, const char *log,
                          double seconds)
{
    printf("\n%s step%s in %.1f s", leat_figure_count((uint64_t)t->steps).text,
           t->steps == 1 ? "" : "s", seconds);
    if (t->best_accuracy >= 0)
        printf("; best eval accuracy %.2f %% in epoch %lld", t->best_accuracy * 100,
               (long long)t->best_epoch + 1);
    leat_train_decide_end(t);
    if (t->save)
        printf("; weights in %s", leat_terminal_name(t->save));
    if (*t->keep.path)
        printf("; checkpoint %s", leat_terminal_name(t->keep.path));
    if (log)
        printf("; log in %s", leat_terminal_name(log));
    putchar('\n');
    print_speed(t);
    leat_bad_list_print("", t->loader);
    leat_summary_print(&(leat_loader_stats_info){ 0 }, &t->stats);
    leat_jpeg_side_print(&t->stats);
    print_guess(t, config);
}

static json_t *input_json(const leat_train_run *t)
{
    static const leat_loader_stats_info none;
    json_t *json = json_object();
    leat_summary_add(json, &none, &t->stats);
    return json;
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
    leat_speed_add_device(json, &t->ceiling, &t->record.result);
    leat_json_text(json, "graph_failure", leat_trainer_graph_failure(t->trainer));
    leat_json_real(json, "best_eval_accuracy", t->best_accuracy >= 0 ? t->best_accuracy : NAN);
    leat_json_add(json, "best", leat_train_decide_json(t));
    leat_json_bool(json, "ended_early", t->ended_early);
    leat_json_bool(json, "diverged", t->diverged);
    leat_json_add(json, "stopped", leat_train_stop_json(t, call));
    leat_json_add(json, "input", input_json(t));
    leat_json_add(json, "weights", leat_train_weights_json(t->trainer));
    leat_json_add(json, "resumed", *resumed ? leat_json_string(resumed) : json_null());
    leat_json_add(json, "checkpoint", *t->keep.path ? leat_json_string(t->keep.path) : json_null());
    leat_json_add(json, "saved", t->saved ? leat_json_string(t->save) : json_null());
    return json;
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
    const int64_t per_epoch = steps_of_epoch(t), at = t->first + t->saved_steps;
    const int64_t done = whole ? t->keep.saved_steps : t->saved_steps;
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

void leat_train_stop_print(const leat_train_run *t, const leat_call *call)
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
        fprintf(stderr, "%s has the weights %s (without the optimizer's state)\n", t->save,
                t->saved_steps == t->steps ? "of the last step" : "of the previous epoch");
    else if (t->save && !*t->keep.path)
        fprintf(stderr, "nothing was saved: there is nothing to save yet\n");
    else if (!t->keep.folder)
        fprintf(stderr, "nothing was saved: use --checkpoint DIR or --save FILE\n");
    if (command)
        fprintf(stderr, "to resume: %s\n", command);
    free(command);
}

json_t *leat_train_stop_json(const leat_train_run *t, const leat_call *call)
{
    if (!t->stopped)
        return json_null();
    char *const command = go_on(t, call);
    const int64_t per_epoch = steps_of_epoch(t), at = t->first + t->steps;
    json_t *json = json_object();
    leat_json_int(json, "epoch", per_epoch ? at / per_epoch : 0);
    leat_json_int(json, "batch", per_epoch ? at % per_epoch : at);
    leat_json_add(json, "go_on", command ? leat_json_string(command) : json_null());
    free(command);
    return json;
}
