/* SPDX-License-Identifier: MIT
 *
 * cpu.h: the instruction sets that inner loops can use. The environment variable LEAT_CPU=c|avx2|avx512
 * lowers the level, and never raises it. It is read once. Opening a plan refuses any other word. */
#ifndef LEAT_CPU_H
#define LEAT_CPU_H

/* X(name, text), from low to high */
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

/* Returns the value of LEAT_CPU if it is not one of these words, otherwise NULL. Any thread. */
const char *leat_cpu_misnamed(void);
/* Returns the highest level of this machine. AVX2 includes BMI2 and F16C; AVX512 is F, BW, VL, DQ, VBMI and
 * VNNI. */
int leat_cpu_best(void);
/* Returns the level in use. Any thread. */
int leat_cpu_level(void);
/* Sets the level, limited to leat_cpu_best(), and returns it. For tests, while no op is running. */
int leat_cpu_use(int level);
/* Returns "c", "avx2" or "avx512"; static storage. */
const char *leat_cpu_name(int level);

#endif
