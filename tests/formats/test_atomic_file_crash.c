/* SPDX-License-Identifier: MIT
 *
 * test_atomic_file_crash.c: files of leat_atomic_file on a full disk, over the limit of a file's size, and when their
 * writer is killed: the old file or the new one, and nothing else. */
#include "fixtures/format_test.h"
#include "fixtures/small_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "formats/atomic_file.h"

enum { NEW_BYTES = 3500000 };
static uint8_t *new_bytes;

/* In uneven pieces. */
static int write_new(const char *path, unsigned flags, leat_format_error *err)
{
    leat_atomic_file *file;
    int rc = leat_atomic_file_open(&file, path, flags, err);
    if (rc < 0)
        return rc;
    for (size_t at = 0, n = 1; at < NEW_BYTES && rc == LEAT_FORMAT_OK; at += n, n = 3 * n + 1) {
        n = n < NEW_BYTES - at ? n : NEW_BYTES - at;
        rc = leat_atomic_file_write(file, new_bytes + at, n, err);
    }
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_commit(file, err);
    leat_atomic_file_close(&file);
    return rc;
}

static int setup(void **state)
{
    new_bytes = malloc(NEW_BYTES);
    fill_random(new_bytes, NEW_BYTES);
    return make_folder(state);
}

static int teardown(void **state)
{
    free(new_bytes);
    return remove_folder(state);
}

/* Has this folder's file system files without a name? */
static bool has_nameless(void)
{
    const int fd = open(test_folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* In a child, since it cannot be undone. Exit 0: as it should be. */
static int child_result(int (*body)(void))
{
    int status;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int fails_cleanly(const char *where, int error)
{
    leat_format_error err;
    struct stat st;
    if (write_new(where, 0, &err) != LEAT_FORMAT_IO || !strstr(err.text, strerror(error)))
        return 1;
    return stat(where, &st) == 0 || count_in_folder() != 0;
}

static int over_the_size_limit(void)
{
    const struct rlimit limit = { 2000000, 2000000 };
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 2;
    return fails_cleanly(in_folder("file"), EFBIG);
}

static int on_a_full_disk(void)
{
    if (!small_disk_mount(test_folder, "size=2m"))
        return SMALL_DISK_REFUSED;
    return fails_cleanly(in_folder("file"), ENOSPC);
}

TEST(file_size_limit)
{
    assert_int_equal(child_result(over_the_size_limit), 0);
}

TEST(full_disk)
{
    const int result = child_result(on_a_full_disk);
    if (result == SMALL_DISK_REFUSED)
        skip(); /* this user may not mount a small disk */
    assert_int_equal(result, 0);
}

static int dies_writing(void)
{
    leat_atomic_file *file;
    if (leat_atomic_file_open(&file, in_folder("file"), 0, NULL) < 0 ||
        leat_atomic_file_write(file, new_bytes, NEW_BYTES, NULL) < 0)
        return 1;
    raise(SIGKILL);
    return 2;
}

TEST(killed_writer_leaves_nothing)
{
    if (!has_nameless())
        skip();
    assert_int_equal(child_result(dies_writing), -1);
    assert_int_equal(count_in_folder(), 0);
}

static bool holds_new(const char *path)
{
    size_t size;
    uint8_t *const content = read_whole(path, &size);
    const bool same = content && size == NEW_BYTES && memcmp(content, new_bytes, size) == 0;
    free(content);
    return same;
}

/* A process that writes the file again and again is killed at any moment. */
TEST(killed_writer)
{
    const char *path = in_folder("file");
    for (int round = 0; round < 40; round++) {
        unlink(path);
        const pid_t pid = fork();
        if (pid == 0)
            for (;;)
                write_new(path, LEAT_ATOMIC_FILE_NO_SYNC, NULL);
        assert_true(pid > 0);
        const struct timespec pause = { 0, (long)random_below(8000000) };
        nanosleep(&pause, NULL);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        if (access(path, F_OK) == 0)
            assert_true(holds_new(path));
    }
}

SUITE_FIXTURE(setup, teardown)
