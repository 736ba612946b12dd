/* SPDX-License-Identifier: MIT
 *
 * other_processes.h: measures how much of our CPUs other processes use. */
#ifndef LEAT_OTHER_PROCESSES_H
#define LEAT_OTHER_PROCESSES_H

#include "leat/observe.h"

/* Reads /proc/stat, usually in ticks of 10 ms. own_ns: without descendants; n_cpus: at least 1. `root` is a prefix of
 * /proc and /sys ("" except in tests). */
void leat_other_processes_look(const char *root, leat_usage *out);

/* CPU time of all processes that descend from this one: as the kernel counts, in ticks, those that live and those that
 * were waited for. 0: there are none, or it is not known. */
int64_t leat_other_processes_descendants_ns(const char *root);

/* Average number of CPUs that other processes kept busy between two snapshots, and that this one could have used: those
 * that its own limit leaves free are not missing. 0: not known. */
double leat_other_processes_taken(const leat_usage *from, const leat_usage *to);

/* CPUs on average that a CPU limit stopped between two snapshots; 0: none, or not known. */
double leat_other_processes_throttled(const leat_usage *from, const leat_usage *to);

#endif
