/* SPDX-License-Identifier: MIT
 *
 * test_shuffle.c: shuffles in blocks and in windows: each element once, as near or as few blocks at a
 * time as promised, every element equally likely where it can come. */
#include "fixtures/engine_fixture.h"

#include "base/digest.h"

#include <math.h>

#include "leat/rng.h"
#include "pipeline/order/order.h"

static const leat_shuffle kinds[] = {
    { .window = 0 },
    { .block = 1, .window = 2 },
    { .block = 3, .window = 3 },
    { .block = 4, .window = 16 },
    { .block = 7, .window = 35 },
    { .block = 64, .window = 128 },
    { .block = 100, .window = 1600 },
    { .window = 2 },
    { .window = 3 },
    { .window = 8 },
    { .window = 65 },
    { .window = 1000 },
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

static leat_shuffle kind(size_t k, uint64_t seed)
{
    leat_shuffle shuffle = kinds[k];
    shuffle.seed = seed;
    shuffle.reshuffle = true;
    return shuffle;
}

/* Forwards, and backwards with another memory: no answer depends on what was asked before. */
static void check_bijection(const leat_shuffle *shuffle, uint64_t n, uint64_t epoch)
{
    static leat_shuffle_cache forwards, backwards;
    uint32_t seen[4000] = { 0 };
    for (uint64_t p = 0; p < n; p++) {
        const uint64_t at = leat_shuffle_at(shuffle, n, 0, epoch, &forwards, p);
        assert_true(at < n);
        seen[at] += (uint32_t)p + 1;
    }
    memset(&backwards, 0, sizeof backwards);
    for (uint64_t p = n; p-- > 0;) {
        const uint64_t at = leat_shuffle_at(shuffle, n, 0, epoch, &backwards, p);
        if (seen[at] != p + 1)
            fail_msg("n %llu, block %llu, window %llu: element %llu", (unsigned long long)n,
                     (unsigned long long)shuffle->block, (unsigned long long)shuffle->window,
                     (unsigned long long)at);
    }
    uint64_t span[4000];
    memset(&backwards, 0, sizeof backwards);
    leat_shuffle_span(shuffle, n, 0, epoch, &backwards, n / 3, n - n / 3, span);
    for (uint64_t p = n / 3; p < n; p++)
        assert_int_equal(span[p - n / 3], leat_shuffle_at(shuffle, n, 0, epoch, &forwards, p));
    memset(&forwards, 0, sizeof forwards);
}

TEST(every_element_once)
{
    for (size_t k = 0; k < N_KINDS; k++) {
        const leat_shuffle shuffle = kind(k, k);
        for (uint64_t n = 1; n <= 300; n++)
            check_bijection(&shuffle, n, n % 3);
        check_bijection(&shuffle, 3999, 1);
    }
}

/* Orders of the time before streams: states that were saved then stay valid. */
TEST(one_stream_is_the_order_without)
{
    static const leat_shuffle before[] = { { .block = 7, .window = 35 },
                                           { .block = 100, .window = 1600 },
                                           { .window = 65 },
                                           { .window = 0 } };
    static const uint64_t want[] = { 0x69808b87d846855d, 0x56565c628c931624, 0x568cc4bc92facc64,
                                     0x1cada898a146a528 };
    for (size_t k = 0; k < 4; k++)
        for (uint64_t streams = 0; streams < 2; streams++) {
            leat_shuffle shuffle = before[k];
            static leat_shuffle_cache cache;
            uint64_t digest = 0;
            shuffle.seed = 3;
            shuffle.reshuffle = true;
            shuffle.streams = streams;
            shuffle.rows = 32;
            memset(&cache, 0, sizeof cache);
            for (uint64_t p = 0; p < 4001; p++)
                digest =
                    leat_digest_chain(digest, leat_shuffle_at(&shuffle, 4001, 0, 1, &cache, p));
            assert_true(digest == want[k]);
        }
}

TEST(streams_have_every_element_once)
{
    leat_rng rng = leat_rng_make(3, 0, 0, 0);
    for (int i = 0; i < 400; i++) {
        const uint64_t n = 1 + leat_rng_below(&rng, i % 20 ? 400 : 3999);
        leat_shuffle shuffle = { .seed = (uint64_t)i, .reshuffle = true };
        shuffle.block = 1 + leat_rng_below(&rng, 40);
        shuffle.window = shuffle.block * (1 + leat_rng_below(&rng, 9));
        shuffle.rows = 1 + leat_rng_below(&rng, 200);
        shuffle.streams = 1 + leat_rng_below(&rng, (uint32_t)shuffle.rows);
        check_bijection(&shuffle, n, 1 + (uint64_t)i % 3);
    }
}

/* What one rank reads of the records, from .. to - 1, and how many it has. */
typedef struct reach {
    uint64_t from, to, n;
} reach;

static reach reach_of(leat_order *order, uint64_t rank, uint64_t ranks, uint64_t *all)
{
    static leat_order_cache cache;
    reach got = { .from = UINT64_MAX };
    order->rank = rank;
    order->ranks = ranks;
    for (uint64_t b = 0; b < order->n_batches; b++) {
        const leat_order_place place = leat_order_find(order, &cache, b);
        uint64_t rows[1024];
        leat_order_rows(order, &cache, &place, 0, place.rows, rows);
        for (uint64_t j = 0; j < place.rows; j++) {
            uint64_t record, epoch;
            leat_order_row(order, &cache, &place, j, &record, &epoch);
            assert_int_equal(record, rows[j]);
            got.from = record < got.from ? record : got.from;
            got.to = record >= got.to ? record + 1 : got.to;
            got.n++;
            uint64_t *const at = &all[leat_order_position(&place, j)];
            assert_true(ranks == 1 || *at == record); /* the batches of one rank */
            *at = record;
        }
    }
    memset(&cache, 0, sizeof cache);
    return got;
}

/* With 1 to 64 ranks the batches are the same, and each rank reads a range of its own. */
TEST(a_rank_reads_its_own_part)
{
    static const uint64_t sizes[] = { 64, 100, 256, 1024 }, counts[] = { 1, 2, 4, 8, 64, 3 };
    enum { N_RANGE = 20011 };
    uint64_t *const all = calloc(N_RANGE, sizeof *all);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            const leat_shuffle shuffle = { .seed = 9, .block = 30, .window = 120, .streams = 64 };
            leat_order order;
            leat_error err;
            uint64_t next = 0;
            leat_order_init(&order, N_RANGE);
            check(leat_order_add_shuffle(&order, &shuffle, &err), &err);
            leat_order_batch(&order, sizes[k], false);
            for (uint64_t rank = 0; rank < counts[c]; rank++) {
                const reach got = reach_of(&order, rank, counts[c], all);
                if (64 % counts[c])
                    continue;
                assert_int_equal(got.from, next);
                assert_int_equal(got.to - got.from, got.n);
                next = got.to;
            }
            assert_true(64 % counts[c] || next == N_RANGE);
        }
    free(all);
}

