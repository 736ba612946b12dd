/* SPDX-License-Identifier: MIT
 *
 * perm_span.c: a permutation at several positions at a time. task.c asks for those of many rows at once. */
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "cpu.h"
#include "perm_impl.h"

/* The rounds of LANES positions from i on. They do not depend on each other, so the CPU overlaps them. */
enum { LANES = 8 };

static void rounds_of_lanes(const leat_perm *perm, uint64_t i, uint64_t out[LANES])
{
    uint64_t l[LANES], r[LANES];
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

/* Walks on from results >= n, as leat_perm_at() does. */
static void walk_on(const leat_perm *perm, uint64_t i, uint64_t n_out, uint64_t *out)
{
    for (uint64_t k = 0; k < n_out; k++)
        if (out[k] >= perm->n)
            out[k] = leat_perm_at(perm, i + k);
}

void leat_perm_span(const leat_perm *perm, uint64_t i, uint64_t n_out, uint64_t *out)
{
    const uint64_t end = i + n_out;
    leat_check(n_out <= perm->n && i <= perm->n - n_out);
    if (perm->n > LEAT_PERM_SMALL) {
#if defined(__x86_64__)
        const bool wide = leat_cpu_level() >= LEAT_CPU_AVX512 && perm->a <= UINT32_MAX;
        for (; wide && end - i >= LEAT_PERM_LANES; i += LEAT_PERM_LANES, out += LEAT_PERM_LANES) {
            leat_perm_rounds_avx512(perm, i, out);
            walk_on(perm, i, LEAT_PERM_LANES, out);
        }
        if (wide && end - i >= LANES) { /* the last ones: more than are needed, in the same time */
            uint64_t last[LEAT_PERM_LANES];
            const uint64_t n = end - i;
            leat_perm_rounds_avx512(perm, i, last);
            walk_on(perm, i, n, last);
            memcpy(out, last, n * sizeof *out);
            return;
        }
#endif
        for (; end - i >= LANES; i += LANES, out += LANES) {
            rounds_of_lanes(perm, i, out);
            walk_on(perm, i, LANES, out);
        }
    }
    for (; i < end; i++)
        *out++ = leat_perm_at(perm, i);
}
