/* SPDX-License-Identifier: MIT
 *
 * arm_fill.c: the cache of an arm's pipeline, filled before anything is measured, so that runs show what later epochs
 * take. trial.c calls it, and suggest_cache.c counts its samples. */
#include <string.h>

#include "arm.h"

uint64_t leat_arm_samples(const leat_plan *plan)
{
    uint64_t n = leat_plan_get_info(plan)->n_records;
    const leat_stage_info *stage;
    for (int32_t i = 0; (stage = leat_plan_stage(plan, i)) != NULL; i++) {
        if (stage->batches || !strcmp(stage->name, "unbatch"))
            break;
        n = stage->n_out < n ? stage->n_out : n; /* `repeat` has more, or no end */
    }
    return n;
}

int leat_arm_fill(const leat_arm *arm, leat_error *err)
{
    const leat_loader_options options = { .device = arm->device, .epochs = 1 };
    const uint64_t n = leat_arm_samples(arm->plan);
    leat_loader *loader = NULL;
    leat_batch *batch;
    int rc = leat_loader_open(arm->plan, &options, &loader, err);
    uint64_t rows = 0;
    while (rc == LEAT_OK && rows < n)
        if ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK) {
            rows += (uint64_t)leat_batch_get_info(batch)->rows;
            leat_batch_release(batch);
        }
    leat_loader_close(&loader);
    return rc == LEAT_E_END ? LEAT_OK : rc;
}
