/* SPDX-License-Identifier: MIT
 *
 * combine_interleave.c: the segments of an interleave, worked out once at open.
 *
 * Sources stand in `cycle_length` places, visited in turn; a visit gives block_length elements. A
 * visit that finds its source at its end gives what was left (maybe nothing) and clears the place; the
 * next visit of it fills it with the next source that has not had a place. That is tf.data's rule. A
 * round in which a source comes or goes is a segment of its own; all rounds between two of those are
 * alike and are one segment, however many they are. */
#include <stdlib.h>

#include "combine.h"

#define NOBODY SIZE_MAX

/* The places of the cycle and how far each child has come. */
typedef struct state {
    leat_combine *combine;
    uint64_t block;
    uint64_t n; /* positions laid out */
    size_t n_places, next;
    size_t places[LEAT_COMBINE_MAX];
    uint64_t given[LEAT_COMBINE_MAX];
} state;

static uint64_t rest_of(const state *s, size_t child)
{
    const uint64_t n = s->combine->children[child].order.n_samples;
    return n == LEAT_ENDLESS ? n : n - s->given[child];
}

/* Room for one more; the lists double. */
static void *grow(void *list, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return list;
    const size_t more = *room ? *room * 2 : 16;
    void *const grown = realloc(list, more * size);
    if (grown)
        *room = more;
    return grown;
}

static int add_segment(state *s)
{
    leat_combine *const c = s->combine;
    leat_combine_segment *const list =
        grow(c->segments, c->n_segments, &c->segments_room, sizeof *list);
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
    leat_combine_stretch *const list =
        grow(c->stretches, c->n_stretches, &c->stretches_room, sizeof *list);
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

/* Whole rounds in which nobody comes or goes; 0: something happens in the next one. */
static uint64_t quiet_rounds(const state *s)
{
    uint64_t rounds = LEAT_ENDLESS;
    size_t n = 0;
    for (size_t i = 0; i < s->n_places; i++) {
        if (s->places[i] == NOBODY) {
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

/* The last segment stands for that many rounds. */
static void go_on(state *s, uint64_t rounds)
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

static int lay_quiet(state *s, uint64_t rounds)
{
    int rc = add_segment(s);
    for (size_t i = 0; i < s->n_places && rc >= 0; i++)
        if (s->places[i] != NOBODY)
            rc = add_stretch(s, s->places[i], s->block);
    if (rc >= 0)
        go_on(s, rounds);
    return rc;
}

/* One round in which somebody comes or goes. */
static int lay_event(state *s)
{
    leat_combine *const c = s->combine;
    int rc = add_segment(s);
    for (size_t i = 0; i < s->n_places && rc >= 0; i++) {
        if (s->places[i] == NOBODY && s->next < c->n_children)
            s->places[i] = s->next++;
        if (s->places[i] == NOBODY)
            continue;
        const uint64_t rest = rest_of(s, s->places[i]);
        if (rest)
            rc = add_stretch(s, s->places[i], rest < s->block ? rest : s->block);
        if (rest < s->block)
            s->places[i] = NOBODY;
    }
    if (rc < 0)
        return rc;
    if (c->segments[c->n_segments - 1].n == 0)
        c->n_segments--; /* all that it did was to find ends */
    else
        go_on(s, 1);
    return LEAT_OK;
}

static bool anybody(const state *s)
{
    bool any = s->next < s->combine->n_children;
    for (size_t i = 0; i < s->n_places; i++)
        any = any || s->places[i] != NOBODY;
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
        s.places[i] = NOBODY;
    while (rc >= 0 && s.n != LEAT_ENDLESS && anybody(&s)) {
        const uint64_t rounds = quiet_rounds(&s);
        rc = rounds ? lay_quiet(&s, rounds) : lay_event(&s);
    }
    if (rc < 0)
        return leat_fail(err, rc, "the order of %zu sources", combine->n_children);
    if (s.next < combine->n_children) {
        *bad = s.next;
        return leat_fail(err, LEAT_E_CONFIG,
                         "this source would never come up: all places of the cycle are taken by "
                         "sources without end");
    }
    combine->n_elements = s.n;
    return LEAT_OK;
}
