/* SPDX-License-Identifier: MIT
 *
 * test_order_replace.c: a bad sample is replaced by one that the same epoch holds, whatever the stages. */
#include "fixtures/engine_fixture.h"

#include "base/digest.h"
#include "pipeline/order/bucket.h"
#include "pipeline/order/combine.h"
#include "pipeline/order/order_replace.h"

#define SEED 9

typedef struct held {
    uint64_t bucket, sample, epoch;
} held;

/* Zeroed for each order: what it keeps belongs to that order. */
static leat_order_cache cache;

static held row_of(const leat_order *order, const leat_order_place *place, uint64_t j)
{
    held row = { .bucket = place->bucket };
    leat_order_row(order, &cache, place, j, &row.sample, &row.epoch);
    return row;
}

static held replacement(const leat_order *order, uint64_t b, uint64_t j, uint32_t attempt)
{
    const leat_order_place place = leat_order_find(order, &cache, b);
    held row = row_of(order, &place, j);
    leat_order_replace(order, &cache, SEED, b, j, row.sample, attempt, &row.sample, &row.epoch);
    return row;
}

/* --- random pipelines --------------------------------------------------------------------------- */

/* Two buckets, of sizes 1 and more, that share the samples at random. */
static void add_buckets(leat_order *order, leat_rng *rng, bool drop_remainder)
{
    leat_buckets *buckets = calloc(1, sizeof *buckets);
    leat_error err;
    buckets->n = 2;
    for (uint32_t k = 0; k < 2; k++) {
        check(leat_bitset_open(&buckets->list[k].members, order->n_samples, &err), &err);
        buckets->list[k].size = 1 + leat_rng_below(rng, 6);
    }
    for (uint64_t i = 0; i < order->n_samples; i++)
        leat_bitset_add(buckets->list[leat_rng_below(rng, 2)].members, i);
    for (uint32_t k = 0; k < 2; k++)
        check(leat_bitset_finish(buckets->list[k].members, &err), &err);
    check(leat_order_add_buckets(order, &buckets, drop_remainder, &err), &err);
}

static void add_random_step(leat_order *order, leat_rng *rng, bool is_fixed)
{
    const uint32_t kind = leat_rng_below(rng, is_fixed ? 3 : 5);
    const uint64_t count = 1 + leat_rng_below(rng, 4);
    int rc = 0;
    if (kind == 0)
        rc = leat_order_add(order, LEAT_ORDER_TAKE, 1 + leat_rng_below(rng, 40), 0, NULL);
    else if (kind == 1)
        rc = leat_order_add(order, LEAT_ORDER_SKIP, leat_rng_below(rng, 12), 0, NULL);
    else if (kind == 2)
        rc = leat_order_add(order, LEAT_ORDER_SHARD, count, leat_rng_below(rng, (uint32_t)count),
                            NULL);
    else if (kind == 3)
        rc = leat_order_add(order, LEAT_ORDER_SHUFFLE, leat_rng_u32(rng), leat_rng_below(rng, 2),
                            NULL); /* refused without an end */
    else
        rc = leat_order_add(order, LEAT_ORDER_REPEAT, count == 4 ? LEAT_ENDLESS : count, 0, NULL);
    assert_true(rc == LEAT_OK || (kind >= 3 && rc == LEAT_E_CONFIG));
}

/* False: the pipeline has no batch. */
static bool make_random(leat_order *order, leat_rng *rng)
{
    const bool has_buckets = leat_rng_below(rng, 4) == 0, drop = leat_rng_below(rng, 2);
    leat_order_init(order, leat_rng_below(rng, 80));
    for (uint32_t k = leat_rng_below(rng, 4); k; k--)
        add_random_step(order, rng, has_buckets);
    if (has_buckets) {
        if (leat_rng_below(rng, 2))
            check(leat_order_add(order, LEAT_ORDER_SHUFFLE, 3, 1, NULL), NULL);
        add_buckets(order, rng, drop);
    } else {
        leat_order_batch(order, 1 + leat_rng_below(rng, 9), drop);
    }
    for (uint32_t k = leat_rng_below(rng, 4); k; k--)
        add_random_step(order, rng, false);
    return order->n_batches > 0;
}

