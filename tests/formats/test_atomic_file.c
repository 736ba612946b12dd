/* SPDX-License-Identifier: MIT
 *
 * test_atomic_file.c: every system call that can fail does, in turn; whatever happens, the final name
 * holds the old file or the whole new one, and no temporary file stays. */
#include "fixtures/failing_malloc.h"
#include "fixtures/format_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>

/* --- faults ------------------------------------------------------------------------------------*/

static int calls_left = -1;  /* calls that succeed before one fails; -1: all do */
static int failure = EIO;    /* errno of the one that fails */
static int short_writes;     /* 1: every other write takes less than it is given */
static int interrupt_writes; /* 1: every other write says EINTR */

/* What the system has for a file that has no name yet. */
enum { NAMELESS, NO_NAMELESS, NO_PROC, NO_LINK, N_KINDS };
static int kind;

static int fail_this_call(void)
{
    if (calls_left < 0 || calls_left-- > 0)
        return 0;
    errno = failure;
    return 1;
}

static ssize_t faulty_write(int fd, const void *bytes, size_t size)
{
    static unsigned turn;
    turn++;
    if (interrupt_writes && turn % 2) {
        errno = EINTR;
        return -1;
    }
    if (fail_this_call())
        return -1;
    if (short_writes && turn % 2 && size > 1)
        size = 1 + (size_t)random_below(size - 1);
    return write(fd, bytes, size);
}

static int faulty_open(const char *path, int flags, ...)
{
    const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT || nameless ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    if (nameless && kind == NO_NAMELESS) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return fail_this_call() ? -1 : open(path, flags, mode);
}

static int faulty_close(int fd)
{
    const int rc = close(fd);
    return fail_this_call() ? -1 : rc;
}

static int faulty_fsync(int fd)
{
    return fail_this_call() ? -1 : fsync(fd);
}

static int faulty_rename(const char *from, const char *to)
{
    return fail_this_call() ? -1 : rename(from, to);
}

static int no_noreplace; /* 1: the file system does not know RENAME_NOREPLACE */

static int faulty_renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    if (no_noreplace) {
        errno = EINVAL;
        return -1;
    }
    return fail_this_call() ? -1 : renameat2(from, old, to, new, flags);
}

static int faulty_stat(const char *path, struct stat *st)
{
    if (kind == NO_PROC && !strncmp(path, "/proc/", 6)) {
        errno = ENOENT;
        return -1;
    }
    return stat(path, st);
}

static int faulty_linkat(int from, const char *path, int to, const char *name, int flags)
{
    if (kind == NO_LINK) {
        errno = EPERM;
        return -1;
    }
    return fail_this_call() ? -1 : linkat(from, path, to, name, flags);
}

static ssize_t faulty_pread(int fd, void *to, size_t size, off_t at)
{
    return fail_this_call() ? -1 : pread(fd, to, size, at);
}

static ssize_t faulty_getrandom(void *to, size_t size, unsigned flags)
{
    return fail_this_call() ? -1 : getrandom(to, size, flags);
}

#define write              faulty_write
#define open               faulty_open
#define close              faulty_close
#define fsync              faulty_fsync
#define rename             faulty_rename
#define renameat2          faulty_renameat2
#define getrandom          faulty_getrandom
#define linkat             faulty_linkat
#define pread              faulty_pread
#define stat(path, status) faulty_stat(path, status)
#include "formats/atomic_file.c"
#undef write
#undef open
#undef close
#undef fsync
#undef rename
#undef renameat2
#undef getrandom
#undef linkat
#undef pread
#undef stat

/* --- the scenario: replace an old file by a new one in uneven pieces ---------------------------*/

enum { NEW_BYTES = 3500000 };
static uint8_t *new_bytes;

static int write_new(const char *path, unsigned flags, leat_format_error *err)
{
    leat_atomic_file *file;
    int rc = leat_atomic_file_open(&file, path, flags, err);
    if (rc < 0) {
        assert_null(file);
        return rc;
    }
    for (size_t at = 0, n = 1; at < NEW_BYTES && rc == LEAT_FORMAT_OK; at += n, n = 3 * n + 1) {
        n = n < NEW_BYTES - at ? n : NEW_BYTES - at;
        rc = leat_atomic_file_write(file, new_bytes + at, n, err);
        assert_int_equal(leat_atomic_file_size(file), at + n);
    }
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_commit(file, err);
    else /* an error is final, and says so each time */
        assert_int_equal(leat_atomic_file_commit(file, NULL), LEAT_FORMAT_IO);
    leat_atomic_file_close(&file);
    assert_null(file);
    return rc;
}

