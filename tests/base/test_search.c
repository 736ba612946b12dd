/* SPDX-License-Identifier: MIT
 *
 * test_search.c: every position of lists of every length up to 70, with equal keys, against a walk from the start. */
#include "base/search.h"
#include "fixtures/unit.h"

enum { MOST = 70 };

typedef struct entry {
    char name[3];
    uint64_t first;
} entry;

TEST(finds_what_a_walk_finds)
{
    entry list[MOST];
    for (size_t n = 1; n <= MOST; n++) {
        for (size_t i = 0; i < n; i++)
            list[i] = (entry){ .first = 3 + i / 2 * 5 };
        for (uint64_t x = 0; x < 3 + 5 * n; x++) {
            size_t walked = 0;
            while (walked + 1 < n && list[walked + 1].first <= x)
                walked++;
            assert_int_equal(LEAT_SEARCH_LAST(list, first, n, x), walked);
        }
        assert_int_equal(LEAT_SEARCH_LAST(list, first, n, UINT64_MAX), n - 1);
    }
}

TEST(an_empty_list_has_none)
{
    const uint64_t keys[1] = { 0 };
    assert_int_equal(leat_search_last(keys, sizeof *keys, 0, 5), 0);
}
