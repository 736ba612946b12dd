/* SPDX-License-Identifier: MIT
 *
 * test_on_error_limits.c: where limits stop a run; what is listed; damaged files, devices, memory. */
#include "on_error_fixture.h"
#include "record_file.h"
#include "steady_fixture.h"

#include <unistd.h>

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

static void a_limit_stops_in_batch_order(void **state)
{
    static const char *const devices[] = { NULL, "sim" };
    float *const rows = make_rows(N);
    (void)state;
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
            leat_plan *plan = plan_of(&s, rows);
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

static void a_limit_counts_each_epoch_anew(void **state)
{
    static const char *const repeats[] = { NULL, "forever" };
    float *const rows = make_rows(N);
    (void)state;
    for (int i = 0; i < 2; i++) {
        const setup s = { .on_error = "{policy: mask, max_errors: 43}",
                          .bad = "{}", /* 43 of 300 */
                          .threads = 2,
                          .prefetch = 1,
                          .after = repeats[i] };
        leat_plan *plan = plan_of(&s, rows);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 4 });
        leat_batch *batch;
        leat_error err;
        for (int64_t b = 0; b < 4 * N_BATCHES; b++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            leat_batch_release(batch);
        }
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    free(rows);
}

static void auto_allows_one_in_a_hundred_but_ten(void **state)
{
    float *const rows = make_rows(N);
    const setup s = { .on_error = "mask", .bad = "{}", .threads = 1 };
    const setup fail = { .on_error = "fail", .bad = "{}", .threads = 1 };
    leat_error err;
    int64_t n;
    (void)state;
    leat_plan *plan = plan_of(&s, rows);
    assert_int_equal(plan->max_errors, 10);
    leat_loader *loader = open_loader(plan, NULL);
    assert_int_equal(take_all(loader, &n, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "more than 10 bad records in epoch 0"));
    leat_loader_close(&loader);
    plan->order.n_batches = 10000; /* a large set */
    plan->max_errors = LEAT_ERRORS_AUTO;
    leat_on_error_settle(plan);
    assert_int_equal(plan->max_errors, 10000 * SIZE / 100);
    leat_plan_close(&plan);
    plan = plan_of(&fail, rows);
    loader = open_loader(plan, NULL);
    assert_int_equal(take_all(loader, &n, &err), LEAT_E_DATA);
    assert_null(strstr(err.message, "bad records"));
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    free(rows);
}

static void a_raised_limit_goes_on_from_the_state(void **state)
{
    float *const rows = make_rows(N);
    setup s = { .on_error = "{policy: mask, max_errors: 12}", .bad = "{}", .threads = 2 };
    leat_plan *low = plan_of(&s, rows);
    s.on_error = "{policy: mask, max_errors: unlimited}";
    leat_plan *high = plan_of(&s, rows);
    s.on_error = "{policy: replace, max_errors: 12}";
    leat_plan *other = plan_of(&s, rows);
    leat_loader *loader = open_loader(low, NULL);
    leat_loader_state at;
    leat_error err;
    int64_t n, rest;
    (void)state;
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

static void want_of_memory_is_never_masked(void **state)
{
    float *const rows = make_rows(N);
    static const char *const policies[] = { "mask", "replace" };
    (void)state;
    for (int i = 0; i < 2; i++) {
        const setup s = { .on_error = policies[i], .bad = "{code: nomem}", .threads = i };
        leat_plan *plan = plan_of(&s, rows);
        leat_loader *loader = open_loader(plan, NULL);
        leat_error err;
        int64_t n;
        assert_int_equal(take_all(loader, &n, &err), LEAT_E_NOMEM);
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    free(rows);
}

/* --- more than are listed, and the list of a run -------------------------------------------------------- */

static void the_first_of_many_are_listed(void **state)
{
    enum { BIG = 300 };
    float *const rows = make_rows(BIG);
    const int64_t dims[] = { ROW_FLOATS };
    const leat_rows x = { "x", leat_shape_make(LEAT_F32, 1, dims), rows };
    (void)state;
    for (int threads = 0; threads <= 4; threads += 2) {
        leat_builder *b = leat_builder_open();
        leat_plan *plan;
        leat_error err;
        leat_batch *batch;
        leat_row_error list[LEAT_BATCH_ERRORS + 1];
        char text[80];
        leat_builder_rows(b, BIG, &x, 1);
        leat_builder_op(b, &bad_op);
        snprintf(text, sizeof text, "{threads: %d, run: 3}", threads);
        leat_builder_engine(b, text);
        leat_builder_stage(b, "on_error", "{policy: mask, max_errors: unlimited}");
        leat_builder_stage(b, "map", "[bad: {every: 2}]");
        leat_builder_stage(b, "batch", "250");
        check(leat_builder_plan(b, &plan, &err), &err);
        leat_builder_close(&b);
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
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    free(rows);
}

/* --- files and devices ------------------------------------------------------------------------------- */

static uint64_t n_damaged;

/* Writes records and turns a byte in the payload of every ninth. */
static int make_file(void **state)
{
    uint64_t at = 0, size;
    (void)state;
    if (make_record_file(N, 900) < 0)
        return -1;
    FILE *file = fopen(path, "r+b");
    if (!file)
        return -1;
    for (uint64_t r = 0; r < N; r++) { /* length, its CRC, payload, its CRC */
        if (fseek(file, (long)at, SEEK_SET) || fread(&size, 8, 1, file) != 1)
            return -1;
        if (r % 9 == 4) {
            fseek(file, (long)(at + 12 + size / 2), SEEK_SET);
            const int byte = fgetc(file);
            fseek(file, (long)(at + 12 + size / 2), SEEK_SET);
            fputc(byte ^ 0x20, file);
            n_damaged++;
        }
        at += 16 + size;
    }
    return fclose(file);
}

static leat_plan *file_plan(const char *engine, const char *policy, int prefetch)
{
    char text[600];
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {x: {}, id: {}}}}\n"
             "engine: %s\n"
             "pipeline: [shuffle, {on_error: {policy: %s, max_errors: 1000}}, {batch: 16},\n"
             "           {prefetch: %d}]\n",
             path, engine, policy, prefetch);
    return plan_of_text(text);
}

