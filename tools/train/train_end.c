/* SPDX-License-Identifier: MIT */
#include "train_end.h"

#include <math.h>
#include <string.h>

#include "convert/jpeg_side.h"
#include "formats/figure.h"
#include "print/terminal.h"
#include "train_decide.h"
#include "train_stop.h"
#include "train_weights.h"

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
