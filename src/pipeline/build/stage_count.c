/* SPDX-License-Identifier: MIT
 *
 * stage_count.c: the stages `repeat`, `take`, `skip` and `shard`. order.c does their arithmetic. */
#include "pipeline/order/combine.h"
#include "stage.h"

#define COUNT_MAX 9e15

static const char *const forever[] = { "forever", NULL };

/* Adds a step to the order. Its errors get the stage's place. */
static int add_order(leat_build *build, leat_order_kind kind, uint64_t a, uint64_t b,
                     const leat_node *where, leat_error *err)
{
    leat_error inner;
    const int rc = leat_order_add(&build->plan->order, kind, a, b, &inner);
    return rc < 0 ? leat_node_fail(where, err, rc, "%s", inner.message) : rc;
}

/* --- repeat, take, skip --- */

typedef struct count_options {
    int64_t count;
} count_options;

static const leat_option repeat_table[] = {
    LEAT_OPTION_ROW(
        count_options, count, I64, "forever", 1, COUNT_MAX, forever,
        "number of passes over the stages before it; together they are one epoch of the run"),
    LEAT_OPTION_END
};
static const leat_option take_table[] = { LEAT_OPTION_I64(count_options, count, NULL, 0, COUNT_MAX,
                                                          "elements to keep, from the first"),
                                          LEAT_OPTION_END };
static const leat_option skip_table[] = { LEAT_OPTION_I64(count_options, count, NULL, 0, COUNT_MAX,
                                                          "elements to leave out at the start"),
                                          LEAT_OPTION_END };

static int add_repeat(leat_build *build, const void *options, const leat_node *where,
                      leat_error *err)
{
    const int64_t count = ((const count_options *)options)->count;
    return add_order(build, LEAT_ORDER_REPEAT, count < 0 ? LEAT_ENDLESS : (uint64_t)count, 0, where,
                     err);
}

/* Says that a part of a shuffled set has other samples in every epoch: of two parts, one for training and one for
 * evaluation, each would get the other's. Endless data have no parts, and a `take` of batches of shuffled samples makes short
 * epochs. */
static void note_part(leat_build *build, const char *stage, bool is_take)
{
    const leat_order *const order = &build->plan->order;
    const leat_order_step *const steps = build->batch ? order->after : order->before;
    const int32_t last = (build->batch ? order->n_after : order->n_before) - 1;
    bool is_new_each_epoch = !(build->batch && is_take) && leat_combine_reshuffles(order);
    bool is_endless = false;
    for (int32_t i = 0; i < order->n_before; i++)
        is_endless |= order->before[i].n_out == LEAT_ENDLESS;
    for (int32_t i = 0; i < last; i++) {
        is_new_each_epoch |= steps[i].kind == LEAT_ORDER_SHUFFLE && steps[i].shuffle.reshuffle;
        is_endless |= steps[i].n_out == LEAT_ENDLESS;
    }
    if (is_new_each_epoch && !is_endless && steps[last].n_out < steps[last].n_in)
        leat_note_add(build->plan,
                      "%s: keeps different samples in each epoch, as the shuffle before it gives a "
                      "new order in each; for a part that stays, write shuffle: {reshuffle: false} "
                      "before it, and a second shuffle after it",
                      stage);
}

static int add_take(leat_build *build, const void *options, const leat_node *where, leat_error *err)
{
    const int64_t count = ((const count_options *)options)->count;
    const int rc = add_order(build, LEAT_ORDER_TAKE, (uint64_t)count, 0, where, err);
    if (rc == LEAT_OK)
        note_part(build, "take", true);
    return rc;
}

static int add_skip(leat_build *build, const void *options, const leat_node *where, leat_error *err)
{
    const int64_t count = ((const count_options *)options)->count;
    const int rc = add_order(build, LEAT_ORDER_SKIP, (uint64_t)count, 0, where, err);
    if (rc == LEAT_OK)
        note_part(build, "skip", false);
    return rc;
}

/* --- shard --- */

typedef struct shard_options {
    int64_t count, index;
} shard_options;

static const leat_option shard_table[] = {
    LEAT_OPTION_I64(shard_options, count, NULL, 1, COUNT_MAX, "number of parts"),
    LEAT_OPTION_I64(shard_options, index, NULL, 0, COUNT_MAX,
                    "which part to keep: elements index, index + count, …"),
    LEAT_OPTION_END
};

static int add_shard(leat_build *build, const void *options, const leat_node *where,
                     leat_error *err)
{
    const shard_options *const o = options;
    if (o->index >= o->count)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "shard: index must be below count %lld, got %lld",
                              (long long)o->count, (long long)o->index);
    return add_order(build, LEAT_ORDER_SHARD, (uint64_t)o->count, (uint64_t)o->index, where, err);
}

const leat_stage_table leat_stage_repeat = {
    { "repeat", "read the data several times; each pass has an order and random draws of its own",
      repeat_table },
    sizeof(count_options),
    add_repeat,
    LEAT_STAGE_ORDERS
};
const leat_stage_table leat_stage_take = { { "take", "keep the first elements", take_table },
                                           sizeof(count_options),
                                           add_take,
                                           LEAT_STAGE_ORDERS };
const leat_stage_table leat_stage_skip = { { "skip", "leave out the first elements", skip_table },
                                           sizeof(count_options),
                                           add_skip,
                                           LEAT_STAGE_ORDERS };
const leat_stage_table leat_stage_shard = { { "shard", "keep every n-th element", shard_table },
                                            sizeof(shard_options),
                                            add_shard,
                                            LEAT_STAGE_ORDERS };
