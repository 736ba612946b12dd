/* SPDX-License-Identifier: MIT
 *
 * test_loader.c: the loader over rows in memory: content, order, resume, errors, held batches. */
#include "fixtures/engine_fixture.h"

typedef struct setup {
    uint64_t n, batch;
    int threads, prefetch;
    const char *shuffle; /* options, or NULL for none */
    const char *op;      /* NULL: none */
    const char *op_options;
    bool drop;
} setup;

static leat_plan *plan_of(const setup *s, const float *rows)
{
    leat_builder *b = build_rows(s->n, rows);
    char text[128];
    leat_builder_op(b, &stall_op);
    leat_builder_op(b, &jitter_op);
    leat_builder_op(b, &fail_op);
    snprintf(text, sizeof text, "{threads: %d, digest: true}", s->threads);
    leat_builder_engine(b, text);
    leat_builder_seed(b, 7);
    if (s->shuffle)
        leat_builder_stage(b, "shuffle", s->shuffle);
    if (s->op) {
        snprintf(text, sizeof text, "[{%s: %s}]", s->op, s->op_options ? s->op_options : "{}");
        leat_builder_stage(b, "map", text);
    }
    snprintf(text, sizeof text, "{size: %llu, drop_remainder: %s}", (unsigned long long)s->batch,
             s->drop ? "true" : "false");
    leat_builder_stage(b, "batch", text);
    snprintf(text, sizeof text, "{batches: %d}", s->prefetch);
    leat_builder_stage(b, "prefetch", text);
    return plan_of_builder(b);
}

TEST(every_row_once_and_in_order)
{
    for (uint64_t n = 1; n <= 40; n += 3)
        for (uint64_t size = 1; size <= 17; size += 4)
            for (int threads = 0; threads <= 3; threads++)
                for (int prefetch = 0; prefetch <= 2; prefetch++) {
                    const setup s = { n, size, threads, prefetch, NULL, NULL, NULL, false };
                    float *rows = make_rows(n);
                    leat_plan *plan = plan_of(&s, rows);
                    leat_loader *loader = open_loader(plan, NULL);
                    leat_batch *batch;
                    leat_error err;
                    uint64_t seen = 0;
                    while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
                        const leat_view x = leat_batch_tensor(batch, 0);
                        assert_int_equal(x.shape.rank, 2);
                        assert_int_equal(x.shape.dims[0], leat_batch_get_info(batch)->rows);
                        assert_memory_equal(x.data, rows + seen * ROW_FLOATS,
                                            (size_t)leat_shape_bytes(&x.shape));
                        seen += (uint64_t)x.shape.dims[0];
                        leat_batch_release(batch);
                    }
                    assert_int_equal(err.code, LEAT_E_END);
                    assert_int_equal(seen, n);
                    close_loader_and_plan(&loader, &plan);
                    free(rows);
                }
}

TEST(a_shuffle_is_a_permutation_and_changes_by_epoch)
{
    enum { N = 500 };
    const setup s = { N, 32, 2, 2, "{seed: 3}", NULL, NULL, false };
    float *rows = make_rows(N);
    leat_plan *plan = plan_of(&s, rows);
    const leat_loader_options options = { .epochs = 3 };
    leat_loader *loader = open_loader(plan, &options);
    leat_batch *batch;
    int counts[3][N] = { 0 }, first[3] = { -1, -1, -1 };
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        const leat_batch_info *info = leat_batch_get_info(batch);
        const leat_view x = leat_batch_tensor(batch, 0);
        for (int64_t j = 0; j < info->rows; j++) {
            const int record = (int)((const float *)x.data)[j * ROW_FLOATS];
            counts[info->epoch][record]++;
            if (first[info->epoch] < 0)
                first[info->epoch] = record;
        }
        leat_batch_release(batch);
    }
    for (int e = 0; e < 3; e++)
        for (int i = 0; i < N; i++)
            assert_int_equal(counts[e][i], 1);
    assert_true(first[0] != first[1] || first[1] != first[2]);
    close_loader_and_plan(&loader, &plan);
    free(rows);
}

TEST(digests_do_not_depend_on_threads_or_prefetch)
{
    const char *const ops[] = { NULL, "stall", "jitter" };
    float *rows = make_rows(700);
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        uint64_t want = 0;
        for (int threads = 0; threads <= 8; threads += threads < 3 ? 1 : 5)
            for (int prefetch = 0; prefetch <= 4; prefetch += 2) {
                const setup s = { 700, 24, threads, prefetch, "{}", ops[o], NULL, true };
                leat_plan *plan = plan_of(&s, rows);
                int64_t n;
                const uint64_t digest = digest_and_close(plan, 2, &n);
                assert_int_equal(n, 2 * (700 / 24));
                if (!want)
                    want = digest;
                assert_true(digest == want);
            }
    }
    free(rows);
}