static void damaged_records_of_files(void **state)
{
    static const char *const policies[] = { "mask", "replace" };
    static const char *const engines[] = { "{threads: 0, reader: pread, digest: true}",
                                           "{threads: 4, reader: pread, digest: true}",
                                           "{threads: 3, digest: true}",
                                           "{threads: 3, read_bytes: 8 KiB, digest: true}" };
    (void)state;
    for (int p = 0; p < 2; p++) {
        uint64_t want = 0;
        for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
            leat_plan *plan = file_plan(engines[e], policies[p], (int)e % 3);
            leat_loader *loader = open_loader(plan, NULL);
            leat_loader_stats_info stats;
            leat_row_error first;
            int64_t n_batches;
            const uint64_t digest = take_digest(loader, &n_batches);
            leat_loader_stats(loader, &stats);
            assert_int_equal(p == 0 ? stats.n_masked : stats.n_replaced, n_damaged);
            assert_int_equal(leat_loader_errors(loader, &first, 1), 1);
            assert_int_equal(first.record % 9, 4);
            assert_non_null(strstr(first.message, path));
            leat_loader_close(&loader);
            leat_plan_close(&plan);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    }
}

/* In batches of buckets, whose rows differ in size, too; and a row is replaced by one of its bucket. */
static void rows_of_buckets(void **state)
{
    static const char *const policies[] = { "{policy: mask, max_errors: unlimited}",
                                            "{policy: replace, max_errors: unlimited}" };
    char good[] = "/tmp/leat-test-on-error-XXXXXX.tfrecord", text[200];
    const int fd = mkstemps(good, 9);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    write_records(good, 0, N, 900);
    for (int p = 0; p < 2; p++) {
        uint64_t want = 0;
        for (int threads = 0; threads <= 4; threads += 2) {
            leat_builder *b = leat_builder_open();
            leat_plan *plan;
            leat_error err;
            leat_batch *batch;
            leat_loader_stats_info stats;
            uint64_t digest = 0;
            snprintf(text, sizeof text, "{files: '%s', features: {x: {}, blob: {}}}", good);
            leat_builder_source(b, "tfrecord", text);
            leat_builder_op(b, &bad_op);
            snprintf(text, sizeof text, "{threads: %d, digest: true}", threads);
            leat_builder_engine(b, text);
            leat_builder_stage(b, "map", "{tensor: x, ops: [bad: {every: 5}]}");
            leat_builder_stage(b, "on_error", policies[p]);
            leat_builder_stage(b, "shuffle", NULL);
            leat_builder_stage(b, "bucket_by_length",
                               "{feature: blob, boundaries: [100, 400, 900], sizes: [20, 10, 7]}");
            check(leat_builder_plan(b, &plan, &err), &err);
            leat_builder_close(&b);
            leat_loader *loader = open_loader(plan, NULL);
            int rc;
            while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
                const leat_view x = leat_batch_tensor(batch, 0), blob = leat_batch_tensor(batch, 1);
                const uint8_t *const valid = leat_batch_valid(batch);
                for (int64_t j = 0; j < x.shape.dims[0]; j++) {
                    const int64_t record = (int64_t)((const float *)x.data)[j * ROW_FLOATS];
                    const uint8_t first = ((const uint8_t *)blob.data)[j * blob.shape.dims[1]];
                    if (!valid || valid[j]) {
                        assert_true(record % 5 != 3);
                        assert_int_equal(first, record & 0xff);
                    } else {
                        assert_true(record == 0 && first == 0);
                    }
                }
                digest = leat_digest_chain(digest, leat_batch_get_info(batch)->digest);
                leat_batch_release(batch);
            }
            if (rc != LEAT_E_END)
                check(rc, &err);
            leat_loader_stats(loader, &stats);
            assert_int_equal(p ? stats.n_replaced : stats.n_masked, N / 5);
            leat_loader_close(&loader);
            leat_plan_close(&plan);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    }
    remove(good);
    snprintf(text, sizeof text, "%s.idx", good);
    remove(text);
}

