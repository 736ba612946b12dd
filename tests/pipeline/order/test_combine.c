/* SPDX-License-Identifier: MIT
 *
 * test_combine.c: the arithmetic of combined sources against simple models that take the elements one by
 * one. */
#include "fixtures/unit.h"
#include "leat/rng.h"
#include "pipeline/order/combine.h"

#define PASSES 3

/* n children of those sizes, records numbered one after another. */
static leat_combine *of_sizes(size_t n, const uint64_t *sizes)
{
    leat_combine *combine;
    uint64_t first = 0;
    assert_int_equal(leat_combine_open(&combine, n, NULL), LEAT_OK);
    for (size_t i = 0; i < n; i++) {
        leat_order_init(&combine->children[i].order, sizes[i]);
        combine->children[i].first = first;
        first += sizes[i] == LEAT_ENDLESS ? 1000000 : sizes[i];
    }
    return combine;
}

static void expect(const leat_combine *c, uint64_t p, uint64_t pass, size_t child, uint64_t element,
                   uint64_t epoch)
{
    const leat_combine_place got = leat_combine_at(c, p, pass);
    if (got.child != child || got.element != element || got.epoch != epoch)
        fail_msg("position %llu of pass %llu: child %zu, element %llu, epoch %llu; expected %zu, "
                 "%llu, %llu",
                 (unsigned long long)p, (unsigned long long)pass, got.child,
                 (unsigned long long)got.element, (unsigned long long)got.epoch, child,
                 (unsigned long long)element, (unsigned long long)epoch);
}

/* --- concat -------------------------------------------------------------------------------------- */

TEST(concat_is_one_after_another)
{
    for (uint64_t round = 0; round < 300; round++) {
        leat_rng rng = leat_rng_make(1, round, 0, 0);
        uint64_t sizes[20], p = 0;
        size_t bad;
        const size_t n = 1 + leat_rng_below(&rng, 20);
        for (size_t i = 0; i < n; i++)
            sizes[i] = 1 + leat_rng_below(&rng, 9);
        leat_combine *c = of_sizes(n, sizes);
        assert_int_equal(leat_combine_concat(c, &bad, NULL), LEAT_OK);
        for (size_t i = 0; i < n; i++)
            for (uint64_t q = 0; q < sizes[i]; q++)
                expect(c, p++, round, i, q, round);
        assert_int_equal(c->n_elements, p);
        leat_combine_close(&c);
    }
}

TEST(only_the_last_may_have_no_end)
{
    size_t bad = 9;
    leat_combine *c = of_sizes(3, (uint64_t[]){ 4, 5, LEAT_ENDLESS });
    assert_int_equal(leat_combine_concat(c, &bad, NULL), LEAT_OK);
    assert_true(c->n_elements == LEAT_ENDLESS);
    expect(c, 9 + 1234567890123, 0, 2, 1234567890123, 0);
    leat_combine_close(&c);
    c = of_sizes(3, (uint64_t[]){ 4, LEAT_ENDLESS, 5 });
    assert_int_equal(leat_combine_concat(c, &bad, NULL), LEAT_E_CONFIG);
    assert_int_equal(bad, 2);
    leat_combine_close(&c);
}

