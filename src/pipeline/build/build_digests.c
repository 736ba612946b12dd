/* SPDX-License-Identifier: MIT
 *
 * build_digests.c: digests of what decides the content of batches. One knows a run that goes on, the other data that are the
 * same in another place. build.c calls it. */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "pipeline/order/bucket.h"
#include "pipeline/order/combine.h"
#include "stage.h"

/* Adds the text of a node to the digest. */
static int add_to_digest(uint64_t *digest, const leat_node *node, leat_error *err)
{
    const size_t size = leat_node_text(node, NULL, 0) + 1;
    char *const text = malloc(size);
    if (!text)
        return leat_fail(err, LEAT_E_NOMEM, "plan: %zu bytes", size);
    leat_node_text(node, text, size);
    *digest = leat_digest_text(*digest, text);
    free(text);
    return LEAT_OK;
}

/* A digest of what decides the content of batches: records, what filters and buckets found, seed, tensors in their order
 * (a map may take the first; the text of a node is sorted), and stages. A cache counts only if an op before it is random.
 * on_error counts with its policy but not its limit, so that a run that has reached its limit may resume with a higher one. */
static int digest_all(leat_plan *plan, const leat_config_sections *sections, const leat_node *cache,
                      leat_error *err)
{
    uint64_t digest = leat_digest_chain(plan->source->digest, plan->source->n_records);
    int rc = LEAT_OK;
    digest = leat_combine_digest(&plan->order, false, leat_digest_chain(digest, plan->seed));
    for (int32_t i = 0; i < plan->source->n_features; i++)
        digest = leat_digest_text(digest, plan->source->features[i].name);
    if (sections->source && sections->source->first)
        rc = add_to_digest(&digest, sections->source, err);
    for (const leat_node *stage = sections->pipeline->first; stage && rc >= 0; stage = stage->next)
        if (stage == cache)
            digest = plan->is_cache_random ? leat_digest_chain(digest, 1) : digest;
        else if (!(leat_stage_flags(stage) & LEAT_STAGE_NO_DIGEST))
            rc = add_to_digest(&digest, stage, err);
    plan->info.digest = plan->on_error ? leat_digest_chain(digest, plan->on_error) : digest;
    return rc;
}

/* --- of the content alone ---------------------------------------------------------------------- */

/* The sum of digests of entries, which may stand in any order. */
static int add_entry(uint64_t *sum, const leat_node *entry, leat_error *err)
{
    uint64_t digest = leat_digest_text(0, entry->key);
    const int rc = add_to_digest(&digest, entry, err);
    *sum += digest;
    return rc;
}

/* The options of sources that name files, whose names are in the source's own digest: from the folder of all on, which may be
 * another one. "": a value without a name, which --set has left beside others. */
static bool names_files(const char *key)
{
    static const char *const keys[] = { "", "files", "images", "labels", "path", "root" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(key, keys[i]))
            return true;
    return false;
}

static bool is_of_sources(const leat_node *value)
{
    return value->kind == LEAT_NODE_LIST && value->first && value->first->kind == LEAT_NODE_MAP;
}

static int add_source(uint64_t *digest, const leat_node *source, leat_error *err);

static int add_sources(uint64_t *digest, const leat_node *list, leat_error *err)
{
    int rc = LEAT_OK;
    for (const leat_node *entry = list->first; entry; entry = entry->next)
        for (const leat_node *at = entry->first; at && rc >= 0; at = at->next)
            rc = strcmp(at->key, "pipeline") ? add_source(digest, at, err)
                                             : add_to_digest(digest, at, err);
    return rc;
}

/* What a source reads beside its files. The depth of nested sources is that of the config. */
static int add_source(uint64_t *digest, const leat_node *source, leat_error *err)
{
    uint64_t sum = 0;
    int rc = LEAT_OK;
    *digest = leat_digest_text(*digest, source->key);
    if (is_of_sources(source))
        return add_sources(digest, source, err);
    const leat_node *const first = source->kind == LEAT_NODE_MAP ? source->first : NULL;
    for (const leat_node *at = first; at && rc >= 0; at = at->next)
        if ((!*at->key || !strcmp(at->key, "sources")) && is_of_sources(at))
            rc = add_sources(digest, at, err);
        else if (!names_files(at->key))
            rc = add_entry(&sum, at, err);
    *digest = leat_digest_chain(*digest, sum);
    return rc;
}

