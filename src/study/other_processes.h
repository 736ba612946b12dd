/* SPDX-License-Identifier: MIT
 *
 * other_processes.h: measures how much of our CPUs other processes use. */
#ifndef LEAT_OTHER_PROCESSES_H
#define LEAT_OTHER_PROCESSES_H

#include <stdint.h>

/* Counters at one moment. */
typedef struct leat_other_processes {
    int32_t n_cpus;          /* that this process may use; at least 1 */
    int64_t busy_ns, all_ns; /* of these CPUs, as the kernel counts; all_ns 0: not known */
    int64_t own_ns;          /* CPU time of this process */
    int64_t at_ns;           /* CLOCK_MONOTONIC */
    int64_t throttled_ns;    /* its control group was stopped by a CPU limit; 0: not known */
} leat_other_processes;

/* Reads /proc/stat, usually in ticks of 10 ms. `root` is a prefix of /proc ("" except in tests). */
void leat_other_processes_look(const char *root, leat_other_processes *out);

/* CPU time of all processes that descend from this one: as the kernel counts, in ticks, those that live and those that
 * were waited for. 0: there are none, or it is not known. */
int64_t leat_other_processes_descendants_ns(const char *root);

/* Average number of CPUs that other processes kept busy between two snapshots; 0: not known. */
double leat_other_processes_taken(const leat_other_processes *from, const leat_other_processes *to);

/* CPUs on average that a CPU limit stopped between two snapshots; 0: none, or not known. */
double leat_other_processes_throttled(const leat_other_processes *from,
                                      const leat_other_processes *to);

#endif