/* --- mix ----------------------------------------------------------------------------------------- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* Every prefix, over two periods and a half, is within one of the exact share. */
static void check_shares(size_t n, const uint64_t *weights)
{
    uint64_t sizes[LEAT_COMBINE_MAX] = { 0 }, given[LEAT_COMBINE_MAX] = { 0 }, t = 0;
    for (size_t i = 0; i < n; i++) {
        sizes[i] = LEAT_ENDLESS;
        t += weights[i];
    }
    leat_combine *c = of_sizes(n, sizes);
    assert_int_equal(leat_combine_mix(c, weights, LEAT_COMBINE_LONGEST, 0, NULL), LEAT_OK);
    assert_int_equal(c->period, t);
    for (uint64_t p = 0; p < t * 5 / 2; p++) {
        const leat_combine_place at = leat_combine_at(c, p, 0);
        assert_int_equal(at.element, given[at.child]);
        given[at.child]++;
        for (size_t i = 0; i < n; i++) {
            const int64_t off = (int64_t)(given[i] * t) - (int64_t)((p + 1) * weights[i]);
            if (off >= (int64_t)t || off <= -(int64_t)t)
                fail_msg("%zu children, after %llu elements child %zu (%llu of %llu) had %llu", n,
                         (unsigned long long)p + 1, i, (unsigned long long)weights[i],
                         (unsigned long long)t, (unsigned long long)given[i]);
        }
        if (p + 1 == t)
            for (size_t i = 0; i < n; i++)
                assert_int_equal(given[i], weights[i]);
    }
    leat_combine_close(&c);
}

TEST(every_prefix_has_its_share)
{
    uint64_t weights[LEAT_COMBINE_MAX];
    for (uint64_t a = 1; a <= 30; a++)
        for (uint64_t b = 1; b <= 30; b++)
            if (gcd(a, b) == 1)
                check_shares(2, (uint64_t[]){ a, b });
    for (uint64_t round = 0; round < 400; round++) {
        leat_rng rng = leat_rng_make(2, round, 0, 0);
        const size_t n = 1 + leat_rng_below(&rng, round % 8 ? 12 : 60);
        const uint32_t most = round % 3 ? 1 + leat_rng_below(&rng, 30) : 1;
        for (size_t i = 0; i < n; i++)
            weights[i] = 1 + leat_rng_below(&rng, most);
        weights[0] += round % 5 ? 0 : 300; /* one that dwarfs the rest */
        check_shares(n, weights);
    }
}

TEST(the_longest_period_holds_too)
{
    uint64_t weights[] = { 1, 2, 32765, 32767, 1 };
    weights[4] = LEAT_COMBINE_PERIOD - 1 - 2 - 32765 - 32767;
    check_shares(5, weights);
}

/* Elements dealt by the pattern: each child counts on, over passes. */
TEST(a_child_goes_round_by_itself)
{
    static const leat_combine_stop stops[] = { LEAT_COMBINE_LONGEST, LEAT_COMBINE_SHORTEST,
                                               LEAT_COMBINE_COUNT };
    for (uint64_t round = 0; round < 600; round++) {
        leat_rng rng = leat_rng_make(3, round, 0, 0);
        uint64_t sizes[6], weights[6], given[6] = { 0 };
        const size_t n = 1 + leat_rng_below(&rng, 6);
        const leat_combine_stop stop = stops[round % 3];
        for (size_t i = 0; i < n; i++) {
            sizes[i] = 1 + leat_rng_below(&rng, 40);
            weights[i] = 1 + leat_rng_below(&rng, 7);
        }
        leat_combine *c = of_sizes(n, sizes);
        const uint64_t count = 1 + leat_rng_below(&rng, 100);
        assert_int_equal(leat_combine_mix(c, weights, stop, count, NULL), LEAT_OK);
        for (uint64_t pass = 0; pass < PASSES; pass++) {
            uint64_t in_pass[6] = { 0 };
            size_t n_short = n; /* children that have not come up whole in this pass */
            for (uint64_t p = 0; p < c->n_elements; p++) {
                const size_t child = leat_combine_at(c, p, pass).child;
                if (stop == LEAT_COMBINE_SHORTEST)
                    assert_true(in_pass[child] < sizes[child]);
                if (stop == LEAT_COMBINE_LONGEST)
                    assert_true(n_short > 0);
                expect(c, p, pass, child, given[child] % sizes[child], given[child] / sizes[child]);
                given[child]++;
                n_short -= ++in_pass[child] == sizes[child];
            }
            if (stop == LEAT_COMBINE_LONGEST)
                assert_int_equal(n_short, 0);
            if (stop == LEAT_COMBINE_COUNT)
                assert_int_equal(c->n_elements, count);
        }
        if (stop == LEAT_COMBINE_SHORTEST) { /* the next one would be too many */
            uint64_t had = 0;
            const size_t child = c->table[c->n_elements % c->period].child;
            for (uint64_t p = 0; p < c->n_elements; p++)
                had += leat_combine_at(c, p, 0).child == child;
            assert_int_equal(had, sizes[child]);
        }
        leat_combine_close(&c);
    }
}

