/* SPDX-License-Identifier: MIT
 *
 * cpu_loops_avx512.c: the loops compiled for AVX-512. */
#if defined(__x86_64__)
#define LEAT_CPU_LOOPS leat_cpu_loops_avx512
#include "cpu_loops_impl.h"
#else
typedef int leat_cpu_loops_avx512; /* ISO C wants a declaration */
#endif
