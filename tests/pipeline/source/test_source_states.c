/* SPDX-License-Identifier: MIT
 *
 * test_source_states.c: what a saved state knows of its source: the order of the tensors, and the names of files and
 * folders, which decide the order of records though no size changes. */
#include "fixtures/row_files_fixture.h"

/* Opens the source from a state (NULL: from the start), and writes the one that it begins with to *out. */
static int open_from(const char *source, const leat_loader_state *from, leat_loader_state *out,
                     leat_error *err)
{
    leat_plan *plan = row_files_plan(source, ALL);
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

SUITE_FIXTURE(make_folder, remove_folder)