static int holds(const char *path, const void *bytes, size_t size)
{
    size_t there;
    uint8_t *content = read_whole(path, &there);
    const int same = content && there == size && memcmp(content, bytes, size) == 0;
    free(content);
    return same;
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

/* --- tests -------------------------------------------------------------------------------------*/

/* Fails the k-th call of all for each k, with this error. Returns how many were told. */
static int fail_each_call(const char *path, int error)
{
    leat_format_error err = { 0 };
    int n_failed = 0;
    failure = error;
    for (int k = 0;; k++) {
        write_whole(path, "old", 3);
        calls_left = k;
        const int rc = write_new(path, 0, &err);
        const int unused = calls_left >= 0;
        calls_left = -1;
        assert_int_equal(count_in_folder(), 1);
        if (rc ==
            LEAT_FORMAT_OK) { /* a close after the sync, and what has another way, is not told */
            assert_true(holds(path, new_bytes, NEW_BYTES));
            if (unused)
                return n_failed;
            continue;
        }
        n_failed++;
        assert_false(unused);
        assert_int_equal(rc, LEAT_FORMAT_IO);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, strerror(failure)));
        assert_true(holds(path, strstr(err.text, "folder") ? (const void *)new_bytes : "old",
                          strstr(err.text, "folder") ? NEW_BYTES : 3));
    }
}

TEST(whole_file_or_old_file)
{
    /* random and create, or neither; 4 writes, sync, close, rename, folder twice; a copy's own */
    static const int least[N_KINDS] = { 8, 9, 9, 12 };
    const char *path = in_folder("file");
    for (kind = 0; kind < N_KINDS; kind++) {
        assert_true(fail_each_call(path, EIO) >= least[kind]);
        assert_true(fail_each_call(path, ENOSPC) >= least[kind]);
    }
    kind = NAMELESS;
    unlink(path);
}

TEST(odd_writes_lose_nothing)
{
    const char *path = in_folder("odd");
    leat_format_error err;
    for (int mode = 1; mode < 4 * N_KINDS; mode++) {
        kind = mode / 4;
        short_writes = mode & 1;
        interrupt_writes = mode >> 1 & 1;
        assert_int_equal(write_new(path, LEAT_ATOMIC_FILE_NO_SYNC, &err), LEAT_FORMAT_OK);
        assert_true(holds(path, new_bytes, NEW_BYTES));
    }
    short_writes = interrupt_writes = 0;
    kind = NAMELESS;
    unlink(path);
    assert_int_equal(count_in_folder(), 0);
}

TEST(a_replaced_file_keeps_mode_and_owner)
{
    const char *path = in_folder("mode");
    leat_format_error err;
    struct stat st;
    for (kind = 0; kind < N_KINDS; kind++) {
        write_whole(path, "old", 3);
        const bool is_root = chown(path, 1234, 1235) == 0; /* who can write for others */
        assert_int_equal(chmod(path, 0604), 0);
        assert_int_equal(write_new(path, 0, &err), LEAT_FORMAT_OK);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0604);
        assert_true(!is_root || (st.st_uid == 1234 && st.st_gid == 1235));
        unlink(path);
    }
    kind = NAMELESS;
}

TEST(memory_runs_out)
{
    const char *path = in_folder("file");
    leat_format_error err;
    int rc, n_failed = 0;
    for (long n = 0; failing_malloc_at(n), rc = write_new(path, 0, &err), failing_malloc_hit();
         n++) {
        n_failed++;
        if (rc == LEAT_FORMAT_IO) { /* the folder could not be synced */
            assert_non_null(strstr(err.text, "written, but"));
            assert_true(holds(path, new_bytes, NEW_BYTES));
            unlink(path);
        } else {
            assert_int_equal(rc, LEAT_FORMAT_NOMEM);
        }
        assert_int_equal(count_in_folder(), 0);
    }
    assert_int_equal(rc, LEAT_FORMAT_OK);
    assert_true(n_failed >= 2); /* and strdup twice, which a sanitizer does on its own */
    unlink(path);
}

TEST(names_that_cannot_be_written)
{
    leat_atomic_file *file;
    leat_format_error err;
    const char *const paths[] = { test_folder, "/dev/full", "", in_folder(""),
                                  in_folder("no/such/folder/file") };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(leat_atomic_file_open(&file, paths[i], 0, &err), LEAT_FORMAT_IO);
        assert_null(file);
        assert_non_null(strstr(err.text, paths[i]));
    }
    assert_int_equal(count_in_folder(), 0);
    struct stat st;
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

