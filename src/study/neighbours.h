/* SPDX-License-Identifier: MIT
 *
 * neighbours.h: measures how much of our CPUs other processes use. */
#ifndef LEAT_NEIGHBOURS_H
#define LEAT_NEIGHBOURS_H

#include <stdint.h>

/* Counters at one moment. */
typedef struct leat_neighbours {
    int32_t n_cpus;          /* that this process may use; at least 1 */
    int64_t busy_ns, all_ns; /* of these CPUs, as the kernel counts; all_ns 0: not known */
    int64_t own_ns;          /* CPU time of this process */
    int64_t at_ns;           /* CLOCK_MONOTONIC */
    int64_t throttled_ns;    /* its control group was stopped by a CPU limit; 0: not known */
} leat_neighbours;

/* Reads /proc/stat, usually in ticks of 10 ms. `root` is a prefix of /proc ("" except in tests). */
void leat_neighbours_look(const char *root, leat_neighbours *out);

/* Average number of CPUs that other processes kept busy between two snapshots; 0: not known. */
double leat_neighbours_taken(const leat_neighbours *from, const leat_neighbours *to);

/* CPUs on average that a CPU limit stopped between two snapshots; 0: none, or not known. */
double leat_neighbours_throttled(const leat_neighbours *from, const leat_neighbours *to);

#endif
