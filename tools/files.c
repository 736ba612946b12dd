/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/atomic_file.h"
#include "formats/link.h"

enum { NAME_SHOWN = 100 }; /* bytes of a name repeated in a hidden name */

char *leat_files_text(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return text;
}

char *leat_files_yaml(const char *text, leat_yaml_kind kind)
{
    const size_t room = leat_yaml_text(text, kind, NULL, 0) + 1;
    char *const yaml = malloc(room);
    if (yaml)
        leat_yaml_text(text, kind, yaml, room);
    return yaml;
}

char *leat_files_hidden(const char *path, const char *end)
{
    const char *const slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash - path) + 1 : 0;
    const char *const name = path + folder;
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    if (strlen(name) <= NAME_SHOWN)
        return leat_files_text("%.*s.%s%s", folder, path, name, end);
    for (const char *c = name; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 0x100000001b3;
    return leat_files_text("%.*s.%016llx%s", folder, path, (unsigned long long)hash, end);
}

int leat_files_check_length(const char *path, const char *end, leat_error *err)
{
    struct stat status;
    char *const longer = leat_files_text("%s%s", path, end);
    if (!longer)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    const int rc = lstat(longer, &status), error = errno;
    free(longer);
    if (rc == 0 || error != ENAMETOOLONG)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_IO,
                     "%s: with \"%s\" the name is longer than this file system allows; choose a "
                     "shorter one",
                     path, end);
}

int leat_files_make_parents(const char *path, leat_error *err)
{
    char *const folder = leat_files_text("%s", path);
    int rc = LEAT_OK;
    if (!folder)
        return leat_fail(err, LEAT_E_NOMEM, "%s: out of memory", path);
    for (char *p = folder + 1; *folder && rc == LEAT_OK && (p = strchr(p, '/')); p++) {
        *p = 0;
        if (mkdir(folder, 0777) < 0 && errno != EEXIST)
            rc = leat_fail(err, LEAT_E_IO, "%s: cannot create the folder: %s", folder,
                           strerror(errno));
        *p = '/';
    }
    free(folder);
    return rc;
}

int leat_files_fail(leat_error *err, const leat_format_error *from)
{
    static const int codes[] = { LEAT_OK,   LEAT_E_END,   LEAT_E_DATA,
                                 LEAT_E_IO, LEAT_E_NOMEM, LEAT_E_DATA };
    const int i = -from->code;
    const int code = i > 0 && i < (int)(sizeof codes / sizeof *codes) ? codes[i] : LEAT_E_INTERNAL;
    return leat_fail(err, code, "%s", from->text);
}

int leat_files_write(const char *path, const void *bytes, size_t n, leat_error *err)
{
    leat_format_error why;
    leat_atomic_file *file;
    int rc = leat_atomic_file_open(&file, path, 0, &why);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_write(file, bytes, n, &why);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_commit(file, &why);
    leat_atomic_file_close(&file);
    return rc == LEAT_FORMAT_OK ? LEAT_OK : leat_files_fail(err, &why);
}

const leat_files_kind leat_files_svg = { "a picture (SVG)", "<svg ", 0 };

static int check_kind(const char *path, const leat_files_kind *kind, leat_error *err)
{
    char found[64];
    struct stat status;
    const size_t wanted = strlen(kind->begins);
    if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return LEAT_OK;
    FILE *const file = fopen(path, "rbe");
    const bool same = file && wanted <= sizeof found && fseek(file, kind->at, SEEK_SET) == 0 &&
                      fread(found, 1, wanted, file) == wanted &&
                      !memcmp(found, kind->begins, wanted);
    if (file)
        fclose(file);
    if (same)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_ARGUMENT,
                     "%s: exists and is not %s; choose another name, or remove it", path,
                     kind->what);
}

int leat_files_check(const char *path, const leat_files_kind *kind, leat_error *err)
{
    leat_format_error why;
    leat_atomic_file *file;
    int rc = leat_files_make_parents(path, err);
    if (rc < 0)
        return rc;
    rc = leat_atomic_file_open(&file, path, LEAT_ATOMIC_FILE_NO_SYNC, &why);
    leat_atomic_file_close(&file);
    if (rc < 0)
        return leat_files_fail(err, &why);
    return kind ? check_kind(path, kind, err) : LEAT_OK;
}

