/* SPDX-License-Identifier: MIT */
#include "side_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
    return (n > n_labels && !strcmp(path + n - n_labels, labels)) || lies_beside(path, ".idx") ||
           lies_beside(path, ".jpg.idx");
}

int leat_side_file_stale(leat_format_error *err, const char *side, const char *why)
{
    return leat_format_fail(err, LEAT_FORMAT_STALE, 0, "%s: %s", side, why);
}

int leat_side_file_map(const char *side, void **memory, size_t *bytes, leat_format_error *err)
{
    struct stat status;
    const int fd = open(side, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return leat_format_fail(
            err, errno == ENOENT || errno == ENAMETOOLONG ? LEAT_FORMAT_END : LEAT_FORMAT_IO, 0,
            "%s: %s", side, errno == ENOENT ? "missing" : leat_format_open_error(errno));
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
        close(fd);
        return leat_side_file_stale(err, side, "empty, or not a regular file");
    }
    void *const map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    const int error = errno;
    close(fd);
    if (map == MAP_FAILED)
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", side, strerror(error));
    *memory = map;
    *bytes = (size_t)status.st_size;
    return LEAT_FORMAT_OK;
}
