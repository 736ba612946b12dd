/* SPDX-License-Identifier: MIT
 *
 * train_epoch.c: the end of an epoch of `leat train`: its line and its JSON, in which figures that were not measured are
 * missing or null; what its evaluation decides; and the error of a loss that is not finite. */
#include "train_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "files.h"
#include "formats/figure.h"
#include "print/classes.h"
#include "print/speed.h"
#include "print/terminal.h"
#include "setup.h"

static void add_metrics(json_t *one, const char *loss, const char *accuracy,
                        const leat_metrics *metrics, bool known)
{
    leat_json_real(one, loss, known ? metrics->loss : NAN);
    leat_json_real(one, accuracy, known ? metrics->accuracy : NAN);
}

/* Of the evaluation; null where nobody asked. */
static void add_classes(json_t *one, const leat_train_run *t, const leat_train_epoch *e)
{
    const int64_t n = e->has_eval ? leat_score_n_evaluated(t->trainer) : 0;
    leat_json_real(one, "eval_precision", n > 0 ? e->eval.precision : NAN);
    leat_json_real(one, "eval_recall", n > 0 ? e->eval.recall : NAN);
    leat_json_real(one, "eval_f1", n > 0 ? e->eval.f1 : NAN);
    leat_json_real(one, "eval_auc", n > 0 ? e->eval.auc : NAN);
    leat_json_add(one, "eval_classes", n > 0 ? json_array() : json_null());
    for (int64_t i = 0; i < n; i++) {
        leat_score_class class;
        leat_score_evaluated_class(t->trainer, i, &class);
        leat_classes_add(json_object_get(one, "eval_classes"), i, NULL, &class);
    }
}

json_t *leat_train_epoch_json(const leat_train_run *t, const leat_train_epoch *e)
{
    const leat_meter *m = &e->meter;
    const double no = NAN;
    json_t *one = json_object();
    leat_json_int(one, "epoch", e->number);
    leat_json_int(one, "steps", e->steps);
    leat_json_int(one, "samples", (int64_t)e->train.samples);
    leat_json_real(one, "seconds", e->seconds);
    add_metrics(one, "loss", "accuracy", &e->train, true);
    add_metrics(one, "eval_loss", "eval_accuracy", &e->eval, e->has_eval);
    add_classes(one, t, e);
    leat_json_real(one, "learning_rate", e->rate);
    leat_json_bool(one, "best", e->decided.better);
    leat_json_bool(one, "lowered", e->decided.lowered);
    leat_json_bool(one, "steady", e->steady);
    leat_json_int(one, "measured_steps", e->has_meter ? (int64_t)m->n_steps : 0);
    leat_json_real(one, "samples_per_s", e->has_meter ? m->samples_per_s : no);
    leat_json_real(one, "step_p50_ms", e->has_meter ? (double)m->step_p50_ns * 1e-6 : no);
    leat_json_real(one, "step_p95_ms", e->has_meter ? (double)m->step_p95_ns * 1e-6 : no);
    leat_json_real(one, "busy", e->has_meter ? m->busy : no);
    leat_json_real(one, "input_wait", e->has_meter ? m->input_wait : no);
    leat_json_real(one, "exposed_copy", e->has_meter ? m->exposed_copy : no);
    leat_json_real(one, "other", e->has_meter ? m->other : no);
    leat_speed_add(one, e->has_meter ? m : NULL,
                   leat_trainer_get_info(t->trainer)->flops_per_sample);
    return one;
}

/* --- a table -----------------------------------------------------------------------------------*/

/* Right-aligned in `width` columns after a space; unknown figures are a dash. */
static void print_real(int width, int digits, double value)
{
    if (isfinite(value) && value < 1000)
        printf(" %*.*f", width, digits, value);
    else if (isfinite(value))
        printf(" %*.*g", width, width - 3, value);
    else
        printf(" %*s", width, isnan(value) ? "-" : "inf");
}

static void print_head(bool has_eval, bool simulated)
{
    printf("\n%7s %14s", "", "training");
    if (has_eval)
        printf(" %14s", "evaluation");
    printf(" %9s %23s\n%7s %7s %6s", "", simulated ? "% of time (simulated)" : "% of device's time",
           "epoch", "loss", "acc. %");
    if (has_eval)
        printf(" %7s %6s", "loss", "acc. %");
    printf(" %9s %5s %5s %5s %5s %7s\n", "samples/s", "busy", "input", "copy", "other", "s");
}

