/* SPDX-License-Identifier: MIT
 *
 * order.h: which record stands in row j of batch b, by arithmetic alone.
 *
 * DESIGN. Every stage that counts or orders maps an output position to an input position, and says
 * how many outputs it has. Stages before `batch` count samples, those after it batches; the
 * loader's epochs are one more repeat at the end. So the record at (b, j) is found by walking the
 * stages backwards: no state, no memory, any position in any order by any thread.
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
    LEAT_ORDER_REPEAT,  /* a = count or LEAT_ENDLESS */
    LEAT_ORDER_FILTER   /* kept */
} leat_order_kind;

typedef struct leat_order_step {
    leat_order_kind kind;
    uint64_t a, b;
    leat_shuffle shuffle;
    leat_bitset *kept;    /* input positions that come through. Owned */
    uint64_t n_in, n_out; /* elements; n_out may be LEAT_ENDLESS */
} leat_order_step;

struct leat_combine; /* combine.h */
struct leat_buckets; /* bucket.h */

typedef struct leat_order {
    uint64_t n_records;
    const struct leat_combine *combine; /* several sources below all steps; NULL: one. Borrowed */
    int32_t n_before, n_after;
    leat_order_step before[LEAT_ORDER_MAX_STEPS], after[LEAT_ORDER_MAX_STEPS];
    uint64_t parts;     /* samples that unbatch makes of a record; 1 without */
    int32_t parts_at;   /* steps before it */
    bool parts_apart;   /* a shuffle after it parts the samples of a record */
    uint64_t n_samples; /* after `before`; may be LEAT_ENDLESS */
    uint64_t batch_size;
    bool drop_remainder;
    uint64_t n_batches;           /* in one pass; may be LEAT_ENDLESS */
    struct leat_buckets *buckets; /* what batches are made of; NULL: of neighbours. Owned */
    uint64_t rank, ranks;         /* which part of every batch's rows, see leat_order_find */
} leat_order;

/* Begins with n records; then add steps, batch, steps. */
void leat_order_init(leat_order *order, uint64_t n_records);
/* Begins with what several sources put together give. combine: borrowed. */
void leat_order_init_combined(leat_order *order, uint64_t n_records,
                              const struct leat_combine *combine);
/* Appends a step (before or after the batch, by whether batch was called). For a shuffle a = seed and
 * b = 1: a new order in every epoch. LEAT_E_CONFIG: too many steps, or a global shuffle of endless
 * data. */
int leat_order_add(leat_order *order, leat_order_kind kind, uint64_t a, uint64_t b,
                   leat_error *err);
/* The same with blocks or windows. */
int leat_order_add_shuffle(leat_order *order, const leat_shuffle *shuffle, leat_error *err);
/* Appends a filter; takes over *kept (over n_samples positions, finished) when it succeeds. */
int leat_order_add_filter(leat_order *order, leat_bitset **kept, leat_error *err);
/* Memory of the sets that its filters and buckets keep; not those of sources below. */
uint64_t leat_order_set_bytes(const leat_order *order);
/* Frees what the steps own. Of copies of an order only one is freed. */
void leat_order_fini(leat_order *order);
/* Batches of neighbours in buckets; instead of leat_order_batch, once. Takes over *buckets when it
 * succeeds. A global shuffle right before it becomes the buckets' own. */
int leat_order_add_buckets(leat_order *order, struct leat_buckets **buckets, bool drop_remainder,
                           leat_error *err);
/* From here on each record is `parts` samples, and what leat_order_row gives is record · parts + part.
 * Once, before the batch. */
void leat_order_unbatch(leat_order *order, uint64_t parts);
/* size ≥ 1; once. */
void leat_order_batch(leat_order *order, uint64_t size, bool drop_remainder);

/* The record that a sample is, or is a part of. */
static inline uint64_t leat_order_record(const leat_order *order, uint64_t sample)
{
    return order->parts == 1 ? sample : sample / order->parts; /* a division shows in cheap rows */
}

/* Of n rows from position `first` of a pass on: so many that the last one is a record's last part, at
 * most `most`; n where that is not to be had. */
static inline uint64_t leat_order_whole_rows(const leat_order *order, uint64_t first, uint64_t n,
                                             uint64_t most)
{
    const uint64_t m = order->parts, end = first + n;
    if (m == 1 || order->parts_apart)
        return n;
    const uint64_t up = (end + m - 1) / m * m - first, down = end / m * m;
    return up <= most ? up : down > first ? down - first : n;
}

/* One thread's memory of the permutations last used; zero it before the first use. */
typedef leat_shuffle_cache leat_order_perm;
#define LEAT_ORDER_INNER 8 /* combined sources whose permutations are remembered at once */
typedef struct leat_order_inner {
    const void *owner; /* the source they belong to */
    leat_order_perm perms[LEAT_ORDER_MAX_STEPS];
} leat_order_inner;
typedef struct leat_order_cache {
    leat_order_perm before[LEAT_ORDER_MAX_STEPS], after[LEAT_ORDER_MAX_STEPS];
    leat_order_inner inner[LEAT_ORDER_INNER];
    leat_order_perm bucket_batches, bucket_rows;
} leat_order_cache;

/* A batch found by its number in the run, and the rows of it that this rank holds. */
typedef struct leat_order_place {
    uint64_t number; /* batch of the pass before the `after` steps were applied */
    uint64_t epoch;
    uint32_t bucket;      /* whose rows they are; 0 without buckets */
    uint64_t first;       /* of all samples (of the bucket): the batch's row 0 */
    uint64_t global_rows; /* of all ranks */
    uint64_t first_row;   /* of them: this rank's row 0 */
    uint64_t rows;        /* this rank's; 0 is possible where a batch has fewer rows than ranks */
} leat_order_place;

/* Most rows a rank holds of a batch. A pass of fewer samples than a batch has never fills one. */
static inline uint64_t leat_order_slot_rows(const leat_order *order)
{
    const uint64_t n = order->batch_size < order->n_samples ? order->batch_size : order->n_samples;
    return n / order->ranks + (n % order->ranks != 0);
}

/* Batch b (counted over all epochs; must exist). Of its m rows rank r of R holds
 * [⌊r·m/R⌋, ⌊(r+1)·m/R⌋): the ranks' rows one after the other are the batch, for every R. */
leat_order_place leat_order_find(const leat_order *order, leat_order_cache *cache, uint64_t b);
/* Record and its epoch in this rank's row j of that batch. */
void leat_order_row(const leat_order *order, leat_order_cache *cache, const leat_order_place *place,
                    uint64_t j, uint64_t *record, uint64_t *epoch);

/* Which sample of the pass that is, from 0; which one of its bucket where there are buckets. */
static inline uint64_t leat_order_position(const leat_order *order, const leat_order_place *place,
                                           uint64_t j)
{
    (void)order;
    return place->first + place->first_row + j;
}

/* For combine.c: walks the steps before a batch back from position *p of pass *epoch to the record and
 * its epoch. perms: of those steps. */
void leat_order_walk(const leat_order *order, leat_order_cache *cache, leat_order_perm *perms,
                     uint32_t purpose, uint64_t *p, uint64_t *epoch);

/* Batches of one pass; of an endless pipeline as many as the source's records make. */
uint64_t leat_order_epoch_batches(const leat_order *order);

#endif
