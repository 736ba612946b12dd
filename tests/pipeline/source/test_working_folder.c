/* SPDX-License-Identifier: MIT
 *
 * test_working_folder.c: a plan that was opened with relative paths reads the files of the folder that the program was in
 * then, also after it changed to another one that has files of the same names and sizes. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/working_folder.h"
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "formats/manifest.h"
#include "pipeline/source/tfrecord_impl.h"

enum { N_FILES = 40, N = 3, LIMIT = 48 };

static int test_start; /* the folder that the test was started in */

static void go_to(const char *folder)
{
    assert_int_equal(chdir(in_folder(folder)), 0);
}

static void put_image(const char *folder, int i, uint8_t shade)
{
    char name[60];
    uint8_t image[11 + 64] = "P5 8 8 255\n";
    memset(image + 11, shade, 64);
    snprintf(name, sizeof name, "%s/data/c%d/%02d.pgm", folder, i % 2, i);
    put_file(name, image, sizeof image);
}

static void put_records(const char *folder, int i, uint64_t first, leat_manifest_shard *out)
{
    char name[60];
    struct stat status;
    snprintf(name, sizeof name, "%s/part-%02d.tfrecord", folder, i);
    write_records(in_folder(name), first, N, 64);
    assert_int_equal(stat(in_folder(name), &status), 0);
    *out = (leat_manifest_shard){ .file = strdup(strchr(name, '/') + 1),
                                  .bytes = (uint64_t)status.st_size,
                                  .records = N };
}

/* Folders A and B have the same names, and other content. */
static int make_twins(void **state)
{
    static const char list[] = "data/c0/00.pgm,3\ndata/c1/01.pgm,5\ndata/c0/02.pgm,4\n";
    leat_manifest_shard shards[N_FILES];
    leat_format_error why;
    char name[60];
    test_start = open(".", O_PATH | O_CLOEXEC);
    if (make_folder(state) < 0 || test_start < 0)
        return 1;
    for (int f = 0; f < 2; f++) {
        const char *const folder = f ? "B" : "A";
        assert_int_equal(mkdir(in_folder(folder), 0700), 0);
        for (int i = 0; i < N_FILES; i++) {
            put_image(folder, i, (uint8_t)(i + 100 * f));
            put_records(folder, i, (uint64_t)(N * i + 1000 * f), &shards[i]);
        }
        snprintf(name, sizeof name, "%s/list.csv", folder);
        put_text(name, list);
        snprintf(name, sizeof name, "%s/set-manifest.json", folder);
        if (leat_manifest_write(in_folder(name), shards, N_FILES, &why) < 0)
            fail_msg("%s", why.text);
        for (int i = 0; i < N_FILES; i++)
            free((char *)(uintptr_t)shards[i].file);
    }
    return 0;
}

static int remove_twins(void **state)
{
    close(test_start);
    return remove_folder(state);
}

SUITE_FIXTURE(make_twins, remove_twins)

static const struct {
    const char *source, *ops;
    bool late, few; /* files are opened when they are needed; few may be open */
} cases[] = {
    { "images: data", "map: [decode_image, {resize: [8, 8]}]", false, false },
    { "images: {path: list.csv}", "map: [decode_image, {resize: [8, 8]}]", false, false },
    { "tfrecord: {files: ['part-*.tfrecord'], features: {id: {}}}", "take: 100", false, true },
    { "tfrecord: {files: ['set-manifest.json'], features: {id: {}}}", "take: 100", true, false },
};
enum { N_CASES = sizeof cases / sizeof *cases };

static leat_plan *open_case(int i, int threads, const char *cache)
{
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    if (cases[i].few)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){ LIMIT, LIMIT });
    leat_tfrecord_late_from = cases[i].late ? N_FILES : 16384;
    leat_plan *const plan =
        plan_format("source: {%s}\nengine: {threads: %d}\n"
                    "pipeline: [shuffle: {seed: 3}, %s, %s batch: 7, prefetch: 2]\n",
                    cases[i].source, threads, cases[i].ops, cache);
    setrlimit(RLIMIT_NOFILE, &before);
    return plan;
}

static bool exists(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

static void try_case(int i, int threads, const char *cache)
{
    go_to("A");
    const uint64_t want = digest_and_close(open_case(i, threads, ""), 2, NULL);
    leat_plan *plan = open_case(i, threads, cache);
    go_to("B");
    if (digest_and_close(plan, 2, NULL) != want)
        fail_msg("%s, threads %d, %s: other batches in another folder", cases[i].source, threads,
                 *cache ? "cache" : "no cache");
    assert_int_equal(exists("A/k.cache"), *cache != 0);
    assert_false(exists("B/k.cache"));
    go_to("A");
    if (digest_and_close(open_case(i, threads, cache), 2, NULL) != want)
        fail_msg("%s, threads %d: the cache has samples of another folder", cases[i].source,
                 threads);
    unlink(in_folder("A/k.cache"));
    assert_int_equal(fchdir(test_start), 0);
}

TEST(a_plan_keeps_to_its_folder)
{
    for (int i = 0; i < N_CASES; i++)
        for (int threads = 0; threads <= 2; threads += 2) {
            try_case(i, threads, "");
            try_case(i, threads, "cache: k.cache,");
        }
}

/* The stamp of a plan tells whether its own files were changed, wherever the program is. */
TEST(stamps_are_of_its_folder)
{
    for (int i = 0; i < N_CASES; i++) {
        go_to("A");
        leat_plan *plan = open_case(i, 0, "");
        const uint64_t stamp = leat_plan_stamp(plan);
        go_to("B");
        assert_int_equal(leat_plan_stamp(plan), stamp);
        assert_int_equal(fchdir(test_start), 0);
        leat_plan_close(&plan);
    }
}

/* What is told names files as they were given. */
TEST(messages_name_what_was_given)
{
    leat_batch *batch;
    leat_error err;
    int rc;
    go_to("A");
    leat_plan *plan = open_case(3, 0, "");
    leat_loader *loader = open_loader(plan, NULL);
    go_to("B");
    for (int i = 0; i < N_FILES; i++) {
        char name[60];
        snprintf(name, sizeof name, "A/part-%02d.tfrecord", i);
        unlink(in_folder(name));
    }
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
        leat_batch_release(batch);
    assert_int_equal(rc, LEAT_E_IO);
    assert_non_null(strstr(err.message, "cannot open part-"));
    close_loader_and_plan(&loader, &plan);
    assert_int_equal(fchdir(test_start), 0);

    int folder = AT_FDCWD;
    char text[200];
    check(leat_working_folder_keep(&folder, &err), &err);
    char *name = leat_working_folder_name(folder, "a/b");
    snprintf(text, sizeof text, "%s: no file; see %s.idx", name, name);
    leat_working_folder_shorten(folder, text);
    assert_string_equal(text, "a/b: no file; see a/b.idx");
    free(name);
    name = leat_working_folder_name(folder, "/a/b");
    assert_string_equal(name, "/a/b");
    free(name);
    leat_working_folder_release(&folder);
    assert_int_equal(folder, AT_FDCWD);
}