TEST(a_resumed_run_equals_the_straight_one)
{
    float *rows = make_rows(200);
    const setup s = { 200, 16, 2, 2, "{}", "jitter", NULL, false };
    leat_plan *plan = plan_of(&s, rows);
    enum { PER_EPOCH = 13, EPOCHS = 3 };
    uint64_t straight[PER_EPOCH * EPOCHS];
    for (int64_t start = 0; start < PER_EPOCH * EPOCHS; start++) {
        const leat_loader_options options = { .epochs = EPOCHS, .first_batch = start };
        leat_loader *loader = open_loader(plan, &options);
        leat_batch *batch;
        int64_t b = start;
        while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
            const leat_batch_info *info = leat_batch_get_info(batch);
            assert_int_equal(info->number, b);
            assert_int_equal(info->epoch, b / PER_EPOCH);
            if (start == 0)
                straight[b] = info->digest;
            assert_true(straight[b] == info->digest);
            leat_batch_release(batch);
            b++;
        }
        assert_int_equal(b, PER_EPOCH * EPOCHS);
        leat_loader_close(&loader);
    }
    leat_plan_close(&plan);
    free(rows);
}

TEST(a_state_goes_on_with_the_next_batch)
{
    float *rows = make_rows(100);
    leat_batch *batch;
    leat_error err;
    for (int64_t stop = 0; stop <= 20; stop++) {
        const setup s = { 100, 10, (int)stop % 3, (int)stop % 4, "{}", "jitter", NULL, false };
        const setup other = { 100, 10, 3, 1, "{}", "jitter", NULL, false };
        leat_plan *plan = plan_of(&s, rows), *again = plan_of(&other, rows);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 2 });
        leat_loader_state at;
        for (int64_t b = 0; b < stop; b++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            leat_batch_release(batch);
        }
        leat_loader_get_state(loader, &at);
        assert_int_equal(at.next_batch, stop);
        leat_loader *resumed =
            open_loader(again, &(leat_loader_options){ .epochs = 2, .state = &at });
        const int rc = leat_loader_next(resumed, &batch, &err);
        assert_int_equal(rc, stop < 20 ? LEAT_OK : LEAT_E_END);
        if (rc == LEAT_OK) {
            assert_int_equal(leat_batch_get_info(batch)->number, stop);
            const uint64_t digest = leat_batch_get_info(batch)->digest;
            leat_batch_release(batch);
            check(leat_loader_next(loader, &batch, &err), &err);
            assert_true(digest == leat_batch_get_info(batch)->digest);
            leat_batch_release(batch);
        }
        leat_loader_close(&resumed);
        close_loader_and_plan(&loader, &again);
        leat_plan_close(&plan);
    }
    free(rows);
}

TEST(a_state_of_another_plan_is_refused)
{
    static const struct {
        setup s;
        const char *text;
    } others[] = {
        { { 99, 10, 1, 1, "{}", NULL, NULL, false }, "records is 100, here it is 99" },
        { { 100, 11, 1, 1, "{}", NULL, NULL, false }, "batch size is 10, here it is 11" },
        { { 100, 10, 1, 1, "{seed: 2}", NULL, NULL, false }, "digest" },
        { { 100, 10, 1, 1, "{}", "jitter", NULL, false }, "digest" },
    };
    const setup s = { 100, 10, 1, 1, "{}", NULL, NULL, false };
    float *rows = make_rows(100);
    leat_plan *plan = plan_of(&s, rows);
    leat_loader *loader = open_loader(plan, NULL);
    leat_loader_state at, bad;
    leat_loader_options options = { .state = &bad };
    leat_error err;
    leat_loader_get_state(loader, &at);
    leat_loader_close(&loader);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        leat_plan *other = plan_of(&others[i].s, rows);
        bad = at;
        assert_int_equal(leat_loader_open(other, &options, &loader, &err), LEAT_E_ARGUMENT);
        if (!strstr(err.message, others[i].text))
            fail_msg("%s", err.message);
        leat_plan_close(&other);
    }
    for (size_t byte = 0; byte < sizeof at; byte++) { /* any damage is found */
        bad = at;
        ((uint8_t *)&bad)[byte] ^= 0x10;
        assert_int_equal(leat_loader_open(plan, &options, &loader, &err), LEAT_E_ARGUMENT);
        assert_null(loader);
        assert_null(strstr(err.message, "version 1, this library reads version 1"));
    }
    leat_plan_close(&plan);
    free(rows);
}