static int by_sample(const void *one, const void *other)
{
    return memcmp(one, other, sizeof(held));
}

#define MOST 60000

/* All rows of n batches from b on, sorted. */
static size_t list_rows(const leat_order *order, uint64_t b, uint64_t n, held *list)
{
    size_t n_rows = 0;
    for (uint64_t i = 0; i < n; i++) {
        const leat_order_place place = leat_order_find(order, &cache, b + i);
        for (uint64_t j = 0; j < place.rows && n_rows < MOST; j++)
            list[n_rows++] = row_of(order, &place, j);
    }
    assert_in_range(n_rows, 0, MOST - 1);
    qsort(list, n_rows, sizeof *list, by_sample);
    return n_rows;
}

/* Rows of epoch e get samples that it holds, and no two of them the same one; each rank gets those of its rows. */
static void check_epoch(leat_order *order, uint64_t e)
{
    static held in[MOST], drawn[MOST];
    const uint64_t n = leat_order_epoch_batches(order), first = e * n;
    const bool is_endless = order->n_batches == LEAT_ENDLESS;
    /* Without an end it is all one epoch, of which this looks at a part. */
    const size_t n_in = list_rows(order, is_endless ? 0 : first, is_endless ? 4 * n + 8 : n, in);
    for (uint32_t attempt = 0; attempt < 2; attempt++) {
        size_t n_drawn = 0;
        for (uint64_t b = first; b < first + n; b++) {
            const uint64_t rows = leat_order_find(order, &cache, b).rows;
            for (uint64_t j = 0; j < rows; j++) {
                drawn[n_drawn] = replacement(order, b, j, attempt);
                if (!bsearch(&drawn[n_drawn], in, n_in, sizeof *in, by_sample))
                    fail_msg("%llu records, batch %llu, row %llu: sample %llu is not of epoch %llu",
                             (unsigned long long)order->n_records, (unsigned long long)b,
                             (unsigned long long)j, (unsigned long long)drawn[n_drawn].sample,
                             (unsigned long long)e);
                n_drawn++;
            }
            order->ranks = 3;
            for (order->rank = 0; order->rank < 3; order->rank++) {
                const leat_order_place part = leat_order_find(order, &cache, b);
                for (uint64_t j = 0; j < part.rows; j++) {
                    const held row = replacement(order, b, j, attempt);
                    assert_memory_equal(&row, &drawn[n_drawn - rows + part.first_row + j],
                                        sizeof row);
                }
            }
            order->rank = 0;
            order->ranks = 1;
        }
        qsort(drawn, n_drawn, sizeof *drawn, by_sample);
        for (size_t i = 1; i < n_drawn && !is_endless; i++)
            assert_true(by_sample(&drawn[i - 1], &drawn[i]) != 0);
    }
}

TEST(replacements_are_samples_that_the_epoch_holds)
{
    for (uint64_t c = 0; c < 1500; c++) {
        leat_rng rng = leat_rng_make(11, c, 0, 0);
        leat_order order;
        memset(&cache, 0, sizeof cache);
        if (make_random(&order, &rng))
            for (uint64_t e = 0; e < 3; e++)
                check_epoch(&order, e);
        leat_order_fini(&order);
    }
}

/* --- pipelines that hold whole passes ----------------------------------------------------------- */

typedef struct part {
    leat_order_kind kind;
    uint64_t a, b;
} part;