static void print_metrics(const leat_metrics *metrics, bool simulated)
{
    print_real(7, 4, simulated ? NAN : metrics->loss);
    print_real(6, 2, metrics->accuracy * 100);
}

static void print_meter(const leat_train_epoch *e)
{
    const leat_meter *const m = &e->meter;
    const double shares[] = { m->busy, m->input_wait, m->exposed_copy, m->other };
    printf(" %9s", e->has_meter ? leat_figure_rate(m->samples_per_s).text : "-");
    for (int i = 0; i < 4; i++)
        print_real(5, 1, e->has_meter ? shares[i] * 100 : NAN);
}

/* A line below the epoch's, if metrics over classes were asked for. */
static void print_classes(const leat_train_run *t, const leat_train_epoch *e)
{
    const int64_t n = e->has_eval ? leat_score_n_evaluated(t->trainer) : 0;
    leat_classes_absent absent = { .n = 0 };
    char text[LEAT_CLASSES_TEXT];
    if (n == 0)
        return;
    printf("%7s %s\n", "", leat_classes_text(&e->eval, text));
    for (int64_t i = 0; i < n && !t->has_epoch; i++) {
        leat_score_class class;
        leat_score_evaluated_class(t->trainer, i, &class);
        leat_classes_note(&absent, i, &class);
    }
    if (leat_classes_absent_text(&absent))
        leat_terminal_say(9, "        eval: %s", absent.text);
}

void leat_train_decide_print(const leat_train_run *t, const leat_train_epoch *e)
{
    if (e->decided.lowered)
        printf("%7s (no better evaluation: the learning rate is now %.4g)\n", "",
               leat_trainer_learning_rate(t->trainer));
    if (e->decided.stop)
        printf("%7s (no better evaluation: the run ends here, as train.stop says)\n", "");
}

void leat_train_epoch_print(const leat_train_run *t, const leat_train_epoch *e)
{
    const bool simulated = leat_trainer_get_info(t->trainer)->simulated;
    char number[48];
    if (!t->has_epoch)
        print_head(t->eval_plan, simulated);
    snprintf(number, sizeof number, "%lld/%lld", (long long)e->number + 1, (long long)t->epochs);
    printf("%7s", number);
    print_metrics(&e->train, simulated);
    if (e->has_eval || e->eval_stopped)
        print_metrics(e->has_eval ? &e->eval : &(leat_metrics){ .loss = NAN, .accuracy = NAN },
                      simulated);
    print_meter(e);
    printf(" %7.1f\n", e->seconds);
    print_classes(t, e);
    if (!e->has_meter)
        printf("%7s (too few steps to measure)\n", "");
    else if (!e->steady)
        printf("%7s (never steady; second half measured)\n", "");
    fflush(stdout);
    leat_train_decide_print(t, e);
}

/* --- what its evaluation decides ----------------------------------------------------------------*/

/* As with checkpoints, a disk that is full for a while does not end a run. Then the best ones are those in the file. */
static int save_best(leat_train_run *t, leat_train_epoch *e, leat_error *err)
{
    char *const path = leat_files_text("%s/" LEAT_CHECKPOINT_BEST, t->keep.folder);
    if (!path)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    int rc = leat_train_checkpoint_ensure_held(&t->keep, err);
    if (rc == LEAT_OK)
        rc = leat_trainer_save(t->trainer, path, err);
    if (rc < 0)
        fprintf(stderr,
                "leat train: cannot save the best weights, the run goes on; %s has those of an "
                "earlier epoch, if it is there: %s\n",
                path, err->message);
    free(path);
    return rc == LEAT_E_IO ? leat_trainer_decide_unkept(t->trainer, &e->decided, err) : rc;
}

/* Of no rows that count there is no loss. */
static bool is_sound(const leat_metrics *m)
{
    return m->samples == 0 || isfinite(m->loss);
}

int leat_train_decide(leat_train_run *t, leat_train_epoch *e, leat_error *err)
{
    const int rc = leat_trainer_decide(t->trainer, &e->eval, &e->decided, err);
    t->decided = e->decided;
    return rc;
}