TEST(the_largest_hold)
{
    static const int32_t wrong[] = { -1, (1 << 20) + 1, INT32_MAX };
    const setup s = { 100, 10, 1, 1, "{}", NULL, NULL, false };
    float *rows = make_rows(100);
    leat_plan *plan = plan_of(&s, rows);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int beyond = 0; beyond < 2; beyond++) {
            const leat_loader_options options = { .hold = wrong[i], .beyond_hold = beyond };
            leat_loader *loader;
            leat_error err;
            assert_int_equal(leat_loader_open(plan, &options, &loader, &err), LEAT_E_ARGUMENT);
            assert_non_null(strstr(err.message, "loader: hold is 0 to 1048576; got "));
        }
    leat_plan_close(&plan);
    free(rows);
}

TEST(the_largest_first_batch)
{
    const setup s = { 100, 10, 1, 1, "{}", NULL, NULL, false };
    float *rows = make_rows(100);
    leat_plan *plan = plan_of(&s, rows);
    leat_loader_options options = { .epochs = -1, .first_batch = (int64_t)1 << 62 };
    leat_loader *loader = open_loader(plan, &options);
    leat_loader_state at;
    leat_batch *batch;
    leat_error err;
    check(leat_loader_next(loader, &batch, &err), &err);
    assert_int_equal(leat_batch_get_info(batch)->number, options.first_batch);
    leat_batch_release(batch);
    leat_loader_close(&loader);
    for (int64_t over = 1; over < INT64_MAX - options.first_batch; over *= 2) {
        leat_loader_options wrong = options;
        wrong.first_batch += over;
        assert_int_equal(leat_loader_open(plan, &wrong, &loader, &err), LEAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, "first_batch is 0 to 4611686018427387904"));
        leat_loader_state_at(plan, wrong.first_batch, &at);
        wrong.state = &at;
        assert_int_equal(leat_loader_open(plan, &wrong, &loader, &err), LEAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, "its next batch is 0 to 4611686018427387904; got "));
    }
    leat_loader_state_at(plan, options.first_batch, &at);
    options.state = &at;
    loader = open_loader(plan, &options);
    check(leat_loader_next(loader, &batch, &err), &err);
    assert_int_equal(leat_batch_get_info(batch)->number, options.first_batch);
    leat_batch_release(batch);
    leat_loader_close(&loader);
    leat_loader_state_at(plan, -1, &at);
    assert_int_equal(leat_loader_open(plan, &options, &loader, &err), LEAT_E_ARGUMENT);
    leat_plan_close(&plan);
    free(rows);
}

/* With a state first_batch does not count. */
TEST(a_state_comes_before_the_first_batch)
{
    const setup s = { 100, 10, 1, 1, "{}", NULL, NULL, false };
    float *rows = make_rows(100);
    leat_plan *plan = plan_of(&s, rows);
    leat_loader_state at;
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .first_batch = 3 });
    leat_loader_get_state(loader, &at);
    leat_loader_close(&loader);
    loader = open_loader(plan, &(leat_loader_options){ .state = &at, .first_batch = -1 });
    leat_loader_get_state(loader, &at);
    assert_int_equal(at.next_batch, 3);
    close_loader_and_plan(&loader, &plan);
    free(rows);
}

/* What could hold of no row is refused: it would check nothing. */
TEST(what_is_expected_is_of_the_plan)
{
    static const float x[4];
    static const int64_t y[4] = { 0, 1, 2, 3 };
    const leat_rows rows[] = { { "x", leat_shape_make(LEAT_F32, 0, NULL), x },
                               { "y", leat_shape_make(LEAT_I64, 0, NULL), y } };
    static const struct {
        leat_expect expect;
        const char *says; /* NULL: it is taken */
    } cases[] = {
        { { .tensor = 1, .classes = 4, .weights = 1, .finite = 1 }, NULL },
        { { .tensor = 7 }, NULL },
        { { .tensor = 2, .classes = 4 }, "tensor is 0 to 1; got 2" },
        { { .tensor = -1, .classes = 4 }, "tensor is 0 to 1; got -1" },
        { { .tensor = 1, .classes = -1 }, "classes is 0 or more; got -1" },
        { { .weights = 3 }, "a float32 tensor, or 0; got 3" },
        { { .weights = 2 }, "a float32 tensor, or 0; got 2" },
        { { .weights = -1 }, "a float32 tensor, or 0; got -1" },
    };
    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, 4, rows, 2);
    leat_builder_stage(builder, "batch", "2");
    leat_plan *plan = plan_of_builder(builder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const leat_loader_options options = { .expect = cases[i].expect };
        leat_loader *loader;
        leat_error err = { 0 };
        const int wanted = cases[i].says ? LEAT_E_ARGUMENT : LEAT_OK;
        if (leat_loader_check(plan, &options.expect, &err) != wanted ||
            leat_loader_open(plan, &options, &loader, &err) != wanted ||
            (wanted && !strstr(err.message, cases[i].says)))
            fail_msg("case %zu: %s", i, err.message);
        leat_loader_close(&loader);
    }
    leat_plan_close(&plan);
}

