/* SPDX-License-Identifier: MIT
 *
 * trial.c: variants of a job, measured in parts. */
#include "trial.h"

#include <string.h>

#include "rounds.h"

int leat_trial_open(leat_trial *trial, const leat_config *config, const char *const *set, int32_t n,
                    int32_t rounds, int32_t steps, leat_error *err)
{
    leat_arm *arm = &trial->arm;
    int rc;
    memset(trial, 0, sizeof *trial);
    if ((rc = leat_arm_init(arm, &trial->result, rounds, err)) < 0 ||
        (rc = leat_config_copy(config, &arm->config, err)) < 0)
        return rc;
    for (int32_t i = 0; i < n; i++)
        if ((rc = leat_config_set(arm->config, set[i], err)) < 0)
            return rc;
    if ((rc = leat_arm_open(arm, err)) < 0)
        return rc;
    trial->result.steps = steps;
    return leat_arm_warm_step(arm, err);
}

void leat_trial_close(leat_trial *trial)
{
    leat_arm_close(&trial->arm);
    memset(trial, 0, sizeof *trial);
}

int leat_trial_round(leat_trial *trial, leat_error *err)
{
    int rc = leat_arm_run_loader(&trial->arm, trial->rounds, err);
    if (rc == LEAT_OK)
        rc = leat_arm_run_step(&trial->arm, trial->rounds, err);
    trial->rounds += rc == LEAT_OK;
    return rc;
}

void leat_trial_facts(leat_trial *trial, const leat_facts *base, leat_facts *out)
{
    const leat_arm *arm = &trial->arm;
    const leat_rounds rounds = { arm->loader, arm->loader, arm->step };
    leat_rounds_conclude(&rounds, arm->loader, (size_t)trial->rounds, arm->out);
    leat_facts_of(arm, out);
    out->cores = base->cores;
    out->taken = base->taken;
    out->run_cores = base->run_cores;
}
