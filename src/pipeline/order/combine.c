/* SPDX-License-Identifier: MIT */
#include "combine.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

int leat_combine_open(leat_combine **out, size_t n, leat_error *err)
{
    leat_combine *const combine = calloc(1, sizeof *combine);
    if (combine)
        combine->children = calloc(n, sizeof *combine->children);
    if (!combine || !combine->children) {
        free(combine);
        *out = NULL;
        return leat_fail(err, LEAT_E_NOMEM, "the order of %zu sources", n);
    }
    combine->n_children = n;
    *out = combine;
    return LEAT_OK;
}

void leat_combine_close(leat_combine **out)
{
    leat_combine *const combine = *out;
    if (!combine)
        return;
    free(combine->children);
    free(combine->table);
    free(combine->places);
    free(combine->segments);
    free(combine->stretches);
    free(combine);
    *out = NULL;
}

/* --- concat -------------------------------------------------------------------------------------- */

int leat_combine_concat(leat_combine *combine, size_t *bad, leat_error *err)
{
    uint64_t start = 0;
    combine->kind = LEAT_COMBINE_CONCAT;
    for (size_t i = 0; i < combine->n_children; i++) {
        leat_combine_child *const child = &combine->children[i];
        if (start == LEAT_ENDLESS) {
            *bad = i;
            return leat_fail(err, LEAT_E_CONFIG,
                             "this source would never be used: an endless source comes before it");
        }
        child->start = start;
        if (__builtin_add_overflow(start, child->order.n_samples, &start))
            start = LEAT_ENDLESS;
    }
    combine->n_elements = start;
    return LEAT_OK;
}

static leat_combine_place at_concat(const leat_combine *combine, uint64_t p, uint64_t pass)
{
    const size_t i = LEAT_SEARCH_LAST(combine->children, start, combine->n_children, p);
    return (leat_combine_place){ i, p - combine->children[i].start, pass };
}

/* --- mix ----------------------------------------------------------------------------------------- */

/* Fills the table of a period. Element k of child i gets a slot from ⌊kT/w⌋ on and before
 * ⌈(k+1)T/w⌉. This keeps every prefix within one element of its share. Each slot goes to the child
 * with the earliest deadline. All deadlines are met: the windows are those of a proportionate
 * ("pfair") schedule on one processor (Baruah, Cohen, Plaxton, Varvel 1996). Such a schedule exists
 * because the shares sum to 1, and earliest deadline first finds it for jobs of unit length. */
static void fill_period(leat_combine *combine)
{
    const uint64_t t = combine->period;
    uint32_t given[LEAT_COMBINE_MAX] = { 0 };
    uint32_t *places = combine->places;
    for (size_t i = 0; i < combine->n_children; i++) {
        combine->children[i].slots = places;
        places += combine->children[i].weight;
    }
    for (uint64_t slot = 0; slot < t; slot++) {
        uint64_t soonest = UINT64_MAX;
        size_t best = 0;
        for (size_t i = 0; i < combine->n_children; i++) {
            const uint64_t w = combine->children[i].weight, k = given[i];
            const uint64_t deadline = ((k + 1) * t + w - 1) / w;
            if (k < w && k * t / w <= slot && deadline < soonest) {
                soonest = deadline;
                best = i;
            }
        }
        combine->table[slot] = (leat_combine_slot){ (uint32_t)best, given[best] };
        combine->children[best].slots[given[best]++] = (uint32_t)slot;
    }
}

/* Returns the position of element k of a child, counted from the start of a pass. */
static uint64_t position_of(const leat_combine *combine, const leat_combine_child *child,
                            uint64_t k)
{
    uint64_t at;
    if (__builtin_mul_overflow(k / child->weight, combine->period, &at) ||
        __builtin_add_overflow(at, child->slots[k % child->weight], &at))
        return LEAT_ENDLESS;
    return at;
}

/* Counts the elements of a child among the first n positions. */
static uint64_t count_in(const leat_combine *combine, const leat_combine_child *child, uint64_t n)
{
    const uint64_t rest = n % combine->period;
    uint64_t low = 0, high = child->weight;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (child->slots[middle] < rest)
            low = middle + 1;
        else
            high = middle;
    }
    return n / combine->period * child->weight + low;
}

static uint64_t length_of_pass(const leat_combine *combine, leat_combine_stop stop, uint64_t count)
{
    uint64_t shortest = LEAT_ENDLESS, longest = 0;
    if (stop == LEAT_COMBINE_COUNT)
        return count;
    for (size_t i = 0; i < combine->n_children; i++) {
        const leat_combine_child *const child = &combine->children[i];
        const uint64_t n = child->order.n_samples;
        const bool endless = n == LEAT_ENDLESS;
        const uint64_t next = endless ? LEAT_ENDLESS : position_of(combine, child, n);
        const uint64_t last = endless ? LEAT_ENDLESS : position_of(combine, child, n - 1);
        const uint64_t end = last == LEAT_ENDLESS ? LEAT_ENDLESS : last + 1;
        shortest = next < shortest ? next : shortest;
        longest = end > longest ? end : longest;
    }
    return stop == LEAT_COMBINE_SHORTEST ? shortest : longest;
}