/* Has this folder's file system files without a name? */
static bool has_nameless(void)
{
    const int fd = open(test_folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

TEST(given_up_leaves_nothing)
{
    leat_atomic_file *file;
    for (kind = 0; kind < N_KINDS; kind++) {
        const bool named = kind == NO_NAMELESS || kind == NO_PROC || !has_nameless();
        assert_int_equal(leat_atomic_file_open(&file, in_folder("file"), 0, NULL), LEAT_FORMAT_OK);
        assert_int_equal(count_in_folder(), named);
        assert_int_equal(leat_atomic_file_write(file, new_bytes, NEW_BYTES, NULL), LEAT_FORMAT_OK);
        leat_atomic_file_close(&file);
        leat_atomic_file_close(&file);
        assert_int_equal(count_in_folder(), 0);
    }
    kind = NAMELESS;
}

/* The temporary name fits wherever the final one does, however the file comes to it. */
TEST(long_names_are_written_in_every_way)
{
    leat_atomic_file *file;
    leat_format_error err;
    char name[256] = "";
    for (kind = 0; kind < N_KINDS; kind++)
        for (int n = 200; n <= 255; n++) {
            char path[300];
            memset(name, 'n', (size_t)n);
            name[n] = 0;
            snprintf(path, sizeof path, "%s/%s", test_folder, name);
            assert_int_equal(leat_atomic_file_open(&file, path, 0, &err), LEAT_FORMAT_OK);
            assert_int_equal(leat_atomic_file_write(file, new_bytes, 100, &err), LEAT_FORMAT_OK);
            if (leat_atomic_file_commit(file, &err) < 0)
                fail_msg("%d bytes, kind %d: %s", n, kind, err.text);
            leat_atomic_file_close(&file);
            assert_int_equal(count_in_folder(), 1);
            assert_int_equal(unlink(path), 0);
        }
    kind = NAMELESS;
}

/* An error counts what was written, not what was to be. */
TEST(only_written_bytes_are_counted)
{
    leat_atomic_file *file;
    leat_format_error err;
    for (int k = 0; k < 3; k++) {
        char count[64];
        snprintf(count, sizeof count, "(%d bytes so far", k * BUFFER_BYTES);
        assert_int_equal(leat_atomic_file_open(&file, in_folder("file"), 0, NULL), LEAT_FORMAT_OK);
        calls_left = k;
        failure = ENOSPC;
        int rc = LEAT_FORMAT_OK;
        for (int at = 0; at < NEW_BYTES && rc == LEAT_FORMAT_OK; at += 50000)
            rc = leat_atomic_file_write(file, new_bytes + at, 50000, &err);
        calls_left = -1;
        assert_int_equal(rc, LEAT_FORMAT_IO);
        assert_non_null(strstr(err.text, count));
        assert_int_equal(err.offset, k * BUFFER_BYTES);
        leat_atomic_file_close(&file);
    }
    assert_int_equal(count_in_folder(), 0);
}

TEST(mode_is_the_umask_s)
{
    struct stat st;
    for (kind = 0; kind < N_KINDS; kind++) {
        const mode_t before = umask(027);
        assert_int_equal(write_new(in_folder("file"), 0, NULL), LEAT_FORMAT_OK);
        umask(before);
        assert_int_equal(stat(in_folder("file"), &st), 0);
        assert_int_equal(st.st_mode & 0777, 0640);
        unlink(in_folder("file"));
    }
    kind = NAMELESS;
}

/* The file that a link names is replaced, or made. */
TEST(a_link_stays_a_link)
{
    struct stat st;
    char link[256];
    snprintf(link, sizeof link, "%s", in_folder("link"));
    write_whole(in_folder("target"), "old", 3);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(write_new(link, 0, NULL), LEAT_FORMAT_OK);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_true(holds(in_folder("target"), new_bytes, NEW_BYTES));
    unlink(in_folder("target"));
    assert_int_equal(write_new(link, 0, NULL), LEAT_FORMAT_OK);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_true(holds(in_folder("target"), new_bytes, NEW_BYTES));
    unlink(link);
    unlink(in_folder("target"));
    assert_int_equal(count_in_folder(), 0);
}

TEST(two_new_files_of_one_name)
{
    leat_format_error err;
    leat_atomic_file *first, *second;
    const char *const path = in_folder("new");
    for (no_noreplace = 0; no_noreplace < 2; no_noreplace++) {
        assert_int_equal(leat_atomic_file_open(&first, path, LEAT_ATOMIC_FILE_NEW, NULL), 0);
        assert_int_equal(leat_atomic_file_open(&second, path, LEAT_ATOMIC_FILE_NEW, NULL), 0);
        assert_int_equal(leat_atomic_file_write(first, "first", 5, NULL), 0);
        assert_int_equal(leat_atomic_file_commit(first, NULL), 0);
        assert_int_equal(leat_atomic_file_commit(second, &err), LEAT_FORMAT_IO);
        assert_non_null(strstr(err.text, "another program has made this file meanwhile"));
        leat_atomic_file_close(&first);
        leat_atomic_file_close(&second);
        assert_true(holds(path, "first", 5));
        assert_int_equal(count_in_folder(), 1);
        unlink(path);
    }
    no_noreplace = 0;
}

TEST(bare_name_goes_to_the_working_folder)
{
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(test_folder), 0);
    assert_int_equal(write_new("bare", 0, NULL), LEAT_FORMAT_OK);
    assert_int_equal(chdir(before), 0);
    assert_true(holds(in_folder("bare"), new_bytes, NEW_BYTES));
    unlink(in_folder("bare"));
}

SUITE_FIXTURE(setup, teardown)
