/* SPDX-License-Identifier: MIT
 *
 * test_scratch.c: memory of one worker: alignment, limit, marks, what is kept and its end. */
#include "base/scratch.h"
#include "fixtures/failing_malloc.h"
#include "fixtures/unit.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define LEAT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define LEAT_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define LEAT_THREAD_SANITIZER 0
#endif

TEST(pieces_are_apart_and_aligned)
{
    leat_scratch *scratch;
    uint8_t *pieces[40];
    assert_int_equal(leat_scratch_open(&scratch, 1 << 20, NULL), LEAT_OK);
    for (size_t i = 0; i < 40; i++) {
        pieces[i] = leat_scratch_take(scratch, i * 7);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 64, 0);
        memset(pieces[i], (int)i, i * 7);
    }
    for (size_t i = 0; i < 40; i++)
        for (size_t k = 0; k < i * 7; k++)
            assert_int_equal(pieces[i][k], i);
    leat_scratch_close(&scratch);
    assert_null(scratch);
    leat_scratch_close(&scratch);
}

TEST(limit_holds)
{
    leat_scratch *scratch;
    assert_int_equal(leat_scratch_open(&scratch, 8192, NULL), LEAT_OK);
    assert_null(leat_scratch_take(scratch, 8193));
    assert_null(leat_scratch_take(scratch, SIZE_MAX));
    assert_null(leat_scratch_take(scratch, SIZE_MAX - 63));
    uint8_t *all = leat_scratch_take(scratch, 8192);
    assert_non_null(all);
    all[0] = all[8191] = 1;
    assert_null(leat_scratch_take(scratch, 1));
    leat_scratch_reset(scratch);
    assert_ptr_equal(leat_scratch_take(scratch, 8130), all);
    assert_null(leat_scratch_take(scratch, 1));
    assert_int_equal(leat_scratch_most(scratch), 8192);
    leat_scratch_close(&scratch);
}

TEST(rewind_forgets_what_came_after)
{
    leat_scratch *scratch;
    assert_int_equal(leat_scratch_open(&scratch, 8192, NULL), LEAT_OK);
    uint8_t *first = leat_scratch_take(scratch, 100);
    memset(first, 7, 100);
    const size_t mark = leat_scratch_mark(scratch);
    void *second = leat_scratch_take(scratch, 1000);
    leat_scratch_rewind(scratch, mark);
    assert_ptr_equal(leat_scratch_take(scratch, 2000), second);
    for (int i = 0; i < 100; i++)
        assert_int_equal(first[i], 7);
    leat_scratch_close(&scratch);
}

typedef struct thing {
    int uses, *ends;
} thing;

static void end_of_thing(void *state)
{
    ++*((thing *)state)->ends;
}

TEST(kept_until_the_end)
{
    static const char keys[3];
    leat_scratch *scratch;
    int ends = 0;
    assert_int_equal(leat_scratch_open(&scratch, 4096, NULL), LEAT_OK);
    thing *things[3];
    for (int i = 0; i < 3; i++) {
        things[i] =
            leat_scratch_keep(scratch, &keys[i], sizeof **things, i < 2 ? end_of_thing : NULL);
        assert_non_null(things[i]);
        assert_int_equal(things[i]->uses, 0);
        assert_null(things[i]->ends);
        things[i]->ends = &ends;
        things[i]->uses = i + 1;
    }
    leat_scratch_reset(scratch);
    for (int i = 0; i < 3; i++) {
        thing *again = leat_scratch_keep(scratch, &keys[i], sizeof *again, end_of_thing);
        assert_ptr_equal(again, things[i]);
        assert_int_equal(again->uses, i + 1);
    }
    assert_int_equal(ends, 0);
    leat_scratch_close(&scratch);
    assert_int_equal(ends, 2);
}

