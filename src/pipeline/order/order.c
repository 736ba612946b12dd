/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <string.h>

#include "base/check.h"
#include "bucket.h"
#include "combine.h"

void leat_order_init(leat_order *order, uint64_t n_records)
{
    memset(order, 0, sizeof *order);
    order->n_records = order->n_samples = n_records;
    order->ranks = order->samples_per_record = 1;
}

void leat_order_init_combined(leat_order *order, uint64_t n_records, leat_combine *combine)
{
    leat_order_init(order, n_records);
    order->combine = combine;
    order->n_samples = combine->n_elements;
}

/* Multiplies; the result is LEAT_ENDLESS on overflow. */
static uint64_t times(uint64_t n, uint64_t count)
{
    uint64_t product;
    if (!n || !count)
        return 0;
    if (n == LEAT_ENDLESS || count == LEAT_ENDLESS || __builtin_mul_overflow(n, count, &product))
        return LEAT_ENDLESS;
    return product;
}

static uint64_t count_out(const leat_order_step *step)
{
    const uint64_t n = step->n_in;
    switch (step->kind) {
    case LEAT_ORDER_TAKE:
        return n < step->a ? n : step->a;
    case LEAT_ORDER_SKIP:
        return n == LEAT_ENDLESS ? n : n > step->a ? n - step->a : 0;
    case LEAT_ORDER_SHARD:
        return n == LEAT_ENDLESS ? n : n > step->b ? (n - step->b - 1) / step->a + 1 : 0;
    case LEAT_ORDER_REPEAT:
        return times(n, step->a);
    case LEAT_ORDER_FILTER:
        return step->passing->n_members;
    case LEAT_ORDER_SHUFFLE:
        break;
    }
    return n;
}

static int add_step(leat_order *order, const leat_order_step *step, leat_error *err)
{
    leat_order_step *const steps = order->batch_size ? order->after : order->before;
    int32_t *const n = order->batch_size ? &order->n_after : &order->n_before;
    uint64_t *const count = order->batch_size ? &order->n_batches : &order->n_samples;
    if (*n == LEAT_ORDER_MAX_STEPS)
        return leat_fail(err, LEAT_E_CONFIG, "more than %d stages that count or order",
                         LEAT_ORDER_MAX_STEPS);
    const bool in_row = step->shuffle.window && !step->shuffle.block;
    if (step->kind == LEAT_ORDER_SHUFFLE && *count == LEAT_ENDLESS && !in_row)
        return leat_fail(
            err, LEAT_E_CONFIG,
            "shuffle after an endless repeat has no last element: put shuffle before repeat");
    if (step->kind == LEAT_ORDER_REPEAT && *count == LEAT_ENDLESS)
        return leat_fail(err, LEAT_E_CONFIG,
                         "repeat after an endless repeat has no effect: remove one of them");
    leat_order_step *const added = &steps[(*n)++];
    *added = *step;
    added->n_in = *count;
    *count = added->n_out = count_out(added);
    if (added->n_in == LEAT_ENDLESS && *count != LEAT_ENDLESS)
        leat_combine_end(order, *count);
    order->unbatch_scattered |=
        order->samples_per_record > 1 && !order->batch_size && step->kind == LEAT_ORDER_SHUFFLE;
    return LEAT_OK;
}

int leat_order_add(leat_order *order, leat_order_kind kind, uint64_t a, uint64_t b, leat_error *err)
{
    leat_order_step step = { .kind = kind, .a = a, .b = b };
    if (kind == LEAT_ORDER_SHUFFLE)
        step.shuffle = (leat_shuffle){ .seed = a, .reshuffle = b != 0 };
    return add_step(order, &step, err);
}

int leat_order_add_shuffle(leat_order *order, const leat_shuffle *shuffle, leat_error *err)
{
    return add_step(order, &(leat_order_step){ .kind = LEAT_ORDER_SHUFFLE, .shuffle = *shuffle },
                    err);
}

