/* SPDX-License-Identifier: MIT
 *
 * arm_memory.c: the host memory that arms need which are open at a time. arm.c and all studies call it. */
#include "arm.h"

#include <stdio.h>

#include "base/machine.h"
#include "formats/figure.h"
#include "leat/budget.h"

static int64_t on_device(const leat_budget *budget)
{
    int64_t bytes = 0;
    for (int32_t i = 0; i < budget->n_rows; i++)
        if (budget->rows[i].kind == LEAT_MEMORY_DEVICE)
            bytes += budget->rows[i].bytes;
    return bytes;
}

/* Where engine.memory is auto, a loader takes a part of what is free when it is opened, so that the caches of further
 * arms are smaller; otherwise each has the same size. */
static int64_t cache_of(const leat_budget *budget)
{
    return budget->limit_is_auto ? 0 : budget->cache_bytes;
}

static void set_limit(leat_arm_memory *out, int64_t limit, const char *reason)
{
    out->limit = limit;
    snprintf(out->limit_reason, sizeof out->limit_reason, "%s", reason);
}

int leat_arm_count_memory(leat_arm *arm, leat_error *err)
{
    const leat_loader_options options = { .device = arm->device };
    leat_arm_memory *const out = &arm->memory;
    leat_train_memory m = { .limit = 0 };
    leat_machine machine;
    leat_budget budget;
    int rc = arm->trainer ? leat_trainer_memory(arm->trainer, &m, err) : LEAT_OK;
    if (rc < 0 || (rc = leat_plan_budget(arm->plan, &options, &budget, err)) < 0)
        return rc;
    *out = (leat_arm_memory){ .trainer = m.limit ? m.total : 0, .cache = cache_of(&budget) };
    out->loader = budget.total_bytes - on_device(&budget) - out->cache;
    if (m.limit) {
        set_limit(out, m.limit, m.limit_reason);
    } else if (out->cache) {
        leat_machine_read("", &machine);
        set_limit(out, machine.memory_bytes, machine.memory_why);
    }
    return LEAT_OK;
}

static int refuse_total(const leat_arm_total *total, int64_t needed, leat_error *err)
{
    const leat_arm_memory *const all = &total->all;
    char caches[64] = "";
    if (all->cache)
        snprintf(caches, sizeof caches, ", caches %s", leat_figure_bytes((double)all->cache).text);
    return leat_fail(err, LEAT_E_NOMEM,
                     "measuring needs %s of memory, but there are %s (%s): trainers %s (%d at a "
                     "time), a loader %s%s; lower pipeline.batch.size or engine.memory%s",
                     leat_figure_bytes((double)needed).text,
                     leat_figure_bytes((double)all->limit).text, all->limit_reason,
                     leat_figure_bytes((double)all->trainer).text, total->n,
                     leat_figure_bytes((double)all->loader).text, caches,
                     total->n == 1 ? "" : ", or compare fewer arms at a time");
}

int leat_arm_total_add(leat_arm_total *total, const leat_arm *arm, leat_error *err)
{
    leat_arm_memory *const all = &total->all;
    const leat_arm_memory *const own = &arm->memory;
    if (!all->limit)
        set_limit(all, own->limit, own->limit_reason);
    all->trainer += own->trainer;
    all->cache += own->cache;
    if (own->loader > all->loader)
        all->loader = own->loader;
    total->n += own->limit > 0;
    const int64_t needed = all->trainer + all->loader + all->cache;
    return all->limit && needed > all->limit ? refuse_total(total, needed, err) : LEAT_OK;
}

int leat_arm_total_open(leat_arm_total *total, leat_arm *arm, leat_error *err)
{
    char why[sizeof err->message];
    const int rc = leat_arm_open(arm, err);
    if (rc == LEAT_OK)
        return leat_arm_total_add(total, arm, err);
    if (rc != LEAT_E_NOMEM || total->n == 0 || !err)
        return rc;
    snprintf(why, sizeof why, "%s", err->message);
    return leat_fail(err, rc, "%s; or compare fewer arms at a time (trainers that are open: %s)",
                     why, leat_figure_bytes((double)total->all.trainer).text);
}
