/* SPDX-License-Identifier: MIT
 *
 * stage_bucket.c: the stage `bucket_by_length`: batches of samples of similar length, so that they need little
 * padding. Opening the plan reads all lengths once and sorts the samples into buckets. */
#include <stdlib.h>
#include <string.h>

#include "config/number.h"
#include "feature_scan.h"
#include "pipeline/order/combine.h"
#include "stage.h"

typedef struct bucket_options {
    leat_string feature;
    const leat_node *boundaries, *sizes;
    int32_t drop_remainder;
    const leat_node *shapes, *values;
    int32_t truncate;
} bucket_options;

static const leat_option table[] = {
    LEAT_OPTION_STRING(bucket_options, feature, NULL,
                       "stored list or bytes whose length decides the bucket"),
    LEAT_OPTION_NODE(
        bucket_options, boundaries, NULL,
        "longest sample of each bucket, ascending; also the row length of its batches"),
    LEAT_OPTION_NODE(bucket_options, sizes, NULL,
                     "samples per batch: one number, or one for each bucket"),
    LEAT_OPTION_BOOL(bucket_options, drop_remainder, "false",
                     "drop the last batch of a bucket if it has fewer samples"),
    LEAT_OPTION_NODE(bucket_options, shapes, "",
                     "tensor name: [dimensions] of rows that are the same in all buckets"),
    LEAT_OPTION_NODE(bucket_options, values, "", "tensor name: value of the padding; default: 0"),
    LEAT_OPTION_BOOL(
        bucket_options, truncate, "false",
        "cut samples that are longer than the last boundary, and other lists that are longer than "
        "their bucket; false: both are an error"),
    LEAT_OPTION_END
};

static int read_number(const leat_node *node, const char *what, int64_t most, int64_t *out,
                       leat_error *err)
{
    if (node->kind == LEAT_NODE_SCALAR && leat_number_i64(node->text, out) == LEAT_NUMBER_OK &&
        *out >= 1 && *out <= most)
        return LEAT_OK;
    return leat_node_fail(
        node, err, LEAT_E_CONFIG, "bucket_by_length: %s are numbers from 1 to %lld, got %s", what,
        (long long)most, node->kind == LEAT_NODE_SCALAR ? node->text : "a list or mapping");
}

static int read_boundaries(leat_buckets *buckets, const leat_node *node, leat_error *err)
{
    const bool list = node->kind == LEAT_NODE_LIST;
    int64_t last = 0;
    if (list && (!node->first || leat_node_count(node) > LEAT_MAX_BUCKETS))
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "bucket_by_length: 1 to %d boundaries, got %zu", LEAT_MAX_BUCKETS,
                              leat_node_count(node));
    for (const leat_node *item = list ? node->first : node; item; item = list ? item->next : NULL) {
        int64_t room;
        const int rc = read_number(item, "boundaries", (int64_t)1 << 40, &room, err);
        if (rc < 0)
            return rc;
        if (room <= last)
            return leat_node_fail(item, err, LEAT_E_CONFIG,
                                  "bucket_by_length: boundaries ascend, but %lld comes after %lld",
                                  (long long)room, (long long)last);
        buckets->list[buckets->n++].max_length = last = room;
    }
    return LEAT_OK;
}

static int read_sizes(leat_buckets *buckets, const leat_node *node, leat_error *err)
{
    const bool list = node->kind == LEAT_NODE_LIST;
    const leat_node *item = list ? node->first : node;
    if (list && leat_node_count(node) != buckets->n)
        return leat_node_fail(
            node, err, LEAT_E_CONFIG,
            "bucket_by_length: %zu sizes for %u boundaries: give one for each, or "
            "one for all",
            leat_node_count(node), buckets->n);
    for (uint32_t k = 0; k < buckets->n; k++, item = list ? item->next : item) {
        int64_t size;
        const int rc = read_number(item, "sizes", 1 << 24, &size, err);
        if (rc < 0)
            return rc;
        buckets->list[k].size = (uint64_t)size;
    }
    return LEAT_OK;
}

/* --- sorting samples into buckets -------------------------------------------------------------------- */

typedef struct sorting {
    leat_buckets *buckets;
    const char *feature;
    bool truncate;
} sorting;

static int visit(void *arg, uint64_t position, const leat_view *feature, leat_error *err)
{
    const sorting *const s = arg;
    const uint32_t last = s->buckets->n - 1;
    const int64_t length = feature->shape.dims[0];
    uint32_t k = 0;
    if (length > s->buckets->list[last].max_length && !s->truncate)
        return leat_fail(
            err, LEAT_E_DATA,
            "sample %llu has a '%s' of length %lld, and the last boundary is %lld: raise "
            "it, write truncate: true, or put a filter with max_length before this stage",
            (unsigned long long)position, s->feature, (long long)length,
            (long long)s->buckets->list[last].max_length);
    while (k < last && length > s->buckets->list[k].max_length)
        k++;
    leat_bitset_add(s->buckets->list[k].members, position);
    return LEAT_OK;
}

