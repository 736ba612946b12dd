/* SPDX-License-Identifier: MIT
 *
 * fault_at.c: a library for LD_PRELOAD that stops or disturbs its process at the n-th of some system calls.
 *
 *     LEAT_FAULT_AT=N         the call to disturb, from 1; 0: all; without it nothing happens
 *     LEAT_FAULT_CALLS=" … "  the calls that are counted, between spaces; default: " rename unlink "
 *     LEAT_FAULT_ERRNO=E      that call fails with this errno and writes a line to standard error; without it the
 *                             process is killed right before the call
 *     LEAT_FAULT_SIGNAL=S     … with this signal in place of SIGKILL
 *     LEAT_FAULT_MS=M         instead it takes M ms longer
 *     LEAT_FAULT_UNTIL=FILE   instead it makes FILE.waits, and waits until FILE exists; after a minute the process is
 *                             killed
 *     LEAT_FAULT_PATH=END     the calls "stat", "lstat" and "access" are counted only for paths that end so
 *     LEAT_FAULT_READ=N       a read() gives at most N bytes, as it may over FUSE
 *
 * "open" are only calls that create a file, "write" and "close" only those of regular files that are
 * open for writing, besides the standard streams. A close that fails has closed the file. "sleep" are only pauses until a
 * time, "calloc" only those of 4 MiB and more. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

static atomic_int n_calls;

static void pause_ms(int ms)
{
    struct timespec left = { ms / 1000, ms % 1000 * 1000000 };
    while (nanosleep(&left, &left) < 0 && errno == EINTR) {
    }
}

static void wait_for(const char *file)
{
    char waits[1000];
    snprintf(waits, sizeof waits, "%s.waits", file);
    mknod(waits, S_IFREG | 0600, 0);
    for (int i = 0; access(file, F_OK) < 0; i++) {
        if (i == 60 * 100)
            kill(getpid(), SIGKILL);
        pause_ms(10);
    }
}

/* True: the call of this name fails now; errno is set. */
static bool fails(const char *name)
{
    const char *const at = getenv("LEAT_FAULT_AT"), *calls = getenv("LEAT_FAULT_CALLS"),
                      *const error = getenv("LEAT_FAULT_ERRNO"),
                      *const ms = getenv("LEAT_FAULT_MS"), *const file = getenv("LEAT_FAULT_UNTIL");
    const int n = at ? atoi(at) : 0;
    char word[32];
    snprintf(word, sizeof word, " %s ", name);
    if (!at || !strstr(calls ? calls : " rename unlink ", word) ||
        (atomic_fetch_add(&n_calls, 1) + 1 != n && n != 0))
        return false;
    if (ms)
        pause_ms(atoi(ms));
    if (file)
        wait_for(file);
    if (ms || file)
        return false;
    if (!error) {
        const char *const sent = getenv("LEAT_FAULT_SIGNAL");
        kill(getpid(), sent ? atoi(sent) : SIGKILL);
        return false;
    }
    dprintf(STDERR_FILENO, "fault: %s\n", name);
    errno = atoi(error);
    return true;
}

static bool is_output(int fd)
{
    struct stat status;
    const int error = errno, flags = fcntl(fd, F_GETFL);
    const bool is = fd > STDERR_FILENO && flags >= 0 && (flags & O_ACCMODE) != O_RDONLY &&
                    fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    errno = error;
    return is;
}

/* Stores the function of this name behind this library in *call. */
static void find(void *call, const char *name)
{
    void *const found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    memcpy(call, &found, sizeof found);
}

static bool look_fails(const char *name, const char *path)
{
    const char *const end = getenv("LEAT_FAULT_PATH");
    const size_t n = strlen(path), n_end = end ? strlen(end) : 0;
    return end && n >= n_end && !strcmp(path + n - n_end, end) && fails(name);
}

VISIBLE int stat(const char *restrict path, struct stat *restrict out)
{
    int (*call)(const char *restrict, struct stat *restrict);
    find(&call, "stat");
    return look_fails("stat", path) ? -1 : call(path, out);
}

VISIBLE int lstat(const char *restrict path, struct stat *restrict out)
{
    int (*call)(const char *restrict, struct stat *restrict);
    find(&call, "lstat");
    return look_fails("lstat", path) ? -1 : call(path, out);
}

VISIBLE int access(const char *path, int mode)
{
    int (*call)(const char *, int);
    find(&call, "access");
    return look_fails("access", path) ? -1 : call(path, mode);
}