void leat_order_unbatch(leat_order *order, uint64_t samples_per_record)
{
    order->samples_per_record = samples_per_record;
    order->unbatch_step = order->n_before;
    order->n_samples = times(order->n_samples, samples_per_record);
}

int leat_order_add_filter(leat_order *order, leat_bitset **passing, leat_error *err)
{
    const int rc =
        add_step(order, &(leat_order_step){ .kind = LEAT_ORDER_FILTER, .passing = *passing }, err);
    if (rc >= 0)
        *passing = NULL;
    return rc;
}

uint64_t leat_order_set_bytes(const leat_order *order)
{
    uint64_t bytes = order->buckets ? leat_buckets_bytes(order->buckets) : 0;
    for (int32_t i = 0; i < order->n_before; i++)
        bytes += order->before[i].passing ? leat_bitset_bytes(order->before[i].passing) : 0;
    return bytes;
}

void leat_order_fini(leat_order *order)
{
    for (int32_t i = 0; i < order->n_before; i++)
        leat_bitset_close(&order->before[i].passing);
    order->n_before = 0;
    leat_buckets_close(&order->buckets);
}

int leat_order_add_buckets(leat_order *order, leat_buckets **out, bool drop_remainder,
                           leat_error *err)
{
    leat_buckets *const buckets = *out;
    const int32_t last = order->n_before - 1;
    if (last >= 0 && order->before[last].kind == LEAT_ORDER_SHUFFLE &&
        !order->before[last].shuffle.window) {
        buckets->shuffles = true;
        buckets->shuffle = order->before[last].shuffle;
        order->n_before--;
    }
    if (!leat_combine_is_fixed(order)) {
        order->n_before = last + 1;
        return leat_fail(err, LEAT_E_CONFIG,
                         "only take, skip, shard, filter and, as the last stage, a global shuffle "
                         "may come before it; put repeat after it");
    }
    order->batch_size = leat_buckets_count(buckets, drop_remainder);
    order->n_batches = buckets->n_batches;
    order->buckets = buckets;
    *out = NULL;
    return LEAT_OK;
}

void leat_order_batch(leat_order *order, uint64_t size, bool drop_remainder)
{
    const uint64_t n = order->n_samples;
    order->batch_size = size;
    for (int32_t i = 0; i < order->n_before; i++)
        order->before[i].shuffle.rows = size;
    order->n_batches = n == LEAT_ENDLESS ? n : leat_bucket_batches(n, size, drop_remainder);
}

/* Walks steps backwards, from output position *p of pass *epoch to the input position. `purpose` makes the permutations of
 * different steps differ. Orders that stay have none, so that one config can take what another skips, wherever it stands. */
static void walk_steps(const leat_order_step *steps, int32_t n, leat_order_perm_cache *perms,
                       uint32_t purpose, uint64_t *p, uint64_t *epoch)
{
    for (int32_t i = n; i-- > 0;) {
        const leat_order_step *const step = &steps[i];
        switch (step->kind) {
        case LEAT_ORDER_TAKE:
            break;
        case LEAT_ORDER_SKIP:
            *p += step->a;
            break;
        case LEAT_ORDER_SHARD:
            *p = *p * step->a + step->b;
            break;
        case LEAT_ORDER_REPEAT:
            *epoch = *epoch * step->a + *p / step->n_in; /* without an end *epoch is 0 */
            *p %= step->n_in;
            break;
        case LEAT_ORDER_FILTER:
            *p = leat_bitset_member(step->passing, *p);
            break;
        case LEAT_ORDER_SHUFFLE:
            *p = leat_shuffle_at(&step->shuffle, step->n_in,
                                 step->shuffle.reshuffle ? purpose + (uint32_t)i : 0, *epoch,
                                 &perms[i], *p);
            break;
        }
    }
}

