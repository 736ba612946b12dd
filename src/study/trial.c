/* SPDX-License-Identifier: MIT
 *
 * trial.c: variants of a job. */
#include "trial.h"

#include <stdlib.h>
#include <string.h>

/* Share of the samples that the cache of a trial may lack, though that of the job has them. */
static const double EMPTIER = 0.05;

int leat_doctor_apply(const leat_doctor_suggestion *change, leat_config *config, leat_error *err)
{
    int rc = LEAT_OK;
    if (!change || !config)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_doctor_apply: change and config must be given");
    for (int32_t i = 0; i < change->n_set && rc == LEAT_OK; i++)
        if ((rc = leat_stage_name_value(config, change->set[i], err)) == LEAT_OK)
            rc = leat_config_set(config, change->set[i], err);
    return rc;
}

/* Beside the unchanged job, which stays open. */
static int check_memory(const leat_arm *job, const leat_trial_how *how, const leat_arm *arm,
                        leat_error *err)
{
    leat_arm_total total = { .n = 0 };
    int rc = leat_arm_total_add(&total, job, err);
    if (rc == LEAT_OK && how->beside)
        rc = leat_arm_total_add(&total, how->beside, err);
    return rc < 0 ? rc : leat_arm_total_add(&total, arm, err);
}

/* Fills the cache. Where the job has one, too, both must be about as full, whatever the reason is that one is not. */
static int fill(const leat_arm *job, const leat_trial_how *how, leat_trial *trial, leat_error *err)
{
    leat_arm *const arm = &trial->arm;
    const int rc = leat_arm_fill(arm, how->fill_ns ? how->fill_ns : LEAT_ARM_REFILL_NS, err);
    trial->is_unfilled = rc == LEAT_OK && (leat_arm_has_cache(job->plan)
                                               ? arm->out->uncached > job->out->uncached + EMPTIER
                                               : arm->is_cut);
    if (!trial->is_unfilled)
        return rc;
    return leat_fail(err, LEAT_E_UNSUPPORTED, "its cache is not filled in 5 s");
}

int leat_trial_open(leat_trial *trial, const leat_arm *job, const leat_trial_how *how,
                    leat_error *err)
{
    const leat_doctor_suggestion *const change = how->change;
    leat_arm *arm = &trial->arm;
    int rc;
    memset(trial, 0, sizeof *trial);
    arm->input_only = how->input_only;
    arm->step_ns = job->step_ns;
    if ((rc = leat_arm_configure(arm, &trial->result, how->rounds, job->config, NULL, err)) < 0 ||
        (rc = leat_doctor_apply(change, arm->config, err)) < 0 ||
        (rc = leat_arm_open(arm, err)) < 0 || (rc = check_memory(job, how, arm, err)) < 0)
        return rc;
    if (arm->is_auto && job->is_auto)
        leat_arm_set_prefetch(arm, job->prefetch);
    if (!how->step_only && (rc = fill(job, how, trial, err)) < 0)
        return rc;
    trial->result.steps = how->steps;
    return LEAT_OK;
}

void leat_trial_close(leat_trial *trial)
{
    leat_arm_close(&trial->arm);
    memset(trial, 0, sizeof *trial);
}
