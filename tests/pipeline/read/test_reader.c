/* SPDX-License-Identifier: MIT
 *
 * test_reader.c: TFRecord files through every reader: the same batches, also when reads fail. */
#include <fcntl.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "pipeline/read/reader.h"

#define N_FILES   3
#define N_RECORDS 400

static int make_files(void **state)
{
    return make_parts(state, N_FILES, N_RECORDS, 3000);
}

static int try_plan(const char *pattern, const char *features, const char *engine, int prefetch,
                    leat_plan **plan, leat_error *err)
{
    char text[1200];
    snprintf(text, sizeof text,
             "source:\n  tfrecord: {files: '%s/%s', features: %s}\n"
             "engine: %s\n"
             "pipeline:\n  - shuffle: {seed: 11}\n  - batch: 32\n  - prefetch: {batches: %d}\n",
             test_folder, pattern, features, engine, prefetch);
    return open_text(text, plan, err);
}

static leat_plan *plan_of(const char *engine, int prefetch)
{
    leat_plan *plan;
    leat_error err;
    check(try_plan("part-*.tfrecord", "{x: {}, id: {type: int64}}", engine, prefetch, &plan, &err),
          &err);
    return plan;
}

static uint64_t digest_with(const char *reader, int threads, int prefetch)
{
    char engine[200];
    int64_t n;
    snprintf(engine, sizeof engine, "{digest: true, threads: %d, reader: %s}", threads, reader);
    const uint64_t digest = digest_and_close(plan_of(engine, prefetch), 2, &n);
    assert_int_equal(n, 2 * ((N_FILES * N_RECORDS + 31) / 32));
    return digest;
}

TEST(rows_are_what_was_written)
{
    leat_plan *plan = plan_of("{}", 2);
    const leat_plan_info *info = leat_plan_get_info(plan);
    assert_int_equal(info->n_records, N_FILES * N_RECORDS);
    assert_int_equal(leat_plan_tensor_index(plan, "id"), 1);
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    uint8_t seen[N_FILES * N_RECORDS] = { 0 };
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        const leat_view x = leat_batch_tensor(batch, 0), id = leat_batch_tensor(batch, 1);
        assert_int_equal(id.shape.rank, 1);
        for (int64_t j = 0; j < id.shape.dims[0]; j++) {
            const int64_t r = ((const int64_t *)id.data)[j];
            for (int i = 0; i < ROW_FLOATS; i++)
                assert_true(((const float *)x.data)[j * ROW_FLOATS + i] ==
                            (float)r + (float)i / 64);
            seen[r]++;
        }
        leat_batch_release(batch);
    }
    for (int i = 0; i < N_FILES * N_RECORDS; i++)
        assert_int_equal(seen[i], 1);
    close_loader_and_plan(&loader, &plan);
}

TEST(readers_threads_prefetch_and_faults_agree)
{
    static const leat_reader_faults faults[] = {
        { 0 },
        { .refuse_ring = true },
        { .refuse_registration = true },
        { .short_every = 3 },
        { .error_every = 5 },
        { .short_every = 1 },
        { .blocks_ns = 1200000, .short_every = 5 },
        { .refuse_registration = true, .short_every = 4, .error_every = 7 },
    };
    const uint64_t want = digest_with("pread", 0, 0);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        leat_reader_fault = faults[f];
        for (int threads = 0; threads <= 8; threads += threads < 3 ? 1 : 5)
            for (int prefetch = 0; prefetch <= 2; prefetch += 2)
                assert_true(digest_with("auto, read_bytes: 4 MiB", threads, prefetch) == want);
    }
    leat_reader_fault = (leat_reader_faults){ 0 };
}

TEST(a_refused_ring_is_said)
{
    leat_loader_stats_info stats;
    leat_error err;
    leat_reader_fault = (leat_reader_faults){ .refuse_ring = true };
    leat_plan *plan = plan_of("{reader: auto, read_bytes: 4 MiB}", 2);
    leat_loader *loader = open_loader(plan, NULL);
    leat_loader_stats(loader, &stats);
    assert_string_equal(stats.reader, "pread");
    assert_non_null(strstr(stats.reader_reason, "io_uring is refused"));
    close_loader_and_plan(&loader, &plan);
    plan = plan_of("{reader: io_uring}", 2);
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &err), LEAT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "io_uring"));
    leat_plan_close(&plan);
    leat_reader_fault = (leat_reader_faults){ 0 };
}

/* Small read memory: reads wait for room, records above a quarter of it are read by workers. */
TEST(little_memory_changes_nothing)
{
    const uint64_t want = digest_with("pread", 1, 2);
    static const char *const engines[] = { "4096", "8 KiB", "20000", "64 KiB" };
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        for (int threads = 0; threads <= 3; threads++) {
            char engine[200];
            snprintf(engine, sizeof engine, "{digest: true, threads: %d, read_bytes: %s}", threads,
                     engines[i]);
            assert_true(digest_and_close(plan_of(engine, 2), 2, NULL) == want);
        }
}

TEST(resume_reads_nothing_before)
{
    leat_plan *plan = plan_of("{digest: true, threads: 2}", 2);
    leat_batch *batch;
    leat_loader *straight = open_loader(plan, NULL);
    for (int64_t b = 0; leat_loader_next(straight, &batch, NULL) == LEAT_OK; b++) {
        const uint64_t want = leat_batch_get_info(batch)->digest;
        const leat_loader_options options = { .first_batch = b };
        leat_loader *resumed = open_loader(plan, &options);
        leat_batch_release(batch);
        check(leat_loader_next(resumed, &batch, NULL), NULL);
        assert_true(leat_batch_get_info(batch)->digest == want);
        leat_loader_close(&resumed);
        leat_batch_release(batch);
    }
    close_loader_and_plan(&straight, &plan);
}

