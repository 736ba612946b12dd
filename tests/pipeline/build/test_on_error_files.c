/* SPDX-License-Identifier: MIT
 *
 * test_on_error_files.c: bad records with damaged files, buckets, devices, and batches that outlive their
 * loader. */
#include "fixtures/on_error_fixture.h"
#include "fixtures/record_file.h"
#include "fixtures/steady_fixture.h"
#include "pipeline/plan/plan_impl.h"

static uint64_t n_damaged;

/* Writes records and turns a byte in the payload of every ninth. */
static int make_file(void **state)
{
    uint64_t at = 0, size;
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
    return plan_format(
        "source: {tfrecord: {files: '%s', features: {x: {}, id: {}}}}\n"
        "engine: %s\n"
        "pipeline: [shuffle, {on_error: {policy: %s, max_errors: 1000}}, {batch: 16},\n"
        "           {prefetch: %d}]\n",
        path, engine, policy, prefetch);
}

TEST(damaged_records_of_files)
{
    static const char *const policies[] = { "mask", "replace" };
    static const char *const engines[] = { "{threads: 0, reader: pread, digest: true}",
                                           "{threads: 4, reader: pread, digest: true}",
                                           "{threads: 3, digest: true}",
                                           "{threads: 3, read_bytes: 8 KiB, digest: true}" };
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
            close_loader_and_plan(&loader, &plan);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    }
}

/* A length that is damaged and a tail that is cut are one bad record each, whoever reads; `fail` names the
 * first of them, and what to do, also where an index lies beside the file by then. */
static void check_damaged_length(int hit)
{
    static const char *const engines[] = { "{threads: 0, reader: pread, digest: true}",
                                           "{threads: 4, reader: pread, digest: true}",
                                           "{threads: 3, digest: true}" };
    char damaged[] = "/tmp/leat-test-on-error-XXXXXX.tfrecord", text[400], place[200];
    uint64_t at = 0, size = 0;
    leat_error err;
    leat_plan *plan;
    assert_int_equal(close(mkstemps(damaged, 9)), 0);
    write_records(damaged, 0, N, 900);
    FILE *file = fopen(damaged, "r+b");
    assert_non_null(file);
    for (int r = 0; r < hit; r++, at += 16 + size)
        assert_int_equal(pread(fileno(file), &size, 8, (off_t)at), 8);
    fseek(file, (long)at + 1, SEEK_SET);
    fputc(0xee, file);
    fseek(file, 0, SEEK_END);
    assert_int_equal(ftruncate(fileno(file), ftell(file) - 9), 0);
    fclose(file);
    for (int p = 0; p < 2; p++) {
        uint64_t want = 0;
        for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
            leat_loader_stats_info stats;
            leat_row_error bad[3];
            int64_t n_batches;
            snprintf(text, sizeof text,
                     "source: {tfrecord: {files: '%s', features: {x: {}, id: {}}}}\n"
                     "engine: %s\n"
                     "pipeline: [{on_error: %s}, {batch: 16}]\n",
                     damaged, engines[e], p ? "replace" : "mask");
            plan = plan_of_text(text);
            snprintf(place, sizeof place, "%s is damaged: ", damaged);
            assert_non_null(strstr(leat_plan_note(plan, 0), place));
            assert_non_null(strstr(leat_plan_note(plan, 0), "in 2 places"));
            leat_loader *loader = open_loader(plan, NULL);
            const uint64_t digest = take_digest(loader, &n_batches);
            leat_loader_stats(loader, &stats);
            assert_int_equal(p ? stats.n_replaced : stats.n_masked, 2);
            assert_true(stats.lost_bytes > 16);
            assert_int_equal(leat_loader_errors(loader, bad, 3), 2);
            snprintf(place, sizeof place, "%s, record %d (byte %llu)", damaged, hit,
                     (unsigned long long)at);
            assert_non_null(strstr(bad[0].message, place));
            assert_int_equal(bad[0].record, hit);
            assert_int_equal(bad[1].record, N - 1);
            assert_non_null(strstr(bad[1].message, "truncated"));
            close_loader_and_plan(&loader, &plan);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    }
    snprintf(text, sizeof text, "{source: {tfrecord: '%s'}, pipeline: [batch: 16]}", damaged);
    assert_int_equal(open_text(text, &plan, &err), LEAT_E_DATA);
    snprintf(place, sizeof place, "%s: record %d at byte %llu: length CRC", damaged, hit,
             (unsigned long long)at);
    assert_non_null(strstr(err.message, place));
    assert_non_null(strstr(err.message, "leat repair"));
    unlink(damaged);
    snprintf(text, sizeof text, "%s.idx", damaged);
    unlink(text);
}

TEST(damaged_lengths_of_files)
{
    check_damaged_length(40);
    check_damaged_length(0);
}

