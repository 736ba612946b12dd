/* SPDX-License-Identifier: MIT
 *
 * suggest_try.c: measures a job with a change, alternately with the unchanged job. suggest.c calls it. */
#include <stdio.h>
#include <stdlib.h>

#include "study/alternate.h"
#include "study/forecast.h"
#include "study/median.h"
#include "study/trial.h"
#include "suggest.h"

enum {
    TRIAL_ROUNDS = 3,
    MOST_ROUNDS = 6, /* beside others: the range of six holds their median with 97 % certainty */
    WARM_NS = 1000000000, /* longest warm-up of a trial */
};

/* Rates of the job and of its variant, measured alternately. On the CPU loader and step share the cores, so both run
 * together at their split; elsewhere each part runs alone. */
struct pair {
    const leat_suggest_about *about;
    leat_trial *trial;
    bool whole; /* runs together in any case */
    int n_rounds;
    double before_rate[MOST_ROUNDS], after_rate[MOST_ROUNDS]; /* together, samples/s */
    double after_rows;                                        /* per step; 0: not run together */
    double loader[MOST_ROUNDS], step[MOST_ROUNDS];            /* of the job, samples/s */
};

enum { JOB, VARIANT };

static int run_together(struct pair *p, int32_t cell, int32_t round, leat_error *err)
{
    leat_arm *const arm = cell == JOB ? p->about->arm : &p->trial->arm;
    const int rc = leat_arm_run(arm, 0, err);
    if (rc < 0)
        return rc;
    const leat_meter *run = &arm->runs[0];
    (cell == JOB ? p->before_rate : p->after_rate)[round] = run->samples_per_s;
    if (cell == VARIANT)
        p->after_rows = run->samples_per_s * (double)run->wall_ns * 1e-9 / (double)run->n_steps;
    return LEAT_OK;
}

static int run_parts(struct pair *p, int32_t cell, int32_t round, leat_error *err)
{
    leat_arm *const job = p->about->arm;
    int rc;
    if (cell == VARIANT)
        return leat_trial_round(p->trial, err);
    if ((rc = leat_arm_run_loader(job, 0, err)) < 0 || (rc = leat_arm_run_step(job, 0, err)) < 0)
        return rc;
    p->loader[round] = job->loader[0].samples_per_s;
    p->step[round] = job->step[0].samples_per_s;
    return LEAT_OK;
}

static int run_cell(void *user, int32_t cell, int32_t round, leat_error *err)
{
    struct pair *const p = user;
    return p->whole || (p->trial->result.on_host && p->trial->result.overlaps)
               ? run_together(p, cell, round, err)
               : run_parts(p, cell, round, err);
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

/* The speed-up by n rounds, and the facts of the variant that the prediction needs: where the parts ran alone, it is
 * that of their forecasts. */
static leat_estimate speed_up(const struct pair *p, int n, leat_facts *after)
{
    double faster[MOST_ROUNDS];
    const leat_arm *const arm = &p->trial->arm;
    const leat_facts *const before = p->about->facts;
    if (p->after_rows > 0)
        after->rows = p->after_rows;
    else
        leat_trial_facts(p->trial, before, after);
    for (int i = 0; i < n; i++)
        faster[i] = p->after_rows > 0 ? p->after_rate[i] / p->before_rate[i]
                                      : forecast_at(before, p->loader[i], p->step[i]) /
                                            forecast_at(after, arm->loader[i].samples_per_s,
                                                        arm->step[i].samples_per_s);
    const double middle = median(faster, n); /* sorts */
    return (leat_estimate){ middle, faster[0], faster[n - 1] };
}

/* A change of the input alone cannot make the job faster than its step, nor any change faster than its own step. */
static double bounded(double faster, double most)
{
    return most > 0 && faster > most ? most : faster;
}

/* Predicts the variant's step time: the measured time of the job, scaled by the forecasts. */
static void predict(const struct pair *p, int n, bool input_only, leat_doctor_suggestion *s)
{
    const leat_facts *before = p->about->facts;
    leat_facts after;
    const leat_estimate by = speed_up(p, n, &after);
    double most = input_only ? before->step.value / before->run.value : 0;
    if (p->after_rows == 0)
        s->least_step_ms = after.on_host ? 0 : leat_forecast_of(&after).step * 1e-6;
    if (after.rows > 0 && s->least_step_ms > 0) {
        const double own = 1e3 * after.rows / s->least_step_ms / before->run.value;
        most = most > 0 && most < own ? most : own;
    }
    const double faster = bounded(by.value, most);
    s->gain = faster - 1;
    s->gain_low = bounded(by.low, most) - 1;
    s->gain_high = bounded(by.high, most) - 1;
    s->predicted_samples_per_s = before->run.value * faster;
    s->predicted_step_ms = after.rows / s->predicted_samples_per_s * 1e3;
}

/* If more than half of the rounds gain too little, so does the median. */
static bool gains_too_little(void *user, int32_t n)
{
    const struct pair *const p = user;
    leat_facts after;
    return n == p->n_rounds / 2 + 1 && speed_up(p, n, &after).value < 1 + LEAT_SUGGEST_LEAST;
}

int leat_suggest_try(const leat_suggest_about *about, bool input_only, bool whole,
                     leat_doctor_suggestion *s, leat_error *err)
{
    const int n_rounds = about->anyway ? MOST_ROUNDS : TRIAL_ROUNDS;
    struct pair pair = {
        .about = about, .trial = calloc(1, sizeof *pair.trial), .whole = whole, .n_rounds = n_rounds
    };
    const leat_trial_how how = { .change = s, .rounds = n_rounds };
    leat_alternate rounds = { .n_cells = 2,
                              .n_rounds = n_rounds,
                              .run = run_cell,
                              .enough = gains_too_little,
                              .user = &pair };
    if (!pair.trial)
        return leat_fail(err, LEAT_E_NOMEM, "a trial");
    int rc = leat_trial_open(pair.trial, about->arm, &how, err);
    pair.trial->arm.warmup_ns = WARM_NS;
    /* A faster variant needs more steps to fill a run, and other caches. */
    if (rc == LEAT_OK && (rc = leat_arm_warm_up(&pair.trial->arm, about->steps, err)) == LEAT_OK &&
        (rc = leat_alternate_run(&rounds, err)) == LEAT_OK)
        predict(&pair, rounds.n_done, input_only, s);
    if (pair.trial->is_unfilled)
        snprintf(s->not_tried, sizeof s->not_tried, "its cache is not filled in 5 s");
    leat_trial_close(pair.trial);
    free(pair.trial);
    return rc;
}
