/* SPDX-License-Identifier: MIT
 *
 * cpu_loops_c.c: the loops for any CPU, and the choice between the tables. */
#define LEAT_CPU_LOOPS leat_cpu_loops_c
#include "cpu_loops_impl.h"

#include "base/cpu.h"

const leat_cpu_loops *leat_cpu_loops_get(void)
{
#if defined(__x86_64__)
    switch (leat_cpu_level()) {
    case LEAT_CPU_AVX512:
        return &leat_cpu_loops_avx512;
    case LEAT_CPU_AVX2:
        return &leat_cpu_loops_avx2;
    default:
        break;
    }
#endif
    return &leat_cpu_loops_c;
}
