/* SPDX-License-Identifier: MIT
 *
 * combine.h: which element of which source stands at position p of several sources put together, by
 * arithmetic alone.
 *
 * DESIGN. Each source (child) has a little order of its own: n elements per epoch of its own. A pass
 * over all of them has n_elements positions. concat, mix and interleave differ only in how they map
 * a position to (child, element, epoch of that child); the child's order then gives the record.
 * Records are numbered over all children: those of child i begin at children[i].first, so that a
 * record has one number, and its random draws, wherever it comes up.
 *
 *     concat       the child whose range p lies in; its epoch is the pass
 *     mix          a table of one period of T = sum of weights: child and how many of that child came
 *                  before; element t of a child counts on over periods and passes, and its epoch is
 *                  t / n: each child goes round by itself, whatever the passes are
 *     interleave   a list of segments, each some equal rounds of blocks: between two events (a child
 *                  has ended, another takes its place) the rounds repeat; its epoch is the pass */
#ifndef LEAT_COMBINE_H
#define LEAT_COMBINE_H

#include <stddef.h>

#include "order.h"

#define LEAT_COMBINE_MAX    256   /* children */
#define LEAT_COMBINE_PERIOD 65536 /* longest period of a mix */

typedef enum leat_combine_kind {
    LEAT_COMBINE_CONCAT,
    LEAT_COMBINE_MIX,
    LEAT_COMBINE_INTERLEAVE
} leat_combine_kind;

/* When a pass of a mix ends. */
typedef enum leat_combine_stop {
    LEAT_COMBINE_LONGEST,  /* every child has come up whole; smaller ones begin anew meanwhile */
    LEAT_COMBINE_SHORTEST, /* before any child would begin anew */
    LEAT_COMBINE_COUNT     /* after so many elements */
} leat_combine_stop;

typedef struct leat_combine_child {
    leat_order order; /* steps before a batch only; order.n_samples elements, maybe endless */
    uint64_t first;   /* number of its record 0 */
    uint64_t start;   /* concat: its first position */
    uint64_t weight;  /* mix: elements per period */
    uint64_t in_pass; /* mix: elements per pass */
    uint32_t *slots;  /* mix: its places in the period, ascending (of `places`) */
} leat_combine_child;

/* mix: a place in the period. */
typedef struct leat_combine_slot {
    uint32_t child;
    uint32_t rank; /* elements of that child before it in the period */
} leat_combine_slot;

/* interleave: a stretch of one child in every round of a segment. */
typedef struct leat_combine_stretch {
    uint32_t child;
    uint64_t at, length; /* in the round */
    uint64_t q;          /* element in round 0 of the segment */
} leat_combine_stretch;

typedef struct leat_combine_segment {
    uint64_t start;  /* position */
    uint64_t round;  /* elements in a round */
    size_t first, n; /* stretches */
} leat_combine_segment;

typedef struct leat_combine {
    leat_combine_kind kind;
    size_t n_children;
    leat_combine_child *children;
    uint64_t n_elements; /* per pass; may be LEAT_ENDLESS */
    uint64_t period;
    leat_combine_slot *table;
    uint32_t *places;
    size_t n_segments, n_stretches, segments_room, stretches_room;
    leat_combine_segment *segments;
    leat_combine_stretch *stretches;
} leat_combine;

/* Takes the orders of n children (1 to LEAT_COMBINE_MAX; each with at least one element) and the
 * numbers of their first records, then one of the three calls below settles the rest.
 * returns  LEAT_OK, LEAT_E_NOMEM */
int leat_combine_open(leat_combine **out, size_t n, leat_error *err);
void leat_combine_close(leat_combine **combine);

/* LEAT_E_CONFIG: a child would never come up (`*bad` is its place). */
int leat_combine_concat(leat_combine *combine, size_t *bad, leat_error *err);
int leat_combine_interleave(leat_combine *combine, uint64_t cycle_length, uint64_t block_length,
                            size_t *bad, leat_error *err);
/* weights: integers without a common factor, their sum at most LEAT_COMBINE_PERIOD. After any p
 * elements each child has had more than p · w / T - 1 and less than p · w / T + 1. */
int leat_combine_mix(leat_combine *combine, const uint64_t *weights, leat_combine_stop stop,
                     uint64_t count, leat_error *err);

/* What stands at position p < n_elements of a pass. */
typedef struct leat_combine_place {
    size_t child;
    uint64_t element, epoch; /* of the child */
} leat_combine_place;
leat_combine_place leat_combine_at(const leat_combine *combine, uint64_t p, uint64_t pass);

/* From position *p of pass *epoch to a record and its epoch. cache: NULL where no child shuffles.
 * purpose: keeps the shuffles of different children apart. */
void leat_combine_walk(const leat_combine *combine, leat_order_cache *cache, uint32_t purpose,
                       uint64_t *p, uint64_t *epoch);

/* Nothing shuffles or repeats inside: a pass is the same in every epoch, but for what is mixed. */
bool leat_combine_is_static(const leat_order *order);
/* Static, and nothing is mixed: the same in every epoch. */
bool leat_combine_is_fixed(const leat_order *order);

#endif
