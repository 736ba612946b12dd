/* SPDX-License-Identifier: MIT
 *
 * suggest_try.c: runs a job with a change, alternately with the unchanged job; in a hurry, beside what its rounds have
 * shown. suggest.c calls it. Whole runs: what the parts take alone says less, as they share cores and wait for each other. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "study/median_bootstrap.h"
#include "study/rounds.h"
#include "study/trial.h"
#include "suggest.h"

enum {
    TRIAL_ROUNDS = 3,
    HURRIED_ROUNDS = 2,
    MOST_ROUNDS = 6,
    WARM_NS = 1000000000, /* longest warm-up of a trial */
};

/* Rates of the job and of its variant, measured alternately, samples/s; hurried: of the variant alone. */
struct pair {
    const leat_suggest_about *about;
    leat_trial *trial;
    int n_rounds;
    bool hurried;
    int64_t after_ns; /* what a run of the variant took, with its start */
    double before[MOST_ROUNDS], after[MOST_ROUNDS];
    double after_rows; /* per step */
};

enum { VARIANT, JOB };

static int run_cell(void *user, int32_t cell, int32_t round, leat_error *err)
{
    struct pair *const p = user;
    leat_arm *const arm = cell == JOB ? p->about->arm : &p->trial->arm;
    const int64_t from = leat_clock_ns();
    const int rc = leat_arm_run(arm, 0, err);
    const leat_meter *run = &arm->runs[0];
    if (rc < 0)
        return rc;
    (cell == JOB ? p->before : p->after)[round] = run->samples_per_s;
    if (cell == JOB)
        return LEAT_OK;
    p->after_ns = leat_clock_ns() - from;
    p->after_rows = run->samples_per_s * (double)run->wall_ns * 1e-9 / (double)run->n_steps;
    return LEAT_OK;
}

/* The median over n rounds, of two the smaller. Beside it the least and the largest, or of six rounds (if others do not run
 * beside them) the second ones. Where the true median is 1, the least of three is above it once in eight times; with the
 * second look, after up to six, the range then lies above 1 in up to 11 of 64. */
static leat_estimate speed_up(const struct pair *p, int n)
{
    const leat_estimate *const job = &p->about->facts->run;
    double faster[MOST_ROUNDS];
    for (int i = 0; i < n; i++)
        faster[i] = p->after[i] / (p->hurried ? job->value : p->before[i]);
    leat_median_sort_real(faster, (size_t)n);
    const int out = n == MOST_ROUNDS && !p->about->anyway;
    leat_estimate by = { faster[(n - 1) / 2], faster[out], faster[n - 1 - out] };
    if (p->hurried && job->low > 0) {
        by.low *= job->value / job->high;
        by.high *= job->value / job->low;
    }
    return by;
}

/* Predicts the variant's step time: the measured time of the job, scaled. */
static void predict(const struct pair *p, int n, leat_doctor_suggestion *s)
{
    const leat_estimate by = speed_up(p, n);
    s->gain = by.value - 1;
    s->n_rounds = n;
    s->gain_low = by.low - 1;
    s->gain_high = by.high - 1;
    s->predicted_samples_per_s = p->about->facts->run.value * by.value;
    s->predicted_step_ms = p->after_rows / s->predicted_samples_per_s * 1e3;
}

int64_t leat_suggest_time_left(const leat_suggest_about *about, int n_runs)
{
    return about->until_ns ? about->until_ns - n_runs * about->run_ns - leat_clock_ns() : INT64_MAX;
}

/* If more than half of the rounds gain too little, so does the median. Or there is no time for a third round. More rounds
 * come where these do not tell whether it gains. */
static bool is_enough(void *user, int32_t n)
{
    const struct pair *const p = user;
    const leat_estimate by = speed_up(p, n);
    return (p->hurried && n == HURRIED_ROUNDS) ||
           (n > 1 && leat_suggest_time_left(p->about, 1) < p->after_ns) ||
           (n == p->n_rounds / 2 + 1 && by.high < 1 + LEAT_DOCTOR_LEAST_GAIN) ||
           (n >= p->n_rounds && (by.low > 1 || by.high < 1 + LEAT_DOCTOR_LEAST_GAIN));
}

/* Runs that outlast what was read ahead may be long: two of them, and of the job, must end in time. */
static int outlast(const leat_suggest_about *about, const leat_doctor_suggestion *s, leat_arm *arm,
                   leat_error *err)
{
    const int64_t run_ns = leat_suggest_blocks_outlast(s, arm);
    return run_ns && leat_suggest_time_left(about, 2) < 2 * run_ns
               ? leat_fail(err, LEAT_E_BUSY, "no time for runs of %.3g s", (double)run_ns * 1e-9)
               : LEAT_OK;
}

int leat_suggest_try(const leat_suggest_about *about, leat_doctor_suggestion *s, leat_error *err)
{
    const bool hurried = leat_suggest_time_left(about, LEAT_SUGGEST_RUNS) <= 0;
    const int64_t left =
        leat_suggest_time_left(about, hurried ? LEAT_SUGGEST_HURRIED : LEAT_SUGGEST_RUNS);
    const int n_rounds = about->anyway ? MOST_ROUNDS : TRIAL_ROUNDS;
    struct pair pair = { .about = about,
                         .trial = calloc(1, sizeof *pair.trial),
                         .n_rounds = n_rounds,
                         .hurried = hurried };
    const leat_trial_how how = { .change = s,
                                 .rounds = n_rounds,
                                 .fill_ns = left < LEAT_ARM_REFILL_NS ? left > 1 ? left : 1 : 0 };
    leat_alternate rounds = { .n_cells = pair.hurried ? 1 : 2,
                              .n_rounds = MOST_ROUNDS,
                              .run = run_cell,
                              .enough = is_enough,
                              .user = &pair };
    if (!pair.trial)
        return leat_fail(err, LEAT_E_NOMEM, "a trial");
    int rc = leat_trial_open(pair.trial, about->arm, &how, err);
    pair.trial->arm.warmup_ns = WARM_NS;
    /* A faster variant needs more steps to fill a run, and other caches. */
    if (rc == LEAT_OK && (rc = leat_arm_warm_up(&pair.trial->arm, about->steps, err)) == LEAT_OK &&
        (rc = outlast(about, s, &pair.trial->arm, err)) == LEAT_OK &&
        (rc = leat_rounds_run(&rounds, err)) == LEAT_OK)
        predict(&pair, rounds.n_done, s);
    if (pair.trial->is_unfilled)
        snprintf(s->not_tried, sizeof s->not_tried, "its cache is not filled in 5 s");
    leat_trial_close(pair.trial);
    free(pair.trial);
    return rc;
}
