/* SPDX-License-Identifier: MIT
 *
 * test_order.c: order arithmetic against a plain model that makes the lists. */
#include "fixtures/unit.h"
#include "leat/rng.h"
#include "pipeline/order/order.h"

#define MOST 6000

typedef struct element {
    uint64_t value; /* record, or number of a batch */
    uint64_t epoch;
} element;

typedef struct list {
    uint64_t n;
    element items[MOST];
} list;

/* What a step does to a list, by doing it. */
static void model_step(list *l, const leat_order_step *step, uint32_t purpose)
{
    static list out;
    out.n = 0;
    const uint64_t epochs = step->kind == LEAT_ORDER_REPEAT ? step->a : 1;
    for (uint64_t e = 0; e < epochs; e++)
        for (uint64_t i = 0; i < l->n; i++) {
            const bool keep = step->kind == LEAT_ORDER_TAKE    ? i < step->a
                              : step->kind == LEAT_ORDER_SKIP  ? i >= step->a
                              : step->kind == LEAT_ORDER_SHARD ? i % step->a == step->b
                                                               : true;
            if (keep && out.n < MOST) {
                out.items[out.n] = l->items[i];
                out.items[out.n++].epoch = e;
            }
        }
    if (step->kind == LEAT_ORDER_SHUFFLE) {
        const leat_perm perm =
            leat_perm_make(l->n, step->a, 0, step->shuffle.reshuffle ? purpose : 0);
        for (uint64_t i = 0; i < l->n; i++)
            out.items[i] = l->items[leat_perm_at(&perm, i)];
    }
    *l = out;
}

static void add_random_step(leat_order *order, leat_rng *rng, bool may_repeat)
{
    const uint32_t kind = leat_rng_below(rng, may_repeat ? 5 : 4);
    const uint64_t count = 1 + leat_rng_below(rng, 4);
    switch (kind) {
    case 0:
        leat_order_add(order, LEAT_ORDER_TAKE, leat_rng_below(rng, 60), 0, NULL);
        break;
    case 1:
        leat_order_add(order, LEAT_ORDER_SKIP, leat_rng_below(rng, 12), 0, NULL);
        break;
    case 2:
        leat_order_add(order, LEAT_ORDER_SHARD, count, leat_rng_below(rng, (uint32_t)count), NULL);
        break;
    case 3:
        /* the model knows epoch 0 only, so the order stays the same */
        leat_order_add(order, LEAT_ORDER_SHUFFLE, leat_rng_u32(rng), 0, NULL);
        break;
    default:
        leat_order_add(order, LEAT_ORDER_REPEAT, count, 0, NULL);
    }
}

TEST(steps_do_what_their_names_say)
{
    static list samples, batches;
    static leat_order_cache cache;
    for (uint64_t c = 0; c < 3000; c++) {
        leat_rng rng = leat_rng_make(5, c, 0, 0);
        leat_order order;
        const uint64_t n = leat_rng_below(&rng, 80);
        const uint64_t size = 1 + leat_rng_below(&rng, 9);
        const bool drop = leat_rng_below(&rng, 2);
        leat_order_init(&order, n);
        for (uint32_t k = leat_rng_below(&rng, 5); k; k--)
            add_random_step(&order, &rng, true);
        leat_order_batch(&order, size, drop);
        for (uint32_t k = leat_rng_below(&rng, 4); k; k--)
            add_random_step(&order, &rng, true);
        memset(&cache, 0, sizeof cache);

        samples.n = n;
        for (uint64_t i = 0; i < n; i++)
            samples.items[i] = (element){ i, 0 };
        for (int32_t i = 0; i < order.n_before; i++)
            model_step(&samples, &order.before[i], (uint32_t)i);
        assert_int_equal(samples.n, order.n_samples);
        batches.n = drop ? samples.n / size : (samples.n + size - 1) / size;
        for (uint64_t i = 0; i < batches.n; i++)
            batches.items[i] = (element){ i, 0 };
        for (int32_t i = 0; i < order.n_after; i++)
            model_step(&batches, &order.after[i], LEAT_ORDER_MAX_STEPS + (uint32_t)i);
        assert_int_equal(batches.n, order.n_batches);

        for (uint64_t b = 0; b < batches.n; b++) {
            const leat_order_place place = leat_order_find(&order, &cache, b);
            const uint64_t first = batches.items[b].value * size;
            const uint64_t rows = samples.n - first < size ? samples.n - first : size;
            assert_int_equal(place.number, batches.items[b].value);
            assert_int_equal(place.rows, rows);
            for (uint64_t j = 0; j < rows; j++) {
                uint64_t record, epoch;
                leat_order_row(&order, &cache, &place, j, &record, &epoch);
                assert_int_equal(record, samples.items[first + j].value);
            }
            uint64_t records[16];
            leat_order_rows(&order, &cache, &place, rows / 3, rows - rows / 3, records);
            for (uint64_t j = rows / 3; j < rows; j++)
                assert_int_equal(records[j - rows / 3], samples.items[first + j].value);
        }
    }
}