TEST(an_error_comes_in_its_place_and_stays)
{
    float *rows = make_rows(100);
    for (int threads = 0; threads <= 4; threads += 2)
        for (int prefetch = 0; prefetch <= 3; prefetch += 3) {
            const setup s = { 100, 10, threads, prefetch, NULL, "fail_at", "{record: 57}", false };
            leat_plan *plan = plan_of(&s, rows);
            leat_loader *loader = open_loader(plan, NULL);
            leat_batch *batch;
            leat_error err;
            int n = 0;
            while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
                leat_batch_release(batch);
                n++;
            }
            assert_int_equal(n, 5);
            for (int again = 0; again < 3; again++) {
                assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_DATA);
                assert_non_null(strstr(err.message, "planted failure at 57"));
                assert_non_null(strstr(err.message, "fail_at"));
                assert_non_null(strstr(err.message, "row 57 in memory"));
            }
            close_loader_and_plan(&loader, &plan);
        }
    free(rows);
}

TEST(holding)
{
    float *rows = make_rows(64);
    const setup s = { 64, 8, 2, 1, NULL, NULL, NULL, false };
    leat_plan *plan = plan_of(&s, rows);
    const leat_loader_options options = { .hold = 3 };
    leat_loader *loader = open_loader(plan, &options);
    leat_batch *held[3], *more;
    leat_error err;
    for (int i = 0; i < 3; i++)
        check(leat_loader_next(loader, &held[i], &err), &err);
    assert_int_equal(leat_loader_next(loader, &more, &err), LEAT_E_BUSY);
    assert_non_null(strstr(err.message, "hold"));
    leat_batch_release(held[1]); /* any order */
    leat_batch_release(held[1]); /* twice is harmless */
    leat_batch_release(held[0]);
    check(leat_loader_next(loader, &held[0], &err), &err);
    assert_int_equal(leat_batch_get_info(held[0])->number, 3);
    leat_loader_close(&loader); /* with two held: their memory stays */
    assert_int_equal((int)*(float *)leat_batch_tensor(held[2], 0).data, 16);
    leat_batch_release(held[0]);
    leat_batch_release(held[2]);
    leat_plan_close(&plan);
    free(rows);
}

TEST(closing_at_any_moment)
{
    float *rows = make_rows(300);
    for (int i = 0; i < 60; i++) {
        const setup s = { 300, 16, i % 5, i % 4, "{}", i % 2 ? "stall" : NULL, NULL, false };
        leat_plan *plan = plan_of(&s, rows);
        const leat_loader_options options = { .epochs = -1, .hold = 2 };
        leat_loader *loader = open_loader(plan, &options);
        leat_batch *batch = NULL;
        for (int k = 0; k < i % 7; k++) {
            check(leat_loader_next(loader, &batch, NULL), NULL);
            if (k < i % 7 - 1)
                leat_batch_release(batch);
        }
        leat_loader_close(&loader);
        if (i % 7)
            leat_batch_release(batch);
        leat_plan_close(&plan);
    }
    free(rows);
}

TEST(batches_of_a_simulated_device)
{
    float *rows = make_rows(500);
    uint64_t want = 0;
    for (int prefetch = 0; prefetch <= 3; prefetch++)
        for (int threads = 0; threads <= 2; threads++) {
            const setup s = { 500, 20, threads, prefetch, "{}", "jitter", NULL, false };
            leat_plan *plan = plan_of(&s, rows);
            leat_device *device;
            leat_error err;
            check(leat_device_open("sim", &device, &err), &err);
            const leat_loader_options options = { .device = device, .epochs = 2 };
            leat_loader *loader = open_loader(plan, &options);
            leat_batch *batch;
            uint64_t digest = 0;
            int64_t n = 0;
            int rc;
            while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
                const leat_view x = leat_batch_tensor(batch, 0);
                while (!leat_batch_get_info(batch)->copy_end_ns)
                    pause_ns(20000);
                /* the device's memory holds what the digest of the host's was made of */
                for (int64_t j = 0; j < x.shape.dims[0]; j++)
                    digest += leat_digest_row((const float *)x.data + j * ROW_FLOATS,
                                              ROW_FLOATS * sizeof(float), (uint64_t)j * 16);
                leat_batch_release(batch);
                n++;
            }
            assert_int_equal(rc, LEAT_E_END);
            assert_int_equal(n, 50);
            if (!want)
                want = digest;
            assert_true(want == digest);
            leat_loader_close(&loader);
            leat_device_close(&device);
            leat_plan_close(&plan);
        }
    free(rows);
}
