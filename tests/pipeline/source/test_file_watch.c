/* SPDX-License-Identifier: MIT
 *
 * test_file_watch.c: a stamp of content knows files that got their old time back; a change in the last second of a run is
 * found before its last batch is handed out. */
#include "pipeline/source/file_watch.h"

#include <fcntl.h>

#include "fixtures/array_files.h"
#include "fixtures/engine_fixture.h"

enum { SIZE = 1 << 20 };

static uint8_t bytes[SIZE];

static uint64_t stamp_of(leat_file_watch_stamp stamp)
{
    const char *const path = in_folder("a");
    struct stat status;
    leat_error err;
    assert_int_equal(stat(path, &status), 0);
    check(leat_file_watch_stamp_add(&stamp, AT_FDCWD, path, -1, &status, &err), &err);
    assert_int_equal(stamp.n_files, 1);
    return stamp.digest;
}

/* The file with one byte changed; its size and times are the same. */
static void put(size_t n, size_t changed)
{
    const struct timespec times[] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    bytes[changed] ^= 1;
    put_file("a", bytes, n);
    bytes[changed] ^= 1;
    assert_int_equal(utimensat(AT_FDCWD, in_folder("a"), times, 0), 0);
}

TEST(content_of_the_same_size_and_time_is_another_stamp)
{
    static const size_t sizes[] = { 1, 4095, 4096, 4097, 12288, SIZE };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t n_files = 1; n_files <= 4096; n_files *= 64) {
            const size_t n = sizes[i], at[] = { 0, n / 2, n - 1 };
            uint64_t seen[3];
            for (int k = 0; k < 3; k++) {
                put(n, at[k]);
                seen[k] = stamp_of(leat_file_watch_stamp_of_content(n_files));
                assert_true(stamp_of(leat_file_watch_stamp_of_content(n_files)) == seen[k]);
            }
            assert_true(n == 1 || (seen[0] != seen[1] && seen[1] != seen[2] && seen[2] != seen[0]));
            put(n, 0);
            const uint64_t without = stamp_of((leat_file_watch_stamp){ 0 });
            put(n, n - 1);
            assert_true(stamp_of((leat_file_watch_stamp){ 0 }) == without);
        }
}

TEST(of_very_many_files_some_are_read)
{
    for (uint64_t n = 1; n < 10000000; n = n * 3 + 1) {
        const leat_file_watch_stamp stamp = leat_file_watch_stamp_of_content(n);
        const uint64_t n_read = (n + stamp.every - 1) / stamp.every;
        assert_true(n <= 4096 ? n_read == n : n_read > 2000 && n_read <= 4096);
        assert_in_range(stamp.n_blocks, 3, 64);
        assert_true(n_read * stamp.n_blocks <= 3 * 4096);
    }
}

TEST(a_stamp_of_some_leaves_out_the_others)
{
    static const uint64_t sizes[] = { 0, 1, 255, 256, 257, 600, 1000000 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        leat_file_watch_stamp stamp = leat_file_watch_stamp_of_some(sizes[s]);
        uint64_t n_taken = 0;
        for (uint64_t i = 0; i < sizes[s]; i++)
            if (!leat_file_watch_stamp_skips(&stamp)) {
                n_taken++;
                stamp.n_files++;
            }
        assert_true(stamp.n_files == sizes[s] && n_taken <= 256);
        assert_true(n_taken == sizes[s] || n_taken >= 128);
    }
}

/* Of 600 files every third is asked about. */
TEST(a_fingerprint_is_of_some_files)
{
    enum { N = 600 };
    static const uint8_t image[] = "P5 1 1 255\nx";
    char name[40];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "some/c/%03d.pgm", i);
        put_file(name, image, sizeof image - 1);
    }
    leat_plan *plan = plan_format("source: {images: '%s/some'}\npipeline: [{map: [decode_image, "
                                  "{resize: 1}]}, {batch: 4}]\n",
                                  test_folder);
    const uint64_t before = leat_plan_fingerprint(plan);
    assert_true(before != 0 && leat_plan_fingerprint(plan) == before);
    assert_int_equal(unlink(in_folder("some/c/301.pgm")), 0);
    assert_true(leat_plan_fingerprint(plan) == before);
    put_file("some/c/300.pgm", image, sizeof image - 2);
    assert_true(leat_plan_fingerprint(plan) != before);
    assert_int_equal(unlink(in_folder("some/c/300.pgm")), 0);
    assert_true(leat_plan_fingerprint(plan) == 0);
    leat_plan_close(&plan);
}

