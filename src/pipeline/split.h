/* SPDX-License-Identifier: MIT
 *
 * split.h: where a chain of ops is cut between the CPU and the device. A pure function: costs in,
 * decision out. What the costs are is measured in cost.h, what may be cut is known in placed_why.c. */
#ifndef LEAT_SPLIT_H
#define LEAT_SPLIT_H

#include "source.h"

/* Of the rows of a batch the device may decode so many parts of this many, where it decodes files. */
#define LEAT_SPLIT_SHARES 8
#define LEAT_MAX_SPLITS                                                                            \
    (33 +                                                                                          \
     LEAT_SPLIT_SHARES) /* of a chain: between any two of its LEAT_MAX_CHAIN ops, and at the ends */
/* Rates that differ by less than this are the same: then the CPU does it. */
#define LEAT_SPLIT_MARGIN 0.03

/* One place where a chain may be cut, and what that adds to a sample. */
typedef struct leat_split {
    int32_t n_host; /* ops before it, which the CPU does */
    double host_ns; /* of one thread; may be negative: less than where nothing moves */
    double bytes;   /* that are copied; may be negative too */
    double device_ns;
    double decoder_ns; /* of a part of the device that does nothing but decode, beside all else */
    double share;      /* of the rows whose files the device decodes; 0: it decodes none */
} leat_split;

typedef struct leat_split_chain {
    int32_t n;                      /* 1 or more */
    leat_split at[LEAT_MAX_SPLITS]; /* n_host rises; the last one: nothing moves */
} leat_split_chain;

typedef struct leat_split_costs {
    double threads;
    double host_ns, bytes; /* of a sample where nothing moves */
    double wire_ns;        /* to copy a byte; 0: copies cost nothing */
    double step_ns;        /* what the consumer computes on a sample; 0: not known */
    int32_t n_chains;
    leat_split_chain chains[LEAT_MAX_FEATURES];
} leat_split_costs;

/* Samples per second that each part could do by itself (INFINITY: it has nothing to do), and that all
 * do together: as many as the slowest. */
typedef struct leat_split_rates {
    double host, wire, device, decoder, all;
    double host_ns, bytes, device_ns, decoder_ns; /* of a sample; device_ns without the step */
} leat_split_rates;

/* Of a chain whose first place has the device decode all files, and whose second has it decode none: puts
 * the shares between them. What a share costs lies between what these two do. */
void leat_split_add_shares(leat_split_chain *chain);

/* chosen: which place of every chain. */
leat_split_rates leat_split_rate(const leat_split_costs *costs, const int32_t *chosen);

/* The cuts with the most samples per second; among those that are within the margin of it, the ones
 * that leave the most ops to the CPU. Fills chosen[n_chains]. Chains are moved one at a time, so of
 * several that could move, it is a choice that no single chain can better. */
void leat_split_choose(const leat_split_costs *costs, int32_t *chosen);

#endif
