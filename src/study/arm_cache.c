/* SPDX-License-Identifier: MIT
 *
 * arm_cache.c: the cache of an arm's pipeline, filled before anything is measured, so that runs show what later epochs
 * take. trial.c calls it, and suggest_cache.c counts its samples. */
#include "arm.h"

#include <stdlib.h>
#include <string.h>

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

/* Samples that the cache holds, -1: none for the next loader, as a cache on a device belongs to one, and each run has its
 * own. */
static int64_t kept_by(const leat_arm *arm, leat_loader *loader)
{
    leat_loader_stats_info *const stats = calloc(1, sizeof *stats);
    const char *const device = leat_device_get_info(arm->device)->name;
    int64_t n = -1;
    if (stats)
        leat_loader_stats(loader, stats);
    if (stats && stats->cache.is_on && strcmp(stats->cache.place, device) != 0)
        n = (int64_t)stats->cache.entries;
    free(stats);
    return n;
}

/* The share of n samples that the cache lacks. */
static double lacks(const leat_arm *arm, leat_loader *loader, uint64_t n)
{
    const double kept = (double)kept_by(arm, loader);
    return kept < (double)n ? 1 - kept / (double)n : 0;
}

bool leat_arm_has_stage(const leat_plan *plan, const char *name)
{
    const leat_stage_info *stage;
    for (int32_t i = 0; (stage = leat_plan_stage(plan, i)) != NULL; i++)
        if (!strcmp(stage->name, name))
            return true;
    return false;
}

bool leat_arm_has_cache(const leat_plan *plan)
{
    return leat_arm_has_stage(plan, "cache");
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
    arm->is_cut = false;
    if (!leat_arm_has_cache(arm->plan))
        return LEAT_OK;
    int rc = leat_loader_open(arm->plan, &options, &loader, err);
    if (rc == LEAT_OK && kept_by(arm, loader) < 0) {
        arm->out->uncached = 1;
        leat_loader_close(&loader);
        return LEAT_OK;
    }
    while (rc == LEAT_OK && rows < n && (rows == 0 || leat_clock_ns() - from < most_ns))
        if ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK) {
            rows += (uint64_t)leat_batch_get_info(batch)->rows;
            leat_batch_release(batch);
        }
    arm->is_cut = rc == LEAT_OK && rows < n;
    if (rc == LEAT_OK || rc == LEAT_E_END) /* a pass may end earlier, as it drops the last batch */
        arm->out->uncached = lacks(arm, loader, rc == LEAT_OK ? n : rows);
    leat_loader_close(&loader);
    arm->once.fill_ns = leat_clock_ns() - from;
    return rc == LEAT_E_END ? LEAT_OK : rc;
}
