/* SPDX-License-Identifier: MIT */
#include "bucket.h"

#include <stdlib.h>

/* Purposes of permutations; larger than those of any stage. */
enum { BATCHES = 1 << 27, MEMBERS = BATCHES + 1 };

void leat_buckets_close(leat_buckets **out)
{
    leat_buckets *const buckets = *out;
    *out = NULL;
    for (uint32_t k = 0; buckets && k < buckets->n; k++)
        leat_bitset_close(&buckets->list[k].members);
    free(buckets);
}

uint64_t leat_buckets_bytes(const leat_buckets *buckets)
{
    uint64_t bytes = sizeof *buckets;
    for (uint32_t k = 0; k < buckets->n; k++)
        bytes += leat_bitset_bytes(buckets->list[k].members);
    return bytes;
}

uint64_t leat_buckets_count(leat_buckets *buckets, bool drop_remainder)
{
    uint64_t largest = 0;
    buckets->n_batches = 0;
    for (uint32_t k = 0; k < buckets->n; k++) {
        leat_bucket *const bucket = &buckets->list[k];
        const uint64_t n = bucket->members->n_members;
        bucket->first = buckets->n_batches;
        bucket->n = leat_bucket_batches(n, bucket->size, drop_remainder);
        buckets->n_batches += bucket->n;
        largest = bucket->size > largest ? bucket->size : largest;
    }
    return largest;
}

uint64_t leat_buckets_batch(const leat_buckets *buckets, leat_shuffle_cache *cache, uint64_t number,
                            uint64_t epoch, uint32_t *bucket)
{
    uint32_t k = 0;
    if (buckets->shuffles)
        number =
            leat_shuffle_at(&buckets->shuffle, buckets->n_batches, BATCHES, epoch, cache, number);
    while (number >= buckets->list[k].first + buckets->list[k].n)
        k++;
    *bucket = k;
    return number - buckets->list[k].first;
}

uint64_t leat_buckets_sample(const leat_buckets *buckets, leat_shuffle_cache *cache,
                             uint32_t bucket, uint64_t i, uint64_t epoch)
{
    const leat_bitset *const members = buckets->list[bucket].members;
    if (buckets->shuffles)
        i = leat_shuffle_at(&buckets->shuffle, members->n_members, MEMBERS + bucket, epoch, cache,
                            i);
    return leat_bitset_member(members, i);
}