TEST(epochs_count_all_repeats)
{
    static leat_order_cache cache;
    leat_order order;
    leat_order_init(&order, 5);
    assert_int_equal(leat_order_add(&order, LEAT_ORDER_SHUFFLE, 1, 1, NULL), 0);
    assert_int_equal(leat_order_add(&order, LEAT_ORDER_REPEAT, 3, 0, NULL), 0);
    leat_order_batch(&order, 15, false);
    assert_int_equal(leat_order_add(&order, LEAT_ORDER_REPEAT, 2, 0, NULL), 0);
    uint64_t next[6] = { 0 };
    for (uint64_t b = 0; b < 4; b++) { /* two passes of the loader over two batches */
        const leat_order_place place = leat_order_find(&order, &cache, b);
        for (uint64_t j = 0; j < place.rows; j++) {
            uint64_t record, epoch;
            leat_order_row(&order, &cache, &place, j, &record, &epoch);
            assert_int_equal(epoch, b * 3 + j / 5);
            assert_in_range(record, 0, 4);
            next[epoch % 6]++;
        }
    }
    for (int i = 0; i < 6; i++)
        assert_int_equal(next[i], 10);
}

TEST(endless_data)
{
    static leat_order_cache cache;
    leat_order order;
    leat_error err;
    uint64_t record, epoch;
    leat_order_init(&order, 7);
    assert_int_equal(leat_order_add(&order, LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0, &err), 0);
    assert_int_equal(leat_order_add(&order, LEAT_ORDER_SHUFFLE, 1, 1, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "before repeat"));
    assert_int_equal(leat_order_add(&order, LEAT_ORDER_REPEAT, 2, 0, &err), LEAT_E_CONFIG);
    leat_order_batch(&order, 4, true);
    assert_true(order.n_batches == LEAT_ENDLESS);
    const leat_order_place place = leat_order_find(&order, &cache, 1000000007);
    leat_order_row(&order, &cache, &place, 3, &record, &epoch);
    assert_int_equal(record, (1000000007ull * 4 + 3) % 7);
    assert_int_equal(epoch, (1000000007ull * 4 + 3) / 7);
}

/* An endless repeat with steps behind it, before or behind the batch; ends: a take is the last of them. */
static void make_endless(leat_order *order, uint64_t c, bool ends)
{
    leat_rng rng = leat_rng_make(6, c, 0, 0);
    const leat_shuffle window = { .seed = 3, .reshuffle = true, .window = 4 };
    const uint64_t m = 1 + leat_rng_below(&rng, 3), size = 1 + leat_rng_below(&rng, 5);
    leat_order_init(order, 2 + leat_rng_below(&rng, 20));
    assert_int_equal(leat_order_add(order, LEAT_ORDER_SHUFFLE, 1, 1, NULL), LEAT_OK);
    if (c % 4 == 1)
        leat_order_add(order, LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0, NULL);
    leat_order_unbatch(order, m);
    if (c % 4 == 2)
        leat_order_add(order, LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0, NULL);
    if (c % 4 == 3)
        leat_order_batch(order, size, false);
    if (c % 4 == 3 || c % 4 == 0)
        leat_order_add(order, LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0, NULL);
    leat_order_add(order, LEAT_ORDER_SHARD, 2, 1, NULL);
    assert_int_equal(leat_order_add_shuffle(order, &window, NULL), LEAT_OK);
    leat_order_add(order, LEAT_ORDER_SKIP, leat_rng_below(&rng, 30), 0, NULL);
    if (c % 4 == 0)
        leat_order_batch(order, size, false);
    if (ends)
        leat_order_add(order, LEAT_ORDER_TAKE, 1 + leat_rng_below(&rng, 40), 0, NULL);
    if (c % 4 == 1 || c % 4 == 2)
        leat_order_batch(order, size, false);
}

/* Its first epoch is the begin of the data without an end, and no epoch has a sample with the draws of an earlier one. */
TEST(endless_data_that_a_take_ends)
{
    static leat_order_cache cache, plain_cache;
    static bool seen[22 * 3][2048];
    for (uint64_t c = 0; c < 400; c++) {
        leat_order order, plain;
        make_endless(&order, c, true);
        make_endless(&plain, c, false);
        memset(&cache, 0, sizeof cache);
        memset(&plain_cache, 0, sizeof plain_cache);
        memset(seen, 0, sizeof seen);
        assert_true(order.n_batches < 41 && plain.n_batches == LEAT_ENDLESS);
        for (uint64_t b = 0; b < 4 * order.n_batches; b++) {
            const leat_order_place place = leat_order_find(&order, &cache, b);
            for (uint64_t j = 0; j < place.rows; j++) {
                uint64_t sample, epoch, want, want_epoch;
                leat_order_row(&order, &cache, &place, j, &sample, &epoch);
                assert_true(epoch < 2048);
                assert_false(seen[sample][epoch]);
                seen[sample][epoch] = true;
                if (b >= order.n_batches)
                    continue;
                const leat_order_place there = leat_order_find(&plain, &plain_cache, b);
                leat_order_row(&plain, &plain_cache, &there, j, &want, &want_epoch);
                assert_true(sample == want && epoch == want_epoch);
            }
        }
    }
}
