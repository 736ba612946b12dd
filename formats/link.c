/* SPDX-License-Identifier: MIT */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEPS_MOST = 40 }; /* like Linux */

/* Reads the link that a descriptor is open on. Its owner and text belong together, whatever is renamed meanwhile.
 * text: "" if it is not a link. */
static int read_link(int fd, const char *path, char text[PATH_MAX], leat_format_error *err)
{
    struct stat status;
    *text = 0;
    if (fstat(fd, &status) < 0)
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", path, strerror(errno));
    if (!S_ISLNK(status.st_mode))
        return LEAT_FORMAT_OK;
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return leat_format_fail(
            err, LEAT_FORMAT_IO, 0,
            "%s: is a symbolic link of another user (uid %u), and is not followed; "
            "remove it, or choose another name",
            path, (unsigned)status.st_uid);
    const ssize_t n = readlinkat(fd, "", text, PATH_MAX - 1);
    if (n <= 0)
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: cannot read the symbolic link: %s",
                                path, strerror(errno));
    text[n] = 0;
    return LEAT_FORMAT_OK;
}

/* Replaces *path by where its last name leads. *more: it was a link. */
static int take_step(char **path, bool *more, leat_format_error *err)
{
    char text[PATH_MAX];
    *more = false;
    const int fd = open(*path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) /* there is nothing yet; or the caller's open() says why not */
        return LEAT_FORMAT_OK;
    const int rc = read_link(fd, *path, text, err);
    close(fd);
    if (rc < 0 || !*text)
        return rc;
    const char *const slash = strrchr(*path, '/');
    const size_t folder = *text != '/' && slash ? (size_t)(slash - *path) + 1 : 0;
    char *const next = malloc(folder + strlen(text) + 1);
    if (!next)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory for its name", *path);
    memcpy(next, *path, folder);
    strcpy(next + folder, text);
    free(*path);
    *path = next;
    *more = true;
    return LEAT_FORMAT_OK;
}

int leat_link_follow(const char *path, char **out, leat_format_error *err)
{
    bool more = true;
    int rc = LEAT_FORMAT_OK;
    char *at = strdup(path);
    *out = NULL;
    if (!at)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory for its name", path);
    for (int step = 0; more && rc == LEAT_FORMAT_OK && step <= STEPS_MOST; step++)
        rc = take_step(&at, &more, err);
    if (rc == LEAT_FORMAT_OK && more)
        rc = leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", path, strerror(ELOOP));
    if (rc < 0)
        free(at);
    else
        *out = at;
    return rc;
}
