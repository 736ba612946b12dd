/* SPDX-License-Identifier: MIT */
#include "train_stop.h"

#include <stdlib.h>

#include "cli.h"
#include "formats/figure.h"
#include "print/terminal.h"

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
