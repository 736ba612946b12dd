/* SPDX-License-Identifier: MIT
 *
 * bucket.h: samples sorted into buckets by something stored, and batches that hold one bucket's samples
 * each: the order of `bucket_by_length`.
 *
 * DESIGN. A bucket is a set that finds its i-th member (bitset.h). Its batches are neighbours in it; the
 * batches of all buckets stand one after the other. A shuffle permutes the members of each bucket, then
 * all batches: two permutations and a look-up, and every row of every batch is known by arithmetic. */
#ifndef LEAT_BUCKET_H
#define LEAT_BUCKET_H

#include "bitset.h"
#include "shuffle.h"

#define LEAT_MAX_BUCKETS 32

typedef struct leat_bucket {
    leat_bitset *members; /* positions. Owned */
    uint64_t size;        /* samples per batch */
    int64_t room;         /* for the length of a sample */
    uint64_t first, n;    /* batches */
} leat_bucket;

typedef struct leat_buckets {
    uint32_t n;
    bool shuffles;
    leat_shuffle shuffle;
    uint64_t n_batches;
    leat_bucket list[LEAT_MAX_BUCKETS];
} leat_buckets;

void leat_buckets_close(leat_buckets **buckets);
/* Memory that they take. */
uint64_t leat_buckets_bytes(const leat_buckets *buckets);
/* Members and sizes are there: counts the batches. Returns the largest size. */
uint64_t leat_buckets_count(leat_buckets *buckets, bool drop_remainder);
/* Batch `number` of a pass: its bucket, and its number within that. */
uint64_t leat_buckets_batch(const leat_buckets *buckets, leat_shuffle_cache *cache, uint64_t number,
                            uint64_t epoch, uint32_t *bucket);
/* Position of the i-th sample of a bucket. */
uint64_t leat_buckets_sample(const leat_buckets *buckets, leat_shuffle_cache *cache,
                             uint32_t bucket, uint64_t i, uint64_t epoch);

#endif