/* The order without a shuffle at its end: the steps that are the same in every epoch. */
static leat_order without_shuffle(const leat_order *order)
{
    leat_order fixed = *order;
    if (fixed.n_before && fixed.before[fixed.n_before - 1].kind == LEAT_ORDER_SHUFFLE)
        fixed.n_before--;
    return fixed;
}

static int sort_all(leat_build *build, sorting *s, int32_t feature, leat_error *err)
{
    const leat_order fixed = without_shuffle(&build->plan->order);
    int rc = LEAT_OK;
    if (!leat_combine_is_fixed(&fixed) || fixed.n_samples == LEAT_ENDLESS)
        return leat_fail(err, LEAT_E_CONFIG,
                         "it reads every sample once when the plan is opened, so only take, skip, "
                         "shard and filter may come before it, and a global shuffle as the last "
                         "of them; put repeat after it");
    for (uint32_t k = 0; k < s->buckets->n && rc >= 0; k++)
        rc = leat_bitset_open(&s->buckets->list[k].members, fixed.n_samples, err);
    if (rc >= 0)
        rc = leat_feature_scan(build->plan->source, &fixed, feature, build->plan->engine.threads,
                               visit, s, err);
    for (uint32_t k = 0; k < s->buckets->n && rc >= 0; k++)
        rc = leat_bitset_finish(s->buckets->list[k].members, err);
    return rc;
}

/* --- the stage ----------------------------------------------------------------------------------- */

static int find_feature(const leat_source *source, const char *name, const leat_node *where,
                        int32_t *out, leat_error *err)
{
    *out = leat_stage_feature(source, name);
    if (*out < 0)
        return leat_stage_fail_feature(source, "bucket_by_length", "feature", name, where, err);
    const leat_shape *const shape = &source->features[*out].shape;
    if (shape->rank && shape->dims[0] == LEAT_UNKNOWN_DIM)
        return LEAT_OK;
    return leat_node_fail(where, err, LEAT_E_CONFIG,
                          "bucket_by_length: every '%s' has the same length: use batch", name);
}

static void note(leat_build *build, const leat_buckets *buckets)
{
    leat_words counts = { .length = 0 };
    char text[64];
    for (uint32_t k = 0; k < buckets->n; k++) {
        snprintf(text, sizeof text, "%llu up to %lld",
                 (unsigned long long)buckets->list[k].members->n_members,
                 (long long)buckets->list[k].max_length);
        leat_nearest_add_word(&counts, text);
    }
    leat_note_add(build->plan, "bucket_by_length: samples by length: %s%s", counts.text,
                  buckets->shuffles ? ""
                                    : "; without shuffle before it, all short batches come first");
}

static int settle(leat_build *build, const bucket_options *o, leat_buckets **buckets,
                  int32_t feature, const leat_node *where, leat_error *err)
{
    leat_order *const order = &build->plan->order;
    sorting s = { *buckets, o->feature.text, o->truncate != 0 };
    int rc;
    if ((rc = sort_all(build, &s, feature, err)) < 0 ||
        (rc = leat_order_add_buckets(order, buckets, o->drop_remainder, err)) < 0)
        return leat_node_fail_in(where, err, leat_fail_in(err, rc, "bucket_by_length: "));
    build->batch = where;
    if (order->n_batches == 0)
        return leat_node_fail(
            where, err, LEAT_E_CONFIG,
            "no batch would be full: lower the sizes or leave out drop_remainder");
    note(build, order->buckets);
    const leat_padding_options padding = { o->shapes, o->values, o->truncate != 0,
                                           order->buckets->list[order->buckets->n - 1].max_length };
    return leat_padding_sizes_find(build, &padding, where, err);
}

static int add_bucket_by_length(leat_build *build, const void *options, const leat_node *where,
                                leat_error *err)
{
    const bucket_options *const o = options;
    int32_t feature;
    if (build->unbatch)
        return leat_node_fail(where, err, LEAT_E_UNSUPPORTED,
                              "bucket_by_length sorts whole records and cannot follow unbatch: use "
                              "batch");
    if (build->batch)
        return leat_stage_batch_add(build, 1, false, where, err); /* fails: a second batch stage */
    int rc = find_feature(build->plan->source, o->feature.text, where, &feature, err);
    if (rc < 0)
        return rc;
    leat_buckets *buckets = calloc(1, sizeof *buckets);
    if (!buckets)
        return leat_fail(err, LEAT_E_NOMEM, "bucket_by_length: %zu bytes", sizeof *buckets);
    if ((rc = read_boundaries(buckets, o->boundaries, err)) >= 0 &&
        (rc = read_sizes(buckets, o->sizes, err)) >= 0)
        rc = settle(build, o, &buckets, feature, where, err);
    leat_buckets_close(&buckets);
    return rc;
}

const leat_stage_table leat_stage_bucket_by_length = {
    { "bucket_by_length", "batch samples of similar length, padded to the length of their bucket",
      table },
    sizeof(bucket_options),
    add_bucket_by_length,
    LEAT_STAGE_BATCHES
};
