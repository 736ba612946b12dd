/* SPDX-License-Identifier: MIT
 *
 * stage_shuffle.c: the stage `shuffle`: a random order of all samples, or within windows. shuffle.c computes
 * it. */
#include "stage.h"

#define COUNT_MAX   9e15
#define STREAMS_MAX (1 << 20)

static const char *const autos[] = { "auto", NULL };
static const char *const nones[] = { "none", NULL };

typedef struct shuffle_options {
    int64_t seed;
    int32_t reshuffle;
    int64_t block, window, streams;
} shuffle_options;

static const leat_option shuffle_table[] = {
    LEAT_OPTION_ROW(shuffle_options, seed, I64, "auto", 0, LEAT_OPTION_I64_MAX, autos,
                    "seed of the order, always with its name; auto: the config's seed"),
    LEAT_OPTION_BOOL(
        shuffle_options, reshuffle, "true",
        "a new order in every epoch; false: one order, which depends on the options, the seed and "
        "the number of samples alone (with streams on the batch size, too)"),
    LEAT_OPTION_I64_OR(shuffle_options, block, "none", 1, COUNT_MAX, nones,
                       "for slow disks: neighbouring samples per block; blocks are shuffled, then "
                       "the samples inside each window of blocks"),
    LEAT_OPTION_I64_OR(
        shuffle_options, window, "auto", 2, COUNT_MAX, autos,
        "samples that are shuffled together; with block: a multiple of block; without "
        "block: each sample moves by less than 1.5 windows; auto: all samples, or 16 "
        "blocks with block"),
    LEAT_OPTION_I64(shuffle_options, streams, "1", 1, STREAMS_MAX,
                    "with block: parts of the data, each with blocks and windows of its own, that "
                    "share the rows of every batch; a multiple of engine.ranks lets each rank read "
                    "a part of its own"),
    LEAT_OPTION_END
};

/* Refuses a number without a name: `shuffle: 1000` would be a seed here, but tf.data reads it as a buffer. */
static int refuse_bare(const shuffle_options *o, const leat_node *entry, leat_error *err)
{
    const leat_node *given, *bare;
    const char *name;
    const int rc = leat_node_named(entry, "stage", &name, &given, err);
    if (rc < 0)
        return rc;
    bare = given && given->kind == LEAT_NODE_MAP ? leat_node_find(given, "") : given;
    if (o->seed < 0 || !bare || bare->kind != LEAT_NODE_SCALAR)
        return LEAT_OK;
    return leat_node_fail(bare, err, LEAT_E_CONFIG,
                          "stage 'shuffle': %s is a seed or a size: write `shuffle: {seed: %s}` "
                          "for the seed of an order of all samples, or `shuffle: {window: %s}` to "
                          "shuffle samples only with their neighbours",
                          bare->text, bare->text, bare->text);
}

static int read_window(const shuffle_options *o, const leat_node *where, leat_shuffle *out,
                       leat_error *err)
{
    out->block = o->block < 0 ? 0 : (uint64_t)o->block;
    out->window = o->window < 0 ? out->block * LEAT_SHUFFLE_BLOCKS : (uint64_t)o->window;
    if (out->block && out->window % out->block)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "shuffle: window must be a multiple of block (%lld samples), got "
                              "%lld: %lld would be one",
                              (long long)out->block, (long long)out->window,
                              (long long)((out->window / out->block + 1) * out->block));
    return LEAT_OK;
}

static int read_streams(const leat_build *build, const shuffle_options *o, const leat_node *where,
                        leat_shuffle *out, leat_error *err)
{
    out->streams = (uint64_t)o->streams;
    if (o->streams == 1)
        return LEAT_OK;
    if (!out->block)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "shuffle: streams read blocks: give block, too, such as `shuffle: "
                              "{block: 1000, streams: %lld}`",
                              (long long)o->streams);
    if (!build->is_nested && !build->batch)
        return LEAT_OK;
    return leat_node_fail(where, err, LEAT_E_CONFIG,
                          "shuffle: streams share the rows of a batch: put it into the main "
                          "pipeline, before batch, or leave out streams");
}

static int check_blocks(const leat_shuffle *shuffle, uint64_t n, const leat_node *where,
                        leat_error *err)
{
    const uint64_t n_blocks = n / shuffle->block + (n % shuffle->block != 0);
    if (shuffle->streams <= n_blocks)
        return LEAT_OK;
    return leat_node_fail(where, err, LEAT_E_CONFIG,
                          "shuffle: %llu streams need a block each, but %llu samples are %llu "
                          "blocks of %llu: lower streams or block",
                          (unsigned long long)shuffle->streams, (unsigned long long)n,
                          (unsigned long long)n_blocks, (unsigned long long)shuffle->block);
}