/* A thread that finds rows only, and no batches, keeps the permutations of each stream, too. */
TEST(rows_keep_the_permutations_of_their_streams)
{
    enum { N_STREAMS = 8 };
    static leat_order_cache finds, by_row, by_rows;
    leat_shuffle shuffle = {
        .seed = 3, .reshuffle = true, .block = 10, .window = 20, .streams = N_STREAMS
    };
    leat_order order;
    leat_order_init(&order, 1000);
    leat_order_add_shuffle(&order, &shuffle, NULL);
    leat_order_batch(&order, 16, false);
    order.ranks = 1;
    const leat_order_place place = leat_order_find(&order, &finds, 0);
    uint64_t samples[16];
    leat_order_rows(&order, &by_rows, &place, 0, place.rows, samples);
    for (uint64_t j = 0; j < place.rows; j++) {
        uint64_t sample, epoch;
        leat_order_row(&order, &by_row, &place, j, &sample, &epoch);
        assert_int_equal(sample, samples[j]);
    }
    for (uint64_t s = 0; s < N_STREAMS; s++) {
        const uint64_t seed = leat_digest_chain(shuffle.seed ^ 0x7374726561, s); /* "strea" */
        assert_true(by_row.streams[s].perms[0].valid && by_row.streams[s].perms[0].seed == seed);
        assert_true(by_rows.streams[s].perms[0].valid && by_rows.streams[s].perms[0].seed == seed);
    }
    assert_false(by_row.before[0].perms[0].valid || by_rows.before[0].perms[0].valid);
    leat_order_fini(&order);
}

