/* SPDX-License-Identifier: MIT
 *
 * train_epoch.c: an epoch of `leat train` as a line and as JSON. What was not measured is left out of the
 * one and null in the other. */
#include "train_epoch.h"

#include <math.h>
#include <stdio.h>

#include "files.h"
#include "json.h"

static void add_metrics(json_t *one, const char *loss, const char *accuracy,
                        const leat_metrics *metrics, bool known)
{
    leat_json_real(one, loss, known ? metrics->loss : NAN);
    leat_json_real(one, accuracy, known ? metrics->accuracy : NAN);
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
    leat_json_bool(one, "steady", e->steady);
    leat_json_int(one, "measured_steps", e->has_meter ? (int64_t)m->n_steps : 0);
    leat_json_real(one, "samples_per_s", e->has_meter ? m->samples_per_s : no);
    leat_json_real(one, "step_p50_ms", e->has_meter ? (double)m->step_p50_ns * 1e-6 : no);
    leat_json_real(one, "step_p95_ms", e->has_meter ? (double)m->step_p95_ns * 1e-6 : no);
    leat_json_real(one, "busy", e->has_meter ? m->busy : no);
    leat_json_real(one, "input_wait", e->has_meter ? m->input_wait : no);
    leat_json_real(one, "exposed_copy", e->has_meter ? m->exposed_copy : no);
    leat_json_real(one, "other", e->has_meter ? m->other : no);
    return one;
}

static void print_metrics(const char *what, const leat_metrics *metrics, bool simulated)
{
    if (!simulated)
        printf("  %sloss %.4f", what, metrics->loss);
    if (!isnan(metrics->accuracy))
        printf("  %saccuracy %.2f %%", what, metrics->accuracy * 100);
}

void leat_train_epoch_print(const leat_train_epoch *e, int64_t n_epochs, bool simulated)
{
    char rate[32];
    const leat_meter *m = &e->meter;
    printf("epoch %lld/%lld", (long long)e->number + 1, (long long)n_epochs);
    print_metrics("", &e->train, simulated);
    if (e->has_eval)
        print_metrics("eval ", &e->eval, simulated);
    printf("  %.1f s", e->seconds);
    if (e->has_meter)
        printf("  %s samples/s  busy %.1f %%  idle %.1f %% (input wait %.1f, exposed copy %.1f, "
               "other %.1f)",
               leat_files_count_text((uint64_t)(m->samples_per_s + 0.5), rate), m->busy * 100,
               (1 - m->busy) * 100, m->input_wait * 100, m->exposed_copy * 100, m->other * 100);
    else
        printf("  (too few steps to measure)");
    if (e->has_meter && !e->steady)
        printf("  [second half; never steady]");
    if (simulated)
        printf("  [simulated]");
    putchar('\n');
    fflush(stdout);
}
