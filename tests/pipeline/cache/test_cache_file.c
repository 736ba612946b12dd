/* SPDX-License-Identifier: MIT
 *
 * test_cache_file.c: a cache's file outlives the process and belongs to one pipeline. */
#include "fixtures/cache_file_fixture.h"

#include <fcntl.h>

#include "fixtures/array_files.h"
#include "fixtures/op_test.h"

/* --- it stays ------------------------------------------------------------------------------------ */

TEST(a_later_plan_finds_all)
{
    static const char *const engines[] = { "{threads: 0, digest: true, reader: pread}",
                                           "{threads: 3, digest: true}" };
    const uint64_t want = plain_digest(2);
    pipe_parts parts = parts_with(cache_path);
    leat_cache_stats cache;
    n_counted = 0;
    for (int i = 0; i < 4; i++) {
        parts.engine = engines[i % 2];
        assert_true(digest_of_parts(&parts, 2, &cache) == want);
        assert_int_equal(cache.misses, i ? 0 : N_RECORDS);
        assert_int_equal(cache.entries, N_RECORDS);
        assert_int_equal(cache.damaged, 0);
        assert_string_equal(cache.place, cache_path);
        assert_string_equal(cache.note, "");
    }
    assert_int_equal(n_counted, N_RECORDS);
}

TEST(a_part_is_filled_up_later)
{
    const uint64_t want = plain_digest(1);
    char text[100];
    snprintf(text, sizeof text, "{file: %s, bytes: 3 KiB}", cache_path);
    pipe_parts parts = parts_with(text);
    leat_cache_stats cache;
    assert_true(digest_of_parts(&parts, 1, &cache) == want);
    const uint64_t n_first = cache.entries;
    assert_in_range(n_first, 1, N_RECORDS - 1);
    parts.cache = cache_path;
    assert_true(digest_of_parts(&parts, 1, &cache) == want);
    assert_int_equal(cache.hits, n_first);
    assert_int_equal(cache.entries, N_RECORDS);
}

/* Half of the disk that is free, of which the file takes away. */
TEST(runs_do_not_raise_the_limit)
{
    const uint64_t disk = 12 << 10, want = plain_digest(1);
    pipe_parts parts = parts_with(cache_path);
    leat_cache_stats cache;
    uint64_t n_first = 0, taken = 0;
    for (int i = 0; i < 4; i++) {
        leat_cache_fault = (leat_cache_faults){ .free_bytes = disk - taken };
        assert_true(digest_of_parts(&parts, 1, &cache) == want);
        assert_int_equal(cache.limit_bytes, disk / 2);
        n_first = i ? n_first : cache.entries;
        assert_int_equal(cache.entries, n_first);
        taken = cache.bytes;
    }
    assert_in_range(n_first, 1, N_RECORDS - 1);
}

/* --- whose it is --------------------------------------------------------------------------------- */

static void refused(const pipe_parts *parts, int code, const char *why)
{
    leat_plan *plan = cache_plan(parts);
    leat_loader *loader;
    leat_error err;
    size_t size, size_after;
    uint8_t *const bytes = read_file(&size);
    const int rc = leat_loader_open(plan, NULL, &loader, &err);
    if (rc != code || !strstr(err.message, why) || !strstr(err.message, cache_path) ||
        !strstr(err.message, "delete") || !strstr(err.message, "builder:"))
        fail_msg("%s: %s", leat_code_name(rc), err.message);
    uint8_t *const after = read_file(&size_after);
    assert_int_equal(size, size_after);
    assert_memory_equal(bytes, after, size); /* whatever it is, it is somebody's */
    free(bytes);
    free(after);
    leat_plan_close(&plan);
}

TEST(another_pipelines_file_is_refused)
{
    const pipe_parts mine = parts_with(cache_path);
    digest_of_parts(&mine, 1, NULL);
    pipe_parts other = mine;
    other.before = "[count, shrink, shrink]";
    refused(&other, LEAT_E_CONFIG, "other stages");
    other.before = NULL;
    other.after = NULL;
    refused(&other, LEAT_E_CONFIG, "other stages");
    /* The seed counts for random ops before the cache, and only for those. */
    other = mine;
    other.seed = 5;
    leat_cache_stats cache;
    digest_of_parts(&other, 1, &cache);
    assert_int_equal(cache.misses, 0);
    unlink(cache_path);
    other.before = "[jitter, shrink]";
    digest_of_parts(&other, 1, NULL);
    other.seed = 6;
    refused(&other, LEAT_E_CONFIG, "seed 5; now the seed is 6");
}

/* One picture at the size that decode_jpeg chooses for a resize, which stands behind the cache. */
static int open_scaled(const char *scale, int side, leat_loader **loader, leat_plan **plan,
                       leat_error *err)
{
    *plan =
        plan_format("source: {images: '%s'}\npipeline: [{map: [{decode_jpeg: {scale: %s, exact: "
                    "false}}]}, {cache: '%s'}, {map: [{resize: [%d, %d]}]}, {batch: 1}]\n",
                    in_folder("set"), scale, cache_path, side, side);
    return leat_loader_open(*plan, NULL, loader, err);
}