VISIBLE int rename(const char *from, const char *to)
{
    int (*call)(const char *, const char *);
    find(&call, "rename");
    return fails("rename") ? -1 : call(from, to);
}

VISIBLE int renameat2(int at, const char *from, int to_at, const char *to, unsigned flags)
{
    int (*call)(int, const char *, int, const char *, unsigned);
    find(&call, "renameat2");
    return fails("rename") ? -1 : call(at, from, to_at, to, flags);
}

VISIBLE int unlink(const char *path)
{
    int (*call)(const char *);
    find(&call, "unlink");
    return fails("unlink") ? -1 : call(path);
}

VISIBLE ssize_t read(int fd, void *to, size_t n)
{
    ssize_t (*call)(int, void *, size_t);
    const char *const most = getenv("LEAT_FAULT_READ");
    find(&call, "read");
    return call(fd, to, most && (size_t)atoi(most) < n ? (size_t)atoi(most) : n);
}

VISIBLE int flock(int fd, int operation)
{
    int (*call)(int, int);
    find(&call, "flock");
    return fails("flock") ? -1 : call(fd, operation);
}

VISIBLE int mkdir(const char *path, mode_t mode)
{
    int (*call)(const char *, mode_t);
    find(&call, "mkdir");
    return fails("mkdir") ? -1 : call(path, mode);
}

VISIBLE int rmdir(const char *path)
{
    int (*call)(const char *);
    find(&call, "rmdir");
    return fails("rmdir") ? -1 : call(path);
}

VISIBLE int fsync(int fd)
{
    int (*call)(int);
    find(&call, "fsync");
    return fails("fsync") ? -1 : call(fd);
}

VISIBLE int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                            struct timespec *left)
{
    int (*call)(clockid_t, int, const struct timespec *, struct timespec *);
    find(&call, "clock_nanosleep");
    return flags & TIMER_ABSTIME && fails("sleep") ? errno : call(clock, flags, time, left);
}

/* As Open MPI declares it, whose handles are pointers; PMPI_Isend is the same function under its name for tools. */
VISIBLE int MPI_Isend(const void *bytes, int n, void *type, int to, int tag, void *comm, void *sent)
{
    int (*call)(const void *, int, void *, int, int, void *, void *);
    void *const found = dlsym(RTLD_DEFAULT, "PMPI_Isend");
    memcpy(&call, &found, sizeof found);
    return fails("MPI_Isend") ? -1 : call(bytes, n, type, to, tag, comm, sent);
}

static struct dirent *read_entry(const char *name, DIR *folder)
{
    struct dirent *(*call)(DIR *);
    find(&call, name);
    return fails("readdir") ? NULL : call(folder);
}

VISIBLE struct dirent *readdir(DIR *folder)
{
    return read_entry("readdir", folder);
}

VISIBLE struct dirent64 *readdir64(DIR *folder)
{
    return (struct dirent64 *)read_entry("readdir64", folder);
}

VISIBLE void *calloc(size_t n, size_t size)
{
    void *(*call)(size_t, size_t);
    find(&call, "calloc");
    return size && n >= (4 << 20) / size && fails("calloc") ? NULL : call(n, size);
}

VISIBLE int linkat(int from, const char *path, int to, const char *name, int flags)
{
    int (*call)(int, const char *, int, const char *, int);
    find(&call, "linkat");
    return fails("linkat") ? -1 : call(from, path, to, name, flags);
}

VISIBLE ssize_t write(int fd, const void *bytes, size_t size)
{
    ssize_t (*call)(int, const void *, size_t);
    find(&call, "write");
    return is_output(fd) && fails("write") ? -1 : call(fd, bytes, size);
}

VISIBLE int close(int fd)
{
    int (*call)(int);
    find(&call, "close");
    const bool fault = is_output(fd) && fails("close");
    const int error = errno, rc = call(fd);
    errno = fault ? error : errno;
    return fault ? -1 : rc;
}

static int open_as(const char *name, const char *path, int flags, va_list args)
{
    int (*call)(const char *, int, ...);
    const bool creates = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    const mode_t mode = creates ? (mode_t)va_arg(args, int) : 0;
    find(&call, name);
    return creates && fails("open") ? -1 : call(path, flags, mode);
}

VISIBLE int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const int fd = open_as("open", path, flags, args);
    va_end(args);
    return fd;
}

VISIBLE int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const int fd = open_as("open64", path, flags, args);
    va_end(args);
    return fd;
}
