/* SPDX-License-Identifier: MIT */
#include "shard_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Digits that end before *end, at least five; *end moves before them. */
static int back_over_number(const char *path, const char **end)
{
    int n = 0;
    while (*end > path && (*end)[-1] >= '0' && (*end)[-1] <= '9') {
        --*end;
        n++;
    }
    return n >= LEAT_SHARD_SET_DIGITS;
}

static int back_over_text(const char *path, const char **end, const char *text)
{
    const size_t n = strlen(text);
    if ((size_t)(*end - path) < n || memcmp(*end - n, text, n) != 0)
        return 0;
    *end -= n;
    return 1;
}

size_t leat_shard_set_prefix(const char *path)
{
    const char *end = path + strlen(path);
    return back_over_text(path, &end, ".tfrecord") && back_over_number(path, &end) &&
                   back_over_text(path, &end, "-of-") && back_over_number(path, &end) &&
                   back_over_text(path, &end, "-")
               ? (size_t)(end - path)
               : 0;
}

static int check_one(const char *path, size_t length, leat_format_error *err)
{
    struct stat status;
    const size_t room = length + sizeof LEAT_SHARD_SET_MARKER;
    char *const marker = malloc(room);
    if (!marker)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory", path);
    snprintf(marker, room, "%.*s" LEAT_SHARD_SET_MARKER, (int)length, path);
    int rc = LEAT_FORMAT_OK;
    if (lstat(marker, &status) == 0)
        rc = leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                              "%s: this set is incomplete: the conversion that writes it is still "
                              "running, or was stopped while it renamed the files: `leat convert "
                              "finish -o %.*s` goes on (%.200s marks the set)",
                              path, (int)(length < 200 ? length : 200), path, marker);
    else if (!leat_format_is_absent(errno))
        rc = leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", marker, strerror(errno));
    free(marker);
    return rc;
}

int leat_shard_set_check(char *const *paths, size_t n_paths, leat_format_error *err)
{
    const char *last = "";
    size_t last_length = 0;
    for (size_t i = 0; i < n_paths; i++) {
        const size_t length = leat_shard_set_prefix(paths[i]);
        if (!length || (length == last_length && !memcmp(paths[i], last, length)))
            continue;
        const int rc = check_one(paths[i], length, err);
        if (rc < 0)
            return rc;
        last = paths[i];
        last_length = length;
    }
    return LEAT_FORMAT_OK;
}
