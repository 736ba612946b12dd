/* SPDX-License-Identifier: MIT
 *
 * test_source_states.c: what a saved state knows of its source: the order of the tensors, the names of files and
 * folders, which decide the order of records though no size changes, and the sizes of files. */
#include <fcntl.h>

#include "fixtures/compressed.h"
#include "fixtures/row_files_fixture.h"
#include "pipeline/plan/plan_impl.h"

/* Rows of any sizes. */
#define STAGES "pipeline: [{padded_batch: 7}]"

/* Opens the source from a state (NULL: from the start), and writes the one that it begins with to *out. */
static int open_from(const char *source, const leat_loader_state *from, leat_loader_state *out,
                     leat_error *err)
{
    leat_plan *plan = row_files_plan(source, STAGES);
    leat_loader *loader;
    const int rc = leat_loader_open(plan, &(leat_loader_options){ .state = from }, &loader, err);
    if (rc >= 0)
        leat_loader_get_state(loader, out);
    close_loader_and_plan(&loader, &plan);
    return rc;
}

/* The order of `features` decides which tensor is the first, such as for a map without a name. */
TEST(a_state_knows_the_order_of_tensors)
{
    static const char one[] = "npy: {files: '@two.npz', features: {a: u, b: v}}",
                      other[] = "npy: {files: '@two.npz', features: {b: v, a: u}}";
    const float u[] = { 1, 2 }, v[] = { 3, 4 };
    const array_of arrays[] = { { "u", "<f4", ",", 2, 4, u }, { "v", "<f4", ",", 2, 4, v } };
    leat_loader_state saved, unused;
    leat_error err;
    put_npz("two.npz", arrays, 2);
    check(open_from(one, NULL, &saved, &err), &err);
    check(open_from(one, &saved, &unused, &err), &err);
    assert_int_equal(open_from(other, &saved, &unused, &err), LEAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "another plan"));
}

/* Files of one size that change their names change the order of records, or whose labels are whose. */
TEST(a_state_knows_the_names_of_files)
{
    static const char *const sources[] = { "npy: '@s-*.npy'",
                                           "npy: {files: '@x.npy', labels: ['@s-*.npy']}",
                                           "tfrecord: {files: '@s-*.npy', features: {id: {}}}" };
    const int64_t values[] = { 1, 2, 3 };
    leat_loader_state saved, unused;
    leat_error err;
    char from[100], to[100];
    put_npy("x.npy", &(array_of){ NULL, "<i8", ",", 3, 8, values });
    snprintf(from, sizeof from, "%s", in_folder("s-1.npy"));
    snprintf(to, sizeof to, "%s", in_folder("s-9.npy"));
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            write_records(from, 0, 3, 0);
        else
            put_npy("s-1.npy", &(array_of){ NULL, "<i8", ",", 3, 8, values });
        check(open_from(sources[i], NULL, &saved, &err), &err);
        check(open_from(sources[i], &saved, &unused, &err), &err);
        assert_int_equal(rename(from, to), 0);
        assert_int_equal(open_from(sources[i], &saved, &unused, &err), LEAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, "another plan"));
        assert_int_equal(unlink(to), 0);
    }
}

/* The same of folders that a pattern finds. The folder of all files may lie elsewhere. */
TEST(a_state_knows_the_folders_of_files)
{
    static const char *const sources[] = { "npy: '@d-*/x'",
                                           "tfrecord: {files: '@d-*/x', features: {id: {}}}" };
    static const char *const paths[] = { "d-1/x", "d-2/x" };
    const char *const one = in_folder("d-1"), *const two = in_folder("d-2"),
                      *const nine = in_folder("d-9");
    const int64_t values[] = { 1, 2, 3 };
    leat_loader_state saved, unused;
    leat_error err;
    assert_int_equal(mkdir(one, 0700) | mkdir(two, 0700), 0);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++)
            if (i)
                write_records(in_folder(paths[k]), 0, 3, 0);
            else
                put_npy(paths[k], &(array_of){ NULL, "<i8", ",", 3, 8, values });
        check(open_from(sources[i], NULL, &saved, &err), &err);
        assert_int_equal(rename(one, nine), 0);
        assert_int_equal(open_from(sources[i], &saved, &unused, &err), LEAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, "another plan"));
        assert_int_equal(unlink(in_folder(paths[1])), 0);
        check(open_from(sources[i], NULL, &saved, &err), &err);
        assert_int_equal(rename(nine, one), 0);
        check(open_from(sources[i], &saved, &unused, &err), &err);
    }
}

/* --- sizes --------------------------------------------------------------------------------------- */

#define FOLDER "images: '@tree'"
#define LIST   "images: {path: '@list.csv', label: c}"
#define IDX    "idx: {images: '@i.gz', labels: '@l.gz'}"

