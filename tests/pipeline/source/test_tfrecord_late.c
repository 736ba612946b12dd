/* SPDX-License-Identifier: MIT
 *
 * test_tfrecord_late.c: a set that a manifest lists gives the batches of its files, whoever reads them and however few may
 * be open; of a long one only the files are opened whose records are needed; a file that is not what the manifest says is
 * told by its name. The last tests run with a hard limit of LIMIT open files. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "fixtures/compressed.h"
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "formats/manifest.h"
#include "formats/whole_file.h"
#include "pipeline/plan/plan_impl.h"
#include "pipeline/source/tfrecord_impl.h"

enum { N_MADE = 20, N_FILES = 1100, N = 3, LIMIT = 64, N_SHORT = 40 }; /* N records in each file */

static const char *name_of(int i)
{
    static char name[40];
    snprintf(name, sizeof name, "many-%05d.tfrecord", i);
    return name;
}

/* A manifest of the first n files. wrong: the number of a file that has one record more than there is; -1: none */
static void put_manifest(const char *name, int n, int wrong)
{
    static leat_manifest_shard shards[N_FILES];
    leat_format_error err;
    for (int i = 0; i < n; i++) {
        struct stat status;
        assert_int_equal(stat(in_folder(name_of(i)), &status), 0);
        shards[i] = (leat_manifest_shard){ .file = strdup(name_of(i)),
                                           .bytes = (uint64_t)status.st_size,
                                           .records = N + (i == wrong) };
    }
    if (leat_manifest_write(in_folder(name), shards, (size_t)n, &err) < 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < n; i++)
        free((char *)(uintptr_t)shards[i].file);
}

/* Copies a part to a file of the set: a link would be the same file, read once. */
static int copy_part(int i)
{
    char part[40], *bytes;
    leat_format_error err;
    size_t n;
    snprintf(part, sizeof part, "part-%d.tfrecord", i % N_MADE);
    if (leat_whole_file_read(in_folder(part), SIZE_MAX / 2, &bytes, &n, &err) < 0)
        return -1;
    put_file(name_of(i), bytes, n);
    free(bytes);
    return 0;
}

/* Files of a few contents, under many names. */
static int make_set(void **state)
{
    leat_tfrecord_late_from = N_FILES;
    if (make_parts(state, N_MADE, N, 700))
        return 1;
    for (int i = 0; i < N_FILES; i++)
        if (copy_part(i) < 0)
            return 1;
    put_manifest("long-manifest.json", N_FILES, -1);
    put_manifest("short.manifest.json", N_SHORT, -1);
    return 0;
}

static int open_set(leat_plan **plan, const char *files, const char *engine, const char *stages,
                    leat_error *err)
{
    char text[1200];
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: ['%s/%s'], features: {x: {shape: [%d]}, id: {}}}}\n"
             "engine: {digest: true, %s}\n"
             "pipeline: [shuffle: {seed: 3}, %s batch: 16, prefetch: 2]\n",
             test_folder, files, ROW_FLOATS, engine, stages);
    return open_text(text, plan, err);
}

static leat_plan *plan_of(const char *files, const char *engine, const char *stages)
{
    leat_plan *plan;
    leat_error err;
    check(open_set(&plan, files, engine, stages, &err), &err);
    return plan;
}

static uint64_t digest_of(const char *files, const char *engine, const char *stages)
{
    return digest_and_close(plan_of(files, engine, stages), 2, NULL);
}

static int n_descriptors(void)
{
    int n = 0;
    DIR *const folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static void expect_error(int rc, int code, const leat_error *err, const char *says)
{
    if (rc != code || !strstr(err->message, says))
        fail_msg("%d: \"%s\" does not say \"%s\"", rc, rc < 0 ? err->message : "", says);
}

/* Runs to the end or to an error. */
static int run(leat_plan *plan, int64_t *n_bad, leat_error *err)
{
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    int rc;
    *n_bad = 0;
    while ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK) {
        *n_bad += leat_batch_get_info(batch)->n_masked;
        leat_batch_release(batch);
    }
    leat_loader_close(&loader);
    return rc;
}

/* --- the same batches ---------------------------------------------------------------------------- */

static const char *const engines[] = { "threads: 2", "threads: 0",
                                       "threads: 3, reader: pread, memory: 16 MiB",
                                       "threads: 2, read_bytes: 4 MiB, reader: io_uring" };

static void expect_same_batches(uint64_t wanted, const char *manifest)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        assert_true(digest_of(manifest, engines[i], "") == wanted);
}

static uint64_t wanted_of_long, wanted_cached;

TEST(the_batches_are_those_of_the_files)
{
    wanted_of_long = digest_of("many-*.tfrecord", engines[0], "");
    wanted_cached = digest_of("many-*.tfrecord", engines[0], "cache: memory,");
    expect_same_batches(wanted_of_long, "long-manifest.json");
    assert_true(digest_of("long-manifest.json", engines[0], "cache: memory,") == wanted_cached);
    expect_same_batches(digest_of("many-000[0-3]?.tfrecord", engines[0], ""),
                        "short.manifest.json");
    assert_true(digest_of("lon*-manifest.json", engines[0], "") == wanted_of_long);
}