TEST(a_mix_with_an_endless_child)
{
    const uint64_t sizes[] = { 10, LEAT_ENDLESS }, weights[] = { 1, 3 };
    leat_combine *c = of_sizes(2, sizes);
    assert_int_equal(leat_combine_mix(c, weights, LEAT_COMBINE_SHORTEST, 0, NULL), LEAT_OK);
    assert_in_range(c->n_elements, 37, 43);
    for (uint64_t pass = 0, given = 0; pass < 4; pass++) /* it goes on where it was */
        for (uint64_t p = 0; p < c->n_elements; p++)
            if (leat_combine_at(c, p, pass).child == 1)
                expect(c, p, pass, 1, given++, 0);
    leat_combine_close(&c);
    c = of_sizes(2, sizes);
    assert_int_equal(leat_combine_mix(c, weights, LEAT_COMBINE_LONGEST, 0, NULL), LEAT_OK);
    assert_true(c->n_elements == LEAT_ENDLESS);
    leat_combine_close(&c);
}

/* --- interleave ---------------------------------------------------------------------------------- */

/* Deals elements as an iterator over data sets does, one look at a time. */
static uint64_t check_interleave(const leat_combine *c, size_t n, const uint64_t *sizes,
                                 size_t cycle, uint64_t block, uint64_t most)
{
    uint64_t given[64] = { 0 }, p = 0, in_block = 0;
    int64_t places[64];
    size_t next = 0, at = 0, n_open = 0;
    for (size_t i = 0; i < cycle; i++)
        places[i] = -1;
    while ((next < n || n_open) && p < most) {
        if (places[at] < 0 && next < n) {
            places[at] = (int64_t)next++;
            n_open++;
        }
        bool turn_over = true;
        if (places[at] >= 0) {
            const size_t child = (size_t)places[at];
            if (given[child] < sizes[child]) {
                expect(c, p++, 7, child, given[child]++, 7);
                turn_over = ++in_block == block;
            } else {
                places[at] = -1;
                n_open--;
            }
        }
        if (turn_over) {
            at = (at + 1) % cycle;
            in_block = 0;
        }
    }
    return p;
}

TEST(interleave_takes_turns)
{
    for (uint64_t round = 0; round < 2000; round++) {
        leat_rng rng = leat_rng_make(4, round, 0, 0);
        uint64_t sizes[40];
        size_t bad;
        const size_t n = 1 + leat_rng_below(&rng, round % 5 ? 8 : 40);
        const uint32_t most = 1 + leat_rng_below(&rng, 60);
        const size_t cycle = 1 + leat_rng_below(&rng, 12);
        const uint64_t block = 1 + leat_rng_below(&rng, 9);
        for (size_t i = 0; i < n; i++)
            sizes[i] = (1 + leat_rng_below(&rng, most)) * (round % 3 ? 1 : block);
        leat_combine *c = of_sizes(n, sizes);
        assert_int_equal(leat_combine_interleave(c, cycle, block, &bad, NULL), LEAT_OK);
        assert_int_equal(check_interleave(c, n, sizes, cycle, block, UINT64_MAX), c->n_elements);
        leat_combine_close(&c);
    }
}

TEST(interleave_with_endless_children)
{
    size_t bad = 9;
    const uint64_t sizes[] = { 5, LEAT_ENDLESS, 9, LEAT_ENDLESS, 3 };
    leat_combine *c = of_sizes(5, sizes);
    assert_int_equal(leat_combine_interleave(c, 3, 2, &bad, NULL), LEAT_OK);
    assert_true(c->n_elements == LEAT_ENDLESS);
    check_interleave(c, 5, sizes, 3, 2, 500);
    leat_combine_close(&c);
    c = of_sizes(4, (uint64_t[]){ LEAT_ENDLESS, 2, LEAT_ENDLESS, 3 });
    assert_int_equal(leat_combine_interleave(c, 2, 1, &bad, NULL), LEAT_E_CONFIG);
    assert_int_equal(bad, 3);
    leat_combine_close(&c);
}

