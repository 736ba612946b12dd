/* SPDX-License-Identifier: MIT
 *
 * stage.c: the stages that count and order; `map` is in map.c. Names and meanings are tf.data's. */
#include "stage.h"

#include <stdlib.h>
#include <string.h>

#include "budget_impl.h"

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

int leat_stage_fail_second(const leat_node *first, const leat_node *where, const char *name,
                           leat_error *err)
{
    if (first->line == 0)
        return leat_node_fail(where, err, LEAT_E_CONFIG, "a second %s stage: keep one", name);
    return leat_node_fail(where, err, LEAT_E_CONFIG,
                          "a second %s stage; the first one is in line %d: keep one of them", name,
                          first->line);
}

/* --- shuffle --- */

#define WINDOW_BLOCKS 16 /* blocks of a window, where only the block is given */

static const char *const nones[] = { "none", NULL };

typedef struct shuffle_options {
    int64_t seed;
    int32_t reshuffle;
    int64_t block, window;
} shuffle_options;

static const leat_option shuffle_table[] = {
    LEAT_OPTION_ROW(shuffle_options, seed, I64, "auto", 0, COUNT_MAX, autos,
                    "key of the order; auto: the config's seed"),
    LEAT_OPTION_BOOL(shuffle_options, reshuffle, "true", "a new order in every epoch"),
    LEAT_OPTION_I64_OR(shuffle_options, block, "none", 1, COUNT_MAX, nones,
                       "for slow disks: neighbouring samples that stay in one window; blocks are "
                       "shuffled, then the samples of each window of blocks"),
    LEAT_OPTION_I64_OR(
        shuffle_options, window, "auto", 2, COUNT_MAX, autos,
        "samples that are shuffled together: a multiple of block, or, without block, "
        "none moves by 1.5 windows or more; auto: all, or 16 blocks"),
    LEAT_OPTION_END
};

static int read_window(const shuffle_options *o, const leat_node *where, leat_shuffle *out,
                       leat_error *err)
{
    out->block = o->block < 0 ? 0 : (uint64_t)o->block;
    out->window = o->window < 0 ? out->block * WINDOW_BLOCKS : (uint64_t)o->window;
    if (out->block && out->window % out->block)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "shuffle: window must be a multiple of block (%lld samples), got "
                              "%lld: %lld would be one",
                              (long long)out->block, (long long)out->window,
                              (long long)((out->window / out->block + 1) * out->block));
    return LEAT_OK;
}

/* n: elements that are shuffled. */
static void note_window(leat_build *build, const leat_shuffle *shuffle, uint64_t n)
{
    const char *const unit = build->batch ? "batches" : "samples";
    const unsigned long long window = shuffle->window, block = shuffle->block;
    if (window && window >= n)
        leat_build_note(build,
                        "shuffle: one window of %llu holds all %llu %s: as random as a global "
                        "shuffle",
                        window, (unsigned long long)n, unit);
    else if (block)
        leat_build_note(build,
                        "shuffle: each window of %llu %s is read from %llu blocks of %llu "
                        "neighbours, and holds no others: not as random as a global shuffle",
                        window, unit, window / block, block);
    else if (window)
        leat_build_note(build,
                        "shuffle: within a window of %llu %s, none moves further than %llu places: "
                        "what is sorted in the source stays nearly so",
                        window, unit, window + (window + 1) / 2 - 1);
}

static int add_shuffle(leat_build *build, const void *options, const leat_node *where,
                       leat_error *err)
{
    const shuffle_options *const o = options;
    leat_shuffle shuffle = { .seed = o->seed < 0 ? build->plan->seed : (uint64_t)o->seed,
                             .reshuffle = o->reshuffle != 0 };
    leat_error inner;
    int rc = read_window(o, where, &shuffle, err);
    if (rc < 0)
        return rc;
    const leat_order *const order = &build->plan->order;
    const uint64_t n = build->batch ? order->n_batches : order->n_samples;
    rc = leat_order_add_shuffle(&build->plan->order, &shuffle, &inner);
    if (rc < 0)
        return leat_node_fail(where, err, rc, "%s", inner.message);
    note_window(build, &shuffle, n);
    if (build->unbatch && !build->batch && !build->cache)
        leat_build_note(
            build,
            "unbatch: the shuffle after it parts the samples of a record, so each record "
            "is read and decoded up to %llu times an epoch; shuffle before it, or keep "
            "records in a cache",
            (unsigned long long)build->plan->order.parts);
    return LEAT_OK;
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

int leat_stage_batch(leat_build *build, int64_t size, bool drop_remainder, const leat_node *where,
                     leat_error *err)
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
        leat_build_note(build,
                        "batch: the %llu samples of a pass are one batch; its size of %lld is "
                        "never reached",
                        (unsigned long long)build->plan->order.n_samples, (long long)size);
    return LEAT_OK;
}

