/* SPDX-License-Identifier: MIT
 *
 * test_on_error_limits.c: where max_errors stops a run, and which bad records are listed. */
#include "fixtures/on_error_fixture.h"

/* --- limits ----------------------------------------------------------------------------------------- */

/* Takes batches until an error, which it returns with their number. */
static int take_all(leat_loader *loader, int64_t *n, leat_error *err)
{
    leat_batch *batch;
    int rc;
    *n = 0;
    while ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK) {
        leat_batch_release(batch);
        ++*n;
    }
    return rc;
}

/* Bad rows that stand in batches before b, by the order alone. */
static int64_t bad_before(const leat_plan *plan, int64_t b, int64_t every)
{
    leat_order_cache cache = { 0 };
    int64_t n = 0;
    for (int64_t i = 0; i < b; i++) {
        const leat_order_place place = leat_order_find(&plan->order, &cache, (uint64_t)i);
        for (uint64_t j = 0; j < place.rows; j++) {
            uint64_t record, epoch;
            leat_order_row(&plan->order, &cache, &place, j, &record, &epoch);
            n += is_bad((int64_t)record, every);
        }
    }
    return n;
}

TEST(a_limit_stops_in_batch_order)
{
    static const char *const devices[] = { NULL, "sim" };
    float *const rows = make_rows(N);
    for (int limit = 0; limit <= 30; limit += 5) {
        char message[1020] = "";
        for (int how = 0; how < 16; how++) {
            char text[80], want[80];
            const bool replaces = how & 8;
            snprintf(text, sizeof text, "{policy: %s, max_errors: %d}",
                     replaces ? "replace" : "mask", limit);
            const setup s = {
                .on_error = text, .bad = "{}", .threads = how % 2 * 5, .prefetch = how / 2 % 2 * 3
            };
            leat_plan *plan = on_error_plan(&s, rows);
            leat_device *device = NULL;
            leat_error err;
            int64_t n;
            if (devices[how / 4 % 2])
                check(leat_device_open(devices[how / 4 % 2], &device, &err), &err);
            leat_loader *loader = open_loader(plan, &(leat_loader_options){ .device = device });
            assert_int_equal(take_all(loader, &n, &err), LEAT_E_DATA);
            assert_true(bad_before(plan, n, 7) <= limit);
            assert_true(bad_before(plan, n + 1, 7) > limit);
            snprintf(want, sizeof want, "more than %d bad record", limit);
            assert_non_null(strstr(err.message, want));
            assert_non_null(strstr(err.message, "planted failure at "));
            if (message[0])
                assert_string_equal(err.message, message);
            snprintf(message, sizeof message, "%.*s", (int)sizeof message - 1, err.message);
            leat_loader_close(&loader);
            leat_device_close(&device);
            leat_plan_close(&plan);
        }
    }
    free(rows);
}

TEST(a_limit_counts_each_epoch_anew)
{
    static const char *const repeats[] = { NULL, "forever" };
    float *const rows = make_rows(N);
    for (int i = 0; i < 2; i++) {
        const setup s = { .on_error = "{policy: mask, max_errors: 43}",
                          .bad = "{}", /* 43 of 300 */
                          .threads = 2,
                          .prefetch = 1,
                          .after = repeats[i] };
        leat_plan *plan = on_error_plan(&s, rows);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 4 });
        leat_batch *batch;
        leat_error err;
        for (int64_t b = 0; b < 4 * N_BATCHES; b++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            leat_batch_release(batch);
        }
        close_loader_and_plan(&loader, &plan);
    }
    free(rows);
}

TEST(a_limit_counts_all_passes_of_a_repeat)
{
    float *const rows = make_rows(N);
    const setup s = { .on_error = "{policy: mask, max_errors: 60}",
                      .bad = "{}", /* 43 of 300 */
                      .threads = 2,
                      .prefetch = 1,
                      .after = "2" };
    leat_plan *plan = on_error_plan(&s, rows);
    leat_loader *loader = open_loader(plan, NULL);
    leat_error err;
    int64_t n;
    assert_int_equal(take_all(loader, &n, &err), LEAT_E_DATA);
    assert_in_range(n, N_BATCHES, 2 * N_BATCHES - 1);
    assert_non_null(strstr(err.message, "more than 60 bad records in epoch 0"));
    close_loader_and_plan(&loader, &plan);
    free(rows);
}

TEST(auto_allows_one_in_a_hundred_but_ten)
{
    float *const rows = make_rows(N);
    const setup s = { .on_error = "mask", .bad = "{}", .threads = 1 };
    const setup fail = { .on_error = "fail", .bad = "{}", .threads = 1 };
    leat_error err;
    int64_t n;
    leat_plan *plan = on_error_plan(&s, rows);
    assert_int_equal(plan->max_errors, 10);
    leat_loader *loader = open_loader(plan, NULL);
    assert_int_equal(take_all(loader, &n, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "more than 10 bad records in epoch 0"));
    close_loader_and_plan(&loader, &plan);
    plan = on_error_plan(&fail, rows);
    loader = open_loader(plan, NULL);
    assert_int_equal(take_all(loader, &n, &err), LEAT_E_DATA);
    assert_null(strstr(err.message, "bad records"));
    close_loader_and_plan(&loader, &plan);
    free(rows);
}