/* Sources without an end, in a pass that a take ends: no pass has an element of an epoch that an earlier one had. */
TEST(a_take_ends_endless_children)
{
    static leat_order_cache cache;
    for (int kind = 0; kind < 3; kind++) {
        static bool seen[9][64];
        leat_combine *c = of_sizes(2, (uint64_t[]){ 4, 5 });
        leat_order order;
        size_t bad;
        memset(seen, 0, sizeof seen);
        leat_order_add(&c->children[1].order, LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0, NULL);
        assert_int_equal(
            kind == 0   ? leat_combine_concat(c, &bad, NULL)
            : kind == 1 ? leat_combine_interleave(c, 2, 3, &bad, NULL)
                        : leat_combine_mix(c, (uint64_t[]){ 1, 2 }, LEAT_COMBINE_LONGEST, 0, NULL),
            LEAT_OK);
        leat_order_init_combined(&order, 9, c);
        assert_true(order.n_samples == LEAT_ENDLESS);
        leat_order_batch(&order, 4, true);
        leat_order_add(&order, LEAT_ORDER_TAKE, 5, 0, NULL);
        for (uint64_t b = 0; b < 20; b++) {
            const leat_order_place place = leat_order_find(&order, &cache, b);
            for (uint64_t j = 0; j < 4; j++) {
                uint64_t record, epoch;
                leat_order_row(&order, &cache, &place, j, &record, &epoch);
                assert_true(record < 9 && epoch < 64 && !seen[record][epoch]);
                seen[record][epoch] = true;
            }
        }
        for (uint64_t p = 0, given = 0; kind == 2 && p < 80; p++) /* a mix goes on where it was */
            if (leat_combine_at(c, p % 20, p / 20).child == 1)
                expect(c, p % 20, p / 20, 1, given++, 0);
        leat_combine_close(&c);
    }
}

/* Segments are as many as events, whatever the sizes. */
TEST(large_children_cost_nothing)
{
    uint64_t sizes[LEAT_COMBINE_MAX], p = 0;
    size_t bad;
    for (size_t i = 0; i < LEAT_COMBINE_MAX; i++)
        p += sizes[i] = 1000000000000 + i * i;
    leat_combine *c = of_sizes(LEAT_COMBINE_MAX, sizes);
    assert_int_equal(leat_combine_interleave(c, 16, 3, &bad, NULL), LEAT_OK);
    assert_int_equal(c->n_elements, p);
    assert_true(c->n_segments < 5 * LEAT_COMBINE_MAX);
    leat_combine_close(&c);
}

/* --- down to the records ------------------------------------------------------------------------- */

/* 20 shuffled children of one size: more than the cache remembers. */
static leat_combine *shuffled_children(uint64_t size)
{
    uint64_t sizes[20];
    size_t bad;
    for (size_t i = 0; i < 20; i++)
        sizes[i] = size;
    leat_combine *c = of_sizes(20, sizes);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(leat_order_add(&c->children[i].order, LEAT_ORDER_SHUFFLE, 5, 1, NULL),
                         LEAT_OK);
    assert_int_equal(leat_combine_interleave(c, 20, 1, &bad, NULL), LEAT_OK);
    return c;
}

