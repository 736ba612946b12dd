/* SPDX-License-Identifier: MIT
 *
 * suggest_fixture.h: a job as suggestions see it, and the same job with a suggestion's values. */
#ifndef SUGGEST_FIXTURE_H
#define SUGGEST_FIXTURE_H

#include "fixtures/own_folder.h"
#include "study/facts_fixture.h"
#include "study/suggest/suggest.h"

typedef struct suggest_job {
    leat_config *config;
    leat_arm arm; /* its plan */
} suggest_job;

static inline suggest_job suggest_job_open(const char *text)
{
    suggest_job job = { .config = NULL };
    leat_error err = { 0 };
    if (leat_config_parse(text, "x.yaml", &job.config, &err) < 0 ||
        leat_plan_open(job.config, NULL, &job.arm.plan, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return job;
}

/* Sets the values, which must be these, with a space behind each, and opens the plan anew. */
static inline void suggest_job_change(suggest_job *job, const leat_doctor_suggestion *change,
                                      const char *want)
{
    char sets[512] = "";
    leat_error err = { 0 };
    leat_plan_close(&job->arm.plan);
    for (int32_t k = 0; k < change->n_set; k++) {
        strcat(strcat(sets, change->set[k]), " ");
        if (leat_config_set(job->config, change->set[k], &err) < 0)
            fail_msg("%s: %s", change->set[k], err.message);
    }
    assert_string_equal(sets, want);
    if (leat_plan_open(job->config, NULL, &job->arm.plan, &err) < 0)
        fail_msg("with %s: %s", sets, err.message);
}

static inline void suggest_job_close(suggest_job *job)
{
    leat_plan_close(&job->arm.plan);
    leat_config_close(&job->config);
}

#endif