int leat_combine_mix(leat_combine *combine, const uint64_t *weights, leat_combine_stop stop,
                     uint64_t count, leat_error *err)
{
    combine->kind = LEAT_COMBINE_MIX;
    combine->period = 0;
    for (size_t i = 0; i < combine->n_children; i++) {
        combine->children[i].weight = weights[i];
        combine->period += weights[i];
    }
    combine->table = calloc(combine->period, sizeof *combine->table);
    combine->places = calloc(combine->period, sizeof *combine->places);
    if (!combine->table || !combine->places)
        return leat_fail(err, LEAT_E_NOMEM, "a mix with a period of %llu",
                         (unsigned long long)combine->period);
    fill_period(combine);
    combine->n_elements = length_of_pass(combine, stop, count);
    if (combine->n_elements != LEAT_ENDLESS) /* otherwise there is only one pass */
        for (size_t i = 0; i < combine->n_children; i++)
            combine->children[i].in_pass =
                count_in(combine, &combine->children[i], combine->n_elements);
    return LEAT_OK;
}

static leat_combine_place at_mix(const leat_combine *combine, uint64_t p, uint64_t pass)
{
    const leat_combine_slot slot = combine->table[p % combine->period];
    const leat_combine_child *const child = &combine->children[slot.child];
    const uint64_t n = child->order.n_samples;
    const uint64_t t = pass * child->in_pass + p / combine->period * child->weight + slot.rank;
    if (n == LEAT_ENDLESS)
        return (leat_combine_place){ slot.child, t, 0 };
    return (leat_combine_place){ slot.child, t % n, t / n };
}

/* --- interleave ---------------------------------------------------------------------------------- */

static leat_combine_place at_interleave(const leat_combine *combine, uint64_t p, uint64_t pass)
{
    const leat_combine_segment *const segment =
        &combine->segments[LEAT_SEARCH_LAST(combine->segments, start, combine->n_segments, p)];
    const leat_combine_stretch *const all = &combine->stretches[segment->first];
    const uint64_t x = p - segment->start, round = x / segment->round, y = x % segment->round;
    const leat_combine_stretch *const s = &all[LEAT_SEARCH_LAST(all, at, segment->n, y)];
    return (leat_combine_place){ s->child, s->q + round * s->length + y - s->at, pass };
}

/* --- all ----------------------------------------------------------------------------------------- */

leat_combine_place leat_combine_at(const leat_combine *combine, uint64_t p, uint64_t pass)
{
    switch (combine->kind) {
    case LEAT_COMBINE_CONCAT:
        return at_concat(combine, p, pass);
    case LEAT_COMBINE_MIX:
        return at_mix(combine, p, pass);
    case LEAT_COMBINE_INTERLEAVE:
        break;
    }
    return at_interleave(combine, p, pass);
}

#define MAX_PURPOSE ((uint32_t)1 << 28) /* a shuffle uses the bits above */

/* Returns the cached permutations of child i. Children with the same i mod LEAT_ORDER_INNER share them. */
static leat_order_perm_cache *perms_of(leat_order_cache *cache, size_t i,
                                       const leat_combine_child *child)
{
    leat_order_inner *const inner = &cache->inner[i % LEAT_ORDER_INNER];
    if (inner->owner != child) {
        memset(inner->perms, 0, sizeof inner->perms);
        inner->owner = child;
    }
    return inner->perms;
}

void leat_combine_walk(const leat_combine *combine, leat_order_cache *cache, uint32_t purpose,
                       uint64_t *p, uint64_t *epoch)
{
    const leat_combine_place place = leat_combine_at(combine, *p, *epoch);
    const leat_combine_child *const child = &combine->children[place.child];
    *p = place.element;
    *epoch = place.epoch;
    purpose = (purpose + (uint32_t)place.child + 1) * 2 * LEAT_ORDER_MAX_STEPS % MAX_PURPOSE;
    leat_order_walk(&child->order, cache, cache ? perms_of(cache, place.child, child) : NULL,
                    purpose, p, epoch);
    *p += child->first;
}

bool leat_combine_is_static(const leat_order *order)
{
    for (int32_t i = 0; i < order->n_before; i++) {
        const leat_order_kind kind = order->before[i].kind;
        if (kind == LEAT_ORDER_SHUFFLE || kind == LEAT_ORDER_REPEAT)
            return false;
    }
    for (size_t i = 0; order->combine && i < order->combine->n_children; i++)
        if (!leat_combine_is_static(&order->combine->children[i].order))
            return false;
    return true;
}

static bool mixes(const leat_order *order)
{
    if (!order->combine)
        return false;
    bool found = order->combine->kind == LEAT_COMBINE_MIX;
    for (size_t i = 0; i < order->combine->n_children && !found; i++)
        found = mixes(&order->combine->children[i].order);
    return found;
}

bool leat_combine_is_fixed(const leat_order *order)
{
    return leat_combine_is_static(order) && !mixes(order);
}
