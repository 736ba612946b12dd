/* SPDX-License-Identifier: MIT
 *
 * test_zip.c: archives that Python wrote: stored, deflated, with a comment, with 64-bit fields; cut at every
 * byte; with every byte changed. */
#include "fixtures/format_test.h"

#include <fcntl.h>

#include "formats/zip.h"

#define SEEDS  SOURCE_DIR "/tests/fuzz/corpus/fuzz_zip/"
#define GOLDEN SOURCE_DIR "/tests/golden/arrays/"

static int open_path(const char *path)
{
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    return fd;
}

/* Opens an archive; its first member must have this name and these first bytes. */
static void check_first(const char *path, size_t n_members, const char *name, const void *bytes,
                        size_t n)
{
    leat_zip zip;
    leat_format_error err;
    const int fd = open_path(path);
    if (leat_zip_open(fd, &zip, &err) < 0)
        fail_msg("%s: %s", path, err.text);
    assert_int_equal(zip.n_members, n_members);
    for (size_t i = 0; i < n_members; i++) {
        uint8_t *const to = malloc((size_t)zip.members[i].bytes);
        assert_int_equal(leat_zip_read(fd, &zip.members[i], to, &err), LEAT_FORMAT_OK);
        if (i == 0) {
            assert_string_equal(zip.members[i].name, name);
            assert_true(zip.members[i].bytes >= n);
            assert_memory_equal(to, bytes, n);
        }
        free(to);
    }
    leat_zip_close(&zip);
    leat_zip_close(&zip);
    close(fd);
}

TEST(members_are_found_and_read)
{
    check_first(GOLDEN "stored.npz", 4, "x.npy", "\x93NUMPY", 6);
    check_first(GOLDEN "deflated.npz", 4, "x.npy", "\x93NUMPY", 6);
    check_first(SEEDS "comment", 1, "a", "hello", 5);
    check_first(SEEDS "zip64", 1, "a", "data!", 5);
    check_first(SEEDS "empty", 0, "", "", 0);
}

/* Reads a file as an archive with all its members. Returns the first error. */
static int read_all(const char *path, leat_format_error *err)
{
    leat_zip zip;
    const int fd = open_path(path);
    int rc = leat_zip_open(fd, &zip, err);
    for (size_t i = 0; rc == LEAT_FORMAT_OK && i < zip.n_members; i++) {
        const int large = zip.members[i].bytes > 1 << 20; /* a changed size */
        uint8_t *const to = malloc(large ? 1 : (size_t)zip.members[i].bytes + 1);
        rc = large ? leat_format_fail(err, LEAT_FORMAT_BAD, 0, "large")
                   : leat_zip_read(fd, &zip.members[i], to, err);
        free(to);
    }
    leat_zip_close(&zip);
    close(fd);
    return rc;
}

static const char *const files[] = { GOLDEN "stored.npz", GOLDEN "deflated.npz", SEEDS "zip64",
                                     SEEDS "comment" };

TEST(cut_archives_are_refused)
{
    leat_format_error err;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        size_t size;
        uint8_t *const bytes = read_whole(files[f], &size);
        for (size_t n = 0; n < size; n++) {
            put_file("cut", bytes, n);
            assert_int_equal(read_all(in_folder("cut"), &err), LEAT_FORMAT_BAD);
            assert_true(err.text[0]);
        }
        free(bytes);
    }
}

/* A changed byte is found, or was in a field that is not used (a date, a version). */
TEST(changed_bytes_of_members_are_found)
{
    leat_format_error err;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        size_t size, n_found = 0;
        uint8_t *const bytes = read_whole(files[f], &size);
        for (size_t n = 0; n < size; n++) {
            bytes[n] ^= 0x55;
            put_file("changed", bytes, size);
            const int rc = read_all(in_folder("changed"), &err);
            assert_true(rc == LEAT_FORMAT_OK || rc == LEAT_FORMAT_BAD);
            n_found += rc == LEAT_FORMAT_BAD;
            bytes[n] ^= 0x55;
        }
        assert_true(n_found * 4 > size);
        free(bytes);
    }
}

TEST(what_cannot_be_read_is_told)
{
    static const struct {
        size_t at; /* in the entry of the directory */
        uint8_t value;
        const char *message;
    } cases[] = { { 8, 1, "encrypted" },
                  { 10, 12, "neither stored nor deflated" },
                  { 46, 0, "a member's name has a zero byte" } };
    leat_format_error err;
    size_t size;
    uint8_t *const bytes = read_whole(SEEDS "comment", &size);
    uint8_t *const entry = memmem(bytes, size, "PK\1\2", 4);
    assert_non_null(entry);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t before = entry[cases[i].at];
        entry[cases[i].at] = cases[i].value;
        put_file("changed", bytes, size);
        assert_int_equal(read_all(in_folder("changed"), &err), LEAT_FORMAT_BAD);
        assert_non_null(strstr(err.text, cases[i].message));
        entry[cases[i].at] = before;
    }
    free(bytes);
}

/* A directory that gives a deflated member more bytes than its deflated bytes can become. */
TEST(a_size_that_cannot_be_is_refused)
{
    leat_format_error err;
    size_t size;
    uint8_t *const bytes = read_whole(GOLDEN "deflated.npz", &size);
    uint8_t *const entry = memmem(bytes, size, "PK\1\2", 4);
    assert_non_null(entry);
    entry[27] = 0x40; /* 1 GiB more */
    put_file("changed", bytes, size);
    assert_int_equal(read_all(in_folder("changed"), &err), LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "too large for its bytes"));
    free(bytes);
}

SUITE_FIXTURE(make_folder, remove_folder)
