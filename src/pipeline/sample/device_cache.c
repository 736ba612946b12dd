/* SPDX-License-Identifier: MIT
 *
 * device_cache.c: memory of `cache: device`, and the index of a slot. See device_cache.h. */
#include "device_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"

static size_t tensor_bytes(const leat_plan *plan, int32_t c)
{
    return ((size_t)plan->source->n_records * plan->chains[c].host_bytes + 255) / 256 * 256;
}

int64_t leat_device_cache_bytes(const leat_plan *plan)
{
    double sum = 0; /* a double does not overflow */
    for (int32_t c = 0; c < plan->n_chains; c++)
        sum += (double)plan->source->n_records * (double)plan->chains[c].host_bytes + 255;
    return sum < 0x1p62 ? (int64_t)sum : INT64_MAX / 2;
}

static int fail_memory(const leat_plan *plan, leat_device *device, leat_error *err)
{
    const leat_device_table *const t = device->table;
    size_t n_free = 0, total = 0;
    char there[96] = "";
    if (t->memory_info && t->memory_info(device, &n_free, &total) == LEAT_OK)
        leat_text(there, sizeof there, " (%.1f of %.1f MiB are free)", (double)n_free / 0x1p20,
                  (double)total / 0x1p20);
    return leat_fail(err, LEAT_E_NOMEM,
                     "cache: device: %llu records take %.1f MiB on %s%s: write cache: memory, or "
                     "make the rows smaller before it (uint8 instead of float32, a smaller resize)",
                     (unsigned long long)plan->source->n_records,
                     (double)leat_device_cache_bytes(plan) / 0x1p20, device->info.name, there);
}

int leat_device_cache_open(leat_device_cache **out, const leat_plan *plan, leat_device *device,
                           leat_error *err)
{
    const uint64_t n_words = plan->source->n_records / 64 + 1;
    leat_device_cache *const cache = calloc(1, sizeof *cache);
    *out = cache;
    if (!cache)
        return leat_fail(err, LEAT_E_NOMEM, "cache: %zu bytes", sizeof *cache);
    cache->there = calloc(n_words, sizeof *cache->there);
    if (!cache->there)
        return leat_fail(err, LEAT_E_NOMEM, "cache: %llu words", (unsigned long long)n_words);
    for (int32_t c = 0; c < plan->n_chains; c++) {
        leat_device_cache_tensor *const tensor = &cache->tensors[cache->n_tensors];
        if (!plan->chains[c].host_bytes)
            continue;
        tensor->at = plan->chains[c].host_offset;
        tensor->row_bytes = plan->chains[c].host_bytes;
        tensor->entries = device->table->device_alloc(device, tensor_bytes(plan, c));
        if (!tensor->entries)
            return fail_memory(plan, device, err);
        cache->n_tensors++;
    }
    return LEAT_OK;
}

void leat_device_cache_close(leat_device_cache **out, leat_device *device)
{
    leat_device_cache *const cache = *out;
    *out = NULL;
    if (!cache)
        return;
    for (int32_t i = 0; i < cache->n_tensors; i++)
        device->table->device_free(device, cache->tensors[i].entries);
    free(cache->there);
    free(cache);
}

/* --- the index of a slot ---------------------------------------------------------------------------- */

void leat_device_cache_write(const leat_plan *plan, uint8_t *slot, uint64_t j, uint64_t record,
                             bool there)
{
    const int64_t word = (int64_t)record + 1;
    leat_check(record < plan->source->n_records);
    ((int64_t *)(void *)(slot + plan->index_offset))[j] = there ? word : -word;
}

size_t leat_device_cache_skip(const leat_plan *plan, const uint8_t *slot, int64_t rows)
{
    const int64_t *const index = (const int64_t *)(const void *)(slot + plan->index_offset);
    for (int64_t j = 0; j < rows; j++)
        if (index[j] < 0)
            return 0;
    return plan->rows_bytes;
}

void leat_device_cache_note(leat_device_cache *cache, const leat_plan *plan, const uint8_t *slot,
                            int64_t rows)
{
    const int64_t *const index = (const int64_t *)(const void *)(slot + plan->index_offset);
    for (int64_t j = 0; j < rows; j++) {
        const uint64_t record = index[j] < 0 ? (uint64_t)(-index[j] - 1) : 0;
        leat_check(record < plan->source->n_records);
        if (index[j] >= 0 || leat_device_cache_has(cache, record))
            continue;
        atomic_fetch_or_explicit(&cache->there[record / 64], (uint64_t)1 << (record % 64),
                                 memory_order_relaxed);
        atomic_fetch_add_explicit(&cache->n_there, 1, memory_order_relaxed);
    }
}

/* --- plans without it ------------------------------------------------------------------------------- */

int leat_device_cache_check(const leat_plan *plan, const leat_node *where, leat_error *err)
{
    const char *what = NULL;
    if (!plan->caches_on_device)
        return LEAT_OK;
    if (plan->on_error != LEAT_ON_ERROR_FAIL)
        what = "on_error, which replaces records";
    else if (plan->unbatches)
        what = "unbatch, which splits a record into samples";
    else if (plan->order.buckets)
        what = "bucket_by_length, whose batches have rows of several sizes";
    else if (plan->n_batch_ops)
        what = "a map after batch, which runs on the CPU";
    for (int32_t c = 0; c < plan->n_chains && !what; c++)
        if (plan->chains[c].pad.on)
            what = "padded_batch, which pads rows on the CPU";
    return what ? leat_node_fail(where, err, LEAT_E_UNSUPPORTED,
                                 "cache: device does not work with %s: write cache: memory", what)
                : LEAT_OK;
}
