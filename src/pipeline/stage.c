/* SPDX-License-Identifier: MIT
 *
 * stage.c: the stages that count and order; `map` is in map.c. Names and meanings are tf.data's. */
#include "stage.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 9e15

static const char *const autos[] = { "auto", NULL };
static const char *const forever[] = { "forever", NULL };

/* Errors of order arithmetic, with the stage's place. */
static int add_order(leat_build *build, leat_order_kind kind, uint64_t a, uint64_t b,
                     const leat_node *where, leat_error *err)
{
    leat_error inner;
    const int rc = leat_order_add(&build->plan->order, kind, a, b, &inner);
    return rc < 0 ? leat_node_fail(where, err, rc, "%s", inner.message) : rc;
}

/* --- shuffle --- */

typedef struct shuffle_options {
    int64_t seed;
    int32_t reshuffle;
} shuffle_options;

static const leat_option shuffle_table[] = {
    LEAT_OPTION_ROW(shuffle_options, seed, I64, "auto", 0, COUNT_MAX, autos,
                    "key of the order; auto: the config's seed"),
    LEAT_OPTION_BOOL(shuffle_options, reshuffle, "true", "a new order in every epoch"),
    LEAT_OPTION_END
};

static int add_shuffle(leat_build *build, const void *options, const leat_node *where,
                       leat_error *err)
{
    const shuffle_options *const o = options;
    const uint64_t seed = o->seed < 0 ? build->plan->seed : (uint64_t)o->seed;
    return add_order(build, LEAT_ORDER_SHUFFLE, seed, (uint64_t)o->reshuffle, where, err);
}

/* --- repeat, take, skip --- */

typedef struct count_options {
    int64_t count;
} count_options;

static const leat_option repeat_table[] = { LEAT_OPTION_ROW(
                                                count_options, count, I64, "forever", 1, COUNT_MAX,
                                                forever, "times to go through what comes before"),
                                            LEAT_OPTION_END };
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

static int add_take(leat_build *build, const void *options, const leat_node *where, leat_error *err)
{
    const int64_t count = ((const count_options *)options)->count;
    return add_order(build, LEAT_ORDER_TAKE, (uint64_t)count, 0, where, err);
}

static int add_skip(leat_build *build, const void *options, const leat_node *where, leat_error *err)
{
    const int64_t count = ((const count_options *)options)->count;
    return add_order(build, LEAT_ORDER_SKIP, (uint64_t)count, 0, where, err);
}

/* --- shard --- */

typedef struct shard_options {
    int64_t count, index;
} shard_options;

static const leat_option shard_table[] = {
    LEAT_OPTION_I64(shard_options, count, NULL, 1, COUNT_MAX, "parts to deal the elements into"),
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

/* --- batch --- */

typedef struct batch_options {
    int64_t size;
    int32_t drop_remainder;
} batch_options;

static const leat_option batch_table[] = {
    LEAT_OPTION_I64(batch_options, size, NULL, 1, 1 << 24, "samples per batch"),
    LEAT_OPTION_BOOL(batch_options, drop_remainder, "false",
                     "leave out a last batch with fewer samples"),
    LEAT_OPTION_END
};

static int add_batch(leat_build *build, const void *options, const leat_node *where,
                     leat_error *err)
{
    const batch_options *const o = options;
    if (build->batched)
        return leat_node_fail(where, err, LEAT_E_CONFIG, "a second batch stage: keep one");
    build->batched = true;
    leat_order_batch(&build->plan->order, (uint64_t)o->size, o->drop_remainder);
    return LEAT_OK;
}

/* --- prefetch --- */

#define PREFETCH_AUTO 2 /* the least that hides one slow batch behind another */

typedef struct prefetch_options {
    int64_t batches;
} prefetch_options;

static const leat_option prefetch_table[] = {
    LEAT_OPTION_ROW(
        prefetch_options, batches, I64, "auto", 0, 4096, autos,
        "full batches that may stand ready ahead of the consumer; 0: each batch is read, "
        "mapped and copied only when it is asked for; auto: 2"),
    LEAT_OPTION_END
};

static int add_prefetch(leat_build *build, const void *options, const leat_node *where,
                        leat_error *err)
{
    const int64_t batches = ((const prefetch_options *)options)->batches;
    if (!build->batched || build->prefetched)
        return leat_node_fail(where, err, LEAT_E_CONFIG, "%s",
                              build->prefetched ? "a second prefetch stage: keep one"
                                                : "prefetch counts batches: put it after batch");
    build->prefetched = true;
    build->plan->prefetch = batches < 0 ? PREFETCH_AUTO : batches;
    return LEAT_OK;
}

/* --- the list --- */

static const leat_stage_table count_stages[] = {
    { { "shuffle", "every record once, in an order that seed and epoch decide", shuffle_table },
      sizeof(shuffle_options),
      add_shuffle },
    { { "repeat", "go through the data several times; each time is a new epoch", repeat_table },
      sizeof(count_options),
      add_repeat },
    { { "take", "keep the first elements", take_table }, sizeof(count_options), add_take },
    { { "skip", "leave out the first elements", skip_table }, sizeof(count_options), add_skip },
    { { "shard", "keep every n-th element", shard_table }, sizeof(shard_options), add_shard },
    { { "batch", "stack samples; stages after it count batches", batch_table },
      sizeof(batch_options),
      add_batch },
    { { "prefetch", "prepare batches ahead of the consumer", prefetch_table },
      sizeof(prefetch_options),
      add_prefetch },
};

#define N_COUNT_STAGES (sizeof count_stages / sizeof *count_stages)

static const leat_stage_table *stage_at(size_t i)
{
    return i < N_COUNT_STAGES ? &count_stages[i] : i == N_COUNT_STAGES ? &leat_stage_map : NULL;
}

const leat_kind *leat_stage_kind(size_t i)
{
    return stage_at(i) ? &stage_at(i)->kind : NULL;
}

static int unknown(const leat_node *entry, const char *name, leat_error *err)
{
    const char *names[N_COUNT_STAGES + 1];
    char list[256] = "";
    size_t n = 0;
    for (; stage_at(n); n++) {
        const size_t used = strlen(list);
        names[n] = stage_at(n)->kind.name;
        snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", names[n]);
    }
    const char *near = leat_nearest(name, names, n);
    if (leat_op_find(name))
        return leat_node_fail(entry, err, LEAT_E_CONFIG,
                              "'%s' is an op, not a stage: put it in `map: {ops: [%s]}`", name,
                              name);
    return leat_node_fail(entry, err, LEAT_E_CONFIG, "unknown stage '%s'%s%s%s; there are: %s",
                          name, near ? "; did you mean '" : "", near ? near : "", near ? "'" : "",
                          list);
}

int leat_stage_add(leat_build *build, const leat_node *entry, leat_error *err)
{
    const char *name;
    const leat_node *given;
    const leat_stage_table *stage = NULL;
    char what[80];
    int rc = leat_node_named(entry, "stage", &name, &given, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; stage_at(i) && !stage; i++)
        if (!strcmp(stage_at(i)->kind.name, name))
            stage = stage_at(i);
    if (!stage)
        return unknown(entry, name, err);
    void *options = calloc(1, stage->options_size);
    if (!options)
        return leat_fail(err, LEAT_E_NOMEM, "stage '%s': %zu bytes", name, stage->options_size);
    snprintf(what, sizeof what, "stage '%s'", stage->kind.name);
    rc = leat_node_options(given, entry, what, stage->kind.options, options, err);
    if (rc >= 0)
        rc = stage->add(build, options, entry, err);
    free(options);
    return rc;
}