TEST(both_have_the_same_stamp_and_digest)
{
    leat_file_watch_stamp stamps[2] = { 0 };
    uint64_t digests[2];
    for (int i = 0; i < 2; i++) {
        leat_plan *plan = plan_of(i ? "long-manifest.json" : "many-*.tfrecord", engines[0], "");
        const leat_source *const source = plan->source;
        leat_error err;
        assert_int_equal(source->opens_late, i);
        assert_int_equal(source->n_records, N_FILES * N);
        check(source->table->stamp(source, &stamps[i], &err), &err);
        digests[i] = source->digest;
        leat_plan_close(&plan);
    }
    assert_true(stamps[0].digest == stamps[1].digest && digests[0] == digests[1]);
    assert_true(stamps[0].newest_ns == stamps[1].newest_ns && stamps[0].newest_ns > 0);
}

/* --- which files are opened ---------------------------------------------------------------------- */

TEST(files_are_opened_when_they_are_needed)
{
    const int before = n_descriptors();
    leat_plan *plan = plan_of("long-manifest.json", "threads: 2", "");
    assert_in_range(n_descriptors() - before, 1, N_FILES / 2); /* some records are looked at */
    leat_plan_close(&plan);
    assert_int_equal(n_descriptors(), before);
    plan = plan_of("long-manifest.json", "threads: 2, reader: pread, memory: 16 MiB", "take: 100,");
    int64_t n_bad;
    leat_error err;
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    check(leat_loader_next(loader, &batch, &err), &err);
    leat_batch_release(batch);
    assert_in_range(n_descriptors() - before, 1, N_FILES / 2 + 100);
    leat_loader_close(&loader);
    assert_int_equal(run(plan, &n_bad, &err), LEAT_E_END);
    leat_plan_close(&plan);
    assert_int_equal(n_descriptors(), before);
}

/* A file that nobody has opened gets an older time, as that of a copy may be. */
TEST(an_older_file_is_another_stamp)
{
    const struct timespec times[] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    leat_plan *plan = plan_of("long-manifest.json", "threads: 2", "");
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)plan->source;
    const int64_t changed_ns = leat_plan_changed_ns(plan);
    const uint64_t stamp = leat_plan_stamp(plan);
    size_t i = 0;
    while (leat_tfrecord_shard_opened(&source->shards[i]))
        assert_true(++i < source->n_shards);
    assert_true(leat_plan_stamp(plan) == stamp && stamp != 0);
    assert_int_equal(utimensat(AT_FDCWD, source->shards[i].path, times, 0), 0);
    assert_true(leat_plan_stamp(plan) != stamp);
    assert_true(leat_plan_changed_ns(plan) > changed_ns);
    leat_plan_close(&plan);
}

/* A set that is made anew has a new manifest. */
TEST(a_manifest_that_changes_ends_the_run)
{
    leat_error err;
    int64_t n_bad;
    leat_plan *plan = plan_of("long-manifest.json", "threads: 2", "");
    put_manifest("long-manifest.json", N_FILES, -1);
    expect_error(run(plan, &n_bad, &err), LEAT_E_DATA, &err,
                 "long-manifest.json was changed or removed while it was in use");
    leat_plan_close(&plan);
}

/* --- what does not fit --------------------------------------------------------------------------- */

enum { CHANGED = 33, LATER = 777 };

TEST(a_file_of_another_size_is_named)
{
    char text[200];
    leat_plan *plan;
    leat_error err;
    int64_t n_bad;
    for (int late = 0; late < 2; late++) {
        const int k = late ? LATER : CHANGED;
        assert_int_equal(unlink(in_folder(name_of(k))), 0);
        write_records(in_folder(name_of(k)), 0, N + 1, 700);
        snprintf(text, sizeof text, "%s has ", name_of(k));
        if (!late) {
            expect_error(open_set(&plan, "short.manifest.json", "threads: 1", "", &err),
                         LEAT_E_DATA, &err, text);
            assert_non_null(strstr(err.message, "short.manifest.json says "));
        }
        plan = plan_of("long-manifest.json", "threads: 2", "");
        expect_error(run(plan, &n_bad, &err), LEAT_E_DATA, &err, text);
        assert_non_null(strstr(err.message, "long-manifest.json says "));
        leat_plan_close(&plan);
        plan = plan_of("long-manifest.json", "threads: 2", "on_error: mask,");
        assert_int_equal(run(plan, &n_bad, &err), LEAT_E_END);
        assert_int_equal(n_bad, N);
        leat_plan_close(&plan);
        assert_int_equal(unlink(in_folder(name_of(k))), 0);
        if (late) { /* and one that is missing */
            plan = plan_of("long-manifest.json", "threads: 2", "");
            snprintf(text, sizeof text, "%s: No such file", name_of(k));
            expect_error(run(plan, &n_bad, &err), LEAT_E_IO, &err, text);
            leat_plan_close(&plan);
        }
        assert_int_equal(copy_part(k), 0);
    }
}