/* Their replacements are the same in every version, so that a run can be repeated and resumed. */
TEST(replacements_in_whole_passes_stay)
{
    static const struct {
        part before[2], after[3]; /* up to one that is all zero */
        uint64_t size, digest;
        bool drops;
    } cases[] = {
        { .size = 7, .digest = 0x8d9842290bd2496d },
        { .before = { { LEAT_ORDER_SHUFFLE, 3, 1 } }, .size = 7, .digest = 0x219d0b7e1b047765 },
        { .before = { { LEAT_ORDER_SHUFFLE, 3, 1 } },
          .size = 10,
          .drops = true,
          .digest = 0xc3d07d4a2ef936da },
        { .before = { { LEAT_ORDER_SHUFFLE, 3, 1 } },
          .size = 30,
          .drops = true,
          .digest = 0x16dbc6fbcca989f4 },
        { .before = { { LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0 } },
          .size = 7,
          .digest = 0xa3caa1d6dd6bf738 },
        { .before = { { LEAT_ORDER_TAKE, 64, 0 }, { LEAT_ORDER_REPEAT, 3, 0 } },
          .size = 7,
          .digest = 0x6d3950a67f4907e0 },
        { .after = { { LEAT_ORDER_SHUFFLE, 3, 1 }, { LEAT_ORDER_REPEAT, 3, 0 } },
          .size = 7,
          .digest = 0xeab7712f16d29f9b },
        { .after = { { LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0 }, { LEAT_ORDER_TAKE, 30, 0 } },
          .size = 7,
          .digest = 0x8d9842290bd2496d },
        { .before = { { LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0 } },
          .after = { { LEAT_ORDER_SKIP, 20, 0 }, { LEAT_ORDER_TAKE, 30, 0 } },
          .size = 10,
          .digest = 0x16ea5940cc2602a2 },
        { .after = { { LEAT_ORDER_TAKE, 15, 0 },
                     { LEAT_ORDER_SKIP, 0, 0 },
                     { LEAT_ORDER_SHARD, 1, 0 } },
          .size = 7,
          .digest = 0x8d9842290bd2496d },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_order order;
        uint64_t digest = 0;
        memset(&cache, 0, sizeof cache);
        leat_order_init(&order, 100);
        for (const part *p = cases[i].before; p < cases[i].before + 2 && (p->a || p->kind); p++)
            check(leat_order_add(&order, p->kind, p->a, p->b, NULL), NULL);
        leat_order_batch(&order, cases[i].size, cases[i].drops);
        for (const part *p = cases[i].after; p < cases[i].after + 3 && (p->a || p->kind); p++)
            check(leat_order_add(&order, p->kind, p->a, p->b, NULL), NULL);
        for (uint64_t b = 0; b < 50; b++)
            for (uint32_t attempt = 0; attempt < 3; attempt++) {
                const held row = replacement(&order, b, b % 2, attempt);
                digest = leat_digest_chain(digest, row.sample);
                digest = leat_digest_chain(digest, row.epoch);
            }
        assert_int_equal(digest, cases[i].digest);
    }
}

/* A config may ask for products that 64 bits do not hold. */
TEST(replacements_need_no_small_numbers)
{
    for (uint64_t less = 0; less < 2; less++)
        for (int repeats = 0; repeats < 2; repeats++) {
            leat_order order;
            memset(&cache, 0, sizeof cache);
            leat_order_init(&order, 10);
            check(leat_order_add(&order, LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0, NULL), NULL);
            leat_order_batch(&order, 4096, false);
            check(leat_order_add(&order, LEAT_ORDER_TAKE, ((uint64_t)1 << 52) - less, 0, NULL),
                  NULL);
            check(leat_order_add(&order, LEAT_ORDER_SHUFFLE, 1, 1, NULL), NULL);
            check(leat_order_add(&order, repeats ? LEAT_ORDER_REPEAT : LEAT_ORDER_TAKE, 5, 0, NULL),
                  NULL);
            assert_in_range(replacement(&order, 3, 11, 0).sample, 0, 9);
        }
}

/* Endless data in windows has no parts that are left out. */
TEST(replacements_in_an_endless_window_stay)
{
    leat_order order, plain;
    memset(&cache, 0, sizeof cache);
    leat_order_init(&plain, 100);
    check(leat_order_add(&plain, LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0, NULL), NULL);
    leat_order_batch(&plain, 7, false);
    order = plain;
    check(leat_order_add_shuffle(&order, &(leat_shuffle){ .seed = 1, .window = 8 }, NULL), NULL);
    for (uint64_t b = 0; b < 50; b++) {
        const held mine = replacement(&order, b, b % 7, 0),
                   its = replacement(&plain, leat_order_find(&order, &cache, b).number, b % 7, 0);
        assert_memory_equal(&mine, &its, sizeof mine);
    }
}

