/* SPDX-License-Identifier: MIT */
#include "order_replace.h"

#include "bucket.h"
#include "combine.h"

#define PURPOSE 0x72657000u /* no step of an order uses these purposes */
#define TRIES   32          /* to find a sample of the same source */

/* Returns the index of the source of a sample. */
static size_t source_of(const leat_order *order, uint64_t sample)
{
    size_t i = order->combine ? order->combine->n_children : 1;
    while (i > 1 && order->combine->children[i - 1].first > leat_order_record(order, sample))
        i--;
    return i - 1;
}

void leat_order_replace(const leat_order *order, leat_order_cache *cache, uint64_t seed,
                        const leat_order_place *place, uint64_t j, uint64_t bad, uint32_t attempt,
                        uint64_t *sample, uint64_t *epoch)
{
    const uint64_t p = leat_order_position(place, j);
    /* Endless data has no passes: the samples of n_records records count as one. */
    const bool endless = order->n_samples == LEAT_ENDLESS;
    const uint64_t n = order->buckets ? order->buckets->list[place->bucket].members->n_members
                       : endless      ? order->n_records * order->samples_per_record
                                      : order->n_samples;
    const uint64_t pass = endless ? p / n : 0;
    leat_order_place there = *place;
    there.first_row = 0;
    for (uint32_t i = 0; i < TRIES; i++) {
        const leat_perm perm =
            leat_perm_make(n, seed, place->epoch + pass, PURPOSE + attempt * TRIES + i);
        there.first = pass * n + leat_perm_at(&perm, p - pass * n);
        leat_order_row(order, cache, &there, 0, sample, epoch);
        if (source_of(order, *sample) == source_of(order, bad))
            return;
    }
}