/* A file of the source that can be longer and has the same records. */
static const struct {
    const char *source, *file;
} sized[] = {
    { FOLDER, "tree/a/1.ppm" },
    { FOLDER, "tree/b/1.ppm" },
    { LIST, "tree/b/1.ppm" },
    { "images: '@list.txt'", "tree/a/1.ppm" },
    { "images: {path: '@tree', class_from: '(.)/1'}", "tree/b/1.ppm" },
    { "concat: [{" FOLDER "}, {" LIST "}]", "tree/b/1.ppm" },
    { "mix: [{" FOLDER "}, {" FOLDER "}]", "tree/a/1.ppm" },
    { "interleave: [{" FOLDER "}, {" FOLDER "}]", "tree/a/1.ppm" },
    { "zip: [{" FOLDER "}, {npy: {files: '$b1.npy', name: b}}]", "tree/a/1.ppm" },
    { "npy: {files: '@stored.npz', features: {x: x}}", "stored.npz" },
    { "npy: {files: '@deflated.npz', features: {x: x}}", "deflated.npz" },
    { IDX, "i.gz" },
    { IDX, "l.gz" },
    { "csv: {files: '@x.csv', features: {x: [x]}}", "x.csv" },
    { "tfrecord: {files: '@r.gz', features: {id: {}}}", "r.gz" },
};

static void put_copy(const char *from, const char *name)
{
    size_t n;
    uint8_t *const bytes = read_whole(from, &n);
    assert_non_null(bytes);
    put_file(name, bytes, n);
    free(bytes);
}

static void put_sized(void)
{
    static const char image[] = "P6\n1 1 255\nabc";
    size_t n, n_packed;
    put_file("tree/a/1.ppm", image, sizeof image - 1);
    put_file("tree/b/1.ppm", image, sizeof image - 1);
    put_text("list.csv", "file,c\ntree/a/1.ppm,0\ntree/b/1.ppm,1\n");
    put_text("list.txt", "tree/a/1.ppm\ntree/b/1.ppm\n");
    put_text("x.csv", "x\n1\n2\n");
    put_copy(GOLDEN "stored.npz", "stored.npz");
    put_copy(GOLDEN "deflated.npz", "deflated.npz");
    put_copy(GOLDEN "images-idx3-ubyte.gz", "i.gz");
    put_copy(GOLDEN "labels-idx1-ubyte.gz", "l.gz");
    write_records(in_folder("plain"), 0, 3, 0);
    uint8_t *const plain = read_whole(in_folder("plain"), &n);
    uint8_t *const packed = compressed(plain, n, 0, n, &n_packed);
    put_file("r.gz", packed, n_packed);
    free(packed);
    free(plain);
}

/* Writes a file anew, with an old time. `longer`: with an empty member of GZIP, a comment of ZIP or a line end after it. */
static void put_anew(const char *name, bool longer)
{
    const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    size_t n, n_more = 1;
    uint8_t *const bytes = read_whole(in_folder(name), &n);
    uint8_t *const empty = compressed(bytes, 0, 0, 1, &n_more);
    uint8_t *const all = malloc(n + n_more);
    assert_true(bytes && empty && all);
    memcpy(all, bytes, n);
    memcpy(all + n, empty, n_more);
    if (!strstr(name, ".gz")) {
        all[n] = '\n';
        n_more = 1;
    }
    if (longer && strstr(name, ".npz"))
        all[n - 2] = 1; /* bytes of the comment */
    assert_int_equal(unlink(in_folder(name)), 0);
    put_file(name, all, n + (longer ? n_more : 0));
    assert_int_equal(utimensat(AT_FDCWD, in_folder(name), old, 0), 0);
    free(bytes);
    free(empty);
    free(all);
}

/* A copy bears another time. */
TEST(a_state_knows_the_sizes_of_files)
{
    leat_loader_state saved, unused;
    leat_error err;
    for (size_t i = 0; i < sizeof sized / sizeof *sized; i++) {
        put_sized();
        check(open_from(sized[i].source, NULL, &saved, &err), &err);
        put_anew(sized[i].file, false);
        check(open_from(sized[i].source, &saved, &unused, &err), &err);
        put_anew(sized[i].file, true);
        if (open_from(sized[i].source, &saved, &unused, &err) != LEAT_E_ARGUMENT)
            fail_msg("%s: %s may have another size", sized[i].source, sized[i].file);
        assert_non_null(strstr(err.message, "another plan"));
    }
}

/* Their plans differ by the texts of the sources alone. */
TEST(a_list_of_the_files_of_a_folder_is_the_same_set)
{
    put_sized();
    leat_plan *folder = row_files_plan(FOLDER, STAGES);
    put_text("tree/list.csv", "file,c\na/1.ppm,0\nb/1.ppm,1\n");
    leat_plan *list = row_files_plan("images: {path: '@tree/list.csv', label: c}", STAGES);
    assert_true(folder->source->digest == list->source->digest);
    leat_plan_close(&folder);
    leat_plan_close(&list);
}

SUITE_FIXTURE(make_folder, remove_folder)
