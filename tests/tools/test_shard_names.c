/* SPDX-License-Identifier: MIT
 *
 * test_shard_names.c: names of sets of any size: their order is that of the shards, readers find the PREFIX in them, and
 * a set of another size under the same PREFIX is refused. */
#include "fixtures/own_folder.h"

#include <fcntl.h>

#include "convert/convert.h"
#include "convert/file_set.h"
#include "formats/shard_set.h"

static int n_looks; /* at the files of a set of 64 */

/* In place of the C library's. */
int stat(const char *path, struct stat *out)
{
    n_looks += strstr(path, "-of-00064.tfrecord") != NULL;
    return fstatat(AT_FDCWD, path, out, 0);
}

static int looks_of(const char *files)
{
    char source[2000];
    leat_error err = { 0 };
    snprintf(source, sizeof source, "{files: %s, features: {x: a}}", files);
    const char *const arguments[] = { source };
    const leat_convert how = { .kind = "csv",
                               .inputs = arguments,
                               .n_inputs = 1,
                               .prefix = in_folder("csv/x"),
                               .n_shards = 64,
                               .threads = -1,
                               .progress = LEAT_PROGRESS_OFF };
    n_looks = 0;
    if (leat_convert_source_run(&how, &err) != LEAT_OK)
        fail_msg("%s", err.message);
    return n_looks;
}

/* However many files are read. */
TEST(files_that_are_replaced_are_looked_at_once)
{
    char list[1800] = "", text[1000] = "a\n";
    for (int i = 0; i < 100; i++)
        snprintf(text + strlen(text), 8, "%d\n", i);
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "csv/%d.csv", i);
        put_text(name, text);
        snprintf(list + strlen(list), 64, "%s%s", i ? ", " : "[", in_folder(name));
    }
    looks_of(in_folder("csv/0.csv")); /* now they are there */
    const int of_one = looks_of(in_folder("csv/0.csv"));
    assert_int_equal(looks_of(strcat(list, "]")), of_one);
}

/* Fewer records than were counted are no complete set, in parts or not. */
TEST(records_that_do_not_come)
{
    for (int32_t of = 0; of < 3; of++) {
        leat_error err = { 0 };
        leat_progress progress = { 0 };
        const leat_convert how = { .prefix = in_folder("short/x"),
                                   .n_shards = 4,
                                   .part = { of != 0, of } };
        leat_record_shards s = { .how = &how, .about.total = 10, .progress = &progress };
        leat_progress_init(&progress, "convert", "records", 10, LEAT_PROGRESS_OFF);
        assert_int_equal(leat_record_shards_open(&s, &err), LEAT_OK);
        for (int i = 0; i < (of == 2 ? 7 : 9); i++)
            assert_int_equal(leat_record_shards_write(&s, "a", 1, &err), LEAT_OK);
        assert_int_equal(leat_record_shards_end(&s, &err), LEAT_E_DATA);
        assert_non_null(
            strstr(err.message, of == 2 ? "4 records were written, and there should be 5"
                                        : "9 records were written, and there should be 10"));
        leat_progress_fini(&progress);
        leat_record_shards_close(&s);
        assert_int_equal(leat_shard_names_check(in_folder("short/x"), 5, &err), LEAT_OK);
    }
}

TEST(names_of_any_number)
{
    static const struct {
        int32_t shard, of;
        const char *name;
    } names[] = {
        { 0, 1, "a/x-00000-of-00001.tfrecord" },
        { 99998, 99999, "a/x-99998-of-99999.tfrecord" },
        { 7, 100000, "a/x-000007-of-100000.tfrecord" },
        { 99999, 100000, "a/x-099999-of-100000.tfrecord" },
        { 1234567, 9999999, "a/x-1234567-of-9999999.tfrecord" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *const name = leat_shard_name("a/x", names[i].shard, names[i].of);
        assert_string_equal(name, names[i].name);
        assert_int_equal(leat_shard_set_prefix(name), 3);
        assert_non_null(strstr(name, leat_shard_name_end(names[i].of).text));
        free(name);
    }
}

TEST(names_are_in_order)
{
    static const int32_t numbers[] = { 11, 99999, 100000, 100001 };
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        char *before = leat_shard_name("x", 0, numbers[k]);
        for (int32_t i = 1; i < numbers[k]; i++) {
            char *const name = leat_shard_name("x", i, numbers[k]);
            assert_true(strcmp(before, name) < 0);
            free(before);
            before = name;
        }
        free(before);
    }
}

TEST(names_that_are_in_no_set)
{
    static const char *const names[] = { "",
                                         "x.tfrecord",
                                         "x-0000-of-00001.tfrecord",
                                         "x-00000-of-0001.tfrecord",
                                         "x-00000-of-00001.tfrecords",
                                         "x-0000a-of-00001.tfrecord",
                                         "x_00000-of-00001.tfrecord",
                                         "x-00000of-00001.tfrecord",
                                         "00000-of-00001.tfrecord" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(leat_shard_set_prefix(names[i]), 0);
    assert_int_equal(leat_shard_set_prefix("x-000000-of-00000001.tfrecord"), 1);
}

TEST(another_size_is_refused)
{
    char prefix[200];
    leat_error err;
    snprintf(prefix, sizeof prefix, "%s", in_folder("x"));
    put_text("x-000007-of-100000.tfrecord", "");
    put_text("x-y-00007-of-00008.tfrecord", "");
    assert_int_equal(leat_shard_names_check(prefix, 100000, &err), LEAT_OK);
    assert_int_equal(leat_shard_names_check(prefix, 8, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "another number of shards"));
    put_text("x-00007-of-00008.tfrecord", "");
    assert_int_equal(leat_shard_names_check(prefix, 100000, &err), LEAT_E_DATA);
    put_text("x-labels.txt", "a\n"); /* of the set that is there */
    assert_int_equal(leat_shard_names_check(prefix, 4, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "another number of shards"));
}

SUITE_FIXTURE(make_folder, remove_folder)
