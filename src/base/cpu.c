/* SPDX-License-Identifier: MIT */
#include "cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const names[] = {
#define LEAT_CPU_NAME(name, text) text,
    LEAT_CPU_LIST(LEAT_CPU_NAME)
#undef LEAT_CPU_NAME
};

static atomic_int in_use = -1; /* -1: not decided yet; every thread decides the same */

#if defined(__x86_64__)
/* Some compilers do not know this word in __builtin_cpu_supports(). */
static int has_f16c(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

static int ask_cpu(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") || !has_f16c())
        return LEAT_CPU_C;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni"))
        return LEAT_CPU_AVX512;
    return LEAT_CPU_AVX2;
#else
    return LEAT_CPU_C;
#endif
}

int leat_cpu_best(void)
{
    static atomic_int best = -1; /* asked once: a virtual machine may take microseconds to answer */
    int level = atomic_load_explicit(&best, memory_order_relaxed);
    if (level < 0) {
        level = ask_cpu();
        atomic_store_explicit(&best, level, memory_order_relaxed);
    }
    return level;
}

const char *leat_cpu_misnamed(void)
{
    const char *const wanted = getenv("LEAT_CPU");
    if (!wanted || !*wanted) /* an empty variable counts as unset */
        return NULL;
    for (int level = 0; level < LEAT_N_CPU_LEVELS; level++)
        if (!strcmp(names[level], wanted))
            return NULL;
    return wanted;
}

static int decide(void)
{
    const int best = leat_cpu_best();
    const char *wanted = getenv("LEAT_CPU");
    for (int level = 0; wanted && level < best; level++)
        if (!strcmp(names[level], wanted))
            return level;
    return best;
}

int leat_cpu_level(void)
{
    int level = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (level < 0) {
        level = decide();
        atomic_store_explicit(&in_use, level, memory_order_relaxed);
    }
    return level;
}

int leat_cpu_use(int level)
{
    const int best = leat_cpu_best();
    level = level < 0 ? 0 : level > best ? best : level;
    atomic_store_explicit(&in_use, level, memory_order_relaxed);
    return level;
}

const char *leat_cpu_name(int level)
{
    return level >= 0 && level < LEAT_N_CPU_LEVELS ? names[level] : "?";
}
