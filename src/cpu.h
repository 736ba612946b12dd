/* SPDX-License-Identifier: MIT
 *
 * cpu.h: which instruction sets the inner loops may use, and how many CPUs there are to use.
 * LEAT_CPU=c|avx2|avx512 in the environment lowers the level (never raises it); it is read once. */
#ifndef LEAT_CPU_H
#define LEAT_CPU_H

#include <stddef.h>

/* X(name, text): from low to high */
#define LEAT_CPU_LIST(X)                                                                           \
    X(C, "c")                                                                                      \
    X(AVX2, "avx2")                                                                                \
    X(AVX512, "avx512")

enum {
#define LEAT_CPU_ENUM(name, text) LEAT_CPU_##name,
    LEAT_CPU_LIST(LEAT_CPU_ENUM)
#undef LEAT_CPU_ENUM
        LEAT_N_CPU_LEVELS
};

/* The highest level of this machine. AVX2 stands for AVX2 and BMI2; AVX512 for F, BW, VL, DQ and
 * VBMI besides. */
int leat_cpu_best(void);
/* The level in use. Any thread. */
int leat_cpu_level(void);
/* Uses another level from now on, at most leat_cpu_best(); returns the one in use. For tests, while
 * no op is running. */
int leat_cpu_use(int level);
/* "c", "avx2", "avx512"; static storage. */
const char *leat_cpu_name(int level);

/* CPUs this process may use: those of its affinity mask, fewer where a cgroup (v1 or v2, at any
 * level) has a quota, which is rounded up; at least 1. Reads a few files. Any thread. */
int leat_cpu_count(void);
/* The same with a line that says what decided; `root` stands before /proc and /sys ("" but for
 * tests), `n_affinity` is 0 for the mask of the calling thread. */
int leat_cpu_count_why(const char *root, int n_affinity, char *why, size_t size);

#endif