static uint64_t content_of(const char *source, const char *place, const char *batch)
{
    const char *const at = strstr(source, "HERE");
    leat_plan *plan = plan_format("source: %.*s%s/%s%s\n"
                                  "pipeline: [{map: [decode_image, {resize: 1}]}, %s]\n",
                                  (int)(at - source), source, test_folder, place, at + 4, batch);
    const uint64_t content = leat_plan_content(plan);
    leat_plan_close(&plan);
    assert_true(content != 0);
    return content;
}

#define STREAMS "{shuffle: {block: 1, streams: 2, reshuffle: false}}"

/* Copies in another folder have it, and batches of another size; others are what a source reads, or which samples come. */
TEST(the_content_of_a_plan_is_that_of_its_copies)
{
    static const uint8_t image[] = "P5 1 1 255\nx";
    static const char *const places[] = { "first", "second/deep" };
    static const char *const sources[] = {
        "{images: HERE}",
        "{images: {path: HERE, skip_bad: true}}",
        "{concat: [{images: HERE, pipeline: [{take: 3}]}]}",
        "{concat: [{images: HERE, pipeline: [{shuffle: {seed: 1}}, {take: 3}]}]}",
        "{mix: {sources: [{images: HERE}], stop: longest}}",
        "{mix: {sources: [{images: HERE}], stop: shortest}}",
    };
    static const struct {
        const char *text;
        bool same;
    } batches[] = {
        { "{batch: 2}", true },
        { "{batch: {size: 5}}", true },
        { "{batch: {size: 1, drop_remainder: true}}", true },
        { "{batch: {size: 3, drop_remainder: true}}", false },
        { "{padded_batch: {size: 2}}", true },
        { "{take: 4}, {batch: 2}", false },
    };
    static const struct {
        const char *one, *other;
        bool same;
    } pairs[] = {
        { "{batch: 1}, {take: 3}, {repeat: 2}", "{batch: 2}, {take: 3}, {repeat: 2}", false },
        { "{batch: 1}, {skip: 1}, {repeat: 2}", "{batch: 2}, {skip: 1}, {repeat: 2}", false },
        { "{batch: 1}, {shard: {count: 2, index: 0}}, {repeat: 9}",
          "{batch: 2}, {shard: {count: 2, index: 0}}, {repeat: 9}", false },
        { "{batch: 1}, {shuffle: {seed: 1}}, {repeat: 2}",
          "{batch: 2}, {shuffle: {seed: 1}}, {repeat: 2}", true },
        { "{batch: {size: 2, drop_remainder: true}}, {repeat: 2}", "{batch: 1}, {repeat: 2}",
          false },
        { "{batch: 1}, {take: 5}", "{batch: 2}, {take: 5}", true },
        { STREAMS ", {take: 4}, {batch: 2}", STREAMS ", {take: 4}, {batch: 3}", false },
        { "{shuffle: {block: 1, streams: 2}}, {take: 4}, {batch: 2}",
          "{shuffle: {block: 1, streams: 2}}, {take: 4}, {batch: 3}", false },
        { STREAMS ", {batch: {size: 2, drop_remainder: true}}",
          STREAMS ", {batch: {size: 4, drop_remainder: true}}", false },
        { "{batch: {size: 2, drop_remainder: true}}", "{batch: {size: 4, drop_remainder: true}}",
          true },
        { STREAMS ", {batch: 2}", STREAMS ", {batch: 3}", true },
    };
    uint64_t seen[sizeof sources / sizeof *sources];
    for (int i = 0; i < 10; i++) {
        char name[60];
        snprintf(name, sizeof name, "%s/c/%d.pgm", places[i / 5], i % 5);
        put_file(name, image, sizeof image - 1);
    }
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        seen[i] = content_of(sources[i], places[0], batches[0].text);
        assert_true(content_of(sources[i], places[1], batches[0].text) == seen[i]);
        for (size_t k = 0; k < i; k++)
            assert_true(seen[k] != seen[i]);
    }
    assert_true(content_of("{images: {path: HERE}}", places[0], batches[0].text) == seen[0]);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        assert_int_equal(content_of(sources[0], places[0], batches[i].text) == seen[0],
                         batches[i].same);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(content_of(sources[0], places[0], pairs[i].one) ==
                             content_of(sources[0], places[0], pairs[i].other),
                         pairs[i].same);
}

