/* SPDX-License-Identifier: MIT
 *
 * whatif_feed.h: the loader of a config alone, into host memory. whatif.c decides when it runs. */
#ifndef LEAT_WHATIF_FEED_H
#define LEAT_WHATIF_FEED_H

#include "leat/loader.h"
#include "leat/study.h"

/* The loader with a number of threads, or with other options. */
typedef struct leat_whatif_feed {
    int32_t threads;
    int trial; /* index in trials; -1: the config as it is */
    leat_config *config;
    leat_plan *plan;
    double *rates;   /* by round */
    double *per_cpu; /* samples per second of CPU time, by round */
    double cores;    /* average number of busy cores of this process, last round */
    double on_cpu;   /* share of the stages' time */
    double decode;   /* share of the stages' time that goes to decoding; 0: not known */
    double bytes_out;
} leat_whatif_feed;

/* Copies the config and sets its threads; the caller opens the plan. Close it also after an error. */
int leat_whatif_feed_open(leat_whatif_feed *feed, const leat_config *config, int32_t threads,
                          int32_t n_rounds, leat_error *err);
void leat_whatif_feed_close(leat_whatif_feed *feed);

/* Runs it for about 0.15 s and keeps the rates of this round. */
int leat_whatif_feed_run(leat_whatif_feed *feed, int32_t round, leat_error *err);

#endif
