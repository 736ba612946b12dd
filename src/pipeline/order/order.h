/* SPDX-License-Identifier: MIT
 *
 * order.h: computes which record is row j of batch b. The builder fills an order; the engine asks it.
 *
 * DESIGN. Every stage that counts or orders maps an output position to an input position and knows
 * its number of outputs. Stages before `batch` count samples; stages after it count batches. The
 * loader's epochs are one more repeat at the end. The record at (b, j) is found by walking the
 * stages backwards. The result depends on nothing else: any thread can ask for any position.
 *
 *     b ─ epochs ─ [after: repeat, take, skip, shard, shuffle] ─▶ q    position p = q · size + j
 *     p ─ [before: the same kinds, in reverse] ─▶ record, epoch */
#ifndef LEAT_ORDER_H
#define LEAT_ORDER_H

#include <stdbool.h>

#include "bitset.h"
#include "leat/error.h"
#include "shuffle.h"

#define LEAT_ORDER_MAX_STEPS 16
#define LEAT_ENDLESS         UINT64_MAX

typedef enum leat_order_kind {
    LEAT_ORDER_TAKE,    /* a = count */
    LEAT_ORDER_SKIP,    /* a = count */
    LEAT_ORDER_SHARD,   /* a = count, b = index */
    LEAT_ORDER_SHUFFLE, /* shuffle */
    LEAT_ORDER_REPEAT,  /* a = count or LEAT_ENDLESS, which leat_combine_end() changes */
    LEAT_ORDER_FILTER   /* passing */
} leat_order_kind;

typedef struct leat_order_step {
    leat_order_kind kind;
    uint64_t a, b;
    leat_shuffle shuffle;
    leat_bitset *passing; /* input positions that pass the filter. Owned */
    uint64_t n_in, n_out; /* elements; n_out may be LEAT_ENDLESS */
} leat_order_step;

struct leat_combine; /* combine.h */
struct leat_buckets; /* bucket.h */

typedef struct leat_order {
    uint64_t n_records;
    struct leat_combine *combine; /* combined sources; NULL: one source. Borrowed */
    int32_t n_before, n_after;
    leat_order_step before[LEAT_ORDER_MAX_STEPS], after[LEAT_ORDER_MAX_STEPS];
    uint64_t samples_per_record; /* after unbatch; 1 without unbatch */
    int32_t unbatch_step;        /* number of steps before unbatch */
    bool unbatch_scattered;      /* a later shuffle separates the samples of a record */
    uint64_t n_samples;          /* after `before`; may be LEAT_ENDLESS */
    uint64_t batch_size;
    uint64_t n_batches;           /* in one pass; may be LEAT_ENDLESS */
    struct leat_buckets *buckets; /* NULL: a batch is consecutive samples. Owned */
    uint64_t rank, ranks;         /* this rank's share of each batch, see leat_order_find */
} leat_order;

/* Starts with n records. Then add steps, the batch, and more steps. */
void leat_order_init(leat_order *order, uint64_t n_records);
/* Starts with the elements of combined sources. combine: borrowed. */
void leat_order_init_combined(leat_order *order, uint64_t n_records, struct leat_combine *combine);
/* Appends a step; it comes after the batch once leat_order_batch was called. For a shuffle, a is the
 * seed, and b = 1 reshuffles in every epoch. LEAT_E_CONFIG: too many steps, or a global shuffle of
 * endless data. */
int leat_order_add(leat_order *order, leat_order_kind kind, uint64_t a, uint64_t b,
                   leat_error *err);
/* Appends a shuffle with blocks or windows. */
int leat_order_add_shuffle(leat_order *order, const leat_shuffle *shuffle, leat_error *err);
/* Appends a filter. passing: a finished set over n_samples positions; owned by the order on success. */
int leat_order_add_filter(leat_order *order, leat_bitset **passing, leat_error *err);
/* Bytes of the sets in its filters and buckets, without those of the sources. */
uint64_t leat_order_set_bytes(const leat_order *order);
/* Frees what the steps own. Free only one of several copies of an order. */
void leat_order_fini(leat_order *order);
/* Makes batches within buckets. Call it once, instead of leat_order_batch. The order owns the buckets
 * on success. A global shuffle right before it moves into the buckets. */
int leat_order_add_buckets(leat_order *order, struct leat_buckets **buckets, bool drop_remainder,
                           leat_error *err);