static int add_batch(leat_build *build, const void *options, const leat_node *where,
                     leat_error *err)
{
    const batch_options *const o = options;
    return leat_stage_batch(build, o->size, o->drop_remainder, where, err);
}

/* --- prefetch --- */

typedef struct prefetch_options {
    int64_t batches;
    int32_t pinned;
} prefetch_options;

static const leat_option prefetch_table[] = {
    LEAT_OPTION_ROW(
        prefetch_options, batches, I64, "auto", 0, 4096, autos,
        "full batches that may stand ready ahead of the consumer; 0: each batch is read, "
        "mapped and copied only when it is asked for; auto: 2 or more, as many as outlast the "
        "slowest "
        "sample"),
    LEAT_OPTION_BOOL(prefetch_options, pinned, "true",
                     "copies to a device start from pinned memory, so that they overlap with "
                     "other work; false shows what that is worth"),
    LEAT_OPTION_END
};

static int add_prefetch(leat_build *build, const void *options, const leat_node *where,
                        leat_error *err)
{
    const int64_t batches = ((const prefetch_options *)options)->batches;
    if (build->prefetch)
        return leat_stage_fail_second(build->prefetch, where, "prefetch", err);
    if (!build->batch)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "prefetch counts batches: put it after batch");
    build->prefetch = where;
    build->plan->has_prefetch = true;
    build->plan->prefetch_auto = batches < 0;
    build->plan->prefetch = batches < 0 ? LEAT_PREFETCH_FIRST : batches;
    build->plan->pageable = !((const prefetch_options *)options)->pinned;
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
    static const leat_stage_table *const others[] = { &leat_stage_map,
                                                      &leat_stage_filter,
                                                      &leat_stage_cache,
                                                      &leat_stage_unbatch,
                                                      &leat_stage_on_error,
                                                      &leat_stage_padded_batch,
                                                      &leat_stage_bucket_by_length };
    if (i < N_COUNT_STAGES)
        return &count_stages[i];
    return i - N_COUNT_STAGES < sizeof others / sizeof *others ? others[i - N_COUNT_STAGES] : NULL;
}

const leat_kind *leat_stage_kind(size_t i)
{
    return stage_at(i) ? &stage_at(i)->kind : NULL;
}

static bool is_op(const leat_build *build, const char *name)
{
    for (size_t i = 0; i < build->n_user_ops; i++)
        if (!strcmp(build->user_ops[i]->name, name))
            return true;
    return leat_op_find(name);
}

static int unknown(const leat_build *build, const leat_node *entry, const char *name,
                   leat_error *err)
{
    leat_near near = leat_near_init(name);
    leat_words known = { .length = 0 };
    if (is_op(build, name))
        return leat_node_fail(entry, err, LEAT_E_CONFIG,
                              "'%s' is an op, not a stage: put it in `map: {ops: [%s]}`", name,
                              name);
    for (size_t i = 0; stage_at(i); i++) {
        leat_near_offer(&near, stage_at(i)->kind.name);
        leat_words_add(&known, stage_at(i)->kind.name);
    }
    return leat_node_fail(entry, err, LEAT_E_CONFIG,
                          "there is no stage '%.80s'%s%s%s There are: %s", name,
                          near.best ? "; did you mean '" : "", near.best ? near.best : "",
                          near.best ? "'?" : ".", known.text);
}