TEST(a_scale_for_another_resize_is_seen)
{
    leat_plan *plan;
    leat_loader *loader;
    leat_error err;
    const leat_view image = op_drawing(96, 96, 3), jpeg = op_jpeg(image, (op_jpeg_how){ 0 });
    put_file("set/class/one.jpg", jpeg.data, (size_t)jpeg.shape.dims[0]);
    for (int side = 8; side <= 64; side += 56) { /* a scale of its own does not depend on it */
        check(open_scaled("4", side, &loader, &plan, &err), &err);
        close_loader_and_plan(&loader, &plan);
    }
    unlink(cache_path);
    for (int again = 0; again < 2; again++) {
        check(open_scaled("auto", 8, &loader, &plan, &err), &err);
        close_loader_and_plan(&loader, &plan);
    }
    assert_int_equal(open_scaled("auto", 64, &loader, &plan, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "for a resize to 8 x 8; now:"));
    assert_non_null(strstr(err.message, "for a resize to 64 x 64"));
    leat_plan_close(&plan);
    free(image.data);
    free(jpeg.data);
}

/* Tensors have their places in an entry by number, and the order of `features` decides the numbers. */
TEST(tensors_in_another_order_are_seen)
{
    static const char *const features[] = { "a: u, b: v", "b: v, a: u", "c: u, d: v" };
    const float u[] = { 1, 2 }, v[] = { 3, 4 };
    const array_of arrays[] = { { "u", "<f4", ",", 2, 4, u }, { "v", "<f4", ",", 2, 4, v } };
    put_npz("two.npz", arrays, 2);
    for (int i = 0; i < 3; i++) {
        leat_loader *loader;
        leat_error err;
        leat_plan *plan = plan_format("source: {npy: {files: '%s', features: {%s}}}\n"
                                      "pipeline: [{cache: '%s'}, {batch: 2}]\n",
                                      in_folder("two.npz"), features[i], cache_path);
        const int rc = leat_loader_open(plan, NULL, &loader, &err);
        assert_int_equal(rc, i ? LEAT_E_CONFIG : LEAT_OK);
        assert_true(!i || strstr(err.message, "in another order"));
        close_loader_and_plan(&loader, &plan);
    }
}

TEST(a_changed_source_is_seen)
{
    const pipe_parts parts = parts_with(cache_path);
    struct stat status;
    digest_of_parts(&parts, 1, NULL);
    assert_int_equal(stat(data_path, &status), 0);
    struct timespec times[2] = { status.st_atim, status.st_mtim };
    times[1].tv_sec++; /* the same size, written a moment later */
    assert_int_equal(utimensat(AT_FDCWD, data_path, times, 0), 0);
    refused(&parts, LEAT_E_CONFIG, "changed");
    write_records(data_path, 0, N_RECORDS + 1, 300);
    refused(&parts, LEAT_E_CONFIG, "151 now");
    write_records(data_path, 0, N_RECORDS, 300);
}

/* As a copy has it that keeps times, or a package whose files all have the same time. */
static void change_content(bool back)
{
    struct stat status;
    uint8_t byte;
    assert_int_equal(stat(data_path, &status), 0);
    const int fd = open(data_path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, status.st_size / 2), 1);
    byte = (uint8_t)(back ? byte - 1 : byte + 1);
    assert_int_equal(pwrite(fd, &byte, 1, status.st_size / 2), 1);
    const struct timespec times[2] = { status.st_atim, status.st_mtim };
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

TEST(other_content_of_the_same_size_and_time_is_seen)
{
    pipe_parts parts = parts_with(cache_path);
    for (int combined = 0; combined <= 1; combined++) {
        parts.is_combined = combined;
        unlink(cache_path);
        digest_of_parts(&parts, 1, NULL);
        change_content(false);
        refused(&parts, LEAT_E_CONFIG, "changed");
        change_content(true);
        digest_of_parts(&parts, 1, NULL);
    }
}

TEST(combined_sources_are_kept_too)
{
    pipe_parts parts = parts_with(NULL);
    struct stat status;
    leat_cache_stats cache;
    parts.is_combined = true;
    const uint64_t want = digest_of_parts(&parts, 2, NULL);
    parts.cache = cache_path;
    assert_true(digest_of_parts(&parts, 2, &cache) == want);
    assert_true(digest_of_parts(&parts, 2, &cache) == want);
    assert_int_equal(cache.misses, 0);
    assert_int_equal(stat(data_path, &status), 0);
    struct timespec times[2] = { status.st_atim, status.st_mtim };
    times[1].tv_sec++;
    assert_int_equal(utimensat(AT_FDCWD, data_path, times, 0), 0);
    refused(&parts, LEAT_E_CONFIG, "changed");
}

