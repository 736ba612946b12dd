/* SPDX-License-Identifier: MIT
 *
 * stage_batch.c: the stage `batch`, and what every stage that makes batches does. */
#include "stage.h"

typedef struct batch_options {
    int64_t size;
    int32_t drop_remainder;
} batch_options;

static const leat_option batch_table[] = {
    LEAT_OPTION_I64(batch_options, size, NULL, 1, 1 << 24, "samples per batch"),
    LEAT_OPTION_BOOL(batch_options, drop_remainder, "false",
                     "drop the last batch if it has fewer samples"),
    LEAT_OPTION_END
};

int leat_stage_batch_add(leat_build *build, int64_t size, bool drop_remainder,
                         const leat_node *where, leat_error *err)
{
    if (build->batch)
        return leat_stage_fail_second(build->batch, where, "batch", err);
    build->batch = where;
    leat_order_batch(&build->plan->order, (uint64_t)size, drop_remainder);
    if (build->plan->order.n_batches == 0)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "no batch would be full: there are %llu samples for batches of %lld; "
                              "lower the size or leave out drop_remainder",
                              (unsigned long long)build->plan->order.n_samples, (long long)size);
    if ((uint64_t)size > build->plan->order.n_samples)
        leat_note_add(
            build->plan,
            "batch: the %llu samples of a pass make one batch, smaller than its size of %lld",
            (unsigned long long)build->plan->order.n_samples, (long long)size);
    return leat_stage_shuffle_check(build, where, err);
}

static int add_batch(leat_build *build, const void *options, const leat_node *where,
                     leat_error *err)
{
    const batch_options *const o = options;
    return leat_stage_batch_add(build, o->size, o->drop_remainder, where, err);
}

const leat_stage_table leat_stage_batch = {
    { "batch", "stack samples; stages after it count batches", batch_table },
    sizeof(batch_options),
    add_batch,
    LEAT_STAGE_BATCHES
};