/* From here on, each record has several samples, and leat_order_row returns sample numbers: record ·
 * samples_per_record + part. Call it at most once, before the batch. */
void leat_order_unbatch(leat_order *order, uint64_t samples_per_record);
/* Sets the batch size, at least 1. Call it once. */
void leat_order_batch(leat_order *order, uint64_t size, bool drop_remainder);

/* Returns the record of a sample. */
static inline uint64_t leat_order_record(const leat_order *order, uint64_t sample)
{
    return order->samples_per_record == 1
               ? sample
               : sample / order->samples_per_record; /* a division would slow down cheap rows */
}

/* Changes n so that rows [first, first + n) end at the end of a record. Returns at most `most`; returns n if
 * no such number exists. */
static inline uint64_t leat_order_whole_rows(const leat_order *order, uint64_t first, uint64_t n,
                                             uint64_t most)
{
    const uint64_t m = order->samples_per_record, end = first + n;
    if (m == 1 || order->unbatch_scattered)
        return n;
    const uint64_t up = (end + m - 1) / m * m - first, down = end / m * m;
    return up <= most ? up : down > first ? down - first : n;
}

/* The permutations that one thread used last. Zero it before the first use. */
typedef leat_shuffle_cache leat_order_perm_cache;
#define LEAT_ORDER_INNER 8 /* combined sources with cached permutations */
typedef struct leat_order_inner {
    const void *owner; /* source that the permutations belong to */
    leat_order_perm_cache perms[LEAT_ORDER_MAX_STEPS];
} leat_order_inner;
typedef struct leat_order_cache {
    leat_order_perm_cache before[LEAT_ORDER_MAX_STEPS], after[LEAT_ORDER_MAX_STEPS];
    leat_order_perm_cache streams[LEAT_SHUFFLE_STREAMS];
    leat_order_inner inner[LEAT_ORDER_INNER];
    leat_order_perm_cache bucket_batches, bucket_rows;
} leat_order_cache;

/* A batch of the run, and the rows of it that belong to this rank. */
typedef struct leat_order_place {
    uint64_t number; /* of the batch in its pass, below the `after` steps */
    uint64_t epoch;
    uint32_t bucket;      /* bucket of the rows; 0 without buckets */
    uint64_t first;       /* position of row 0 among the samples of the pass or bucket */
    uint64_t global_rows; /* rows of all ranks together */
    uint64_t first_row;   /* index of this rank's row 0 among them */
    uint64_t rows;        /* of this rank; 0 if the batch has too few rows for all ranks */
} leat_order_place;

/* Most rows of a batch on one rank. A pass can have fewer samples than a batch has rows. */
static inline uint64_t leat_order_most_rows(const leat_order *order)
{
    const uint64_t n = order->batch_size < order->n_samples ? order->batch_size : order->n_samples;
    return n / order->ranks + (n % order->ranks != 0);
}

/* Finds batch b, counted over all epochs; it must exist. Rank r of R holds rows ⌊r·m/R⌋ to
 * ⌊(r+1)·m/R⌋ - 1 of its m rows. The rows of all ranks in order are the whole batch, for every R. */
leat_order_place leat_order_find(const leat_order *order, leat_order_cache *cache, uint64_t b);
/* Returns sample and epoch of this rank's row j. Without unbatch a sample's number is its record's. */
void leat_order_row(const leat_order *order, leat_order_cache *cache, const leat_order_place *place,
                    uint64_t j, uint64_t *sample, uint64_t *epoch);

/* Returns the samples of n of this rank's rows from j on, faster where a shuffle is the only step. */
void leat_order_rows(const leat_order *order, leat_order_cache *cache,
                     const leat_order_place *place, uint64_t j, uint64_t n, uint64_t *samples);

/* Returns the position of row j in the pass, or in its bucket if there are buckets. */
static inline uint64_t leat_order_position(const leat_order_place *place, uint64_t j)
{
    return place->first + place->first_row + j;
}

/* For combine.c: walks the steps before the batch backwards, from position *p of pass *epoch to the
 * record and its epoch. perms: the cached permutations of these steps; NULL: no step shuffles. */
void leat_order_walk(const leat_order *order, leat_order_cache *cache, leat_order_perm_cache *perms,
                     uint32_t purpose, uint64_t *p, uint64_t *epoch);

/* Returns the batches of one pass; if endless, the batches of n_records records. */
uint64_t leat_order_epoch_batches(const leat_order *order);

#endif
