/* SPDX-License-Identifier: MIT
 *
 * perm.c: a keyed permutation.
 *
 * DESIGN. A Feistel network over Z_a × Z_b (Black and Rogaway, "Ciphers with Arbitrary Finite Domains",
 * 2002). x = l·b + r. Even rounds add a keyed hash of r to l modulo a; odd rounds add a keyed hash of l
 * to r modulo b. Subtracting the same hash inverts a round. With a = ⌈√n⌉ and b = ⌈n/a⌉, the domain
 * exceeds n by less than a. While a result is ≥ n, the rounds run again ("cycle walking"). So the result
 * is a bijection of 0 … n-1.
 *
 * In small domains the rounds cannot reach all orders: with a = b = 3, each round is an even
 * permutation. So a small permutation is a shuffled table. */
#include "perm.h"

#include <math.h>
#include <stdbool.h>

#include "check.h"
#include "perm_impl.h"

#include "leat/rng.h"

/* Uses the last counters of Philox, which draws of ops never reach. So an order shares no random number
 * with an augmentation of the same seed. */
static leat_rng order_rng(uint64_t seed, uint64_t epoch, uint32_t purpose)
{
    return (leat_rng){
        .key = { (uint32_t)seed, (uint32_t)(seed >> 32) },
        .counter = { 0xffff0000u, purpose, (uint32_t)epoch, (uint32_t)(epoch >> 32) },
    };
}

static bool squares_to(uint64_t root, uint64_t n)
{
    return root >= n / root + (n % root != 0);
}

/* Returns ⌈√n⌉ for n ≥ 4. The square of the root may not fit in 64 bits. */
static uint64_t root_up(uint64_t n)
{
    uint64_t root = (uint64_t)sqrt((double)n);
    while (squares_to(root - 1, n))
        root--;
    while (!squares_to(root, n))
        root++;
    return root;
}

/* Fills the table by a Fisher-Yates shuffle. */
static void shuffle_table(leat_perm *perm, leat_rng *rng)
{
    const uint32_t n = (uint32_t)perm->n;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = leat_rng_below(rng, i + 1);
        perm->table[i] = perm->table[j];
        perm->table[j] = (uint8_t)i;
    }
}

leat_perm leat_perm_make(uint64_t n, uint64_t seed, uint64_t epoch, uint32_t purpose)
{
    leat_perm perm = { .n = n };
    leat_rng rng = order_rng(seed, epoch, purpose);
    if (n <= LEAT_PERM_SMALL) {
        shuffle_table(&perm, &rng);
        return perm;
    }
    perm.a = root_up(n);
    perm.b = n / perm.a + (n % perm.a != 0);
    for (int i = 0; i < LEAT_PERM_ROUNDS; i++) {
        const uint64_t high = leat_rng_u32(&rng);
        perm.keys[i] = high << 32 | leat_rng_u32(&rng);
    }
    return perm;
}

static uint64_t rounds(const leat_perm *perm, uint64_t x)
{
    uint64_t l = x / perm->b, r = x % perm->b;
    for (int i = 0; i < LEAT_PERM_ROUNDS; i += 2) {
        l = add_modulo(l, keyed(perm->keys[i], r, perm->a), perm->a);
        r = add_modulo(r, keyed(perm->keys[i + 1], l, perm->b), perm->b);
    }
    return l * perm->b + r;
}

uint64_t leat_perm_at(const leat_perm *perm, uint64_t i)
{
    leat_check(i < perm->n);
    if (perm->n <= LEAT_PERM_SMALL)
        return perm->table[i];
    do
        i = rounds(perm, i);
    while (i >= perm->n);
    return i;
}
