/* SPDX-License-Identifier: MIT
 *
 * train_epoch.c: an epoch of `leat train` as a line and as JSON. Figures not measured are missing in the
 * line and null in JSON. */
#include "train_run.h"

#include <math.h>
#include <stdio.h>

#include "formats/figure.h"
#include "print/classes.h"
#include "print/speed.h"
#include "print/terminal.h"

static void add_metrics(json_t *one, const char *loss, const char *accuracy,
                        const leat_metrics *metrics, bool known)
{
    leat_json_real(one, loss, known ? metrics->loss : NAN);
    leat_json_real(one, accuracy, known ? metrics->accuracy : NAN);
}

/* Of the evaluation; null where nobody asked. */
static void add_classes(json_t *one, const leat_train_epoch *e)
{
    const int64_t n = e->has_eval ? leat_score_n_evaluated(e->trainer) : 0;
    leat_json_real(one, "eval_precision", n > 0 ? e->eval.precision : NAN);
    leat_json_real(one, "eval_recall", n > 0 ? e->eval.recall : NAN);
    leat_json_real(one, "eval_f1", n > 0 ? e->eval.f1 : NAN);
    leat_json_real(one, "eval_auc", n > 0 ? e->eval.auc : NAN);
    leat_json_add(one, "eval_classes", n > 0 ? json_array() : json_null());
    for (int64_t i = 0; i < n; i++) {
        leat_score_class class;
        leat_score_evaluated_class(e->trainer, i, &class);
        leat_classes_add(json_object_get(one, "eval_classes"), i, NULL, &class);
    }
}

json_t *leat_train_epoch_json(const leat_train_epoch *e)
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
    add_classes(one, e);
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
    leat_speed_add(one, e->has_meter ? m : NULL, e->flops_per_sample);
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

void leat_train_epoch_head(bool has_eval, bool simulated)
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
static void print_classes(const leat_train_epoch *e)
{
    const int64_t n = e->has_eval ? leat_score_n_evaluated(e->trainer) : 0;
    leat_classes_absent absent = { .n = 0 };
    char text[LEAT_CLASSES_TEXT];
    if (n == 0)
        return;
    printf("%7s %s\n", "", leat_classes_text(&e->eval, text));
    for (int64_t i = 0; i < n && e->first; i++) {
        leat_score_class class;
        leat_score_evaluated_class(e->trainer, i, &class);
        leat_classes_note(&absent, i, &class);
    }
    if (leat_classes_absent_text(&absent))
        leat_terminal_say(9, "        eval: %s", absent.text);
}

void leat_train_epoch_print(const leat_train_epoch *e, int64_t n_epochs, bool simulated)
{
    char number[48];
    snprintf(number, sizeof number, "%lld/%lld", (long long)e->number + 1, (long long)n_epochs);
    printf("%7s", number);
    print_metrics(&e->train, simulated);
    if (e->has_eval || e->eval_stopped)
        print_metrics(e->has_eval ? &e->eval : &(leat_metrics){ .loss = NAN, .accuracy = NAN },
                      simulated);
    print_meter(e);
    printf(" %7.1f\n", e->seconds);
    print_classes(e);
    if (!e->has_meter)
        printf("%7s (too few steps to measure)\n", "");
    else if (!e->steady)
        printf("%7s (never steady; second half measured)\n", "");
    fflush(stdout);
}
