/* SPDX-License-Identifier: MIT
 *
 * perm_span.c: a permutation at several positions at a time. task.c asks for those of many rows at once. */
#include <stdbool.h>

#include "check.h"
#include "cpu.h"
#include "perm_impl.h"

/* The rounds of LANES positions from i on. They do not depend on each other, so the CPU overlaps them. */
enum { LANES = 8 };

static void rounds_of_lanes(const leat_perm *perm, uint64_t i, uint64_t out[LANES])
{
    uint64_t l[LANES], r[LANES];
#if defined(__x86_64__)
    if (leat_cpu_level() >= LEAT_CPU_AVX512 && perm->a <= UINT32_MAX) {
        leat_perm_rounds_avx512(perm, i, out);
        return;
    }
#endif
    l[0] = i / perm->b, r[0] = i % perm->b;
    for (int k = 1; k < LANES; k++) {
        const bool wraps = r[k - 1] + 1 == perm->b;
        l[k] = l[k - 1] + wraps;
        r[k] = wraps ? 0 : r[k - 1] + 1;
    }
    for (int round = 0; round < LEAT_PERM_ROUNDS; round += 2)
        for (int k = 0; k < LANES; k++) {
            l[k] = add_modulo(l[k], keyed(perm->keys[round], r[k], perm->a), perm->a);
            r[k] = add_modulo(r[k], keyed(perm->keys[round + 1], l[k], perm->b), perm->b);
        }
    for (int k = 0; k < LANES; k++)
        out[k] = l[k] * perm->b + r[k];
}

void leat_perm_span(const leat_perm *perm, uint64_t i, uint64_t n_out, uint64_t *out)
{
    leat_check(n_out <= perm->n && i <= perm->n - n_out);
    for (; perm->n > LEAT_PERM_SMALL && n_out >= LANES; n_out -= LANES, i += LANES, out += LANES) {
        rounds_of_lanes(perm, i, out);
        for (int k = 0; k < LANES; k++)
            if (out[k] >= perm->n)
                out[k] = leat_perm_at(perm, i + (uint64_t)k);
    }
    for (; n_out; n_out--)
        *out++ = leat_perm_at(perm, i++);
}
