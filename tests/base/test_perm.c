/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>

#include "base/cpu.h"
#include "base/perm.c" /* for the steps that inverse() takes backwards */
#include "fixtures/unit.h"

static uint64_t rounds_back(const leat_perm *perm, uint64_t x)
{
    uint64_t l = x / perm->b, r = x % perm->b;
    for (int i = LEAT_PERM_ROUNDS - 2; i >= 0; i -= 2) {
        r = add_modulo(r, perm->b - keyed(perm->keys[i + 1], l, perm->b), perm->b);
        l = add_modulo(l, perm->a - keyed(perm->keys[i], r, perm->a), perm->a);
    }
    return l * perm->b + r;
}

/* The position of a record, which shows that no other position has it. */
static uint64_t inverse(const leat_perm *perm, uint64_t record)
{
    uint64_t i = 0;
    while (perm->n <= LEAT_PERM_SMALL && perm->table[i] != record)
        i++;
    if (perm->n <= LEAT_PERM_SMALL)
        return i;
    do
        record = rounds_back(perm, record);
    while (record >= perm->n);
    return record;
}

static void check_bijection(uint64_t n, uint64_t seed)
{
    const leat_perm perm = leat_perm_make(n, seed, 2, 0);
    uint8_t *seen = calloc(n ? n : 1, 1);
    assert_non_null(seen);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t record = leat_perm_at(&perm, i);
        if (record >= n || seen[record]++ || inverse(&perm, record) != i)
            fail_msg("n = %llu, i = %llu: record %llu", (unsigned long long)n,
                     (unsigned long long)i, (unsigned long long)record);
    }
    free(seen);
}

TEST(every_record_once)
{
    for (uint64_t n = 0; n <= 300; n++)
        for (uint64_t seed = 0; seed < 5; seed++)
            check_bijection(n, seed);
}

TEST(around_squares_and_powers)
{
    for (uint64_t root = 17; root <= 264; root += 13)
        for (uint64_t n = root * root - 1; n <= root * root + 1; n++)
            check_bijection(n, root);
    for (uint64_t root = 17; root <= 264; root += 13)
        check_bijection(root * (root + 1) + 1, root); /* the other factor steps */
    for (uint64_t power = 256; power <= 65536; power *= 2)
        for (uint64_t n = power - 1; n <= power + 1; n++)
            check_bijection(n, power);
}

TEST(large_numbers)
{
    static const uint64_t sizes[] = {
        1000000,
        1281167,
        1000000000,
        ((uint64_t)1 << 32) - 1,
        (uint64_t)1 << 32,
        ((uint64_t)1 << 32) + 1,
        1000000000000,
        ((uint64_t)1 << 48) - 1,
        (uint64_t)1 << 48,
        ((uint64_t)1 << 48) + 1,
        ((uint64_t)1 << 62) + 12345,
        UINT64_MAX - 1,
        UINT64_MAX,
    };
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const uint64_t n = sizes[k];
        const leat_perm perm = leat_perm_make(n, 3, 1, 0);
        double mean = 0;
        const int n_asked = 2000;
        assert_true(perm.a >= perm.b && perm.a - perm.b <= 1);
        for (int i = 0; i < n_asked; i++) {
            const uint64_t at = i < 500    ? (uint64_t)i
                                : i < 1000 ? n - 1 - (uint64_t)(i - 500)
                                           : n / 1000 * (uint64_t)(i - 1000);
            const uint64_t record = leat_perm_at(&perm, at);
            assert_true(record < n);
            assert_true(inverse(&perm, record) == at);
            assert_true(leat_perm_at(&perm, inverse(&perm, at)) == at);
            mean += (double)record / (double)n / n_asked;
        }
        assert_true(fabs(mean - 0.5) < 4 / sqrt(12 * n_asked));
    }
}

/* Several positions at a time are what they are one by one: on every CPU level, at both ends and in the
 * middle, for small n all of them. */
static void check_span(const leat_perm *perm, uint64_t i, uint64_t n)
{
    uint64_t records[300];
    assert_true(n <= 300);
    leat_perm_span(perm, i, n, records);
    for (uint64_t k = 0; k < n; k++)
        if (records[k] != leat_perm_at(perm, i + k))
            fail_msg("n = %llu, i = %llu at %s", (unsigned long long)perm->n,
                     (unsigned long long)(i + k), leat_cpu_name(leat_cpu_level()));
}

TEST(spans_are_single_positions)
{
    static const uint64_t sizes[] = { 1000,
                                      65536,
                                      1281167,
                                      ((uint64_t)1 << 32) + 1,
                                      ((uint64_t)1 << 62) + 12345,
                                      UINT64_MAX - ((uint64_t)1 << 33),
                                      UINT64_MAX };
    for (int level = 0; level <= leat_cpu_best(); level++) {
        leat_cpu_use(level);
        for (uint64_t n = 0; n <= 300; n++) {
            const leat_perm perm = leat_perm_make(n, n, 1, 0);
            check_span(&perm, 0, n);
            check_span(&perm, n / 3, n - n / 3);
        }
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const leat_perm perm = leat_perm_make(sizes[k], 5, 2, 0);
            for (uint64_t part = 0; part < 50; part++)
                check_span(&perm, sizes[k] / 51 * part, 17 + part);
            check_span(&perm, sizes[k] - 300, 300);
        }
    }
    leat_cpu_use(leat_cpu_best());
}

/* --- is it random? Sums of squares against their expectation, as a number of deviations -------- */

static double deviations(const uint32_t *counts, size_t n, double expected, double freedom)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return (sum - freedom) / sqrt(2 * freedom);
}

