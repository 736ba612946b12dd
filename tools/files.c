/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/atomic_file.h"
#include "formats/link.h"

enum { NAME_SHOWN = 100 }; /* bytes of a name repeated in a hidden name */

const char *leat_files_text_in(char *room, size_t size, char **copy, const char *format,
                               va_list args)
{
    va_list again;
    va_copy(again, args);
    *copy = NULL;
    *room = 0;
    if (vsnprintf(room, size, format, args) >= (int)size && vasprintf(copy, format, again) < 0)
        *copy = NULL;
    va_end(again);
    return *copy ? *copy : room;
}

char *leat_files_text(const char *format, ...)
{
    va_list args;
    char *text;
    va_start(args, format);
    const int n = vasprintf(&text, format, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

char *leat_files_close_text(FILE *stream, char **text)
{
    const bool written = stream && !ferror(stream);
    if (stream && fclose(stream) == 0 && written)
        return *text;
    free(*text);
    return *text = NULL;
}

void leat_files_append(char *text, size_t size, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, size - n, format, args);
    va_end(args);
}

bool leat_files_ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

const char *leat_files_base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *leat_files_cut_slashes(char *path)
{
    for (size_t n = path ? strlen(path) : 0; n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = 0;
    return path;
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
    const char *const name = leat_files_base_name(path);
    const int folder = (int)(name - path);
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
        return leat_files_no_memory(err);
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

int leat_files_no_memory(leat_error *err)
{
    return leat_fail(err, LEAT_E_NOMEM, "out of memory");
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

const leat_output_kind leat_files_svg = { "a picture of leat (SVG)", LEAT_FILES_SVG, 0 };

/* The folder of a path, in new memory; NULL: out of memory. */
static char *folder_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    const int n = (int)(slash ? slash - path : 0);
    return slash ? leat_files_cut_slashes(leat_files_text("%.*s", n ? n : 1, path)) : strdup(".");
}

/* Neither exists, and the last name of none is a link. */
static bool same_names(const char *a, const char *b)
{
    if (strcmp(leat_files_base_name(a), leat_files_base_name(b)) != 0)
        return false;
    char *const folder_a = folder_of(a), *const folder_b = folder_of(b);
    const bool same =
        folder_a && folder_b && (!strcmp(a, b) || leat_files_same(folder_a, folder_b));
    free(folder_a);
    free(folder_b);
    return same;
}

bool leat_files_same(const char *a, const char *b)
{
    struct stat first, second;
    const bool has_first = stat(a, &first) == 0;
    const bool is_known = has_first || leat_format_is_absent(errno);
    const bool has_second = stat(b, &second) == 0;
    const bool are_known = is_known && (has_second || leat_format_is_absent(errno));
    if (are_known && (has_first || has_second)) /* else their names tell */
        return has_first && has_second && first.st_dev == second.st_dev &&
               first.st_ino == second.st_ino;
    leat_format_error why;
    char *end_a = NULL, *end_b = NULL;
    leat_link_follow(a, &end_a, &why); /* a link that is not followed stands for itself */
    leat_link_follow(b, &end_b, &why);
    const bool same = same_names(end_a ? end_a : a, end_b ? end_b : b);
    free(end_a);
    free(end_b);
    return same;
}

int leat_files_check(const char *path, const leat_output_kind *kind, leat_error *err)
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
    if (!kind || leat_output_kind_may_replace(path, kind))
        return LEAT_OK;
    if (errno)
        return leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
    return leat_fail(err, LEAT_E_ARGUMENT,
                     "%s: exists and is not %s; choose another name, or remove it", path,
                     kind->what);
}

int leat_files_stream(const char *path, FILE **out, leat_error *err)
{
    char *name = NULL;
    leat_format_error why;
    *out = NULL;
    if (leat_link_follow(path, &name, &why) < 0)
        return leat_files_fail(err, &why);
    const int fd = open(name, O_APPEND | O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    free(name);
    *out = fd < 0 ? NULL : fdopen(fd, "a+");
    if (*out)
        return LEAT_OK;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    return leat_fail(err, LEAT_E_IO, "%s: %s", path, leat_format_open_error(error));
}

void leat_files_end_line(FILE *file)
{
    char last = '\n';
    const int fd = fileno(file);
    struct stat status;
    if (fstat(fd, &status) == 0 && status.st_size > 0 &&
        pread(fd, &last, 1, status.st_size - 1) == 1 && last != '\n')
        putc('\n', file);
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
    char *const folder = folder_of(path);
    if (!folder)
        return leat_files_no_memory(err);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = LEAT_OK;
    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
        rc = leat_fail(err, LEAT_E_IO, "%s: cannot sync the folder: %s", folder, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(folder);
    return rc;
}
