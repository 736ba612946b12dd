/* SPDX-License-Identifier: MIT
 *
 * loader_state.c: makes and checks a leat_loader_state, from which a new loader continues. loader_open.c calls
 * it. Invariant: a state fits only the plan that it was made for. */
#include "engine.h"

#include <string.h>

#include "base/run_state.h"

void leat_loader_state_at(const leat_plan *plan, int64_t next_batch, leat_loader_state *out)
{
    const leat_plan_info *const info = leat_plan_get_info(plan);
    if (out)
        memset(out, 0, sizeof *out); /* also clears padding: the bytes are hashed */
    if (!out || !plan)
        return;
    *out = (leat_loader_state){ .plan_digest = info->digest,
                                .n_records = info->n_records,
                                .seed = info->seed,
                                .batch_size = info->batch_size,
                                .n_batches = info->n_batches,
                                .next_batch = next_batch };
    leat_run_state_seal(out);
}

void leat_loader_get_state(leat_loader *loader, leat_loader_state *out)
{
    if (out && !loader)
        *out = (leat_loader_state){ .size = 0 };
    if (!loader || !out)
        return;
    const bool locks = !leat_loader_is_forked(loader); /* in a child it may be in any state */
    if (locks)
        pthread_mutex_lock(&loader->lock);
    const int64_t next = loader->next_batch;
    if (locks)
        pthread_mutex_unlock(&loader->lock);
    leat_loader_state_at(loader->plan, next, out);
}

int leat_loader_state_check(const leat_loader_state *state, const leat_plan *plan, leat_error *err)
{
    leat_loader_state want;
    const int rc = leat_run_state_check(state, err);
    if (rc < 0)
        return rc;
    leat_loader_state_at(plan, state->next_batch, &want);
    const struct {
        const char *name;
        long long is, was;
    } parts[] = {
        { "number of records", (long long)want.n_records, (long long)state->n_records },
        { "batch size", (long long)want.batch_size, (long long)state->batch_size },
        { "number of batches per pass", (long long)want.n_batches, (long long)state->n_batches },
        { "seed", (long long)want.seed, (long long)state->seed },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].is != parts[i].was)
            return leat_fail(err, LEAT_E_ARGUMENT,
                             "state: it belongs to another plan: its %s is %lld, here it is %lld",
                             parts[i].name, parts[i].was, parts[i].is);
    if (state->plan_digest != want.plan_digest)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "state: it belongs to another plan: the source's files, the order of its "
                         "tensors, what filters or buckets found, the stages, their options or "
                         "their spelling (`batch: 4` or "
                         "`batch: {size: 4}`, also by "
                         "--set) differ (digest %016llx, here %016llx)",
                         (unsigned long long)state->plan_digest,
                         (unsigned long long)want.plan_digest);
    return LEAT_OK;
}