TEST(a_file_of_another_count_is_named)
{
    char text[200];
    leat_plan *plan;
    leat_error err;
    int64_t n_bad;
    put_manifest("wrong-manifest.json", N_FILES, LATER);
    snprintf(text, sizeof text, "%s has %d records, but ", name_of(LATER), N);
    plan = plan_of("wrong-manifest.json", "threads: 2", "");
    expect_error(run(plan, &n_bad, &err), LEAT_E_DATA, &err, text);
    leat_plan_close(&plan);
    put_manifest("wrong-manifest.json", N_SHORT, CHANGED);
    snprintf(text, sizeof text, "%s has %d records, but ", name_of(CHANGED), N);
    expect_error(open_set(&plan, "wrong-manifest.json", "threads: 1", "", &err), LEAT_E_DATA, &err,
                 text);
}

TEST(what_no_manifest_can_be)
{
    leat_plan *plan;
    leat_error err;
    char text[400];
    size_t size;
    put_text("bad-manifest.json", "{\"leat_manifest\": 1, \"shards\": [{]}");
    expect_error(open_set(&plan, "bad-manifest.json", "threads: 1", "", &err), LEAT_E_DATA, &err,
                 "bad-manifest.json: no manifest, or a damaged one: byte ");
    put_text("bad-manifest.json", "{\"leat_manifest\": 1, \"shards\": []}");
    expect_error(open_set(&plan, "bad-manifest.json", "threads: 1", "", &err), LEAT_E_IO, &err,
                 "lists no file");
    expect_error(open_set(&plan, "none-manifest.json", "threads: 1", "", &err), LEAT_E_IO, &err,
                 "no file matches");
    uint8_t *const bytes = read_whole(in_folder("part-0.tfrecord"), &size);
    uint8_t *const zipped = compressed(bytes, size, 0, size, &size);
    write_whole(in_folder("zipped.tfrecord"), zipped, size);
    free(bytes);
    free(zipped);
    snprintf(text, sizeof text,
             "{\"leat_manifest\": 1, \"shards\": [{\"file\": \"zipped.tfrecord\", \"bytes\": %zu, "
             "\"records\": %d}]}",
             size, N);
    put_text("bad-manifest.json", text);
    expect_error(open_set(&plan, "bad-manifest.json", "threads: 1", "", &err), LEAT_E_DATA, &err,
                 "-compressed, but a manifest");
    put_manifest("bad-manifest.json", N_SHORT, CHANGED);
    snprintf(text, sizeof text, "bad-manifest.json', '%s/short.manifest.json", test_folder);
    expect_error(open_set(&plan, text, "threads: 1", "", &err), LEAT_E_DATA, &err,
                 "one of the manifests is not of this set");
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text,
                 "{\"leat_manifest\": 1, \"shards\": [{\"file\": \"huge-%d\", \"bytes\": "
                 "%lld, \"records\": 1}]}",
                 i, (long long)INT64_MAX);
        put_text(i ? "huge-1-manifest.json" : "huge-0-manifest.json", text);
    }
    expect_error(open_set(&plan, "huge-?-manifest.json", "threads: 1", "", &err), LEAT_E_DATA, &err,
                 "more than 2^63 bytes");
    unlink(in_folder("bad-manifest.json"));
    unlink(in_folder("zipped.tfrecord"));
}

/* --- few descriptors ----------------------------------------------------------------------------- */

TEST(few_files_may_be_open)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ LIMIT, LIMIT }), 0);
    expect_same_batches(wanted_of_long, "long-manifest.json");
    assert_true(digest_of("long-manifest.json", engines[0], "cache: memory,") == wanted_cached);
}

/* Too few descriptors are never a reason to leave a record out. */
TEST(no_file_may_be_open)
{
    int taken[LIMIT], n = 0;
    leat_error err;
    int64_t n_bad = 0;
    leat_batch *batch;
    leat_plan *plan = plan_of("long-manifest.json", "threads: 2, read_bytes: 1 MiB",
                              "on_error: {policy: mask, max_errors: unlimited},");
    leat_loader *loader = open_loader(plan, NULL);
    while (n < LIMIT && (taken[n] = dup(0)) >= 0)
        n++;
    int rc;
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
        n_bad += leat_batch_get_info(batch)->n_masked;
        leat_batch_release(batch);
    }
    while (n)
        close(taken[--n]);
    assert_int_equal(n_bad, 0);
    assert_true(rc == LEAT_E_END || rc == LEAT_E_NOMEM);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
}

SUITE_FIXTURE(make_set, remove_folder)
