/* SPDX-License-Identifier: MIT
 *
 * trial.c: variants of a job, measured in parts. */
#include "trial.h"

#include <stdlib.h>
#include <string.h>

#include "rounds.h"
#include "suggest/stage_lines.h"

static int change_config(leat_config *config, const leat_doctor_suggestion *change, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < change->n_set && rc == LEAT_OK; i++)
        rc = leat_config_set(config, change->set[i], err);
    return rc == LEAT_OK && change->lines[0] ? leat_stage_lines_insert(config, change, err) : rc;
}

/* All loaders of a plan share its cache, so one pass over the source fills it for all runs. */
static int fill_cache(const leat_arm *arm, leat_error *err)
{
    const leat_loader_options options = { .device = arm->device, .epochs = 1 };
    const int64_t n = (int64_t)leat_plan_get_info(arm->plan)->n_records;
    leat_loader *loader = NULL;
    leat_batch *batch;
    int rc = leat_loader_open(arm->plan, &options, &loader, err);
    int64_t rows = 0;
    while (rc == LEAT_OK && rows < n) /* an epoch with `repeat` has more, or no end */
        if ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK) {
            rows += leat_batch_get_info(batch)->rows;
            leat_batch_release(batch);
        }
    leat_loader_close(&loader);
    return rc == LEAT_E_END ? LEAT_OK : rc;
}

/* Beside the unchanged job, which stays open. */
static int check_memory(const leat_arm *job, const leat_arm *arm, leat_error *err)
{
    leat_arm_room room = { .n = 0 };
    const int rc = leat_arm_room_take(&room, job, err);
    return rc < 0 || arm->input_only ? rc : leat_arm_room_take(&room, arm, err);
}

int leat_trial_open(leat_trial *trial, const leat_arm *job, const leat_trial_how *how,
                    leat_error *err)
{
    const leat_doctor_suggestion *const change = how->change;
    leat_arm *arm = &trial->arm;
    int rc;
    memset(trial, 0, sizeof *trial);
    arm->input_only = how->input_only;
    if ((rc = leat_arm_init(arm, &trial->result, how->rounds, err)) < 0 ||
        (rc = leat_config_copy(job->config, &arm->config, err)) < 0 ||
        (rc = change_config(arm->config, change, err)) < 0 || (rc = leat_arm_open(arm, err)) < 0 ||
        (rc = check_memory(job, arm, err)) < 0 ||
        (strstr(change->lines, "- cache") && (rc = fill_cache(arm, err)) < 0))
        return rc;
    trial->result.steps = how->steps;
    return how->input_only ? LEAT_OK : leat_arm_warm_step(arm, err);
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
