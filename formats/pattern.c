/* SPDX-License-Identifier: MIT */
#include "pattern.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Copies text and adds a backslash before each special character of the first n bytes. */
static char *escape(const char *text, size_t n)
{
    const size_t length = strlen(text);
    char *const out = malloc(n + length + 1), *to = out;
    if (!out)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (strchr("*?[\\", text[i]))
            *to++ = '\\';
        *to++ = text[i];
    }
    memcpy(to, text + n, length - n + 1);
    return out;
}

char *leat_pattern_escape(const char *text)
{
    return escape(text, strlen(text));
}

/* --- glob(3), which takes any failure of readdir() as the end of the folder -------------------- */

typedef struct folder {
    DIR *entries;
    char path[];
} folder;

/* The first folder or file that could not be looked at, of this thread's call. */
static _Thread_local struct failure {
    int error;
    char path[400];
} failure;

/* Names that go while a folder is read, and links that lead nowhere, match nothing. */
static void note(const char *path)
{
    if (failure.error || errno == ELOOP || leat_format_is_absent(errno))
        return;
    failure.error = errno;
    snprintf(failure.path, sizeof failure.path, "%s", path);
}

static void *open_folder(const char *path)
{
    const size_t size = strlen(path) + 1;
    folder *const out = malloc(sizeof *out + size);
    if (!out)
        note(path);
    if (out && !(out->entries = opendir(path))) {
        note(path);
        free(out);
        return NULL;
    }
    if (out)
        memcpy(out->path, path, size);
    return out;
}

static struct dirent *read_folder(void *from)
{
    folder *const in = from;
    errno = 0;
    struct dirent *const entry = readdir(in->entries);
    if (!entry && errno)
        note(in->path);
    return entry;
}

static void close_folder(void *from)
{
    closedir(((folder *)from)->entries);
    free(from);
}

static int noted_lstat(const char *path, struct stat *status)
{
    const int rc = lstat(path, status);
    if (rc < 0)
        note(path);
    return rc;
}

static int noted_stat(const char *path, struct stat *status)
{
    const int rc = stat(path, status);
    if (rc < 0)
        note(path);
    return rc;
}

static int fail_noted(const char *pattern, leat_format_error *err)
{
    return leat_format_fail(err, LEAT_FORMAT_IO, 0,
                            "%s: cannot be read, so what matches '%s' is not known: %s",
                            failure.path, pattern, strerror(failure.error));
}

int leat_pattern_list(const char *pattern, int flags, glob_t *out, leat_format_error *err)
{
    if (!(flags & GLOB_APPEND))
        *out = (glob_t){ 0 };
    out->gl_opendir = open_folder;
    out->gl_readdir = read_folder;
    out->gl_closedir = close_folder;
    out->gl_lstat = noted_lstat;
    out->gl_stat = noted_stat;
    failure.error = 0;
    const int rc = glob(pattern, flags | GLOB_ALTDIRFUNC, NULL, out);
    if (failure.error)
        return fail_noted(pattern, err);
    return rc == 0 || rc == GLOB_NOMATCH
               ? LEAT_FORMAT_OK
               : leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: out of memory", pattern);
}

/* Elsewhere `**` stands for folders of any depth; for glob(3) it is `*`, which leaves files out. */
static int has_deep_part(const char *pattern)
{
    for (const char *at = pattern; (at = strstr(at, "**")); at += 2)
        if ((at == pattern || at[-1] == '/') && (at[2] == '/' || !at[2]))
            return 1;
    return 0;
}

/* Returns the length of the longest prefix that exists: the whole pattern or a folder; 0: none. What could not be looked at
 * is noted. */
static size_t literal_length(const char *pattern)
{
    struct stat status;
    size_t n = strlen(pattern);
    if (noted_lstat(pattern, &status) == 0)
        return n;
    char *const path = strdup(pattern);
    while (path && n > 0) {
        const char *const slash = memrchr(path, '/', n);
        n = slash ? (size_t)(slash - path) : 0;
        path[n] = 0;
        if (n && noted_stat(path, &status) == 0 && S_ISDIR(status.st_mode))
            break;
    }
    free(path);
    return n;
}

int leat_pattern_glob(const char *pattern, int flags, glob_t *out, leat_format_error *err)
{
    if (!strpbrk(pattern, "*?[\\"))
        return leat_pattern_list(pattern, flags, out, err);
    failure.error = 0;
    char *const escaped = escape(pattern, literal_length(pattern));
    if (!(flags & GLOB_APPEND))
        *out = (glob_t){ 0 };
    const int rc =
        failure.error ? fail_noted(pattern, err)
        : !escaped    ? leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: out of memory", pattern)
        : has_deep_part(escaped)
            ? leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                               "%s: `**` does not stand for folders of any depth: name each depth "
                               "with a pattern of its own, such as a/*.npy and a/*/*.npy",
                               pattern)
            : leat_pattern_list(escaped, flags, out, err);
    free(escaped);
    return rc;
}