int leat_files_stream(const char *path, int flags, FILE **out, leat_error *err)
{
    char *name = NULL;
    leat_format_error why;
    *out = NULL;
    if (leat_link_follow(path, &name, &why) < 0)
        return leat_files_fail(err, &why);
    const int fd = open(name, flags | O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    free(name);
    *out = fd < 0 ? NULL : fdopen(fd, flags & O_APPEND ? "a+" : "w+");
    if (*out)
        return LEAT_OK;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    return leat_fail(err, LEAT_E_IO, "%s: %s", path, leat_format_open_error(error));
}

int leat_files_rename(const char *from, const char *to, leat_error *err)
{
    if (rename(from, to) == 0)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_IO, "%s: cannot rename it to its final name: %s", to,
                     strerror(errno));
}

/* Some file systems cannot sync a folder and say EINVAL. */
int leat_files_sync_folder_of(const char *path, leat_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? leat_files_text("%.*s/", (int)(slash - path), path) : strdup(".");
    if (!folder)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = LEAT_OK;
    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
        rc = leat_fail(err, LEAT_E_IO, "%s: cannot sync the folder: %s", folder, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(folder);
    return rc;
}

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

/* Of handlers. oneDNN's matrix products let the stack pointer point into a buffer on the heap, and the kernel would put
 * the frame of a signal there, over what lies before the buffer. A sanitizer may have made a stack before. */
static void own_stack(void)
{
    static char stack[65536]; /* a frame has all registers, also those of AMX */
    const stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };
    stack_t before;
    if (sigaltstack(NULL, &before) == 0 && before.ss_flags & SS_DISABLE)
        sigaltstack(&own, NULL);
}

/* Ignored signals stay ignored, for nohup and background jobs. Called by the main thread; others block signals. */
static void handle(void (*handler)(int), int flags)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags | SA_ONSTACK }, before;
    own_stack();
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

void leat_files_catch(void)
{
    handle(on_signal, 0);
}

static char stopped_text[64];

/* Uses only async-signal-safe calls. The same signal may come twice, and to two threads: the first prints
 * and then restores the default action; raise() takes effect when the handler returns. */
static void say_and_end(int number)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&said))
        return;
    const ssize_t n = write(STDERR_FILENO, stopped_text, strlen(stopped_text));
    (void)n;
    signal(number, SIG_DFL);
    raise(number);
}

void leat_files_stop_at_once(const char *command)
{
    snprintf(stopped_text, sizeof stopped_text, "%sleat %s: stopped\n",
             isatty(STDERR_FILENO) ? "\r\033[J" : "", command);
    handle(say_and_end, 0);
}

static char stopping_text[128];
static int64_t caught_ns;

/* Uses only async-signal-safe calls. timeout(1) sends the signal to the process and to its group. */
static void note_or_end(int number)
{
    static atomic_flag noted = ATOMIC_FLAG_INIT;
    const int error = errno;
    if (!atomic_flag_test_and_set(&noted)) {
        caught_ns = leat_files_now_ns();
        caught = number;
        const ssize_t n = write(STDERR_FILENO, stopping_text, strlen(stopping_text));
        (void)n;
    } else if (caught && leat_files_now_ns() - caught_ns > 500000000) {
        say_and_end(number);
    }
    errno = error;
}

void leat_files_stop_soon(const char *command)
{
    if (isatty(STDERR_FILENO))
        snprintf(stopping_text, sizeof stopping_text,
                 "\r\033[Jleat %s: stops after this step (Ctrl-C again: at once)\n", command);
    handle(note_or_end, SA_RESTART); /* running system calls must not fail because of it */
}

int leat_files_caught(void)
{
    return caught;
}

void leat_files_raise(void)
{
    if (caught) {
        signal(caught, SIG_DFL);
        raise(caught);
    }
}

const char *leat_files_bytes_text(double bytes, char text[32])
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    size_t unit = 0;
    for (; bytes >= 999.5 && unit < 5; unit++)
        bytes /= 1000;
    snprintf(text, 32,
             unit && bytes < 9.995   ? "%.2f %s"
             : unit && bytes < 99.95 ? "%.1f %s"
                                     : "%.0f %s",
             bytes, units[unit]);
    return text;
}

const char *leat_files_ms_text(double ms, char text[32])
{
    if (ms == 0)
        return "0";
    snprintf(text, 32, ms < 0.01 ? "%.4f" : ms < 1 ? "%.3f" : ms < 100 ? "%.2f" : "%.0f", ms);
    return text;
}

const char *leat_files_uncached_text(double uncached, char *text)
{
    snprintf(
        text, 160,
        "the cache held %.0f %% of the samples when the measurements began: the others were made "
        "as in a first epoch",
        100 * (1 - uncached));
    return text;
}

const char *leat_files_count_text(uint64_t n, char text[32])
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    char *to = text;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return text;
}

int leat_files_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

int64_t leat_files_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
