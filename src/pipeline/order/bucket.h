/* SPDX-License-Identifier: MIT
 *
 * bucket.h: the order of `bucket_by_length`. Each sample is in one bucket; all samples of a batch come
 * from the same bucket. order.c calls it.
 *
 * DESIGN. A bucket is a set that finds its i-th member (bitset.h). A batch is consecutive members of a
 * bucket; batches are numbered over all buckets. A shuffle permutes the members of each bucket, then
 * all batches. So two permutations and a lookup give any row of any batch. */
#ifndef LEAT_BUCKET_H
#define LEAT_BUCKET_H

#include "bitset.h"
#include "shuffle.h"

#define LEAT_MAX_BUCKETS 32

typedef struct leat_bucket {
    leat_bitset *members; /* positions. Owned */
    uint64_t size;        /* samples per batch */
    int64_t max_length;   /* longest sample */
    uint64_t first, n;    /* number of its first batch, and how many it has */
} leat_bucket;

typedef struct leat_buckets {
    uint32_t n;
    bool shuffles;
    leat_shuffle shuffle;
    uint64_t n_batches;
    leat_bucket list[LEAT_MAX_BUCKETS];
} leat_buckets;

/* Batches of n samples, with or without a last one that is not full. */
static inline uint64_t leat_bucket_batches(uint64_t n, uint64_t size, bool drop_remainder)
{
    return n / size + (!drop_remainder && n % size);
}

void leat_buckets_close(leat_buckets **buckets);
uint64_t leat_buckets_bytes(const leat_buckets *buckets);
/* Counts the batches, once members and sizes are set. Returns the largest batch size. */
uint64_t leat_buckets_count(leat_buckets *buckets, bool drop_remainder);
/* Finds the bucket of batch `number` of a pass; returns the number of the batch in that bucket. */
uint64_t leat_buckets_batch(const leat_buckets *buckets, leat_shuffle_cache *cache, uint64_t number,
                            uint64_t epoch, uint32_t *bucket);
/* Returns the position of the i-th sample of a bucket. */
uint64_t leat_buckets_sample(const leat_buckets *buckets, leat_shuffle_cache *cache,
                             uint32_t bucket, uint64_t i, uint64_t epoch);

#endif