/* All of a stage that makes batches but their size, and what it leaves out: that is in the number of samples. */
static int add_batch(uint64_t *digest, const leat_node *stage, leat_error *err)
{
    const leat_node *const options = stage->kind == LEAT_NODE_MAP ? stage->first : NULL;
    uint64_t sum = 0;
    int rc = LEAT_OK;
    const leat_node *const first =
        options && options->kind == LEAT_NODE_MAP ? options->first : NULL;
    for (const leat_node *at = first; at && rc >= 0; at = at->next)
        if (*at->key && strcmp(at->key, "size") != 0 && strcmp(at->key, "sizes") != 0 &&
            strcmp(at->key, "drop_remainder") != 0)
            rc = add_entry(&sum, at, err);
    *digest = leat_digest_chain(*digest, sum);
    return rc;
}

/* Samples of n batches of this size, of which there are no more than `most`. */
static uint64_t samples_of(uint64_t n, uint64_t size, uint64_t most)
{
    return n > most / size ? most : n * size;
}

/* Of the main batches, before the stages behind them. */
static uint64_t n_batched(const leat_order *order)
{
    const uint64_t n = order->n_after ? order->after[0].n_in : order->n_batches;
    return samples_of(n, order->batch_size, order->n_samples);
}

static bool leaves_out(const leat_order_step *step)
{
    return step->n_out < step->n_in;
}

/* Whether the size of batches decides which samples come: a stage leaves out some batches, or some samples in an order that the
 * size decides, as streams share its rows. */
static bool size_decides(const leat_order *order)
{
    bool found = false, some = !order->buckets && n_batched(order) < order->n_samples;
    for (int32_t i = 0; i < order->n_after; i++)
        found |= leaves_out(&order->after[i]);
    for (int32_t i = order->n_before; i-- > 0; some |= leaves_out(&order->before[i]))
        found |= some && order->before[i].shuffle.streams > 1;
    return found;
}

/* How many samples come in batches, and their sizes where those decide more. */
static uint64_t add_counts(uint64_t digest, const leat_order *order)
{
    const bool decides = size_decides(order);
    const leat_bucket *const list = order->buckets ? order->buckets->list : NULL;
    for (uint32_t k = 0; list && k < order->buckets->n; k++) {
        digest = leat_digest_chain(digest,
                                   samples_of(list[k].n, list[k].size, list[k].members->n_members));
        digest = decides ? leat_digest_chain(digest, list[k].size) : digest;
    }
    if (list)
        return digest;
    digest = leat_digest_chain(digest, n_batched(order));
    return decides ? leat_digest_chain(digest, order->batch_size) : digest;
}

static int digest_content(leat_plan *plan, const leat_config_sections *sections, leat_error *err)
{
    uint64_t digest = leat_digest_chain(plan->source->digest, plan->source->n_records);
    int rc = LEAT_OK;
    digest = leat_combine_digest(&plan->order, false, add_counts(digest, &plan->order));
    for (int32_t i = 0; i < plan->source->n_features; i++)
        digest = leat_digest_text(digest, plan->source->features[i].name);
    if (sections->source && sections->source->first)
        rc = add_source(&digest, sections->source->first, err);
    for (const leat_node *at = sections->pipeline->first; at && rc >= 0; at = at->next)
        if (leat_stage_flags(at) & LEAT_STAGE_BATCHES)
            rc = add_batch(&digest, at, err);
        else if (!(leat_stage_flags(at) & LEAT_STAGE_NO_DIGEST))
            rc = add_to_digest(&digest, at, err);
    digest = leat_digest_chain(digest, plan->is_cache_random);
    plan->content = plan->on_error ? leat_digest_chain(digest, plan->on_error) : digest;
    return rc;
}

int leat_build_digests(const leat_build *build, const leat_config_sections *sections,
                       leat_error *err)
{
    const int rc = digest_all(build->plan, sections, build->cache, err);
    return rc < 0 ? rc : digest_content(build->plan, sections, err);
}