TEST(what_cannot_be_read_counts_as_no_content)
{
    leat_file_watch_stamp stamp = leat_file_watch_stamp_of_content(1);
    struct stat status;
    leat_error err;
    put(100, 0);
    assert_int_equal(stat(in_folder("a"), &status), 0);
    check(leat_file_watch_stamp_add(&stamp, AT_FDCWD, in_folder("none"), -1, &status, &err), &err);
    assert_true(stamp.digest != stamp_of(leat_file_watch_stamp_of_content(1)));
    unlink(in_folder("a"));
    assert_int_equal(mkfifo(in_folder("a"), 0600), 0);
    assert_true(stamp_of(leat_file_watch_stamp_of_content(1)) != stamp.digest); /* no wait */
    unlink(in_folder("a"));
}

/* --- the last second ------------------------------------------------------------------------------- */

static void touch(const char *name)
{
    const struct timespec times[] = { { .tv_sec = 2000 }, { .tv_sec = 2000 } };
    assert_int_equal(utimensat(AT_FDCWD, in_folder(name), times, 0), 0);
}

static void put_data(void)
{
    static const float rows[40][3];
    char text[800] = "a,b\n";
    put_npy("x.npy", &(array_of){ NULL, "<f4", ", 3", 40, 12, rows });
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d,0.5\n", i);
    put_text("x.csv", text);
    write_records(in_folder("x.tfrecord"), 0, 40, 50);
}

static const struct {
    const char *source, *file;
} cases[] = {
    { "npy: '%s/x.npy'", "x.npy" },
    { "tfrecord: {files: '%s/x.tfrecord', features: {x: {shape: [24]}}}", "x.tfrecord" },
    { "csv: {files: '%s/x.csv', features: {a: {columns: a}, b: {columns: b}}}", "x.csv" },
    { "concat: [{npy: '%s/x.npy'}]", "x.npy" },
    { "zip: [{npy: '%s/x.npy'}]", "x.npy" },
};
enum { N_CASES = sizeof cases / sizeof *cases };

static leat_plan *open_case(int i)
{
    char source[200];
    put_data();
    snprintf(source, sizeof source, cases[i].source, test_folder);
    return plan_format("source: {%s}\npipeline: [batch: 10]\n", source);
}

TEST(a_change_before_the_last_batch_fails_it)
{
    for (int i = 0; i < N_CASES; i++) {
        leat_plan *plan = open_case(i);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 2 });
        leat_batch *batch;
        leat_error err;
        for (int b = 0; b < 7; b++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            leat_batch_release(batch);
        }
        touch(cases[i].file);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_DATA);
            assert_null(batch);
            assert_non_null(strstr(err.message, "the file was changed while it was in use"));
            assert_non_null(strstr(err.message, cases[i].file));
        }
        close_loader_and_plan(&loader, &plan);
    }
}

TEST(a_run_that_ends_earlier_asks)
{
    for (int i = 0; i < N_CASES; i++) {
        leat_plan *plan = open_case(i);
        leat_loader *loader = open_loader(plan, NULL);
        leat_batch *batch;
        leat_error err;
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
        check(leat_loader_check_files(loader, &err), &err);
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
        touch(cases[i].file);
        assert_int_equal(leat_loader_check_files(loader, &err), LEAT_E_DATA);
        assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_DATA);
        close_loader_and_plan(&loader, &plan);
    }
}

/* What stays in memory is no mix of two states. */
TEST(a_file_that_is_not_read_any_more_may_change)
{
    leat_plan *plan;
    put_data();
    plan = plan_format("source: {npy: '%s/x.npy'}\npipeline: [cache, batch: 10]\n", test_folder);
    leat_loader *loader = open_loader(plan, NULL);
    int64_t n_batches;
    take_digest(loader, &n_batches);
    leat_loader_close(&loader);
    touch("x.npy");
    loader = open_loader(plan, NULL);
    take_digest(loader, &n_batches);
    assert_int_equal(n_batches, 4);
    close_loader_and_plan(&loader, &plan);
}

SUITE_FIXTURE(make_folder, remove_folder)