TEST(failed_allocations)
{
    static const char key;
    leat_scratch *scratch;
    leat_error err = { 0 };
    failing_malloc_at(0);
    assert_int_equal(leat_scratch_open(&scratch, 4096, &err), LEAT_E_NOMEM);
    assert_true(failing_malloc_hit());
    assert_null(scratch);
    assert_int_equal(err.code, LEAT_E_NOMEM);
    assert_int_equal(leat_scratch_open(&scratch, SIZE_MAX / 2, &err), LEAT_E_NOMEM);
    assert_non_null(strstr(err.message, "reserve"));
    assert_null(scratch);
    assert_int_equal(leat_scratch_open(&scratch, 4096, &err), LEAT_OK);
    for (long n = 0; n < 2; n++) {
        failing_malloc_at(n);
        assert_null(leat_scratch_keep(scratch, &key, 16, NULL));
        assert_true(failing_malloc_hit());
    }
    assert_non_null(leat_scratch_keep(scratch, &key, 16, NULL));
    leat_scratch_close(&scratch);
}

/* Reserving is not committing: far more than the machine has is fine until it is touched. */
TEST(reserves_more_than_there_is)
{
    leat_scratch *scratch;
    if (LEAT_THREAD_SANITIZER)
        skip(); /* its own memory leaves no gap as large as this in the address space */
    assert_int_equal(leat_scratch_open(&scratch, (size_t)1 << 40, NULL), LEAT_OK);
    uint8_t *large = leat_scratch_take(scratch, (size_t)1 << 39);
    assert_non_null(large);
    large[0] = large[((size_t)1 << 39) - 1] = 1;
    leat_scratch_close(&scratch);
}

/* AddressSanitizer sees what is between pieces, after the last, and forgotten. */
TEST(overruns_are_seen)
{
#ifdef HAS_ASAN
    leat_scratch *scratch;
    assert_int_equal(leat_scratch_open(&scratch, 1 << 20, NULL), LEAT_OK);
    uint8_t *const a = leat_scratch_take(scratch, 128);
    const size_t mark = leat_scratch_mark(scratch);
    uint8_t *const b = leat_scratch_take(scratch, 13);
    assert_null(__asan_region_is_poisoned(a, 128));
    assert_null(__asan_region_is_poisoned(b, 13));
    assert_true(__asan_address_is_poisoned(a + 128));
    assert_true(__asan_address_is_poisoned(b - 1));
    assert_true(__asan_address_is_poisoned(b + 13));
    assert_true(__asan_address_is_poisoned(b + 5000));
    leat_scratch_rewind(scratch, mark);
    assert_null(__asan_region_is_poisoned(a, 128));
    assert_true(__asan_address_is_poisoned(b));
    leat_scratch_reset(scratch);
    assert_true(__asan_address_is_poisoned(a));
    assert_ptr_equal(leat_scratch_take(scratch, 7), a);
    assert_null(__asan_region_is_poisoned(a, 7));
    assert_true(__asan_address_is_poisoned(a + 7));
    leat_scratch_close(&scratch);
    assert_false(__asan_address_is_poisoned(a + 7));
#else
    skip();
#endif
}

TEST(as_much_as_there_is)
{
    leat_scratch *scratch;
    leat_error err;
    if (LEAT_THREAD_SANITIZER)
        skip(); /* as above */
    assert_int_equal(leat_scratch_open_within(&scratch, 1000, (size_t)1 << 62, &err), LEAT_OK);
    assert_non_null(leat_scratch_take(scratch, 1000));
    assert_null(leat_scratch_take(scratch, (size_t)1 << 61));
    leat_scratch_close(&scratch);
    assert_int_equal(leat_scratch_open_within(&scratch, (size_t)1 << 61, (size_t)1 << 62, &err),
                     LEAT_E_NOMEM);
    assert_null(scratch);
    assert_non_null(strstr(err.message, "cannot reserve 2305843009213693952 bytes: "));
    assert_non_null(
        strstr(err.message, "; raise the limits of memory (ulimit -v, ulimit -d), or "));
    assert_int_equal(leat_scratch_open_within(&scratch, 5000, 100, &err), LEAT_OK);
    assert_non_null(leat_scratch_take(scratch, 5000));
    leat_scratch_close(&scratch);
}
