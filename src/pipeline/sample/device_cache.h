/* SPDX-License-Identifier: MIT
 *
 * device_cache.h: `cache: device`: rows that stay on the device, so that later batches copy only which they are.
 *
 * DESIGN. The device has a place for the rows of every record. Beside the rows of a slot stands an index, a
 * word per row: row r of the batch is record k's and comes with the copy, for the device to put in its
 * place (-(k + 1)), or it is there already (k + 1), and nothing of it is computed or copied. The device
 * moves rows by the index before its other ops, on the same stream for all batches: so a record is there
 * for every batch that is enqueued after the one which brought it, and who ships that one says so in a
 * bitmap. A row is computed by whoever finds its bit unset, however often; the place gets the same bytes. A
 * batch of which all rows are there is copied from behind the rows on. */
#ifndef LEAT_DEVICE_CACHE_H
#define LEAT_DEVICE_CACHE_H

#include <stdatomic.h>

#include "device/device_table.h"
#include "pipeline/plan/plan_impl.h"

typedef struct leat_device_cache {
    _Atomic uint64_t *there; /* a bit per record */
    _Atomic uint64_t n_there;
    int32_t n_parts;
    leat_device_keep_part parts[LEAT_MAX_FEATURES]; /* one per chain; their memory is owned */
} leat_device_cache;

/* Bytes that the rows of all records of a plan with plan->caches_on_device take on a device. */
int64_t leat_device_cache_bytes(const leat_plan *plan);

/* Takes the memory. LEAT_E_NOMEM says how much there is, and what to do. */
int leat_device_cache_open(leat_device_cache **out, const leat_plan *plan, leat_device *device,
                           leat_error *err);
/* After the work that uses it. */
void leat_device_cache_close(leat_device_cache **cache, leat_device *device);

/* Whether a record's rows are on the device for all that is enqueued from now on. cache may be NULL. Any
 * thread. */
static inline bool leat_device_cache_has(const leat_device_cache *cache, uint64_t record)
{
    return cache &&
           atomic_load_explicit(&cache->there[record / 64], memory_order_relaxed) >> (record % 64) &
               1;
}

/* Row j of a slot is this record's. */
void leat_device_cache_write(const leat_plan *plan, uint8_t *slot, uint64_t j, uint64_t record,
                             bool there);
/* How many bytes at the start of a slot need not be copied: its rows, if all are there. */
size_t leat_device_cache_skip(const leat_plan *plan, const uint8_t *slot, int64_t rows);
/* The slot's work is enqueued: what it brings is there. One thread at a time. */
void leat_device_cache_note(leat_device_cache *cache, const leat_plan *plan, const uint8_t *slot,
                            int64_t rows);

/* Refuses what cannot be kept so: called when all stages are there. */
int leat_device_cache_settle(const leat_plan *plan, const leat_node *where, leat_error *err);

#endif
