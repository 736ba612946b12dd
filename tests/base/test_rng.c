/* SPDX-License-Identifier: MIT
 *
 * test_rng.c: the generator's published vectors, its ranges and distributions, and that streams
 * have nothing in common. */
#include <float.h>
#include <math.h>

#include "fixtures/unit.h"
#include "leat/rng.h"

/* From Random123's known answers for philox4x32-10: zeros, ones, and the digits of pi. */
TEST(published_vectors)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } vectors[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
          { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint32_t out[4];
        leat_philox(vectors[i].key, vectors[i].counter, out);
        assert_memory_equal(out, vectors[i].out, sizeof out);
    }
}

TEST(words_come_in_order)
{
    leat_rng rng = leat_rng_make(0, 0, 0, 0);
    uint32_t expected[4];
    for (uint32_t block = 0; block < 3; block++) {
        leat_philox((uint32_t[]){ 0, 0 }, (uint32_t[]){ block, 0, 0, 0 }, expected);
        for (int i = 0; i < 4; i++)
            assert_int_equal(leat_rng_u32(&rng), expected[i]);
    }
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Seeds, records, epochs and streams around every limit of their fields: all first draws differ. */
TEST(streams_differ)
{
    static const uint64_t seeds[] = { 0, 1, 0xffffffff, 0x100000000, UINT64_MAX };
    static const uint64_t records[] = { 0, 1, 2, 0xffff, 0xffffffff, 0x100000000, 0xffffffffffff };
    static const uint64_t epochs[] = { 0, 1, 2, 0xffff, 0x10000, 0x10001, 0xffffffff };
    static const uint32_t streams[] = { 0, 1, 2, 256, 0xffff };
    static uint64_t seen[5 * 7 * 7 * 5];
    size_t n = 0;
    for (size_t a = 0; a < 5; a++)
        for (size_t b = 0; b < 7; b++)
            for (size_t c = 0; c < 7; c++)
                for (size_t d = 0; d < 5; d++) {
                    leat_rng rng = leat_rng_make(seeds[a], records[b], epochs[c], streams[d]);
                    const leat_rng other = leat_rng_in_epoch(&rng, epochs[a]);
                    const leat_rng made =
                        leat_rng_make(seeds[a], records[b], epochs[a], streams[d]);
                    assert_memory_equal(&other, &made, sizeof made);
                    assert_int_equal(leat_rng_epoch(&rng), epochs[c]);
                    const uint64_t high = leat_rng_u32(&rng);
                    seen[n++] = high << 32 | leat_rng_u32(&rng);
                }
    qsort(seen, n, sizeof *seen, compare_u64);
    for (size_t i = 1; i < n; i++)
        assert_true(seen[i] != seen[i - 1]);
}

/* Chi-square over n cells; its mean is n - 1, its deviation √(2 (n - 1)). */
TEST(below_is_uniform)
{
    static const uint32_t sizes[] = { 1, 2, 3, 5, 7, 10, 64, 100, 257, 1000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t n = sizes[i];
        const double expected = 200;
        leat_rng rng = leat_rng_make(3, n, 0, 0);
        uint32_t *counts = calloc(n, sizeof *counts);
        double chi = 0;
        for (uint32_t k = 0; k < n * 200; k++) {
            const uint32_t x = leat_rng_below(&rng, n);
            assert_true(x < n);
            counts[x]++;
        }
        for (uint32_t k = 0; k < n; k++)
            chi += (counts[k] - expected) * (counts[k] - expected) / expected;
        assert_true(fabs(chi - (n - 1)) <= 4.5 * sqrt(2.0 * n) + 2);
        free(counts);
    }
}

/* Where 2^32 mod n is large, a plain multiplication favours some values by up to a half. */
TEST(below_has_no_bias)
{
    const uint32_t n = 0xc0000000; /* 3/4 of 2^32: without rejection, thirds get 1/4, 1/4 and 1/2 */
    leat_rng rng = leat_rng_make(5, 0, 0, 0);
    int thirds[3] = { 0 };
    for (int i = 0; i < 30000; i++) {
        const uint32_t x = leat_rng_below(&rng, n);
        assert_true(x < n);
        thirds[x % 3]++;
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(thirds[i], 9600, 10400);
}

TEST(floats_fill_their_range)
{
    enum { N = 100000 };
    leat_rng rng = leat_rng_make(1, 2, 3, 4);
    double sum = 0, least = 1, most = 0;
    for (int i = 0; i < N; i++) {
        const float x = leat_rng_f32(&rng);
        assert_true(x >= 0 && x < 1);
        sum += (double)x;
        least = fmin(least, (double)x);
        most = fmax(most, (double)x);
    }
    assert_true(fabs(sum / N - 0.5) < 0.005);
    assert_true(least < 0.0002 && most > 0.9998);
    for (int i = 0; i < N; i++) {
        const float x = leat_rng_range(&rng, -0.3f, 0.7f);
        assert_true(x >= -0.3f && x < 0.7f);
        const float narrow = leat_rng_range(&rng, 1, nextafterf(1, 2));
        assert_true(narrow == 1);
    }
    assert_true(leat_rng_range(&rng, 2, 2) == 2);
}

/* Wider than the largest float. */
TEST(the_widest_ranges_are_filled)
{
    enum { N = 40000, PARTS = 8 };
    static const float ranges[][2] = { { -3e38f, 3e38f },
                                       { -FLT_MAX, FLT_MAX },
                                       { -FLT_MAX, 1e38f } };
    leat_rng rng = leat_rng_make(9, 0, 0, 0);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const float low = ranges[i][0], high = ranges[i][1];
        int parts[PARTS] = { 0 };
        for (int k = 0; k < N; k++) {
            const float x = leat_rng_range(&rng, low, high);
            assert_true(x >= low && x < high);
            parts[(int)(((double)x - (double)low) / ((double)high - (double)low) * PARTS)]++;
        }
        for (int k = 0; k < PARTS; k++)
            assert_in_range(parts[k], N / PARTS - 300, N / PARTS + 300);
    }
}

TEST(normal_has_its_moments)
{
    enum { N = 100000 };
    leat_rng rng = leat_rng_make(7, 0, 0, 0);
    double sums[5] = { 0 };
    for (int i = 0; i < N; i++) {
        const double x = (double)leat_rng_normal(&rng);
        assert_true(isfinite(x));
        for (int k = 1; k <= 4; k++)
            sums[k] += pow(x, k) / N;
    }
    assert_true(fabs(sums[1]) < 0.015);
    assert_true(fabs(sums[2] - 1) < 0.02);
    assert_true(fabs(sums[3]) < 0.05);
    assert_true(fabs(sums[4] - 3) < 0.15);
}