TEST(other_files_are_left_alone)
{
    const pipe_parts parts = parts_with(cache_path);
    leat_error err;
    leat_loader *loader;
    write_file("my thesis", 9);
    refused(&parts, LEAT_E_DATA, "not a cache file of leat");
    unlink(cache_path);
    assert_int_equal(mkdir(cache_path, 0777), 0);
    leat_plan *plan = cache_plan(&parts);
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &err), LEAT_E_IO);
    rmdir(cache_path);
    assert_int_equal(mkfifo(cache_path, 0666), 0);
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &err), LEAT_E_IO);
    unlink(cache_path);
    /* The same plan: nothing of what failed is left. */
    assert_true(digest_of(plan, 1, NULL) == plain_digest(1));
    leat_plan_close(&plan);
}

/* Where a file cannot be made: which folder it is, why, and what to do. */
TEST(places_for_no_file_are_named)
{
    static const char *const cases[][2] = {
        { "/nonexistent/folder/file",
          "/nonexistent/folder/file: cannot create it: folder /nonexistent/folder: No such file or "
          "directory; create that folder, or " },
        { "/proc/leat-cache", "/proc/leat-cache: cannot create it in folder /proc: " },
        { "/proc/leat-cache", "; give the cache a file that this process may write" },
        { "/dev/null/file", "/dev/null/file: cannot open it in folder /dev/null: Not a directory" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pipe_parts nowhere = parts_with(cases[i][0]);
        leat_plan *plan = cache_plan(&nowhere);
        leat_loader *loader;
        leat_error err;
        assert_int_equal(leat_loader_open(plan, NULL, &loader, &err), LEAT_E_IO);
        if (!strstr(err.message, cases[i][1]))
            fail_msg("%s", err.message);
        leat_plan_close(&plan);
    }
}

/* Cut within its header: begun anew where what is left is of this pipeline, and else left alone. */
TEST(a_file_cut_in_its_header)
{
    static const size_t cuts[] = { 0, 16, 17, 100, 3000, LEAT_CACHE_HEADER_BYTES - 1 };
    const uint64_t want = plain_digest(1);
    const pipe_parts parts = parts_with(cache_path);
    pipe_parts other = parts;
    leat_cache_stats cache;
    size_t size;
    digest_of_parts(&parts, 1, NULL);
    uint8_t *const good = read_file(&size);
    other.before = "[count, shrink, shrink]";
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        write_file(good, cuts[i]);
        if (cuts[i] > 100)
            refused(&other, LEAT_E_DATA, "cut inside its header");
        assert_true(digest_of_parts(&parts, 1, &cache) == want);
        assert_int_equal(cache.misses, N_RECORDS);
        assert_true(digest_of_parts(&parts, 1, &cache) == want);
        assert_int_equal(cache.hits, N_RECORDS);
    }
    write_file(good, 15);
    refused(&parts, LEAT_E_DATA, "not a cache file of leat");
    memset(good, 0, LEAT_CACHE_HEADER_BYTES);
    write_file(good, size);
    refused(&parts, LEAT_E_DATA, "its header is all zeros");
    free(good);
}

TEST(one_writes_the_others_read)
{
    const uint64_t want = plain_digest(1);
    const pipe_parts parts = parts_with(cache_path);
    leat_cache_stats cache;
    leat_plan *writer = cache_plan(&parts), *reader = cache_plan(&parts),
              *late = cache_plan(&parts);
    leat_loader *loader = open_loader(writer, NULL); /* it has the file from here on */
    assert_true(digest_of(reader, 1, &cache) == want);
    assert_non_null(strstr(cache.note, "another process"));
    assert_true(cache.hits < N_RECORDS); /* the writer has just begun */
    leat_loader_close(&loader);
    assert_true(digest_of(writer, 1, &cache) == want);
    assert_int_equal(cache.entries, N_RECORDS);
    assert_true(digest_of(late, 1, &cache) == want);
    assert_int_equal(cache.hits, N_RECORDS);
    leat_plan_close(&writer);
    leat_plan_close(&reader);
    leat_plan_close(&late);
}

TEST(a_file_that_may_not_be_written_is_read)
{
    const uint64_t want = plain_digest(1);
    const pipe_parts parts = parts_with(cache_path);
    leat_cache_stats cache;
    digest_of_parts(&parts, 1, NULL);
    if (geteuid() == 0) /* root may write everywhere */
        return;
    assert_int_equal(chmod(cache_path, 0444), 0);
    assert_true(digest_of_parts(&parts, 1, &cache) == want);
    assert_int_equal(cache.hits, N_RECORDS);
    assert_non_null(strstr(cache.note, "read-only"));
}

TEST_FIXTURE(begin, NULL)
SUITE_FIXTURE(make_data, remove_folder)
