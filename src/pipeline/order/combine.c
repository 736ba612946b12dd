/* SPDX-License-Identifier: MIT */
#include "combine.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/search.h"
#include "bucket.h"
#include "formats/grow.h"

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
    free(combine->blocks);
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

/* Fills the table of a period. Element k of child i gets a turn from ⌊kT/w⌋ on and before
 * ⌈(k+1)T/w⌉. This keeps every prefix within one element of its share. Each turn goes to the child
 * with the earliest deadline. All deadlines are met: the windows are those of a proportionate
 * ("pfair") schedule on one processor (Baruah, Cohen, Plaxton, Varvel 1996). Such a schedule exists
 * because the shares sum to 1, and earliest deadline first finds it for jobs of unit length. */
static void fill_period(leat_combine *combine)
{
    const uint64_t t = combine->period;
    uint32_t given[LEAT_COMBINE_MAX] = { 0 };
    uint32_t *places = combine->places;
    for (size_t i = 0; i < combine->n_children; i++) {
        combine->children[i].turns = places;
        places += combine->children[i].weight;
    }
    for (uint64_t turn = 0; turn < t; turn++) {
        uint64_t soonest = UINT64_MAX;
        size_t best = 0;
        for (size_t i = 0; i < combine->n_children; i++) {
            const uint64_t w = combine->children[i].weight, k = given[i];
            const uint64_t deadline = ((k + 1) * t + w - 1) / w;
            if (k < w && k * t / w <= turn && deadline < soonest) {
                soonest = deadline;
                best = i;
            }
        }
        combine->table[turn] = (leat_combine_turn){ (uint32_t)best, given[best] };
        combine->children[best].turns[given[best]++] = (uint32_t)turn;
    }
}

/* Returns the position of element k of a child, counted from the start of a pass. */
static uint64_t position_of(const leat_combine *combine, const leat_combine_child *child,
                            uint64_t k)
{
    uint64_t at;
    if (__builtin_mul_overflow(k / child->weight, combine->period, &at) ||
        __builtin_add_overflow(at, child->turns[k % child->weight], &at))
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
        if (child->turns[middle] < rest)
            low = middle + 1;
        else
            high = middle;
    }
    return n / combine->period * child->weight + low;
}

static void set_pass(leat_combine *combine, uint64_t n)
{
    for (size_t i = 0; i < combine->n_children; i++)
        combine->children[i].in_pass = count_in(combine, &combine->children[i], n);
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
        set_pass(combine, combine->n_elements);
    return LEAT_OK;
}

static leat_combine_place at_mix(const leat_combine *combine, uint64_t p, uint64_t pass)
{
    const leat_combine_turn turn = combine->table[p % combine->period];
    const leat_combine_child *const child = &combine->children[turn.child];
    const uint64_t n = child->order.n_samples;
    const uint64_t t = pass * child->in_pass + p / combine->period * child->weight + turn.rank;
    if (n == LEAT_ENDLESS)
        return (leat_combine_place){ turn.child, t, 0 };
    return (leat_combine_place){ turn.child, t % n, t / n };
}

/* --- interleave ---------------------------------------------------------------------------------- */