TEST(each_record_once_and_each_child_in_its_own_order)
{
    static leat_order_cache cache;
    const uint64_t size = 50;
    leat_combine *c = shuffled_children(size);
    leat_order order;
    uint32_t seen[20 * 50] = { 0 }, alike = 0;
    leat_order_init_combined(&order, 20 * size, c);
    leat_order_batch(&order, 7, false);
    for (uint64_t b = 0; b < 3 * order.n_batches; b++) {
        const leat_order_place place = leat_order_find(&order, &cache, b);
        for (uint64_t j = 0; j < place.rows; j++) {
            static leat_order_cache fresh;
            uint64_t record, epoch, again, same;
            memset(&fresh, 0, sizeof fresh);
            leat_order_row(&order, &cache, &place, j, &record, &epoch);
            leat_order_row(&order, &fresh, &place, j, &again, &same);
            assert_int_equal(record, again);
            assert_int_equal(epoch, place.epoch);
            assert_true(record < 20 * size);
            assert_int_equal(seen[record]++, epoch);
        }
    }
    for (uint64_t p = 0; p < 20 * size; p += 20) { /* children 0 and 1 at the same element */
        uint64_t a = p, b = p + 1, epoch = 0;
        leat_combine_walk(c, &cache, 0, &a, &epoch);
        leat_combine_walk(c, &cache, 0, &b, &epoch);
        alike += a % size == b % size;
    }
    assert_true(alike < size / 4);
    leat_combine_close(&c);
}

/* What one config takes of an order that stays, in a combination, and another skips, without one, are the parts of one. */
TEST(an_order_that_stays_is_the_same_in_a_combination)
{
    static leat_order_cache cache;
    static const uint64_t sizes[] = { 50, 50, 7, 50 };
    leat_combine *c = of_sizes(4, sizes);
    leat_order alone;
    uint64_t first = 0;
    size_t bad;
    leat_order_init(&alone, 50);
    assert_int_equal(leat_order_add(&alone, LEAT_ORDER_SHUFFLE, 5, 0, NULL), LEAT_OK);
    for (size_t i = 0; i < 4; i++) {
        leat_order *const order = &c->children[i].order;
        if (i == 1)
            assert_int_equal(leat_order_add(order, LEAT_ORDER_SKIP, 0, 0, NULL), LEAT_OK);
        assert_int_equal(leat_order_add(order, LEAT_ORDER_SHUFFLE, 5, 0, NULL), LEAT_OK);
    }
    assert_int_equal(leat_combine_concat(c, &bad, NULL), LEAT_OK);
    for (size_t i = 0; i < 4; first += sizes[i++])
        for (uint64_t p = 0; p < 50 && i != 2; p++) {
            static leat_order_cache fresh;
            uint64_t here = p, there = first + p, epoch = 0, other = 3;
            leat_order_walk(&alone, &fresh, fresh.before, 0, &here, &epoch);
            leat_combine_walk(c, &cache, 0, &there, &other);
            assert_int_equal(there - first, here);
        }
    leat_combine_close(&c);
}

TEST(combinations_can_be_nested)
{
    static leat_order_cache cache;
    uint32_t seen[20 * 50 + 30] = { 0 };
    leat_combine *inner = shuffled_children(50), *outer;
    size_t bad;
    assert_int_equal(leat_combine_open(&outer, 2, NULL), LEAT_OK);
    leat_order_init(&outer->children[0].order, 30);
    leat_order_add(&outer->children[0].order, LEAT_ORDER_SHUFFLE, 1, 1, NULL);
    leat_order_init_combined(&outer->children[1].order, 20 * 50, inner);
    outer->children[1].first = 30;
    assert_int_equal(leat_combine_concat(outer, &bad, NULL), LEAT_OK);
    assert_int_equal(outer->n_elements, 20 * 50 + 30);
    for (uint64_t p = 0; p < outer->n_elements; p++) {
        uint64_t record = p, epoch = 3;
        leat_combine_walk(outer, &cache, 0, &record, &epoch);
        assert_int_equal(epoch, 3);
        assert_true(record < 20 * 50 + 30 && (p < 30) == (record < 30));
        assert_int_equal(seen[record]++, 0);
    }
    assert_false(leat_combine_is_static(&outer->children[1].order));
    leat_combine_close(&outer);
    leat_combine_close(&inner);
}