/* --- damage ---------------------------------------------------------------------------------------- */

/* Reads all batches of a damaged set; gives the error. */
static int read_all(const char *pattern, const char *engine, leat_error *err)
{
    leat_plan *plan;
    leat_batch *batch;
    int rc = try_plan(pattern, "{x: {}, id: {}}", engine, 2, &plan, err);
    if (rc < 0)
        return rc;
    leat_loader *loader = open_loader(plan, NULL);
    while ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK)
        leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
    return rc;
}

static void patch(const char *path, long offset, uint8_t with)
{
    const int fd = open(path, O_RDWR);
    uint8_t byte;
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte ^= with;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

TEST(damage_is_found_and_named)
{
    static const char *const engines[] = { "{reader: pread}", "{reader: auto}",
                                           "{reader: auto, read_bytes: 4 MiB}",
                                           "{reader: auto, threads: 0}" };
    char path[400], name[64];
    leat_error err;
    struct stat status;
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        snprintf(name, sizeof name, "damaged-%zu.tfrecord", e);
        snprintf(path, sizeof path, "%s/%s", test_folder, name);
        write_records(path, 0, 20, 100);
        assert_int_equal(read_all(name, engines[e], &err), LEAT_E_END);
        assert_int_equal(stat(path, &status), 0);
        /* a bit of data somewhere in the middle; the index stays as fresh as it was */
        patch(path, status.st_size / 2, 4);
        const struct timespec times[2] = { status.st_atim, status.st_mtim };
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        assert_int_equal(read_all(name, engines[e], &err), LEAT_E_DATA);
        assert_non_null(strstr(err.message, name));
        assert_non_null(strstr(err.message, "record "));
        assert_non_null(strstr(err.message, "CRC"));
        /* cut short behind the index's back, then with a new mtime */
        assert_int_equal(truncate(path, status.st_size - 10), 0);
        assert_int_equal(read_all(name, engines[e], &err), LEAT_E_DATA);
        assert_non_null(strstr(err.message, name));
        unlink(path);
    }
}

/* Damage in the index is found at open, and the index made anew. */
TEST(a_damaged_index_is_made_anew)
{
    char path[400], side[420];
    leat_error err;
    struct stat status;
    snprintf(path, sizeof path, "%s/indexed.tfrecord", test_folder);
    snprintf(side, sizeof side, "%s.idx", path);
    write_records(path, 0, 50, 300);
    assert_int_equal(read_all("indexed.tfrecord", "{}", &err), LEAT_E_END);
    assert_int_equal(stat(side, &status), 0);
    for (long at = 0; at < status.st_size; at += 7) {
        patch(side, at, 0x20);
        assert_int_equal(read_all("indexed.tfrecord", "{}", &err), LEAT_E_END);
    }
    unlink(side);
    unlink(path);
}

TEST(a_pipe_is_refused)
{
    leat_plan *plan;
    leat_error err;
    const char *const path = in_folder("pipe.tfrecord");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(try_plan("pipe.tfrecord", "{x: {}}", "{}", 0, &plan, &err), LEAT_E_IO);
    assert_non_null(strstr(err.message, "not a regular file"));
    unlink(path);
}

/* A file that shrinks while a loader runs on it: an error, never old or zero bytes. */
TEST(a_file_cut_short_under_the_loader)
{
    static const char *const engines[] = { "{reader: pread, threads: 0}",
                                           "{reader: auto, threads: 0, read_bytes: 4096}" };
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        leat_plan *plan;
        leat_batch *batch;
        leat_error err;
        int rc;
        const char *const path = in_folder("shrinks.tfrecord");
        write_records(path, 0, 500, 500);
        check(try_plan("shrinks.tfrecord", "{x: {}}", engines[e], 1, &plan, &err), &err);
        leat_loader *loader = open_loader(plan, NULL);
        check(leat_loader_next(loader, &batch, &err), &err);
        assert_int_equal(truncate(path, 1000), 0);
        do
            leat_batch_release(batch);
        while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK);
        assert_int_equal(rc, LEAT_E_DATA);
        assert_non_null(strstr(err.message, "cut while in use"));
        assert_non_null(strstr(err.message, "shrinks.tfrecord"));
        close_loader_and_plan(&loader, &plan);
        unlink(path);
    }
}

TEST(wrong_features_are_named)
{
    static const struct {
        const char *features, *text;
    } cases[] = {
        { "{y: {}}", "no feature 'y'" },
        { "{x: {type: int64}}", "holds float" },
        { "{x: {type: int46}}", "int64" },
        { "{x: {shape: [5]}}", "24" },
        { "{x: {sape: [24]}}", "shape" },
        { "{blob: {shape: [4]}}", "decode_raw" },
        { "{blob: {}}", "decode it, then resize or crop" },
        { "[x]", "mapping" },
    };
    leat_plan *plan;
    leat_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(try_plan("part-0.tfrecord", cases[i].features, "{}", 2, &plan, &err),
                         LEAT_E_CONFIG);
        if (!strstr(err.message, cases[i].text) || strncmp(err.message, "test.yaml:", 10))
            fail_msg("%s: %s", cases[i].features, err.message);
    }
    assert_int_equal(try_plan("nothing-*", "{x: {}}", "{}", 2, &plan, &err), LEAT_E_IO);
    assert_non_null(strstr(err.message, "no file matches"));
}

SUITE_FIXTURE(make_files, remove_folder)
