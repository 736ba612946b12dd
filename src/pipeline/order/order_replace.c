/* SPDX-License-Identifier: MIT */
#include "order_replace.h"

#include "bucket.h"
#include "combine.h"

#define PURPOSE   0x72657000u         /* no step of an order uses these purposes */
#define TRIES     32                  /* to find a sample of the same source */
#define MOST_ROWS ((uint64_t)1 << 60) /* of an epoch; more would not fit in 64 bits */

/* Returns the index of the source of a sample. */
static size_t source_of(const leat_order *order, uint64_t sample)
{
    size_t i = order->combine ? order->combine->n_children : 1;
    while (i > 1 && order->combine->children[i - 1].first > leat_order_record(order, sample))
        i--;
    return i - 1;
}

/* --- in a pass ----------------------------------------------------------------------------------- */

/* Returns the samples of a pass, or of this bucket of it. Endless data has no passes: the samples of n_records records
 * count as one. */
static uint64_t count_pass(const leat_order *order, uint32_t bucket)
{
    return order->buckets                     ? order->buckets->list[bucket].members->n_members
           : order->n_samples == LEAT_ENDLESS ? order->n_records * order->samples_per_record
                                              : order->n_samples;
}

/* Returns how many of them batches hold: those that drop_remainder leaves out are the last ones. */
static uint64_t count_held(const leat_order *order, uint32_t bucket)
{
    const leat_bucket *const list = order->buckets ? order->buckets->list : NULL;
    const uint64_t n = count_pass(order, bucket);
    const uint64_t size = list ? list[bucket].size : order->batch_size;
    const uint64_t n_batches = list             ? list[bucket].n
                               : order->n_after ? order->after[0].n_in
                                                : order->n_batches;
    return n_batches <= n / size ? n_batches * size : n;
}

/* True: an epoch that holds a sample of a pass holds all of that pass: no stage behind `batch` leaves out a part. */
static bool holds_whole_passes(const leat_order *order)
{
    const bool is_endless = order->n_samples == LEAT_ENDLESS;
    const uint64_t n_batches = order->n_after ? order->after[0].n_in : order->n_batches;
    const uint64_t size = is_endless ? order->batch_size : 1; /* of a batch, as `pass` counts */
    uint64_t pass = is_endless ? count_pass(order, 0) : n_batches;
    for (int32_t i = 0; i < order->n_after; i++) {
        const leat_order_step *const step = &order->after[i];
        const bool is_cut = step->kind == LEAT_ORDER_TAKE && step->n_out < step->n_in;
        const uint64_t cut = is_cut                          ? step->n_out
                             : step->kind == LEAT_ORDER_SKIP ? step->a
                                                             : 0; /* where a part begins or ends */
        if (cut > MOST_ROWS / size || cut * size % pass != 0 ||
            (step->kind == LEAT_ORDER_SHARD && step->a > 1))
            return false;
        if (step->kind == LEAT_ORDER_SHUFFLE) /* passes are mixed */
            pass = step->n_in > MOST_ROWS / size ? LEAT_ENDLESS : step->n_in * size;
    }
    return true;
}

/* Draws among the samples of the pass. Where batches do not hold one, the permutation goes on from there; in the end it
 * comes back to the bad row. */
static void draw_in_pass(const leat_order *order, leat_order_cache *cache, uint64_t seed,
                         const leat_order_place *place, uint64_t j, uint32_t purpose,
                         uint64_t *sample, uint64_t *epoch)
{
    const uint64_t p = leat_order_position(place, j), n = count_pass(order, place->bucket);
    const uint64_t n_held = count_held(order, place->bucket);
    const uint64_t pass = order->n_samples == LEAT_ENDLESS ? p / n : 0;
    const leat_perm perm = leat_perm_make(n, seed, place->epoch + pass, purpose);
    leat_order_place there = *place;
    uint64_t at = p - pass * n;
    do
        at = leat_perm_at(&perm, at);
    while (at >= n_held);
    there.first_row = 0;
    there.first = pass * n + at;
    leat_order_row(order, cache, &there, 0, sample, epoch);
}

/* --- in an epoch --------------------------------------------------------------------------------- */

/* Draws among the rows of all batches of the epoch. Where there is no such row (the last batch is shorter than others), or
 * it is of another bucket, the permutation goes on from there; in the end it comes back to the bad row. */
static void draw_in_epoch(const leat_order *order, leat_order_cache *cache, uint64_t seed,
                          uint64_t b, const leat_order_place *place, uint64_t j, uint32_t purpose,
                          uint64_t *sample, uint64_t *epoch)
{
    const uint64_t size = order->batch_size, all = leat_order_epoch_batches(order);
    const uint64_t n = all < MOST_ROWS / size ? all : MOST_ROWS / size, first = b / n * n;
    const leat_perm perm = leat_perm_make(n * size, seed, b / n, purpose);
    uint64_t row = (b - first) * size + place->first_row + j;
    leat_order_place there;
    do {
        row = leat_perm_at(&perm, row);
        there = leat_order_find(order, cache, first + row / size);
        there.first_row = row % size;
    } while (there.bucket != place->bucket || there.first_row >= there.global_rows);
    leat_order_row(order, cache, &there, 0, sample, epoch);
}

void leat_order_replace(const leat_order *order, leat_order_cache *cache, uint64_t seed, uint64_t b,
                        uint64_t j, uint64_t bad, uint32_t attempt, uint64_t *sample,
                        uint64_t *epoch)
{
    const leat_order_place place = leat_order_find(order, cache, b);
    const bool in_pass = holds_whole_passes(order);
    for (uint32_t i = 0; i < TRIES; i++) {
        const uint32_t purpose = PURPOSE + attempt * TRIES + i;
        if (in_pass)
            draw_in_pass(order, cache, seed, &place, j, purpose, sample, epoch);
        else
            draw_in_epoch(order, cache, seed, b, &place, j, purpose, sample, epoch);
        if (source_of(order, *sample) == source_of(order, bad))
            return;
    }
}