/* On a device the column lies behind the tensors and comes with them. */
static void the_column_comes_to_a_device(void **state)
{
    float *const rows = make_rows(N);
    (void)state;
    for (int prefetch = 0; prefetch <= 3; prefetch += 3) {
        const setup s = { .on_error = "{policy: mask, max_errors: unlimited}",
                          .bad = "{every: 20}",
                          .threads = 2,
                          .prefetch = prefetch };
        leat_plan *plan = plan_of(&s, rows);
        leat_device *device;
        leat_batch *batch;
        leat_error err;
        int64_t n = 0;
        check(leat_device_open("sim", &device, &err), &err);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .device = device });
        while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
            const leat_batch_info *info = leat_batch_get_info(batch);
            while (!leat_batch_get_info(batch)->copy_end_ns)
                pause_ns(20000);
            const uint8_t *const valid = leat_batch_valid(batch);
            assert_int_equal(valid != NULL, info->n_masked > 0);
            int64_t n_masked = 0;
            for (int64_t j = 0; valid && j < info->rows; j++)
                n_masked += !valid[j];
            assert_int_equal(n_masked, info->n_masked);
            assert_int_equal(leat_batch_error(batch, 0) != NULL, n_masked > 0);
            n += n_masked;
            leat_batch_release(batch);
        }
        assert_int_equal(err.code, LEAT_E_END);
        assert_int_equal(n, 15);
        leat_loader_close(&loader);
        leat_device_close(&device);
        leat_plan_close(&plan);
    }
    free(rows);
}

static void closing_with_bad_batches_held(void **state)
{
    float *const rows = make_rows(N);
    static const char *const devices[] = { "cpu", "sim" };
    (void)state;
    for (int i = 0; i < 24; i++) {
        const setup s = { .on_error = "{policy: mask, max_errors: unlimited}",
                          .bad = "{every: 2}",
                          .threads = i % 3,
                          .prefetch = i % 4 };
        leat_plan *plan = plan_of(&s, rows);
        leat_device *device;
        leat_batch *batch;
        leat_error err;
        check(leat_device_open(devices[i % 2], &device, &err), &err);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .device = device });
        for (int k = 0; k < i % 5; k++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            leat_batch_release(batch);
        }
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_loader_close(&loader);
        assert_non_null(leat_batch_error(batch, 0));
        leat_batch_release(batch);
        leat_device_close(&device);
        leat_plan_close(&plan);
    }
    free(rows);
}

#ifdef COUNTING_MALLOC
static void errors_allocate_nothing(void **state)
{
    static const char *const policies[] = { "mask", "replace" };
    (void)state;
    for (int i = 0; i < 4; i++) {
        leat_plan *plan =
            file_plan(i / 2 ? "{threads: 2}" : "{threads: 2, reader: pread}", policies[i % 2], 2);
        expect_no_allocation(plan, 60);
    }
}
#endif

static void wrong_places_are_refused(void **state)
{
    static const struct {
        const char *stages, *message;
    } wrong[] = {
        { "{batch: 4}, {on_error: mask}", "on_error is about samples: put it before batch" },
        { "{on_error: mask}, {on_error: mask}, {batch: 4}", "a second on_error stage" },
        { "{on_error: skip}, {batch: 4}", "policy" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[400];
        leat_config *config;
        leat_plan *plan;
        leat_error err;
        snprintf(text, sizeof text,
                 "source: {tfrecord: {files: '%s', features: {x: {}}}}\n"
                 "pipeline: [%s]\n",
                 path, wrong[i].stages);
        check(leat_config_parse(text, "wrong.yaml", &config, &err), &err);
        assert_int_equal(leat_plan_open(config, NULL, &plan, &err), LEAT_E_CONFIG);
        if (!strstr(err.message, wrong[i].message))
            fail_msg("%s", err.message);
        leat_config_close(&config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_stops_in_batch_order),
        cmocka_unit_test(a_limit_counts_each_epoch_anew),
        cmocka_unit_test(auto_allows_one_in_a_hundred_but_ten),
        cmocka_unit_test(a_raised_limit_goes_on_from_the_state),
        cmocka_unit_test(want_of_memory_is_never_masked),
        cmocka_unit_test(the_first_of_many_are_listed),
        cmocka_unit_test(damaged_records_of_files),
        cmocka_unit_test(rows_of_buckets),
        cmocka_unit_test(the_column_comes_to_a_device),
        cmocka_unit_test(closing_with_bad_batches_held),
#ifdef COUNTING_MALLOC
        cmocka_unit_test(errors_allocate_nothing),
#endif
        cmocka_unit_test(wrong_places_are_refused),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
