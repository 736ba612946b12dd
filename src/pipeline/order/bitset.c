/* SPDX-License-Identifier: MIT */
#include "bitset.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/digest.h"
#include "base/search.h"

#define BLOCK 512 /* numbers, and members, per entry */
#define WORDS (BLOCK / 64)

static uint64_t n_blocks(uint64_t n)
{
    return n / BLOCK + (n % BLOCK != 0);
}

int leat_bitset_open(leat_bitset **out, uint64_t n, leat_error *err)
{
    leat_bitset *set = calloc(1, sizeof *set);
    *out = NULL;
    if (set) {
        set->n = n;
        set->words = calloc(n_blocks(n) + 1, WORDS * sizeof *set->words);
        set->before = calloc(n_blocks(n) + 1, sizeof *set->before);
    }
    if (!set || !set->words || !set->before) {
        leat_bitset_close(&set);
        return leat_fail(err, LEAT_E_NOMEM, "a set of %llu numbers", (unsigned long long)n);
    }
    *out = set;
    return LEAT_OK;
}

void leat_bitset_close(leat_bitset **out)
{
    leat_bitset *const set = *out;
    *out = NULL;
    if (!set)
        return;
    free(set->words);
    free(set->before);
    free(set->blocks);
    free(set);
}

uint64_t leat_bitset_bytes(const leat_bitset *set)
{
    return sizeof *set + (n_blocks(set->n) + 1) * (WORDS + 1) * sizeof *set->words +
           (n_blocks(set->n_members) + 1) * sizeof *set->blocks;
}

uint64_t leat_bitset_digest(const leat_bitset *set)
{
    return leat_digest_row(set->words, n_blocks(set->n) * WORDS * sizeof *set->words, set->n);
}

void leat_bitset_add(leat_bitset *set, uint64_t i)
{
    leat_check(i < set->n);
    set->words[i / 64] |= (uint64_t)1 << i % 64;
}

static unsigned count_bits(uint64_t word)
{
    return (unsigned)__builtin_popcountll(word);
}

int leat_bitset_finish(leat_bitset *set, leat_error *err)
{
    const uint64_t n = n_blocks(set->n);
    set->n_members = 0;
    for (uint64_t b = 0; b < n; b++) {
        set->before[b] = set->n_members;
        for (int w = 0; w < WORDS; w++)
            set->n_members += count_bits(set->words[b * WORDS + (uint64_t)w]);
    }
    set->before[n] = set->n_members;
    set->blocks = calloc(n_blocks(set->n_members) + 1, sizeof *set->blocks);
    if (!set->blocks)
        return leat_fail(err, LEAT_E_NOMEM, "a set of %llu numbers", (unsigned long long)set->n);
    for (uint64_t b = 0, i = 0; b < n; b++)
        for (; i * BLOCK < set->before[b + 1]; i++)
            set->blocks[i] = b;
    set->blocks[n_blocks(set->n_members)] = n ? n - 1 : 0;
    return LEAT_OK;
}

/* Returns the position of the i-th set bit of a word, i from 0. */
static uint64_t bit_place(uint64_t word, uint64_t i)
{
    uint64_t at = 0;
    for (unsigned half = 32; half; half /= 2) {
        const uint64_t low = word & (((uint64_t)1 << half) - 1);
        const unsigned n = count_bits(low);
        if (i >= n) {
            i -= n;
            at += half;
            word >>= half;
        } else {
            word = low;
        }
    }
    return at;
}

uint64_t leat_bitset_member(const leat_bitset *set, uint64_t i)
{
    leat_check(i < set->n_members && set->blocks);
    const uint64_t from = set->blocks[i / BLOCK], to = set->blocks[i / BLOCK + 1];
    const uint64_t *const before = &set->before[from];
    const uint64_t block = from + leat_search_last(before, sizeof *before, to - from + 1, i);
    uint64_t left = i - set->before[block], word = block * WORDS;
    for (unsigned n; left >= (n = count_bits(set->words[word])); word++)
        left -= n;
    return word * 64 + bit_place(set->words[word], left);
}
