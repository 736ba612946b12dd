/* SPDX-License-Identifier: MIT
 *
 * test_same_file.c: names of one file are found, whatever they are. */
#include <fcntl.h>

#include "fixtures/own_folder.h"

#include "formats/same_file.h"

TEST(names_of_one_file)
{
    char *paths[] = { "b", "c", "./b", "none", "a", "link", "c", "none", "hard", "b" };
    static const size_t want[] = { 0, 1, 0, 3, 4, 0, 1, 7, 4, 0 };
    size_t first[10], n_again;
    assert_int_equal(chdir(test_folder), 0);
    put_text("a", "1");
    put_text("b", "1"); /* what is in them does not count */
    put_text("c", "2");
    assert_int_equal(symlink("b", "link"), 0);
    assert_int_equal(link("a", "hard"), 0);
    assert_int_equal(leat_same_file_find(paths, 10, first, &n_again), LEAT_FORMAT_OK);
    assert_memory_equal(first, want, sizeof want);
    assert_int_equal(n_again, 3);
    assert_int_equal(leat_same_file_find(paths, 0, first, &n_again), LEAT_FORMAT_OK);
    assert_int_equal(n_again, 0);
}

/* Some file systems give every file the same number: the program's own stat() plays one. */
static bool same_numbers;

int stat(const char *restrict path, struct stat *restrict out)
{
    const int rc = fstatat(AT_FDCWD, path, out, 0);
    if (same_numbers)
        out->st_ino = 0;
    return rc;
}

TEST(a_number_alone_is_no_file)
{
    char *paths[] = { "s1", "s2", "./s1", "s3" };
    static const size_t want[] = { 0, 1, 0, 3 };
    static const struct timespec later[] = { { 1, 0 }, { 1000, 1 } };
    size_t first[4], n_again;
    assert_int_equal(chdir(test_folder), 0);
    put_text("s1", "1");
    put_text("s2", "22");
    put_text("s3", "3");
    assert_int_equal(utimensat(AT_FDCWD, "s3", later, 0), 0);
    same_numbers = true;
    assert_int_equal(leat_same_file_find(paths, 4, first, &n_again), LEAT_FORMAT_OK);
    same_numbers = false;
    assert_memory_equal(first, want, sizeof want);
    assert_int_equal(n_again, 1);
}

/* A list of a manifest is looked at by its folders. Where these all have one number, only their paths tell. */
TEST(names_by_their_folders)
{
    char whole[64];
    char *paths[] = { "d/x", "d/y", "./d/x",  "e/x",    "l/y",    whole,
                      "x",   "./x", "none/x", "none/x", "d/link", "d/x" };
    enum { N = sizeof paths / sizeof *paths };
    static const size_t want[N] = { 0, 1, 0, 3, 1, 0, 6, 6, 8, 8, 10, 0 };
    static const size_t by_path[N] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 10, 0 };
    size_t first[N], n_again;
    assert_int_equal(chdir(test_folder), 0);
    put_text("d/x", "1");
    put_text("e/x", "1");
    assert_int_equal(symlink("d", "l"), 0);
    assert_int_equal(symlink("x", "d/link"), 0);
    snprintf(whole, sizeof whole, "%s/d/x", test_folder);
    assert_int_equal(leat_same_file_find_in_folders(paths, N, first, &n_again), LEAT_FORMAT_OK);
    assert_memory_equal(first, want, sizeof want);
    assert_int_equal(n_again, 4);
    same_numbers = true;
    assert_int_equal(leat_same_file_find_in_folders(paths, N, first, &n_again), LEAT_FORMAT_OK);
    same_numbers = false;
    assert_memory_equal(first, by_path, sizeof by_path);
    assert_int_equal(leat_same_file_find_in_folders(paths, 0, first, &n_again), LEAT_FORMAT_OK);
    assert_int_equal(n_again, 0);
}

SUITE_FIXTURE(make_folder, remove_folder)