int leat_train_keep_best(leat_train_run *t, leat_train_epoch *e, leat_error *err)
{
    if (!e->decided.better || !t->keep.folder)
        return LEAT_OK;
    if (is_sound(&e->train))
        leat_train_checkpoint_before_best(t);
    const bool has_checkpoint = *t->keep.path || t->keep.goes_on;
    if (!has_checkpoint)
        fprintf(stderr,
                "leat train: the best weights so far are not kept, as no checkpoint is there "
                "that knows of them; a later evaluation becomes the best\n");
    const int rc = has_checkpoint ? save_best(t, e, err)
                                  : leat_trainer_decide_unkept(t->trainer, &e->decided, err);
    t->keep.due |= !e->decided.better; /* that checkpoint calls them the best */
    if (!e->decided.better && t->list)
        json_object_set_new(json_array_get(t->list, json_array_size(t->list) - 1), "best",
                            json_false());
    t->decided = e->decided;
    return rc;
}

/* --- a loss that is not finite ------------------------------------------------------------------*/

/* The rank whose rows have the value says so. */
static int say(const leat_train_run *t, bool found, leat_error *err)
{
    leat_ranks_agree(t->ranks, found ? LEAT_E_DATA : LEAT_OK, NULL, err);
    return LEAT_E_DATA;
}

int leat_train_loss_check(leat_train_run *t, const leat_train_epoch *e, leat_error *err)
{
    const bool trained = is_sound(&e->train);
    const int64_t first = t->first + t->steps - e->steps;
    leat_error why = { 0 };
    if (leat_trainer_get_info(t->trainer)->simulated ||
        (trained && (!e->has_eval || is_sound(&e->eval))))
        return LEAT_OK;
    const int64_t n = trained ? leat_plan_get_info(t->eval_plan)->n_batches : e->steps;
    const bool found = trained ? leat_setup_find_not_finite(t->eval_plan, 0, n < 0 ? 0 : n, &why)
                               : leat_setup_find_not_finite(t->plan, first, n, &why);
    t->diverged = !trained || !found;
    leat_fail(err, LEAT_E_DATA,
              "epoch %lld, steps %lld to %lld: the %sloss is not a finite number%s%s%s",
              (long long)e->number + 1, (long long)(t->steps - e->steps + 1), (long long)t->steps,
              trained ? "eval " : "",
              found ? ", because the data contain NaN or infinite values: "
                    : "; usually the learning rate is too high (train.optimizer), or the "
                      "input is not normalized",
              found ? why.message : "",
              !t->save || !t->diverged ? ""
              : t->saved               ? "; the saved weights are those of the previous epoch"
                                       : "; no weights were saved");
    return say(t, found, err);
}

enum { RECORDS_SHOWN = 16 };

/* "records 5, 17, ... " of a batch. */
static void list_records(const leat_plan *plan, int64_t batch, char *text, size_t size)
{
    uint64_t records[RECORDS_SHOWN];
    const int64_t n = leat_plan_records(plan, batch, records, RECORDS_SHOWN);
    snprintf(text, size, "; its %lld records are ", (long long)n);
    for (int64_t i = 0; i < n && i < RECORDS_SHOWN; i++)
        leat_files_append(text, size, "%s%llu", i ? ", " : "", (unsigned long long)records[i]);
    if (n > RECORDS_SHOWN)
        leat_files_append(text, size, ", ...");
}

int leat_train_loss_explain(leat_train_run *t, int64_t batch, int64_t epoch, int rc,
                            leat_error *err)
{
    char what[400], records[RECORDS_SHOWN * 22 + 64];
    leat_error why = { 0 };
    if (!err->not_finite)
        return rc;
    t->diverged = true;
    snprintf(what, sizeof what, "%.399s", err->message);
    list_records(t->plan, batch, records, sizeof records);
    const bool found = leat_setup_find_not_finite(t->plan, batch, 1, &why);
    leat_fail(err, LEAT_E_DATA, "epoch %lld, step %lld: %s; %s%.300s%s%s", (long long)epoch + 1,
              (long long)(t->steps + 1), what,
              found ? "the data: "
                    : "usually the learning rate is too high (train.optimizer), or the "
                      "input is not normalized",
              found ? why.message : "", records,
              t->save && !t->saved ? "; no weights were saved"
              : t->save            ? "; the saved weights are those of the previous epoch"
                                   : "");
    return say(t, found, err);
}
