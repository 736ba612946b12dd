/* SPDX-License-Identifier: MIT
 *
 * combine.h: computes which element of which source is at position p of several combined sources.
 * order.c calls it; the sources concat, mix and interleave set it up.
 *
 * DESIGN. Each source (child) has an order of its own, with n elements per epoch. A pass over all
 * children has n_elements positions. concat, mix and interleave differ only in how they map a position
 * to (child, element, epoch of the child). The child's order then gives the record. Records are
 * numbered over all children; child i starts at children[i].first. So a record keeps its number and
 * its random draws wherever it appears.
 *
 *     concat       the child whose range contains p; the epoch is the pass
 *     mix          a table of one period of T = sum of weights. Each entry has a child and the count of
 *                  that child's elements before it. Element t of a child counts over all periods and
 *                  passes; its epoch is t / n. So the epochs of a child are independent of the passes
 *     interleave   a list of segments. A segment is a number of equal rounds of blocks. A new segment
 *                  begins when a child ends or another takes its place; the epoch is the pass */
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
    LEAT_COMBINE_LONGEST,  /* once every child was used completely; smaller ones repeat */
    LEAT_COMBINE_SHORTEST, /* before any child would repeat */
    LEAT_COMBINE_COUNT     /* after a given number of elements */
} leat_combine_stop;

typedef struct leat_combine_child {
    leat_order order; /* has no batch; order.n_samples may be LEAT_ENDLESS */
    uint64_t first;   /* number of its record 0 */
    uint64_t start;   /* concat: its first position */
    uint64_t weight;  /* mix: elements per period */
    uint64_t in_pass; /* mix: elements per pass; 0: a pass has no end */
    uint32_t *turns;  /* mix: its places in the period, ascending; points into `places` */
} leat_combine_child;

/* mix: one place in the period. */
typedef struct leat_combine_turn {
    uint32_t child;
    uint32_t rank; /* number of earlier elements of the child in the period */
} leat_combine_turn;

/* interleave: consecutive elements of one child in every round of a segment. */
typedef struct leat_combine_block {
    uint32_t child;
    uint64_t at, length; /* position in the round, elements */
    uint64_t q;          /* first element of the child in round 0 of the segment */
} leat_combine_block;

typedef struct leat_combine_segment {
    uint64_t start;  /* position */
    uint64_t round;  /* elements in a round */
    size_t first, n; /* its blocks */
} leat_combine_segment;

typedef struct leat_combine {
    leat_combine_kind kind;
    size_t n_children;
    leat_combine_child *children;
    uint64_t n_elements; /* per pass; may be LEAT_ENDLESS */
    uint64_t period;
    leat_combine_turn *table;
    uint32_t *places;
    size_t n_segments, n_blocks;
    leat_combine_segment *segments;
    leat_combine_block *blocks;
} leat_combine;

/* Allocates n children, 1 to LEAT_COMBINE_MAX. The caller fills in their orders, of at least one
 * element each, and `first`. Then one of the three calls below computes the rest.
 * returns  LEAT_OK, LEAT_E_NOMEM */
int leat_combine_open(leat_combine **out, size_t n, leat_error *err);
void leat_combine_close(leat_combine **combine);

/* LEAT_E_CONFIG: child *bad would never be used. */
int leat_combine_concat(leat_combine *combine, size_t *bad, leat_error *err);
int leat_combine_interleave(leat_combine *combine, uint64_t cycle_length, uint64_t block_length,
                            size_t *bad, leat_error *err);
/* weights: integers without a common factor; their sum T is at most LEAT_COMBINE_PERIOD. Of the first
 * p elements, more than p · w / T - 1 and fewer than p · w / T + 1 come from a child of weight w. */
int leat_combine_mix(leat_combine *combine, const uint64_t *weights, leat_combine_stop stop,
                     uint64_t count, leat_error *err);

/* The element at position p < n_elements of a pass. */
typedef struct leat_combine_place {
    size_t child;
    uint64_t element, epoch; /* of the child */
} leat_combine_place;
leat_combine_place leat_combine_at(const leat_combine *combine, uint64_t p, uint64_t pass);

/* Maps position *p of pass *epoch to a record and its epoch. cache: NULL if no child shuffles.
 * purpose: makes the shuffles of different children differ, but for orders that stay. */
void leat_combine_walk(const leat_combine *combine, leat_order_cache *cache, uint32_t purpose,
                       uint64_t *p, uint64_t *epoch);

/* Says that a pass of endless data ends after n elements of its last step. So the next pass goes on: an endless repeat
 * counts the passes over its data on, as a repeat of a number does, and a mix takes the next elements of its children. */
void leat_combine_end(leat_order *order, uint64_t n);

/* Returns the digest with what filters and buckets have found in the data appended, and a mark for an order that stays
 * where it once depended on its place; without any of them, as it is. Of children nested.c does the same. */
uint64_t leat_combine_digest(const leat_order *order, bool is_child, uint64_t digest);

/* True: a shuffle before the batch, of this order or of a source in it, gives another order in each epoch. */
bool leat_combine_reshuffles(const leat_order *order);
/* True: nothing shuffles or repeats inside. Only a mix can make epochs differ. */
bool leat_combine_is_static(const leat_order *order);
/* True: static and without a mix. Every epoch is the same. */
bool leat_combine_is_fixed(const leat_order *order);

#endif