/* With drop_remainder they are those of the whole pass, but for the few that would be of its dropped end. */
TEST(replacements_beside_a_dropped_remainder_stay)
{
    for (int has_buckets = 0; has_buckets < 2; has_buckets++) {
        leat_order orders[2];
        uint64_t n_rows = 0, n_other = 0;
        memset(&cache, 0, sizeof cache);
        for (int drops = 0; drops < 2; drops++) {
            leat_rng rng = leat_rng_make(1, 0, 0, 0);
            leat_order_init(&orders[drops], 1007);
            if (has_buckets)
                add_buckets(&orders[drops], &rng, drops);
            else
                leat_order_batch(&orders[drops], 32, drops);
        }
        const leat_bucket *const first = has_buckets ? &orders[1].buckets->list[0] : NULL;
        const uint64_t n = first ? first->n : orders[1].n_batches, size = first ? first->size : 32;
        for (uint64_t b = 0; b < n; b++)
            for (uint64_t j = 0; j < size; j++, n_rows++)
                n_other += replacement(&orders[1], b, j, 0).sample !=
                           replacement(&orders[0], b, j, 0).sample;
        assert_in_range(n_other, 1, (first ? first->members->n_members : 1007) - n_rows);
        leat_order_fini(&orders[0]);
        leat_order_fini(&orders[1]);
    }
}

TEST(replacements_are_a_permutation_within_the_pass)
{
    leat_order order;
    leat_error err;
    memset(&cache, 0, sizeof cache);
    for (int endless = 0; endless < 2; endless++)
        for (uint32_t attempt = 0; attempt < LEAT_REPLACE_ATTEMPTS; attempt++)
            for (uint64_t pass = 0; pass < 3; pass++) {
                uint8_t seen[100] = { 0 };
                int n_moved = 0;
                leat_order_init(&order, 100);
                check(leat_order_add(&order, LEAT_ORDER_SHUFFLE, 3, 1, &err), &err);
                if (endless)
                    check(leat_order_add(&order, LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0, &err), &err);
                leat_order_batch(&order, 10, false);
                for (uint64_t p = 0; p < 100; p++) {
                    uint64_t record, epoch, was, was_epoch;
                    const leat_order_place place =
                        leat_order_find(&order, &cache, pass * 10 + p / 10);
                    leat_order_row(&order, &cache, &place, p % 10, &was, &was_epoch);
                    leat_order_replace(&order, &cache, 9, pass * 10 + p / 10, p % 10, was, attempt,
                                       &record, &epoch);
                    assert_int_equal(seen[record]++, 0);
                    assert_int_equal(epoch, pass);
                    n_moved += record != was;
                }
                assert_in_range(n_moved, 90, 100);
            }
}

/* Of several sources a bad row is replaced by one of its own. */
TEST(replacements_are_of_the_same_source)
{
    leat_combine *combine;
    leat_order order;
    leat_error err;
    size_t bad_child;
    memset(&cache, 0, sizeof cache);
    check(leat_combine_open(&combine, 3, &err), &err);
    for (size_t i = 0; i < 3; i++) {
        leat_order_init(&combine->children[i].order, 30 * (i + 1));
        combine->children[i].first = i == 0 ? 0 : i == 1 ? 30 : 90;
    }
    check(leat_combine_concat(combine, &bad_child, &err), &err);
    leat_order_init_combined(&order, 180, combine);
    check(leat_order_add(&order, LEAT_ORDER_SHUFFLE, 3, 1, &err), &err);
    leat_order_batch(&order, 10, false);
    for (uint64_t p = 0; p < 180; p++) {
        uint64_t record, epoch, was;
        const leat_order_place place = leat_order_find(&order, &cache, p / 10);
        leat_order_row(&order, &cache, &place, p % 10, &was, &epoch);
        leat_order_replace(&order, &cache, 9, p / 10, p % 10, was, 0, &record, &epoch);
        assert_int_equal((record >= 30) + (record >= 90), (was >= 30) + (was >= 90));
    }
    leat_combine_close(&combine);
}
