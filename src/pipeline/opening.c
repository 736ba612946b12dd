/* SPDX-License-Identifier: MIT
 *
 * opening.c: the parts of a loader: what is made when it begins to run, and ended when it stops.
 *
 * DESIGN. Most loaders are opened once. One whose ops `device: auto` has put elsewhere ends its parts and
 * opens them anew, for a plan of another layout (again.c). So struct leat_loader is in two: what lasts,
 * and what belongs to one opening, which is zeroed when that ends; a new field stands in one or the
 * other. The ring of batches lasts, since what it says of batches may be asked long after; of each only
 * what it was given by an opening goes. So do the workers' traces. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "scratch.h"

/* --- open ---------------------------------------------------------------------------------------- */

/* The ring of batches, once made, holds so many and no more. */
static int64_t most_prefetch(const leat_loader *loader)
{
    const int64_t most = loader->budget.prefetch_most;
    const int64_t room = loader->n_batches - loader->hold - LEAT_INFO_RING;
    return loader->n_batches && room < most ? room : most;
}

int leat_opening_size(leat_loader *loader, leat_error *err)
{
    const leat_plan *const plan = loader->plan;
    const int rc = leat_plan_budget(plan, &loader->options, &loader->budget, err);
    if (rc < 0)
        return rc;
    const leat_budget *const b = &loader->budget;
    loader->first = loader->asked = loader->claim_batch = loader->opened = loader->next;
    loader->prefetch_most = most_prefetch(loader);
    loader->prefetch = b->prefetch < loader->prefetch_most ? b->prefetch : loader->prefetch_most;
    loader->n_slots = b->n_slots - b->prefetch_most + loader->prefetch_most;
    loader->n_buffers = b->n_buffers ? b->n_buffers - b->prefetch_most + loader->prefetch_most : 0;
    loader->fixed_run = plan->engine.run;
    loader->run_rows = plan->engine.run ? (uint64_t)plan->engine.run : 1;
    return LEAT_OK;
}

int leat_opening_open(leat_loader *loader, leat_error *err)
{
    int rc = LEAT_OK;
    for (int i = 0; i <= loader->n_threads && rc >= 0; i++)
        rc = leat_scratch_open_within(&loader->workers[i].scratch,
                                      (size_t)loader->budget.scratch_bytes,
                                      (size_t)loader->budget.scratch_reserve, err);
    if (rc >= 0 && loader->plan->cache) {
        leat_cache_set_most(loader->plan->cache, loader->budget.cache_bytes);
        rc = leat_cache_open(loader->plan->cache, err);
    }
    if (rc >= 0)
        rc = leat_slot_open_all(loader, err);
    if (rc >= 0)
        rc = leat_bad_open(loader, err);
    if (rc >= 0)
        rc = leat_ship_open(loader, err);
    if (rc >= 0)
        rc = leat_start_open(loader, err);
    if (rc >= 0)
        rc = leat_pool_open(&loader->pool, loader->n_threads, "leat", leat_sched_work, loader, err);
    return rc;
}

/* --- end ----------------------------------------------------------------------------------------- */

void leat_opening_stop(leat_loader *loader)
{
    leat_wake_stop(loader);
    leat_pool_close(&loader->pool);
    if (loader->copies) /* no call-back comes after these */
        loader->device->table->stream_sync(loader->copies, NULL);
    if (loader->maps)
        loader->device->table->stream_sync(loader->maps, NULL);
    leat_start_close(loader);
    for (int i = 0; loader->workers && i <= loader->n_threads; i++)
        leat_scratch_close(&loader->workers[i].scratch);
}

void leat_opening_free(leat_loader *loader)
{
    leat_ship_close(loader);
    leat_slot_close_all(loader);
    leat_bad_close(loader);
}

/* What is left of it in what lasts. */
static void forget_locked(leat_loader *loader)
{
    char *const all = (char *)loader;
    for (int i = 0; i <= loader->n_threads; i++)
        memset(&loader->workers[i], 0, offsetof(leat_worker, trace));
    for (int64_t i = 0; i < loader->n_handles; i++) {
        char *const batch = (char *)&loader->batches[i];
        memset(batch + offsetof(leat_batch, state), 0,
               sizeof(leat_batch) - offsetof(leat_batch, state));
    }
    memset(all + offsetof(leat_loader, first), 0, sizeof *loader - offsetof(leat_loader, first));
}

void leat_opening_end(leat_loader *loader)
{
    const int64_t cpu_ns = leat_pool_cpu_ns(loader->pool); /* of threads that still are */
    pthread_mutex_lock(&loader->lock);
    loader->cpu_ns += cpu_ns;
    if (loader->pool) /* it was opened */
        loader->memory_peak = leat_stats_peak_locked(loader);
    pthread_mutex_unlock(&loader->lock);
    leat_opening_stop(loader);
    pthread_mutex_lock(&loader->lock);
    leat_ship_note_locked(loader); /* these events are recorded anew */
    pthread_mutex_unlock(&loader->lock);
    leat_opening_free(loader);
    pthread_mutex_lock(&loader->lock);
    forget_locked(loader);
    pthread_mutex_unlock(&loader->lock);
}