TEST(a_window_reads_few_blocks)
{
    static const uint64_t sizes[] = { 700, 703, 1599, 1601, 3501 };
    for (size_t k = 1; k < 7; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            static leat_shuffle_cache cache;
            const leat_shuffle shuffle = kind(k, s);
            const uint64_t n = sizes[s], most = shuffle.window / shuffle.block;
            const uint64_t ragged = n % shuffle.block ? n / shuffle.block : UINT64_MAX;
            memset(&cache, 0, sizeof cache);
            for (uint64_t start = 0; start < n; start += shuffle.window) {
                uint8_t touched[4000] = { 0 };
                uint64_t n_touched = 0;
                for (uint64_t p = start; p < n && p < start + shuffle.window; p++) {
                    const uint64_t block =
                        leat_shuffle_at(&shuffle, n, 0, 0, &cache, p) / shuffle.block;
                    n_touched += !touched[block];
                    touched[block] = 1;
                }
                /* what lies behind the end is made good from the last window's blocks */
                const bool holds_ragged = ragged != UINT64_MAX && touched[ragged];
                assert_in_range(n_touched, 1, holds_ragged ? 2 * most : most);
            }
        }
}

TEST(nothing_moves_far_in_windows)
{
    for (size_t k = 7; k < N_KINDS; k++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            static leat_shuffle_cache cache;
            const leat_shuffle shuffle = kind(k, seed);
            const uint64_t n = 3000 + seed, w = shuffle.window;
            uint64_t furthest = 0;
            for (uint64_t p = 0; p < n; p++) {
                const uint64_t at = leat_shuffle_at(&shuffle, n, 0, 0, &cache, p);
                const uint64_t moved = at > p ? at - p : p - at;
                furthest = moved > furthest ? moved : furthest;
            }
            assert_in_range(furthest, w / 2, w + (w + 1) / 2 - 1); /* and beyond its own window */
            memset(&cache, 0, sizeof cache);
        }
}

/* Over many seeds (or epochs), the element at place p is each of [from, from + n_likely) equally often:
 * chi-square with n_likely - 1 degrees of freedom, as a number of deviations. */
static void check_place(const leat_shuffle *given, uint64_t n, uint64_t p, uint64_t from,
                        uint64_t n_likely, bool by_epoch)
{
    static leat_shuffle_cache cache;
    uint32_t counts[1000] = { 0 };
    const uint64_t n_orders = 60 * n_likely;
    double sum = 0;
    memset(&cache, 0, sizeof cache);
    for (uint64_t k = 0; k < n_orders; k++) {
        leat_shuffle shuffle = *given;
        shuffle.seed = by_epoch ? 9 : k;
        memset(&cache, 0, by_epoch ? 0 : sizeof cache);
        const uint64_t at = leat_shuffle_at(&shuffle, n, 0, by_epoch ? k : 0, &cache, p);
        assert_in_range(at, from, from + n_likely - 1);
        counts[at - from]++;
    }
    for (uint64_t i = 0; i < n_likely; i++)
        sum += ((double)counts[i] - 60) * ((double)counts[i] - 60) / 60;
    const double freedom = (double)(n_likely - 1), z = (sum - freedom) / sqrt(2 * freedom);
    if (!(fabs(z) < 4.5))
        fail_msg("block %llu, window %llu, place %llu: %.1f deviations",
                 (unsigned long long)given->block, (unsigned long long)given->window,
                 (unsigned long long)p, z);
}

TEST(every_element_is_as_likely_where_it_can_come)
{
    const leat_shuffle blocks = { .reshuffle = true, .block = 16, .window = 64 };
    const leat_shuffle windows = { .reshuffle = true, .window = 100 };
    static const uint64_t places[] = { 0, 1, 17, 63, 64, 300, 639 };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (int by_epoch = 0; by_epoch < 2; by_epoch++)
            check_place(&blocks, 640, places[i], 0, 640, by_epoch);
    /* places 50 to 149 draw from windows 0 and 1, and so on */
    static const uint64_t inner[] = { 50, 99, 100, 149, 150, 449 };
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        for (int by_epoch = 0; by_epoch < 2; by_epoch++)
            check_place(&windows, 1000, inner[i], (inner[i] - 50) / 100 * 100, 200, by_epoch);
}

/* --- in a plan ------------------------------------------------------------------------------------- */

#define N_ROWS 1003

static leat_plan *open_plan(const float *rows, const char *const *stages, const char *engine,
                            leat_error *err)
{
    leat_plan *plan;
    leat_builder *builder = build_rows(N_ROWS, rows);
    build_stages(builder, stages);
    leat_builder_engine(builder, engine);
    leat_builder_plan(builder, &plan, err);
    leat_builder_close(&builder);
    return plan;
}

