/* SPDX-License-Identifier: MIT
 *
 * arm_fill.c: the cache of an arm's pipeline, filled before anything is measured, so that runs show what later epochs
 * take. trial.c calls it, and suggest_cache.c counts its samples. */
#include <stdlib.h>
#include <string.h>

#include "arm.h"
#include "base/clock.h"

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

/* A cache on a device belongs to one loader, and each run has its own. */
static bool is_kept(const leat_arm *arm, leat_loader *loader)
{
    leat_loader_stats_info *const stats = calloc(1, sizeof *stats);
    const char *const device = leat_device_get_info(arm->device)->name;
    if (stats)
        leat_loader_stats(loader, stats);
    const bool kept = stats && stats->cache.is_on && strcmp(stats->cache.place, device) != 0;
    free(stats);
    return kept;
}

static bool has_cache(const leat_plan *plan)
{
    const leat_stage_info *stage;
    for (int32_t i = 0; (stage = leat_plan_stage(plan, i)) != NULL; i++)
        if (!strcmp(stage->name, "cache"))
            return true;
    return false;
}

int leat_arm_fill(leat_arm *arm, int64_t most_ns, leat_error *err)
{
    const leat_loader_options options = { .device = arm->device, .epochs = 1 };
    const uint64_t n = leat_arm_samples(arm->plan);
    const int64_t from = leat_clock_ns();
    leat_loader *loader = NULL;
    leat_batch *batch;
    uint64_t rows = 0;
    arm->out->uncached = 0;
    if (!has_cache(arm->plan))
        return LEAT_OK;
    int rc = leat_loader_open(arm->plan, &options, &loader, err);
    while (rc == LEAT_OK && rows < n && (rows == 0 || leat_clock_ns() - from < most_ns))
        if ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK) {
            rows += (uint64_t)leat_batch_get_info(batch)->rows;
            leat_batch_release(batch);
        }
    if (rc == LEAT_OK && rows < n) /* a pass may end earlier, as it drops the last batch */
        arm->out->uncached = 1 - (double)rows / (double)n;
    if ((rc == LEAT_OK || rc == LEAT_E_END) && !is_kept(arm, loader))
        arm->out->uncached = 1;
    leat_loader_close(&loader);
    arm->once.fill_ns = leat_clock_ns() - from;
    return rc == LEAT_E_END ? LEAT_OK : rc;
}