/* A short batch has no more samples than it has rows. */
TEST(auto_counts_samples)
{
    static const struct {
        uint64_t n;
        const char *size, *stage, *options; /* behind batch */
        int64_t limit;
    } sets[] = {
        { 1001, "1000", NULL, NULL, 10 },
        { 1500, "1400", NULL, NULL, 15 },
        { 2001, "2000", NULL, NULL, 20 },
        { 1001, "10000", NULL, NULL, 10 },
        { 1999, "1", NULL, NULL, 19 },
        { 2001, "{size: 2000, drop_remainder: true}", NULL, NULL, 20 },
        { 2001, "2000", "take", "1", 20 },
        { 2001, "2000", "skip", "1", 10 },
        { 2001, "2000", "shuffle", NULL, 20 },
        { 1999, "700", "repeat", "3", 59 },
        { 5000, "700", "shard", "{count: 2, index: 0}", 28 },
        { 1999, "700", "shard", "{count: 2, index: 0}", 12 },
        { 100000, "1", NULL, NULL, 1000 },
        { 100000, "1", "repeat", "3", 3000 },
    };
    static const uint8_t values[100000];
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const leat_rows rows = { "x", leat_shape_make(LEAT_U8, 0, NULL), values };
        leat_builder *b = leat_builder_open();
        leat_builder_rows(b, sets[i].n, &rows, 1);
        leat_builder_stage(b, "on_error", "mask");
        leat_builder_stage(b, "batch", sets[i].size);
        if (sets[i].stage)
            leat_builder_stage(b, sets[i].stage, sets[i].options);
        leat_plan *plan = plan_of_builder(b);
        if (plan->max_errors != sets[i].limit)
            fail_msg("set %zu: %lld bad records are allowed, not %lld", i,
                     (long long)plan->max_errors, (long long)sets[i].limit);
        leat_plan_close(&plan);
    }
}

TEST(a_raised_limit_goes_on_from_the_state)
{
    float *const rows = make_rows(N);
    setup s = { .on_error = "{policy: mask, max_errors: 12}", .bad = "{}", .threads = 2 };
    leat_plan *low = on_error_plan(&s, rows);
    s.on_error = "{policy: mask, max_errors: unlimited}";
    leat_plan *high = on_error_plan(&s, rows);
    s.on_error = "{policy: replace, max_errors: 12}";
    leat_plan *other = on_error_plan(&s, rows);
    leat_loader *loader = open_loader(low, NULL);
    leat_loader_state at;
    leat_error err;
    int64_t n, rest;
    assert_int_equal(take_all(loader, &n, &err), LEAT_E_DATA);
    leat_loader_get_state(loader, &at);
    leat_loader_close(&loader);
    loader = open_loader(high, &(leat_loader_options){ .state = &at });
    assert_int_equal(take_all(loader, &rest, &err), LEAT_E_END);
    assert_int_equal(n + rest, N_BATCHES);
    leat_loader_close(&loader);
    assert_int_equal(leat_loader_open(other, &(leat_loader_options){ .state = &at }, &loader, &err),
                     LEAT_E_ARGUMENT);
    leat_plan_close(&low);
    leat_plan_close(&high);
    leat_plan_close(&other);
    free(rows);
}

/* --- what is no fault of a record -------------------------------------------------------------------- */

TEST(want_of_memory_is_never_masked)
{
    float *const rows = make_rows(N);
    static const char *const policies[] = { "mask", "replace" };
    for (int i = 0; i < 2; i++) {
        const setup s = { .on_error = policies[i], .bad = "{code: nomem}", .threads = i };
        leat_plan *plan = on_error_plan(&s, rows);
        leat_loader *loader = open_loader(plan, NULL);
        leat_error err;
        int64_t n;
        assert_int_equal(take_all(loader, &n, &err), LEAT_E_NOMEM);
        close_loader_and_plan(&loader, &plan);
    }
    free(rows);
}

/* --- more than are listed, and the list of a run -------------------------------------------------------- */

TEST(the_first_of_many_are_listed)
{
    enum { BIG = 300 };
    float *const rows = make_rows(BIG);
    for (int threads = 0; threads <= 4; threads += 2) {
        leat_builder *b = build_rows(BIG, rows);
        leat_error err;
        leat_batch *batch;
        leat_row_error list[LEAT_BATCH_ERRORS + 1];
        char text[80];
        leat_builder_op(b, &bad_op);
        snprintf(text, sizeof text, "{threads: %d, run: 3}", threads);
        leat_builder_engine(b, text);
        leat_builder_stage(b, "on_error", "{policy: mask, max_errors: unlimited}");
        leat_builder_stage(b, "map", "[bad: {every: 2}]");
        leat_builder_stage(b, "batch", "250");
        leat_plan *plan = plan_of_builder(b);
        leat_loader *loader = open_loader(plan, NULL);
        assert_int_equal(leat_loader_errors(loader, list, 9), 0);
        check(leat_loader_next(loader, &batch, &err), &err);
        assert_int_equal(leat_batch_get_info(batch)->n_masked, 125);
        for (int32_t i = 0; i < LEAT_BATCH_ERRORS; i++)
            assert_int_equal(leat_batch_error(batch, i)->row, 2 * i + 1);
        assert_null(leat_batch_error(batch, LEAT_BATCH_ERRORS));
        assert_null(leat_batch_error(batch, -1));
        leat_batch_release(batch);
        check(leat_loader_next(loader, &batch, &err), &err);
        assert_int_equal(leat_batch_error(batch, 3)->row, 7);
        leat_batch_release(batch);
        assert_int_equal(leat_loader_errors(loader, list, LEAT_BATCH_ERRORS + 1),
                         LEAT_BATCH_ERRORS);
        assert_int_equal(leat_loader_errors(loader, list, 2), 2);
        assert_int_equal(list[1].record, 3);
        close_loader_and_plan(&loader, &plan);
    }
    free(rows);
}