TEST(an_epoch_has_each_record_once)
{
    static const char *const options[] = { "{block: 10}", "{block: 8, window: 64, seed: 3}",
                                           "{window: 50}" };
    float *const rows = make_rows(N_ROWS);
    for (size_t o = 0; o < 3; o++) {
        const char *const stages[] = { "shuffle", options[o], "batch", "32", NULL };
        uint64_t digests[2];
        int64_t n;
        leat_error err;
        uint8_t seen[2][N_ROWS] = { { 0 } };
        uint64_t n_same = 0;
        float first[N_ROWS];
        for (int threads = 0; threads < 2; threads++) {
            leat_plan *plan = open_plan(rows, stages,
                                        threads ? "{threads: 3, digest: true, run: 5}"
                                                : "{threads: 0, digest: true}",
                                        &err);
            check(plan ? 0 : -1, &err);
            digests[threads] = run_digest(plan, NULL, &n);
            assert_non_null(strstr(leat_plan_note(plan, 0), "shuffle: "));
            leat_plan_close(&plan);
        }
        assert_int_equal(digests[0], digests[1]);
        leat_plan *plan = open_plan(rows, stages, "{threads: 2}", &err);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 2 });
        leat_batch *batch;
        while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
            const leat_batch_info *const info = leat_batch_get_info(batch);
            const float *const x = leat_batch_tensor(batch, 0).data;
            for (int64_t j = 0; j < info->rows; j++) {
                const int64_t p = info->in_epoch * 32 + j;
                seen[info->epoch][(int)x[j * ROW_FLOATS]]++;
                n_same += info->epoch && first[p] == x[j * ROW_FLOATS];
                if (!info->epoch)
                    first[p] = x[j * ROW_FLOATS];
            }
            leat_batch_release(batch);
        }
        for (int i = 0; i < N_ROWS; i++)
            assert_true(seen[0][i] == 1 && seen[1][i] == 1);
        assert_in_range(n_same, 0, N_ROWS / 10); /* the next epoch is in another order */
        close_loader_and_plan(&loader, &plan);
    }
    free(rows);
}

/* What a window costs is said only where it costs anything. */
/* Also in time: a block of more than there is would send every place through over and over. */
TEST(a_block_of_all_is_global)
{
    static leat_shuffle_cache cache, cache_of_all;
    for (uint64_t n = 1; n < 200; n++) {
        const leat_shuffle all = { .seed = n }, blocks[] = {
            { .seed = n, .block = n, .window = n },
            { .seed = n, .block = 1000000000, .window = 16000000000 },
        };
        for (size_t k = 0; k < 2; k++) {
            memset(&cache, 0, sizeof cache);
            memset(&cache_of_all, 0, sizeof cache_of_all);
            for (uint64_t p = 0; p < n; p++)
                assert_true(leat_shuffle_at(&blocks[k], n, 0, 0, &cache, p) ==
                            leat_shuffle_at(&all, n, 0, 0, &cache_of_all, p));
        }
    }
}

TEST(a_window_of_all_is_global)
{
    static const struct {
        const char *shuffle, *batch, *note;
    } cases[] = {
        { "{block: 10}", "32", "shuffle: each window of 160 samples holds only 16 blocks" },
        { "{block: 59}", "32", "shuffle: each window of 944 samples" },
        { "{block: 63}", "32", "shuffle: one window of 1008 holds all 1003 samples: as random as" },
        { "{block: 5000}", "32", "shuffle: one window of 80000 holds all 1003 samples" },
        { "{window: 1002}", "32", "shuffle: with a window of 1002 samples, none moves further" },
        { "{window: 1003}", "32", "shuffle: one window of 1003 holds all 1003 samples" },
        { "{window: 100}", NULL, "shuffle: with a window of 100 batches" },
        { "{window: 101}", NULL, "shuffle: one window of 101 holds all 101 batches" },
    };
    float *const rows = make_rows(N_ROWS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const before[] = { "shuffle", cases[i].shuffle, "batch", cases[i].batch, NULL };
        const char *const behind[] = { "batch", "10", "shuffle", cases[i].shuffle, NULL };
        leat_error err;
        leat_plan *plan = open_plan(rows, cases[i].batch ? before : behind, "{threads: 0}", &err);
        check(plan ? 0 : -1, &err);
        if (!strstr(leat_plan_note(plan, 0), cases[i].note))
            fail_msg("%s: %s", cases[i].shuffle, leat_plan_note(plan, 0));
        assert_null(leat_plan_note(plan, 1));
        leat_plan_close(&plan);
    }
    free(rows);
}

