/* SPDX-License-Identifier: MIT
 *
 * test_bitset.c: a set finds its members, and knows what memory it takes. */
#include "fixtures/engine_fixture.h"

#include <malloc.h>

#include "pipeline/order/bitset.h"

TEST(a_set_finds_its_members)
{
    static const uint64_t sizes[] = { 0, 1, 63, 64, 65, 511, 512, 513, 5000, 262144, 300001 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint64_t one_in = 1; one_in < 3000; one_in = one_in * 3 + 1) {
            leat_bitset *set;
            leat_error err;
            uint64_t k = 0;
            leat_rng rng = leat_rng_make(s, one_in, 0, 0);
            check(leat_bitset_open(&set, sizes[s], &err), &err);
            for (uint64_t i = 0; i < sizes[s]; i++)
                if (leat_rng_below(&rng, (uint32_t)one_in) == 0 && i / 4096 % 3 != 1)
                    leat_bitset_add(set, i);
            check(leat_bitset_finish(set, &err), &err);
            for (uint64_t i = 0; i < sizes[s]; i++)
                if (set->words[i / 64] >> i % 64 & 1)
                    assert_int_equal(leat_bitset_member(set, k++), i);
            assert_int_equal(k, set->n_members);
            leat_bitset_close(&set);
        }
}

TEST(a_set_knows_what_it_takes)
{
    for (uint64_t n = 0; n < 300000; n = n * 3 + 1)
        for (uint64_t step = 1; step < 100; step += 49) {
            leat_bitset *set;
            leat_error err;
            check(leat_bitset_open(&set, n, &err), &err);
            for (uint64_t i = 0; i < n; i += step)
                leat_bitset_add(set, i);
            check(leat_bitset_finish(set, &err), &err);
            const size_t taken = malloc_usable_size(set) + malloc_usable_size(set->words) +
                                 malloc_usable_size(set->before) + malloc_usable_size(set->blocks);
            assert_true(leat_bitset_bytes(set) <= taken);
            assert_true(leat_bitset_bytes(set) + 4 * 4096 >= taken); /* malloc rounds up */
            assert_true(leat_bitset_bytes(set) >= n * 9 / 64);
            leat_bitset_close(&set);
        }
}
