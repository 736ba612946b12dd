/* SPDX-License-Identifier: MIT
 *
 * test_link.c: links of this user and of root are followed to their end, links of others never, wherever they are in a
 * chain. */
#include "fixtures/format_test.h"

#include <errno.h>
#include <stdbool.h>

#include "formats/atomic_file.h"
#include "formats/link.h"

enum { OTHER = 54321 }; /* a user who is neither this one nor root */

static void make_link(const char *name, const char *to, bool of_other)
{
    char path[128];
    snprintf(path, sizeof path, "%s", in_folder(name));
    unlink(path);
    assert_int_equal(symlink(to, path), 0);
    if (of_other)
        assert_int_equal(lchown(path, OTHER, OTHER), 0);
}

static void expect_at(const char *path, const char *end)
{
    char *at;
    leat_format_error err;
    if (leat_link_follow(path, &at, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(at, end);
    free(at);
}

static void expect_refused(const char *name, const char *part)
{
    char *at;
    leat_format_error err;
    assert_int_equal(leat_link_follow(in_folder(name), &at, &err), LEAT_FORMAT_IO);
    assert_null(at);
    assert_non_null(strstr(err.text, part));
}

TEST(own_links_are_followed_to_their_end)
{
    char before[4096];
    put_text("file", "x");
    put_text("inner/deep", "x");
    make_link("plain", "file", false);
    make_link("inner/up", "../plain", false);
    make_link("whole", in_folder("inner/up"), false);
    make_link("dangling", "inner/none", false);
    expect_at(in_folder("file"), in_folder("file"));
    expect_at(in_folder("none"), in_folder("none"));
    expect_at(in_folder("no/such/folder"), in_folder("no/such/folder"));
    expect_at(in_folder("plain"), in_folder("file"));
    expect_at(in_folder("inner/up"), in_folder("inner/../file"));
    expect_at(in_folder("whole"), in_folder("inner/../file"));
    expect_at(in_folder("dangling"), in_folder("inner/none"));
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(test_folder), 0);
    expect_at("plain", "file");
    expect_at("inner/up", "inner/../file");
    assert_int_equal(chdir(before), 0);
}

TEST(a_circle_ends)
{
    make_link("a", "b", false);
    make_link("b", "a", false);
    expect_refused("a", strerror(ELOOP));
}

TEST(links_of_others_are_refused)
{
    leat_atomic_file *file;
    leat_format_error err;
    size_t size;
    if (geteuid() != 0) {
        print_message("skipped: only root can make a link of another user\n");
        skip();
    }
    put_text("victim", "mine");
    make_link("planted", "victim", true);
    make_link("first", "planted", false);
    make_link("second", "first", false);
    make_link("nowhere", "none", true);
    static const char *const names[] = { "planted", "first", "second", "nowhere" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        expect_refused(names[i], "is a symbolic link of another user (uid 54321)");
        expect_refused(names[i], i < 3 ? "/planted: " : "/nowhere: ");
        assert_int_equal(leat_atomic_file_open(&file, in_folder(names[i]), 0, &err),
                         LEAT_FORMAT_IO);
        assert_null(file);
    }
    /* A user's own link, and root's, for a process of that user. */
    assert_int_equal(chmod(test_folder, 0755), 0);
    assert_int_equal(seteuid(OTHER), 0);
    expect_at(in_folder("planted"), in_folder("victim"));
    expect_at(in_folder("second"), in_folder("victim"));
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(seteuid(OTHER + 1), 0);
    expect_refused("second", "/planted: ");
    assert_int_equal(seteuid(0), 0);
    uint8_t *const text = read_whole(in_folder("victim"), &size);
    assert_memory_equal(text, "mine", 4);
    free(text);
}

/* One that is planted between open and commit is replaced, not followed. */
TEST(a_late_link_is_not_followed)
{
    leat_atomic_file *file;
    struct stat status;
    put_text("victim", "mine");
    assert_int_equal(leat_atomic_file_open(&file, in_folder("late"), 0, NULL), LEAT_FORMAT_OK);
    make_link("late", "victim", false);
    assert_int_equal(leat_atomic_file_write(file, "new", 3, NULL), LEAT_FORMAT_OK);
    assert_int_equal(leat_atomic_file_commit(file, NULL), LEAT_FORMAT_OK);
    leat_atomic_file_close(&file);
    assert_int_equal(lstat(in_folder("late"), &status), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(stat(in_folder("victim"), &status), 0);
    assert_int_equal(status.st_size, 4);
}

SUITE_FIXTURE(make_folder, remove_folder)
