/* SPDX-License-Identifier: MIT
 *
 * search.h: finds the part of a sorted list that holds a position. Orders and sources call it. */
#ifndef LEAT_SEARCH_H
#define LEAT_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Index of the last of n entries whose key is at most x; 0 if there is none. Keys ascend.
 *
 * key    of the first entry; entries are `stride` bytes apart */
static inline size_t leat_search_last(const uint64_t *key, size_t stride, size_t n, uint64_t x)
{
    size_t low = 0, high = n;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (*(const uint64_t *)(const void *)((const char *)key + middle * stride) <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The same, by a uint64_t field of the entries. */
#define LEAT_SEARCH_LAST(list, field, n, x) leat_search_last(&(list)->field, sizeof *(list), n, x)

#endif