/* Options as other libraries call them, or that nothing here corresponds to. */
static const struct {
    const char *stage, *option, *instead;
} elsewhere[] = {
    { "shuffle", "buffer_size",
      "there is no buffer, the shuffle is global and costs no memory: leave it out, or write "
      "window: "
      "N where samples must stay near their place" },
    { "shuffle", "reshuffle_each_iteration", "write reshuffle" },
    { "batch", "batch_size", "write size" },
    { "padded_batch", "batch_size", "write size" },
    { "padded_batch", "padded_shapes", "write shapes" },
    { "padded_batch", "padding_values", "write values" },
    { "bucket_by_length", "bucket_boundaries", "write boundaries" },
    { "bucket_by_length", "bucket_batch_sizes", "write sizes" },
    { "shard", "num_shards", "write count" },
    { "prefetch", "buffer_size", "write batches" },
};

static int check_words(const leat_stage_table *stage, const leat_node *given, leat_error *err)
{
    const bool map = given && given->kind == LEAT_NODE_MAP;
    for (const leat_node *entry = map ? given->first : NULL; entry; entry = entry->next)
        for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
            leat_node key = *entry;
            if (strcmp(stage->kind.name, elsewhere[i].stage) ||
                strcmp(entry->key, elsewhere[i].option))
                continue;
            key.line = entry->key_line;
            key.column = entry->key_column;
            return leat_node_fail(&key, err, LEAT_E_CONFIG, "stage '%s' has no option '%s': %s",
                                  stage->kind.name, entry->key, elsewhere[i].instead);
        }
    return LEAT_OK;
}

/* What a stage gets, or gives: samples before the batch, batches after it. */
static uint64_t count_of(const leat_order *order)
{
    return order->batch_size ? order->n_batches : order->n_samples;
}

static int fail_empty(const leat_build *build, const char *name, uint64_t n, const leat_node *where,
                      leat_error *err)
{
    const char *const unit = build->batch ? "batches" : "samples";
    if (n == LEAT_ENDLESS)
        return leat_node_fail(where, err, LEAT_E_CONFIG, "%s leaves no %s", name, unit);
    return leat_node_fail(where, err, LEAT_E_CONFIG,
                          "%s leaves none of the %llu %s that come to it", name,
                          (unsigned long long)n, unit);
}

/* For those who ask what the plan came to. */
static void remember(leat_build *build, const char *name, const leat_node *given, uint64_t before)
{
    leat_plan *const plan = build->plan;
    if (plan->n_stages == LEAT_MAX_STAGE_INFOS)
        return;
    leat_stage_info *const info = &plan->stages[plan->n_stages++];
    *info = (leat_stage_info){ .n_in = before,
                               .n_out = count_of(&plan->order),
                               .batches = plan->order.batch_size != 0 };
    snprintf(info->name, sizeof info->name, "%s", name);
    if (given)
        leat_node_text(given, info->options, sizeof info->options);
}

/* Stages that only count and order: what the pipeline of one of several sources may have. */
static bool only_orders(const leat_stage_table *stage)
{
    return stage->add == add_shuffle || stage->add == add_repeat || stage->add == add_take ||
           stage->add == add_skip || stage->add == add_shard || stage == &leat_stage_filter;
}

static int fail_inside(const leat_node *entry, const char *name, leat_error *err)
{
    leat_words known = { .length = 0 };
    for (size_t i = 0; stage_at(i); i++)
        if (only_orders(stage_at(i)))
            leat_words_add(&known, stage_at(i)->kind.name);
    return leat_node_fail(entry, err, LEAT_E_CONFIG,
                          "%s cannot stand in the pipeline of one of several sources: move it to "
                          "the pipeline after them. Here there may be: %s",
                          name, known.text);
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
        return unknown(build, entry, name, err);
    if (build->inside && !only_orders(stage))
        return fail_inside(entry, name, err);
    if ((rc = check_words(stage, given, err)) < 0)
        return rc;
    void *options = calloc(1, stage->options_size);
    if (!options)
        return leat_fail(err, LEAT_E_NOMEM, "stage '%s': %zu bytes", name, stage->options_size);
    const uint64_t before = count_of(&build->plan->order);
    snprintf(what, sizeof what, "stage '%s'", stage->kind.name);
    rc = leat_node_options(given, entry, what, stage->kind.options, options, err);
    if (rc >= 0)
        rc = stage->add(build, options, entry, err);
    if (rc >= 0)
        remember(build, name, given, before);
    if (rc >= 0 && before && count_of(&build->plan->order) == 0)
        rc = fail_empty(build, name, before, entry, err);
    free(options);
    return rc;
}
