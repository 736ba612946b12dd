/* SPDX-License-Identifier: MIT
 *
 * cpu.h: which instruction sets the inner loops may use. LEAT_CPU=c|avx2|avx512 in the environment
 * lowers the level (never raises it); it is read once. Another word is refused when a plan is opened. */
#ifndef LEAT_CPU_H
#define LEAT_CPU_H

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

/* What LEAT_CPU says if it is none of these words, else NULL. Any thread. */
const char *leat_cpu_misnamed(void);
/* The highest level of this machine. AVX2 stands for AVX2 and BMI2; AVX512 for F, BW, VL, DQ and
 * VBMI and VNNI besides. */
int leat_cpu_best(void);
/* The level in use. Any thread. */
int leat_cpu_level(void);
/* Uses another level from now on, at most leat_cpu_best(); returns the one in use. For tests, while
 * no op is running. */
int leat_cpu_use(int level);
/* "c", "avx2", "avx512"; static storage. */
const char *leat_cpu_name(int level);

#endif
