/* SPDX-License-Identifier: MIT
 *
 * test_gather.c: rows that are copies of records are made many at a time, and are the same bytes as rows that
 * went through an op that changes nothing, one by one: for every order, batch size, number of threads and
 * kind of row. */
#include "fixtures/engine_fixture.h"

enum { N = 700, PX = 35 };

static const struct {
    const char *stages[6]; /* names and options, then NULL */
    const char *batch;
    int32_t ranks;
} cases[] = {
    { { NULL }, "32", 1 },
    { { "shuffle", NULL }, "32", 1 },
    { { "shuffle", NULL }, "300", 1 },
    { { "shuffle", "{seed: 3, reshuffle: false}" }, "1", 1 },
    { { "shuffle", "{block: 8, window: 64}" }, "50", 1 },
    { { "shuffle", "{window: 100}" }, "50", 1 },
    { { "take", "501", "shuffle", NULL, "repeat", "2" }, "{size: 600, drop_remainder: true}", 1 },
    { { "shuffle", NULL, "shard", "{count: 3, index: 1}" }, "33", 1 },
    { { "shuffle", NULL, "on_error", "mask" }, "40", 1 },
    { { "shuffle", NULL }, "{size: 70, drop_remainder: true}", 3 },
};

typedef struct data {
    uint8_t pixels[N][PX];
    float x[N][3];
    int64_t id[N];
} data;

static leat_plan *open_rows(const data *d, size_t c, bool by_ops, const char *engine)
{
    const int64_t image[] = { 5, 7, 1 }, vector[] = { 3 };
    const leat_rows rows[] = { { "image", leat_shape_make(LEAT_U8, 3, image), d->pixels },
                               { "x", leat_shape_make(LEAT_F32, 1, vector), d->x },
                               { "id", leat_shape_make(LEAT_I64, 0, NULL), d->id } };
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, N, rows, 3);
    leat_builder_engine(b, engine);
    for (int i = 0; i < 6 && cases[c].stages[i]; i += 2)
        leat_builder_stage(b, cases[c].stages[i], cases[c].stages[i + 1]);
    if (by_ops)
        leat_builder_stage(b, "map", "{tensor: x, ops: [{reshape: [3]}]}");
    leat_builder_stage(b, "batch", cases[c].batch);
    return plan_of_builder(b);
}

static uint64_t digest_of(const data *d, size_t c, bool by_ops, int threads)
{
    const leat_loader_options options = { .epochs = 3 };
    uint64_t all = 0;
    for (int32_t rank = 0; rank < cases[c].ranks; rank++) {
        char engine[100];
        int64_t n;
        snprintf(engine, sizeof engine, "{threads: %d, digest: true, rank: %d, ranks: %d}", threads,
                 (int)rank, (int)cases[c].ranks);
        leat_plan *plan = open_rows(d, c, by_ops, engine);
        all = leat_digest_chain(all, run_digest(plan, &options, &n));
        assert_true(n > 0);
        leat_plan_close(&plan);
    }
    return all;
}

TEST(copies_are_what_ops_give)
{
    data *const d = calloc(1, sizeof *d);
    assert_non_null(d);
    for (int i = 0; i < N; i++) {
        d->id[i] = i;
        for (int k = 0; k < 3; k++)
            d->x[i][k] = (float)(i * 3 + k);
        for (int k = 0; k < PX; k++)
            d->pixels[i][k] = (uint8_t)(i * 7 + k * 11);
    }
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int threads = 0; threads <= 3; threads += threads ? 2 : 1) {
            const uint64_t want = digest_of(d, c, true, threads);
            if (digest_of(d, c, false, threads) != want)
                fail_msg("case %zu, %d threads", c, threads);
        }
    free(d);
}

/* Every row is counted once as read. */
TEST(rows_are_counted)
{
    data *const d = calloc(1, sizeof *d);
    leat_loader_stats_info stats;
    leat_batch *batch;
    int64_t n_rows = 0;
    assert_non_null(d);
    leat_plan *plan = open_rows(d, 2, false, "{threads: 2}");
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 2 });
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        n_rows += leat_batch_get_info(batch)->rows;
        leat_batch_release(batch);
    }
    leat_loader_stats(loader, &stats);
    assert_int_equal(n_rows, 2 * N);
    assert_string_equal(stats.stages[0].name, "read");
    assert_int_equal(stats.stages[0].samples, 2 * N);
    close_loader_and_plan(&loader, &plan);
    free(d);
}