/* However long it is, what is lost is no size of a record: not for memory, nor for rows that are filled up. */
TEST(a_lost_stretch_needs_no_room)
{
    enum { LOST = 100000, MOST = 1100 };
    static uint8_t zeros[LOST];
    char damaged[] = "/tmp/leat-test-on-error-XXXXXX.tfrecord", side[64];
    assert_int_equal(close(mkstemps(damaged, 9)), 0);
    write_records(damaged, 0, N, 900);
    FILE *file = fopen(damaged, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 10000, SEEK_SET), 0);
    assert_int_equal(fwrite(zeros, 1, LOST, file), LOST);
    fclose(file);
    for (int again = 0; again < 2; again++) { /* the index is built, then read */
        leat_plan *plan = plan_format("source: {tfrecord: {files: '%s', features: {blob: {}}}}\n"
                                      "engine: {threads: 0}\n"
                                      "pipeline: [{on_error: mask}, {padded_batch: 16}]\n",
                                      damaged);
        leat_loader *loader = open_loader(plan, NULL);
        leat_loader_stats_info stats;
        leat_row_error bad[3];
        int64_t n_batches;
        assert_in_range(plan->probe.most_bytes, 900, MOST);
        assert_in_range(plan->probe.mean_bytes, 1, MOST);
        assert_in_range(leat_plan_tensor(plan, 0)->shape.dims[0], 900, MOST);
        take_digest(loader, &n_batches);
        leat_loader_stats(loader, &stats);
        assert_in_range(stats.lost_bytes, LOST - MOST, LOST + MOST);
        assert_int_equal(stats.n_masked, leat_loader_errors(loader, bad, 3));
        assert_in_range(stats.n_masked, 1, 2);
        assert_non_null(strstr(bad[stats.n_masked - 1].message, "length CRC is 00000000"));
        close_loader_and_plan(&loader, &plan);
    }
    snprintf(side, sizeof side, "%s.idx", damaged);
    unlink(side);
    unlink(damaged);
}

/* In batches of buckets, whose rows differ in size, too; and a row is replaced by one of its bucket. */
TEST(rows_of_buckets)
{
    static const char *const policies[] = { "{policy: mask, max_errors: unlimited}",
                                            "{policy: replace, max_errors: unlimited}" };
    char good[] = "/tmp/leat-test-on-error-XXXXXX.tfrecord", text[200];
    const int fd = mkstemps(good, 9);
    assert_true(fd >= 0);
    close(fd);
    write_records(good, 0, N, 900);
    for (int p = 0; p < 2; p++) {
        uint64_t want = 0;
        for (int threads = 0; threads <= 4; threads += 2) {
            leat_builder *b = leat_builder_open();
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
            leat_plan *plan = plan_of_builder(b);
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
            close_loader_and_plan(&loader, &plan);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    }
    remove(good);
    snprintf(text, sizeof text, "%s.idx", good);
    remove(text);
}

/* `auto` counts the samples of all batches, not as many of the largest. */
TEST(a_limit_of_buckets)
{
    char file[] = "/tmp/leat-test-on-error-XXXXXX.tfrecord", side[64], text[400];
    const int fd = mkstemps(file, 9);
    assert_true(fd >= 0);
    close(fd);
    write_records(file, 0, N, 900);
    for (int drop = 0; drop < 2; drop++) {
        snprintf(text, sizeof text,
                 "source: {tfrecord: {files: '%s', features: {x: {}, blob: {}}}}\n"
                 "pipeline: [{on_error: mask}, {bucket_by_length: {feature: blob, boundaries: "
                 "[100, 400, 900], sizes: [20, 10, 7], drop_remainder: %s}}, {repeat: 1000}]\n",
                 file, drop ? "true" : "false");
        leat_plan *plan = plan_of_text(text);
        leat_order_cache cache = { 0 };
        uint64_t rows = 0;
        for (uint64_t b = 0; b < plan->order.n_batches; b++)
            rows += leat_order_find(&plan->order, &cache, b).rows;
        assert_true(drop ? rows < 1000 * N : rows == 1000 * N);
        assert_int_equal(plan->max_errors, rows / 100);
        leat_plan_close(&plan);
    }
    remove(file);
    snprintf(side, sizeof side, "%s.idx", file);
    remove(side);
}

/* On a device the column lies behind the tensors and comes with them. */
TEST(the_column_comes_to_a_device)
{
    float *const rows = make_rows(N);
    for (int prefetch = 0; prefetch <= 3; prefetch += 3) {
        const setup s = { .on_error = "{policy: mask, max_errors: unlimited}",
                          .bad = "{every: 20}",
                          .threads = 2,
                          .prefetch = prefetch };
        leat_plan *plan = on_error_plan(&s, rows);
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

TEST(closing_with_bad_batches_held)
{
    float *const rows = make_rows(N);
    static const char *const devices[] = { "cpu", "sim" };
    for (int i = 0; i < 24; i++) {
        const setup s = { .on_error = "{policy: mask, max_errors: unlimited}",
                          .bad = "{every: 2}",
                          .threads = i % 3,
                          .prefetch = i % 4 };
        leat_plan *plan = on_error_plan(&s, rows);
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
TEST(errors_allocate_nothing)
{
    static const char *const policies[] = { "mask", "replace" };
    for (int i = 0; i < 4; i++) {
        leat_plan *plan =
            file_plan(i / 2 ? "{threads: 2}" : "{threads: 2, reader: pread}", policies[i % 2], 2);
        expect_no_allocation(plan, 60);
    }
}
#endif

TEST(wrong_places_are_refused)
{
    static const struct {
        const char *stages, *message;
    } wrong[] = {
        { "{batch: 4}, {on_error: mask}", "on_error is about samples: put it before batch" },
        { "{on_error: mask}, {on_error: mask}, {batch: 4}", "a second on_error stage" },
        { "{on_error: skip}, {batch: 4}", "policy" },
    };
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

SUITE_FIXTURE(make_file, remove_file)