static void check_places(uint64_t n, uint64_t n_orders, bool by_epoch)
{
    uint32_t *counts = calloc(n * n, sizeof *counts);
    assert_non_null(counts);
    for (uint64_t k = 0; k < n_orders; k++) {
        const leat_perm perm = leat_perm_make(n, by_epoch ? 1 : k, by_epoch ? k : 1, 0);
        for (uint64_t i = 0; i < n; i++)
            counts[i * n + leat_perm_at(&perm, i)]++;
    }
    const double z =
        deviations(counts, n * n, (double)n_orders / (double)n, (double)(n - 1) * (double)(n - 1));
    free(counts);
    if (!(fabs(z) < 4))
        fail_msg("places of n = %llu: %.1f deviations", (unsigned long long)n, z);
}

TEST(every_record_is_as_likely_at_every_place)
{
    static const uint64_t sizes[] = { 2, 3, 5, 17, 64, 65, 72, 100, 257 };
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        check_places(sizes[k], 50 * sizes[k], false);
        check_places(sizes[k], 50 * sizes[k], true);
    }
    check_places(1000, 8000, false);
}

TEST(neighbours_differ_by_anything)
{
    static const uint64_t sizes[] = { 5, 17, 33, 64, 65, 100, 257, 1000 };
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const uint64_t n = sizes[k], n_orders = 400000 / n;
        uint32_t counts[1000] = { 0 };
        for (uint64_t seed = 0; seed < n_orders; seed++) {
            const leat_perm perm = leat_perm_make(n, seed, 1, 0);
            for (uint64_t i = 0; i < n; i++) {
                const uint64_t a = leat_perm_at(&perm, i), b = leat_perm_at(&perm, (i + 1) % n);
                counts[(b + n - a) % n]++;
            }
        }
        assert_int_equal(counts[0], 0);
        const double expected = (double)(n_orders * n) / (double)(n - 1);
        const double z = deviations(counts + 1, n - 1, expected, (double)(n - 2));
        if (!(fabs(z) < 4))
            fail_msg("neighbours of n = %llu: %.1f deviations", (unsigned long long)n, z);
    }
}

/* The rank of an order among all n! of them. */
static uint32_t rank_of(const leat_perm *perm)
{
    uint32_t rank = 0;
    for (uint64_t i = 0; i < perm->n; i++) {
        uint32_t smaller = 0;
        for (uint64_t j = i + 1; j < perm->n; j++)
            smaller += leat_perm_at(perm, j) < leat_perm_at(perm, i);
        rank = rank * (uint32_t)(perm->n - i) + smaller;
    }
    return rank;
}

TEST(all_orders_are_as_likely)
{
    static uint32_t counts[5040];
    uint32_t n_orders = 1;
    for (uint64_t n = 2; n <= 7; n++) {
        n_orders *= (uint32_t)n;
        memset(counts, 0, sizeof counts);
        for (uint64_t seed = 0; seed < 20 * n_orders; seed++) {
            const leat_perm perm = leat_perm_make(n, seed, 1, 0);
            counts[rank_of(&perm)]++;
        }
        const double z = deviations(counts, n_orders, 20, n_orders - 1);
        if (!(fabs(z) < 4))
            fail_msg("orders of n = %llu: %.1f deviations", (unsigned long long)n, z);
    }
}

/* --- which order ------------------------------------------------------------------------------ */

static uint64_t places_alike(const leat_perm *x, const leat_perm *y)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < x->n; i++)
        n += leat_perm_at(x, i) == leat_perm_at(y, i);
    return n;
}

TEST(seed_epoch_and_purpose_decide)
{
    static const struct {
        uint64_t seed, epoch;
        uint32_t purpose;
    } orders[] = {
        { 0, 0, 0 },
        { 1, 0, 0 },
        { 0, 1, 0 },
        { 0, 0, 1 },
        { (uint64_t)1 << 32, 0, 0 },
        { 0, (uint64_t)1 << 32, 0 },
        { 0, 0, UINT32_MAX },
        { UINT64_MAX, 0, 0 },
        { 0, UINT64_MAX, 0 },
        { 1, 1, 0 },
        { 2, 0, 0 },
    };
    const size_t n_orders = sizeof orders / sizeof *orders;
    for (uint64_t n = 60; n <= 1000; n += 940)
        for (size_t i = 0; i < n_orders; i++)
            for (size_t j = 0; j < n_orders; j++) {
                const leat_perm x =
                    leat_perm_make(n, orders[i].seed, orders[i].epoch, orders[i].purpose);
                const leat_perm y =
                    leat_perm_make(n, orders[j].seed, orders[j].epoch, orders[j].purpose);
                const uint64_t alike = places_alike(&x, &y);
                if (i == j ? alike != n : alike > 8) /* one is expected */
                    fail_msg("orders %zu and %zu: %llu places alike", i, j,
                             (unsigned long long)alike);
            }
}

/* Runs are resumed and compared across versions, so an order must never change. */
TEST(orders_stay_what_they_are)
{
    static const uint64_t small[10] = { 0, 6, 7, 1, 9, 2, 4, 5, 8, 3 };
    static const uint64_t large[10] = { 285718, 238988, 1117515, 746207, 1259544,
                                        574158, 469830, 571579,  897700, 22787 };
    const leat_perm p = leat_perm_make(10, 1, 0, 0);
    const leat_perm q = leat_perm_make(1281167, 42, 3, 0);
    for (uint64_t i = 0; i < 10; i++) {
        assert_int_equal(leat_perm_at(&p, i), small[i]);
        assert_int_equal(leat_perm_at(&q, i * 100000), large[i]);
    }
}
