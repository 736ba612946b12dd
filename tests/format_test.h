/* SPDX-License-Identifier: MIT
 *
 * format_test.h: what the tests of formats/ share: CMocka, a folder of their own, random
 * numbers. */
#ifndef LEAT_FORMAT_TEST_H
#define LEAT_FORMAT_TEST_H

#include "own_folder.h"

/* A copy in a block of exactly that size, so that sanitizers see every over-read; free it. */
static inline uint8_t *copy_of(const void *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static inline uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* 0 … n - 1 */
static inline uint64_t random_below(uint64_t n)
{
    return (next_random() >> 11) % n;
}

static inline void fill_random(void *to, size_t size)
{
    uint8_t *bytes = to;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(next_random() >> 32);
}

#endif
