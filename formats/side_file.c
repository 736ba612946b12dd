/* SPDX-License-Identifier: MIT */
#include "side_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manifest.h"

enum { SMALL = 16384, MAPPED_MOST = 16384 };

/* If the path ends so: is there a file of that name without the end? */
static int lies_beside(const char *path, const char *end)
{
    struct stat status;
    const size_t n = strlen(path), n_end = strlen(end);
    if (n <= n_end || strcmp(path + n - n_end, end) != 0)
        return 0;
    char *const file = strndup(path, n - n_end);
    const int is_there = file && stat(file, &status) == 0 && S_ISREG(status.st_mode);
    free(file);
    return is_there;
}

int leat_side_file_is(const char *path)
{
    static const char labels[] = "-labels.txt";
    const size_t n = strlen(path), n_labels = sizeof labels - 1;
    return (n > n_labels && !strcmp(path + n - n_labels, labels)) || leat_manifest_is(path) ||
           lies_beside(path, ".idx") || lies_beside(path, ".jpg.idx");
}

int leat_side_file_stale(leat_format_error *err, const char *side, const char *why)
{
    return leat_format_fail(err, LEAT_FORMAT_STALE, 0, "%s: %s", side, why);
}

/* Index files that are mapped now. */
static int n_mapped; /* atomic */

/* Maps the file, unless it is small or there are very many mappings; a system has room for about 65,000. */
static void *map(int fd, size_t bytes)
{
    if (bytes <= SMALL || __atomic_add_fetch(&n_mapped, 1, __ATOMIC_RELAXED) > MAPPED_MOST) {
        if (bytes > SMALL)
            __atomic_sub_fetch(&n_mapped, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    void *const memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED)
        return memory;
    __atomic_sub_fetch(&n_mapped, 1, __ATOMIC_RELAXED);
    return NULL;
}

static int read_all(int fd, const char *side, leat_side_file *out, leat_format_error *err)
{
    out->memory = malloc(out->bytes);
    if (!out->memory)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory for %zu bytes", side,
                                out->bytes);
    const ssize_t n = leat_format_pread(fd, out->memory, out->bytes, 0);
    if (n == (ssize_t)out->bytes)
        return LEAT_FORMAT_OK;
    const int error = errno;
    leat_side_file_close(out);
    return n < 0 ? leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", side, strerror(error))
                 : leat_side_file_stale(err, side, "cut while it was read");
}

int leat_side_file_open(const char *side, leat_side_file *out, leat_format_error *err)
{
    struct stat status;
    const int fd = leat_format_open(side);
    *out = (leat_side_file){ 0 };
    if (fd < 0)
        return leat_format_fail(
            err, errno == ENOENT || errno == ENAMETOOLONG ? LEAT_FORMAT_END : LEAT_FORMAT_IO, 0,
            "%s: %s", side, errno == ENOENT ? "missing" : leat_format_open_error(errno));
    int rc = LEAT_FORMAT_OK;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
        rc = leat_side_file_stale(err, side, "empty, or not a regular file");
    } else {
        out->bytes = (size_t)status.st_size;
        out->memory = map(fd, out->bytes);
        out->is_mapped = out->memory != NULL;
        if (!out->is_mapped)
            rc = read_all(fd, side, out, err);
    }
    close(fd);
    return rc;
}

void leat_side_file_close(leat_side_file *file)
{
    if (file->is_mapped) {
        munmap(file->memory, file->bytes);
        __atomic_sub_fetch(&n_mapped, 1, __ATOMIC_RELAXED);
    } else {
        free(file->memory);
    }
    *file = (leat_side_file){ 0 };
}

int leat_side_file_check_replaced(const char *side, const char *magic, const char *command,
                                  leat_format_error *err)
{
    leat_side_file old;
    const int rc = leat_side_file_open(side, &old, err);
    if (rc < 0)
        return rc == LEAT_FORMAT_END || rc == LEAT_FORMAT_STALE ? LEAT_FORMAT_OK : rc;
    const int is_ours = !memcmp(old.memory, magic, old.bytes < 8 ? old.bytes : 8);
    leat_side_file_close(&old);
    return is_ours ? LEAT_FORMAT_OK
                   : leat_format_fail(err, LEAT_FORMAT_IO, 0,
                                      "%s: exists and is not an index of leat: move it away, or "
                                      "let `%s` replace it",
                                      side, command);
}
