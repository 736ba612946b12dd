/* SPDX-License-Identifier: MIT
 *
 * device_cache.h: `cache: device`: rows of records that stay in device memory. sample.c and the engine call it.
 *
 * DESIGN. The device has an entry per record. A slot has an index, a word per row:
 *     index[r] > 0: load row r from cache entry index[r] - 1; nothing of it is computed or copied.
 *     index[r] < 0: row r comes with the copy; store it in cache entry -index[r] - 1.
 *     index[r] = 0: ignore.
 * The device moves rows by the index before its other ops, on one stream for all batches. So an entry is
 * valid for every batch that is enqueued after the batch that stored it. The thread that enqueues that batch
 * sets the record's bit in `there`. Two workers may both compute a row whose bit is not set yet: they store
 * the same bytes. If all rows of a batch are on the device, the copy skips the rows. */
#ifndef LEAT_DEVICE_CACHE_H
#define LEAT_DEVICE_CACHE_H

#include <stdatomic.h>

#include "device/device_table.h"
#include "pipeline/plan/plan_impl.h"

typedef struct leat_device_cache {
    _Atomic uint64_t *there; /* a bit per record: its rows are on the device */
    _Atomic uint64_t n_there;
    int32_t n_tensors;
    leat_device_cache_tensor tensors[LEAT_MAX_FEATURES]; /* one per chain; their memory is owned */
} leat_device_cache;

/* Device bytes for the rows of all records of a plan with caches_on_device. */
int64_t leat_device_cache_bytes(const leat_plan *plan);

/* Allocates device memory. The message of LEAT_E_NOMEM says how much is free, and what to do. */
int leat_device_cache_open(leat_device_cache **out, const leat_plan *plan, leat_device *device,
                           leat_error *err);
/* Call it when no work of the device uses the cache any more. Takes a half-opened one. */
void leat_device_cache_close(leat_device_cache **cache, leat_device *device);

/* Whether a record's rows are on the device for all batches that are enqueued from now on. cache may be
 * NULL. Any thread. */
static inline bool leat_device_cache_has(const leat_device_cache *cache, uint64_t record)
{
    return cache &&
           atomic_load_explicit(&cache->there[record / 64], memory_order_relaxed) >> (record % 64) &
               1;
}

/* Sets the index word of row j. there: the record is already on the device. */
void leat_device_cache_write(const leat_plan *plan, uint8_t *slot, uint64_t j, uint64_t record,
                             bool there);
/* Bytes at the start of a slot that need no copy: all rows, if the device has them all; else 0. */
size_t leat_device_cache_skip(const leat_plan *plan, const uint8_t *slot, int64_t rows);
/* The slot's work is enqueued: marks the records that it stores. One thread at a time. */
void leat_device_cache_note(leat_device_cache *cache, const leat_plan *plan, const uint8_t *slot,
                            int64_t rows);

/* Refuses a plan whose rows cannot stay on the device. Call it when all stages are known. */
int leat_device_cache_check(const leat_plan *plan, const leat_node *where, leat_error *err);

#endif
