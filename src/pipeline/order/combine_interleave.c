/* SPDX-License-Identifier: MIT
 *
 * combine_interleave.c: computes the segments of an interleave once, at open.
 *
 * Sources are in `cycle_length` places, which are visited in turn. A visit takes block_length elements.
 * If fewer are left (maybe none), the visit takes them and empties the place. The next visit of this
 * place puts the next unused source there. This is the rule of tf.data. A round in which a source
 * starts or ends is a segment of its own. All rounds between two such rounds are equal and form one
 * segment. */
#include "combine.h"
#include "formats/grow.h"

#define NONE SIZE_MAX /* an empty place */

/* The places of the cycle, and how many elements of each child were taken. */
typedef struct state {
    leat_combine *combine;
    uint64_t block;
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
    list[c->n_segments++] = (leat_combine_segment){ .start = s->n, .first = c->n_stretches };
    return LEAT_OK;
}

/* Adds a stretch to the last segment. */
static int add_stretch(state *s, size_t child, uint64_t length)
{
    leat_combine *const c = s->combine;
    leat_combine_stretch *const list = leat_grow(c->stretches, c->n_stretches, sizeof *list);
    if (!list)
        return LEAT_E_NOMEM;
    c->stretches = list;
    leat_combine_segment *const segment = &c->segments[c->n_segments - 1];
    list[c->n_stretches++] = (leat_combine_stretch){
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
        const uint64_t most = rest == LEAT_ENDLESS ? LEAT_ENDLESS : rest / s->block;
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
        const leat_combine_stretch *const stretch = &c->stretches[segment->first + i];
        s->given[stretch->child] += rounds * stretch->length;
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
            rc = add_stretch(s, s->places[i], s->block);
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
            rc = add_stretch(s, s->places[i], rest < s->block ? rest : s->block);
        if (rest < s->block)
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
                .block = block_length,
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