TEST(windows_need_no_last_element)
{
    static const char *const stages[] = { "repeat", NULL,   "shuffle", "{window: 100}",
                                          "batch",  "1000", NULL };
    float *const rows = make_rows(N_ROWS);
    leat_error err;
    leat_plan *plan = open_plan(rows, stages, "{threads: 1}", &err);
    check(plan ? 0 : -1, &err);
    assert_int_equal(leat_plan_get_info(plan)->n_batches, -1);
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .first_batch = 12345 });
    leat_batch *batch;
    check(leat_loader_next(loader, &batch, &err), &err);
    const float *const x = leat_batch_tensor(batch, 0).data;
    for (int64_t j = 0; j < 1000; j++) { /* near its place in the endless row */
        const int64_t at = (12345 * 1000 + j) % N_ROWS;
        const int64_t moved = llabs((int64_t)x[j * ROW_FLOATS] - at);
        assert_true(moved < 150 || moved > N_ROWS - 150);
    }
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
    free(rows);
}

static void expect(const char *options, const char *part)
{
    const char *const stages[] = { "shuffle", options, "batch", "4", NULL };
    float *const rows = make_rows(N_ROWS);
    leat_error err;
    leat_plan *plan = open_plan(rows, stages, "{}", &err);
    assert_null(plan);
    assert_int_equal(err.code, LEAT_E_CONFIG);
    if (!strstr(err.message, part))
        fail_msg("%s lacks '%s'", err.message, part);
    free(rows);
}

TEST(wrong_options_say_what_is_right)
{
    expect("{block: 10, window: 25}", "got 25: 30 would be one");
    expect("{buffer_size: 1000}",
           "no option 'buffer_size': the shuffle is global and needs no buffer");
    expect("{buffer_size: 1000}", "builder:3:15: ");
    expect("{reshuffle_each_iteration: false}", "write reshuffle");
    expect("{window: 10, streams: 4}",
           "give block, too, such as `shuffle: {block: 1000, streams: 4}`");
    expect("{streams: 2}", "streams read blocks");
    expect("{block: 300, streams: 5}",
           "5 streams need a block each, but 1003 samples are 4 blocks");
    expect("{block: 10, streams: 8}", "8 streams share the rows of every batch, which has only 4");
}

/* Where rows of a rank come from several streams, a note says so; and streams need batches. */
TEST(streams_say_what_they_cost)
{
    static const struct {
        const char *first, *options, *engine, *note;
    } cases[] = {
        { NULL, NULL, "{}", NULL },
        { NULL, NULL, "{rank: 0, ranks: 4}", NULL },
        { NULL, NULL, "{rank: 0, ranks: 3}", "8 streams are no multiple of 3 ranks" },
        { NULL, NULL, "{rank: 0, ranks: 3}", "the next multiple is 9" },
        { "take", "500", "{rank: 0, ranks: 4}", "take: keeps different samples" },
        { "skip", "3", "{rank: 0, ranks: 4}", "a stage between shuffle and batch shifts the rows" },
        { "repeat", "2", "{}", NULL },
    };
    float *const rows = make_rows(N_ROWS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *stages[] = { "shuffle", "{block: 10, streams: 8}", "batch", "16", NULL, NULL,
                                 NULL };
        if (cases[i].first) {
            memmove(stages + 4, stages + 2, 2 * sizeof *stages);
            stages[2] = cases[i].first;
            stages[3] = cases[i].options;
        }
        leat_error err;
        leat_plan *plan = open_plan(rows, stages, cases[i].engine, &err);
        check(plan ? 0 : -1, &err);
        assert_non_null(strstr(leat_plan_note(plan, 0), "rows of 8 parts of about 125 neighbours"));
        const char *note;
        bool told = false;
        for (int32_t k = 1; (note = leat_plan_note(plan, k)); k++)
            told |= cases[i].note ? strstr(note, cases[i].note) != NULL : true;
        if (told != (cases[i].note != NULL))
            fail_msg("case %zu", i);
        leat_plan_close(&plan);
    }
    const char *const behind[] = { "batch", "10", "shuffle", "{block: 10, streams: 2}", NULL };
    leat_error err;
    assert_null(open_plan(rows, behind, "{}", &err));
    assert_non_null(strstr(err.message, "streams share the rows of a batch"));
    free(rows);
}