void leat_order_walk(const leat_order *order, leat_order_cache *cache, leat_order_perm_cache *perms,
                     uint32_t purpose, uint64_t *p, uint64_t *epoch)
{
    const int32_t at = order->unbatch_step;
    leat_order_perm_cache *const later = perms ? perms + at : NULL;
    uint64_t part = 0;
    walk_steps(order->before + at, order->n_before - at, later, purpose + (uint32_t)at, p, epoch);
    if (order->samples_per_record > 1) {
        part = *p % order->samples_per_record;
        *p /= order->samples_per_record;
    }
    walk_steps(order->before, at, perms, purpose, p, epoch);
    if (order->combine)
        leat_combine_walk(order->combine, cache, purpose, p, epoch);
    *p = *p * order->samples_per_record + part;
}

static void find_consecutive(const leat_order *order, leat_order_place *place)
{
    place->first = place->number * order->batch_size;
    const uint64_t left = order->n_samples - place->first;
    place->global_rows = left < order->batch_size ? left : order->batch_size;
}

static void find_in_bucket(const leat_order *order, leat_order_cache *cache,
                           leat_order_place *place)
{
    const leat_buckets *const buckets = order->buckets;
    const uint64_t b = leat_buckets_batch(buckets, &cache->bucket_batches, place->number,
                                          place->epoch, &place->bucket);
    const leat_bucket *const bucket = &buckets->list[place->bucket];
    place->first = b * bucket->size;
    const uint64_t left = bucket->members->n_members - place->first;
    place->global_rows = left < bucket->size ? left : bucket->size;
}

leat_order_place leat_order_find(const leat_order *order, leat_order_cache *cache, uint64_t b)
{
    leat_check(order->n_batches > 0 && order->rank < order->ranks);
    leat_order_place place = { .epoch = b / order->n_batches, .number = b % order->n_batches };
    walk_steps(order->after, order->n_after, cache->after, LEAT_ORDER_MAX_STEPS, &place.number,
               &place.epoch);
    if (order->buckets)
        find_in_bucket(order, cache, &place);
    else
        find_consecutive(order, &place);
    place.first_row = order->rank * place.global_rows / order->ranks;
    place.rows = (order->rank + 1) * place.global_rows / order->ranks - place.first_row;
    return place;
}

void leat_order_row(const leat_order *order, leat_order_cache *cache, const leat_order_place *place,
                    uint64_t j, uint64_t *sample, uint64_t *epoch)
{
    for (int32_t i = 0; i < order->n_before; i++)
        cache->before[i].streams = cache->streams;
    leat_check(place->first_row + j < place->global_rows);
    *sample = leat_order_position(place, j);
    *epoch = place->epoch;
    if (order->buckets)
        *sample = leat_buckets_sample(order->buckets, &cache->bucket_rows, place->bucket, *sample,
                                      *epoch);
    leat_order_walk(order, cache, cache->before, 0, sample, epoch);
}

void leat_order_rows(const leat_order *order, leat_order_cache *cache,
                     const leat_order_place *place, uint64_t j, uint64_t n, uint64_t *samples)
{
    const leat_order_step *const step = &order->before[0];
    const bool is_plain = !order->buckets && !order->combine && order->samples_per_record == 1;
    uint64_t epoch;
    leat_check(place->first_row + j + n <= place->global_rows);
    cache->before[0].streams = cache->streams;
    if (is_plain && order->n_before == 1 && step->kind == LEAT_ORDER_SHUFFLE)
        leat_shuffle_span(&step->shuffle, step->n_in, 0, place->epoch, &cache->before[0],
                          leat_order_position(place, j), n, samples);
    else
        for (uint64_t i = 0; i < n; i++)
            leat_order_row(order, cache, place, j + i, &samples[i], &epoch);
}

uint64_t leat_order_epoch_batches(const leat_order *order)
{
    if (order->n_batches != LEAT_ENDLESS)
        return order->n_batches;
    return (order->n_records * order->samples_per_record + order->batch_size - 1) /
           order->batch_size;
}
