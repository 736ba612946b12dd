/* SPDX-License-Identifier: MIT
 *
 * suggest_try.c: measures a job with a change, alternately with the unchanged job. suggest.c calls it. */
#include <stdio.h>
#include <stdlib.h>

#include "study/forecast.h"
#include "study/median.h"
#include "study/trial.h"
#include "suggest.h"

enum {
    TRIAL_ROUNDS = 3,
    WARM_NS = 1000000000, /* longest warm-up of a trial */
};

/* Rates of the job and of its variant, measured alternately. On the CPU loader and step share the cores, so both run
 * together at their split; elsewhere each part runs alone. */
struct pair {
    leat_trial *trial;
    double before_rate[TRIAL_ROUNDS], after_rate[TRIAL_ROUNDS]; /* together, samples/s */
    double after_rows;                                          /* per step; 0: not run together */
    double loader[TRIAL_ROUNDS], step[TRIAL_ROUNDS];            /* of the job, samples/s */
};

static int run_together(const leat_suggest_about *about, struct pair *p, int round, leat_error *err)
{
    int rc = LEAT_OK;
    for (int i = 0; i < 2 && rc == LEAT_OK; i++) {
        const bool before = (i + round) % 2 == 0;
        leat_arm *arm = before ? about->arm : &p->trial->arm;
        rc = leat_arm_run(arm, 0, err);
        if (rc < 0)
            return rc;
        const leat_meter *run = &arm->runs[0];
        (before ? p->before_rate : p->after_rate)[round] = run->samples_per_s;
        if (!before)
            p->after_rows = run->samples_per_s * (double)run->wall_ns * 1e-9 / (double)run->n_steps;
    }
    return rc;
}

static int run_parts(const leat_suggest_about *about, struct pair *p, int round, leat_error *err)
{
    int rc = round % 2 ? leat_trial_round(p->trial, err) : LEAT_OK;
    if (rc == LEAT_OK && (rc = leat_arm_run_loader(about->arm, 0, err)) == LEAT_OK)
        rc = leat_arm_run_step(about->arm, 0, err);
    if (rc < 0)
        return rc;
    p->loader[round] = about->arm->loader[0].samples_per_s;
    p->step[round] = about->arm->step[0].samples_per_s;
    return round % 2 == 0 ? leat_trial_round(p->trial, err) : LEAT_OK;
}

/* A forecast from the rates of the parts in one round. */
static double forecast_at(const leat_facts *facts, double loader, double step)
{
    leat_facts now = *facts;
    const double faster = step / facts->step.value;
    now.loader.value = loader;
    now.step.value = step;
    now.step_free *= faster;
    return leat_forecast_of(&now).predicted / facts->rows;
}

/* The median over n rounds, of two the larger: a round in which other processes had the machine, or the page cache
 * was cold, says nothing. */
static double median(double *values, int n)
{
    leat_median_sort_real(values, (size_t)n);
    return values[n / 2];
}

/* The speed-up of the variant by the forecasts. */
static double faster_by_parts(const leat_facts *before, const struct pair *p,
                              const leat_facts *after, int n)
{
    double faster[TRIAL_ROUNDS];
    const leat_arm *arm = &p->trial->arm;
    for (int i = 0; i < n; i++)
        faster[i] = forecast_at(before, p->loader[i], p->step[i]) /
                    forecast_at(after, arm->loader[i].samples_per_s, arm->step[i].samples_per_s);
    return median(faster, n);
}

static double faster_together(const struct pair *p, int n)
{
    double faster[TRIAL_ROUNDS];
    for (int i = 0; i < n; i++)
        faster[i] = p->after_rate[i] / p->before_rate[i];
    return median(faster, n);
}

/* The speed-up by n rounds, and the facts of the variant that the prediction needs. */
static double speed_up(const leat_suggest_about *about, const struct pair *p, int n,
                       leat_facts *after)
{
    if (p->after_rows > 0) {
        after->rows = p->after_rows;
        return faster_together(p, n);
    }
    leat_trial_facts(p->trial, about->facts, after);
    return faster_by_parts(about->facts, p, after, n);
}

/* Predicts the variant's step time: the measured time of the job, scaled by the forecasts. A change of the input alone
 * cannot make the job faster than its step. */
static void predict(const leat_suggest_about *about, const struct pair *p, int n, bool input_only,
                    leat_doctor_suggestion *s)
{
    const leat_facts *before = about->facts;
    leat_facts after;
    double faster = speed_up(about, p, n, &after);
    if (input_only && faster * before->run.value > before->step.value)
        faster = before->step.value / before->run.value;
    if (p->after_rows == 0)
        s->least_step_ms = after.on_host ? 0 : leat_forecast_of(&after).step * 1e-6;
    const double least = after.rows > 0 ? s->least_step_ms / after.rows : 0;
    if (least > 0 && faster * before->run.value > 1e3 / least)
        faster = 1e3 / least / before->run.value;
    s->gain = faster - 1;
    s->predicted_samples_per_s = before->run.value * faster;
    s->predicted_step_ms = after.rows / s->predicted_samples_per_s * 1e3;
}

/* If two of three rounds gain too little, so does the median. */
static bool gains_too_little(const leat_suggest_about *about, const struct pair *p, int n)
{
    leat_facts after;
    return n == 2 && speed_up(about, p, n, &after) < 1 + LEAT_SUGGEST_LEAST;
}

int leat_suggest_try(const leat_suggest_about *about, bool input_only, leat_doctor_suggestion *s,
                     leat_error *err)
{
    struct pair pair = { .trial = calloc(1, sizeof *pair.trial) };
    int rc = pair.trial ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "a trial");
    const leat_trial_how how = { .change = s, .rounds = TRIAL_ROUNDS };
    if (rc == LEAT_OK)
        rc = leat_trial_open(pair.trial, about->arm, &how, err);
    /* A faster variant needs more steps to fill a run, and other caches. */
    if (rc == LEAT_OK) {
        pair.trial->arm.warmup_ns = WARM_NS;
        rc = leat_arm_warm_up(&pair.trial->arm, about->steps, err);
    }
    int n = 0;
    while (rc == LEAT_OK && n < TRIAL_ROUNDS && !gains_too_little(about, &pair, n)) {
        rc = pair.trial->result.on_host && pair.trial->result.overlaps
                 ? run_together(about, &pair, n, err)
                 : run_parts(about, &pair, n, err);
        n++;
    }
    if (rc == LEAT_OK)
        predict(about, &pair, n, input_only, s);
    if (pair.trial && pair.trial->is_unfilled)
        snprintf(s->not_tried, sizeof s->not_tried, "its cache is not filled in 5 s");
    if (pair.trial)
        leat_trial_close(pair.trial);
    free(pair.trial);
    return rc;
}