static leat_combine_place at_interleave(const leat_combine *combine, uint64_t p, uint64_t pass)
{
    const leat_combine_segment *const segment =
        &combine->segments[LEAT_SEARCH_LAST(combine->segments, start, combine->n_segments, p)];
    const leat_combine_block *const all = &combine->blocks[segment->first];
    const uint64_t x = p - segment->start, round = x / segment->round, y = x % segment->round;
    const leat_combine_block *const s = &all[LEAT_SEARCH_LAST(all, at, segment->n, y)];
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

/* --- an end ------------------------------------------------------------------------------------ */

/* Gives an endless repeat among the steps the passes over its data that *n of their outputs need, at most. Without one
 * *n becomes the inputs that they need. */
static bool end_steps(leat_order_step *steps, int32_t n_steps, uint64_t *n)
{
    for (int32_t i = n_steps; i-- > 0;) {
        leat_order_step *const step = &steps[i];
        if (step->kind == LEAT_ORDER_REPEAT && step->a == LEAT_ENDLESS) {
            step->a = *n / step->n_in + (*n % step->n_in != 0);
            return true;
        }
        if (step->kind == LEAT_ORDER_SKIP)
            *n += step->a;
        else if (step->kind == LEAT_ORDER_SHARD)
            *n *= step->a;
        else if (step->kind == LEAT_ORDER_SHUFFLE)
            *n += 2 * step->shuffle.window;
    }
    return false;
}

void leat_combine_end(leat_order *order, uint64_t n)
{
    const uint64_t m = order->samples_per_record;
    const int32_t at = order->unbatch_step;
    if (end_steps(order->after, order->n_after, &n))
        return;
    n *= order->batch_size ? order->batch_size : 1;
    if (end_steps(order->before + at, order->n_before - at, &n))
        return;
    n = n / m + (n % m != 0);
    if (end_steps(order->before, at, &n) || !order->combine)
        return;
    if (order->combine->kind == LEAT_COMBINE_MIX)
        set_pass(order->combine, n);
    for (size_t i = 0; i < order->combine->n_children; i++)
        if (order->combine->children[i].order.n_samples == LEAT_ENDLESS)
            leat_combine_end(&order->combine->children[i].order, n);
}

static bool stays(const leat_order_step *step)
{
    return step->kind == LEAT_ORDER_SHUFFLE && !step->shuffle.reshuffle;
}

uint64_t leat_combine_digest(const leat_order *order, bool is_child, uint64_t digest)
{
    for (int32_t i = 0; i < order->n_before; i++) {
        const leat_order_step *const step = &order->before[i];
        if (step->passing)
            digest = leat_digest_chain(digest, leat_bitset_digest(step->passing));
        if (stays(step) && (i > 0 || is_child))
            digest = leat_digest_chain(digest, 1);
    }
    for (int32_t i = 0; i < order->n_after; i++)
        if (stays(&order->after[i]))
            digest = leat_digest_chain(digest, 1);
    for (uint32_t k = 0; order->buckets && k < order->buckets->n; k++)
        digest = leat_digest_chain(digest, leat_bitset_digest(order->buckets->list[k].members));
    return digest;
}

/* --- what stays the same ----------------------------------------------------------------------- */

bool leat_combine_reshuffles(const leat_order *order)
{
    bool found = order->buckets && order->buckets->shuffles && order->buckets->shuffle.reshuffle;
    for (int32_t i = 0; i < order->n_before && !found; i++)
        found = order->before[i].kind == LEAT_ORDER_SHUFFLE && order->before[i].shuffle.reshuffle;
    for (size_t i = 0; order->combine && i < order->combine->n_children && !found; i++)
        found = leat_combine_reshuffles(&order->combine->children[i].order);
    return found;
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

/* --- interleave ------------------------------------------------------------------------------- */

/* Computes the segments of an interleave once, at open.
 *
 * Sources are in `cycle_length` places, which are visited in turn. A visit takes block_length elements.
 * If fewer are left (maybe none), the visit takes them and empties the place. The next visit of this
 * place puts the next unused source there. This is the rule of tf.data. A round in which a source
 * starts or ends is a segment of its own. All rounds between two such rounds are equal and form one
 * segment. */

#define NONE SIZE_MAX /* an empty place */

/* The places of the cycle, and how many elements of each child were taken. */
typedef struct state {
    leat_combine *combine;
    uint64_t block_length;
    uint64_t n; /* positions so far */
    size_t n_places, next;
    size_t places[LEAT_COMBINE_MAX];
    uint64_t given[LEAT_COMBINE_MAX];
} state;

static uint64_t rest_of(const state *s, size_t child)
{
    const uint64_t n = s->combine->children[child].order.n_samples;
    return n == LEAT_ENDLESS ? n : n - s->given[child];
}

static int add_segment(state *s)
{
    leat_combine *const c = s->combine;
    leat_combine_segment *const list = leat_grow(c->segments, c->n_segments, sizeof *list);
    if (!list)
        return LEAT_E_NOMEM;
    c->segments = list;
    list[c->n_segments++] = (leat_combine_segment){ .start = s->n, .first = c->n_blocks };
    return LEAT_OK;
}

/* Adds a block to the last segment. */
static int add_block(state *s, size_t child, uint64_t length)
{
    leat_combine *const c = s->combine;
    leat_combine_block *const list = leat_grow(c->blocks, c->n_blocks, sizeof *list);
    if (!list)
        return LEAT_E_NOMEM;
    c->blocks = list;
    leat_combine_segment *const segment = &c->segments[c->n_segments - 1];
    list[c->n_blocks++] = (leat_combine_block){
        .child = (uint32_t)child, .at = segment->round, .length = length, .q = s->given[child]
    };
    segment->round += length;
    segment->n++;
    return LEAT_OK;
}

/* Counts the next rounds in which no source starts or ends. */
static uint64_t equal_rounds(const state *s)
{
    uint64_t rounds = LEAT_ENDLESS;
    size_t n = 0;
    for (size_t i = 0; i < s->n_places; i++) {
        if (s->places[i] == NONE) {
            if (s->next < s->combine->n_children)
                return 0;
            continue;
        }
        const uint64_t rest = rest_of(s, s->places[i]);
        const uint64_t most = rest == LEAT_ENDLESS ? LEAT_ENDLESS : rest / s->block_length;
        rounds = most < rounds ? most : rounds;
        n++;
    }
    return n ? rounds : 0;
}

/* Gives the last segment its number of rounds. */
static void finish_segment(state *s, uint64_t rounds)
{
    const leat_combine *const c = s->combine;
    const leat_combine_segment *const segment = &c->segments[c->n_segments - 1];
    uint64_t all;
    for (size_t i = 0; i < segment->n && rounds != LEAT_ENDLESS; i++) {
        const leat_combine_block *const block = &c->blocks[segment->first + i];
        s->given[block->child] += rounds * block->length;
    }
    if (rounds == LEAT_ENDLESS || __builtin_mul_overflow(segment->round, rounds, &all) ||
        __builtin_add_overflow(s->n, all, &s->n))
        s->n = LEAT_ENDLESS;
}

static int add_equal_rounds(state *s, uint64_t rounds)
{
    int rc = add_segment(s);
    for (size_t i = 0; i < s->n_places && rc >= 0; i++)
        if (s->places[i] != NONE)
            rc = add_block(s, s->places[i], s->block_length);
    if (rc >= 0)
        finish_segment(s, rounds);
    return rc;
}

/* Adds one round in which a source starts or ends. */
static int add_changing_round(state *s)
{
    leat_combine *const c = s->combine;
    int rc = add_segment(s);
    for (size_t i = 0; i < s->n_places && rc >= 0; i++) {
        if (s->places[i] == NONE && s->next < c->n_children)
            s->places[i] = s->next++;
        if (s->places[i] == NONE)
            continue;
        const uint64_t rest = rest_of(s, s->places[i]);
        if (rest)
            rc = add_block(s, s->places[i], rest < s->block_length ? rest : s->block_length);
        if (rest < s->block_length)
            s->places[i] = NONE;
    }
    if (rc < 0)
        return rc;
    if (c->segments[c->n_segments - 1].n == 0)
        c->n_segments--; /* all sources in it were at their end */
    else
        finish_segment(s, 1);
    return LEAT_OK;
}

static bool any_left(const state *s)
{
    bool any = s->next < s->combine->n_children;
    for (size_t i = 0; i < s->n_places; i++)
        any = any || s->places[i] != NONE;
    return any;
}

int leat_combine_interleave(leat_combine *combine, uint64_t cycle_length, uint64_t block_length,
                            size_t *bad, leat_error *err)
{
    state s = { .combine = combine,
                .block_length = block_length,
                .n_places =
                    cycle_length < combine->n_children ? cycle_length : combine->n_children };
    int rc = LEAT_OK;
    combine->kind = LEAT_COMBINE_INTERLEAVE;
    for (size_t i = 0; i < s.n_places; i++)
        s.places[i] = NONE;
    while (rc >= 0 && s.n != LEAT_ENDLESS && any_left(&s)) {
        const uint64_t rounds = equal_rounds(&s);
        rc = rounds ? add_equal_rounds(&s, rounds) : add_changing_round(&s);
    }
    if (rc < 0)
        return leat_fail(err, rc, "the order of %zu sources", combine->n_children);
    if (s.next < combine->n_children) {
        *bad = s.next;
        return leat_fail(err, LEAT_E_CONFIG,
                         "this source would never be used: endless sources take all places of the "
                         "cycle");
    }
    combine->n_elements = s.n;
    return LEAT_OK;
}