/* Says whose rows come from several streams, and what that costs. */
static void note_ranks(const leat_build *build, const leat_shuffle *shuffle, bool shifts)
{
    const unsigned long long streams = shuffle->streams, ranks = build->plan->order.ranks;
    if (ranks > 1 && streams % ranks)
        leat_note_add(build->plan,
                      "shuffle: %llu streams are no multiple of %llu ranks: batches are right, but "
                      "some ranks read parts of the data that others read too; the next multiple "
                      "is %llu",
                      streams, ranks, (streams / ranks + 1) * ranks);
    else if (ranks > 1 && shifts)
        leat_note_add(build->plan,
                      "shuffle: a stage between shuffle and batch shifts the rows of streams, so "
                      "ranks read parts of the data that others read too, as without streams");
}

int leat_stage_shuffle_check(const leat_build *build, const leat_node *where, leat_error *err)
{
    const leat_order *const order = &build->plan->order;
    const leat_shuffle *found = NULL;
    bool shifts = false;
    for (int32_t i = 0; i < order->n_before; i++) {
        const leat_shuffle *const shuffle = &order->before[i].shuffle;
        shifts |= order->before[i].kind != LEAT_ORDER_TAKE;
        if (shuffle->streams <= 1)
            continue;
        if (shuffle->streams > order->batch_size)
            return leat_node_fail(where, err, LEAT_E_CONFIG,
                                  "shuffle: %llu streams share the rows of every batch, which has "
                                  "only %llu: lower streams, or raise the size",
                                  (unsigned long long)shuffle->streams,
                                  (unsigned long long)order->batch_size);
        found = shuffle;
        shifts = order->samples_per_record > 1 && i < order->unbatch_step;
    }
    if (found)
        note_ranks(build, found, shifts);
    return LEAT_OK;
}

/* Says how random a windowed shuffle of n elements is. */
static void note_window(leat_build *build, const leat_shuffle *shuffle, uint64_t n)
{
    const char *const unit = build->batch ? "batches" : "samples";
    const unsigned long long window = shuffle->window, block = shuffle->block;
    if (shuffle->streams > 1 && window >= n / shuffle->streams)
        leat_note_add(build->plan,
                      "shuffle: each batch has rows of %llu parts of about %llu neighbours; each "
                      "part is shuffled as a whole",
                      (unsigned long long)shuffle->streams,
                      (unsigned long long)(n / shuffle->streams));
    else if (shuffle->streams > 1)
        leat_note_add(build->plan,
                      "shuffle: each batch has rows of %llu parts of about %llu neighbours; each "
                      "part is shuffled in windows of %llu, with %llu blocks of %llu: less random "
                      "than a global shuffle",
                      (unsigned long long)shuffle->streams,
                      (unsigned long long)(n / shuffle->streams), window, window / block, block);
    else if (window && window >= n)
        leat_note_add(build->plan,
                      "shuffle: one window of %llu holds all %llu %s: as random as a global "
                      "shuffle",
                      window, (unsigned long long)n, unit);
    else if (block)
        leat_note_add(build->plan,
                      "shuffle: each window of %llu %s holds only %llu blocks of %llu neighbours: "
                      "less random than a global shuffle",
                      window, unit, window / block, block);
    else if (window)
        leat_note_add(build->plan,
                      "shuffle: with a window of %llu %s, none moves further than %llu places: "
                      "sorted data stays nearly sorted",
                      window, unit, window + (window + 1) / 2 - 1);
}

static int add_shuffle(leat_build *build, const void *options, const leat_node *where,
                       leat_error *err)
{
    const shuffle_options *const o = options;
    leat_shuffle shuffle = { .seed = o->seed < 0 ? build->plan->seed : (uint64_t)o->seed,
                             .reshuffle = o->reshuffle != 0 };
    leat_error inner;
    int rc;
    if ((rc = refuse_bare(o, where, err)) < 0 || (rc = read_window(o, where, &shuffle, err)) < 0 ||
        (rc = read_streams(build, o, where, &shuffle, err)) < 0)
        return rc;
    const leat_order *const order = &build->plan->order;
    const uint64_t n = build->batch ? order->n_batches : order->n_samples;
    rc = leat_order_add_shuffle(&build->plan->order, &shuffle, &inner);
    if (rc < 0)
        return leat_node_fail(where, err, rc, "%s", inner.message);
    if (shuffle.streams > 1 && (rc = check_blocks(&shuffle, n, where, err)) < 0)
        return rc;
    note_window(build, &shuffle, n);
    if (build->unbatch && !build->batch && !build->cache)
        leat_note_add(build->plan,
                      "unbatch: the shuffle after it separates the samples of a record, so each "
                      "record is read and decoded up to %llu times per epoch; shuffle before "
                      "unbatch, or cache the records",
                      (unsigned long long)build->plan->order.samples_per_record);
    return LEAT_OK;
}

const leat_stage_table leat_stage_shuffle = {
    { "shuffle", "read every record once, in a random order given by seed and epoch",
      shuffle_table },
    sizeof(shuffle_options),
    add_shuffle,
    LEAT_STAGE_ORDERS
};
