/* SPDX-License-Identifier: MIT */
#include "labels_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shard_set.h"
#include "utf8.h"
#include "whole_file.h"

#define BYTES_MOST ((size_t)16 << 20)

/* The text of the file of a set. out->text NULL: there is none, or it cannot be read. */
static int read_text(const char *path, size_t prefix, leat_labels_file *out, leat_format_error *err)
{
    const size_t room = prefix + sizeof "-labels.txt";
    char *const name = malloc(room);
    size_t n;
    if (!name)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory", path);
    snprintf(name, room, "%.*s-labels.txt", (int)prefix, path);
    int rc = LEAT_FORMAT_OK;
    if (prefix && (access(name, F_OK) == 0 || !leat_format_is_absent(errno)))
        rc = leat_whole_file_read(name, BYTES_MOST, &out->text, &n, &out->why);
    if (rc == LEAT_FORMAT_OK && out->text && memchr(out->text, 0, n))
        rc = leat_format_fail(&out->why, LEAT_FORMAT_BAD, 0, "%s: has a zero byte", name);
    free(name);
    if (rc == LEAT_FORMAT_NOMEM)
        *err = out->why;
    else if (rc < 0)
        out->state = LEAT_LABELS_FILE_UNREADABLE;
    return rc == LEAT_FORMAT_NOMEM ? rc : LEAT_FORMAT_OK;
}

/* A line ends at a line feed, and its name before a carriage return. An empty line, also the last, is a class with an empty name. */
static int cut_lines(leat_labels_file *labels, leat_format_error *err)
{
    size_t n = 0;
    char *const begin = labels->text + leat_utf8_mark(labels->text, strlen(labels->text));
    for (const char *at = begin; *at; at += strcspn(at, "\n"), at += *at == '\n')
        n++;
    labels->names = n ? calloc(n, sizeof *labels->names) : NULL;
    if (n && !labels->names)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "no memory for names of %zu classes", n);
    for (char *at = begin; labels->n < n; at++) {
        char *const name = labels->names[labels->n++] = at;
        at += strcspn(at, "\n");
        *at = 0;
        name[strcspn(name, "\r")] = 0;
    }
    return LEAT_FORMAT_OK;
}

static int read_one(const char *path, size_t prefix, leat_labels_file *out, leat_format_error *err)
{
    *out = (leat_labels_file){ .n = 0 };
    const int rc = read_text(path, prefix, out, err);
    return rc == LEAT_FORMAT_OK && out->text && out->state == LEAT_LABELS_FILE_SAME
               ? cut_lines(out, err)
               : rc;
}

/* The first class whose name differs; SIZE_MAX: one list is the beginning of the other. */
static size_t first_other(const leat_labels_file *a, const leat_labels_file *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++)
        if (strcmp(a->names[i], b->names[i]) != 0)
            return i;
    return SIZE_MAX;
}

/* Takes the names back, and says why. */
static void refuse(leat_labels_file *out, leat_labels_file_state state,
                   const leat_format_error *why)
{
    leat_labels_file_close(out);
    *out = (leat_labels_file){ .state = state, .why = *why };
}

/* Puts the names of one more set with the others, whose list is that beside `other`. Returns whether its own list is taken,
 * as it is longer. path: a file of the set */
static bool join(leat_labels_file *out, leat_labels_file *one, const char *path, const char *other)
{
    const size_t i = first_other(out, one);
    leat_format_error why;
    if (one->state != LEAT_LABELS_FILE_SAME) {
        refuse(out, one->state, &one->why);
    } else if (i != SIZE_MAX) {
        leat_format_fail(&why, LEAT_FORMAT_BAD, 0,
                         "the sets have different ones: class %zu is '%.60s' beside %.150s, but "
                         "'%.60s' beside %.150s",
                         i, one->names[i], path, out->names[i], other);
        refuse(out, LEAT_LABELS_FILE_DIFFERENT, &why);
    } else if (one->n > out->n) {
        const leat_labels_file shorter = *out;
        *out = *one;
        *one = shorter;
        return true;
    }
    return false;
}

int leat_labels_file_read(const char *const *paths, size_t n_paths, leat_labels_file *out,
                          leat_format_error *err)
{
    size_t last = n_paths ? leat_shard_set_prefix(*paths) : 0;
    const char *longest = n_paths ? *paths : NULL;
    bool is_missing = false;
    leat_format_error why;
    int rc = LEAT_FORMAT_OK;
    *out = (leat_labels_file){ .n = 0 };
    if (n_paths) {
        rc = read_one(*paths, last, out, err);
        is_missing = !out->n;
    }
    for (size_t i = 1; i < n_paths && rc == LEAT_FORMAT_OK && !out->state; i++) {
        const size_t prefix = leat_shard_set_prefix(paths[i]);
        leat_labels_file one;
        if (prefix == last && !strncmp(paths[i], paths[i - 1], prefix))
            continue; /* the same set, or one more file that is in none */
        last = prefix;
        rc = read_one(paths[i], prefix, &one, err);
        is_missing |= !one.n;
        if (rc == LEAT_FORMAT_OK && join(out, &one, paths[i], longest))
            longest = paths[i];
        leat_labels_file_close(&one);
    }
    if (is_missing && out->n) {
        leat_format_fail(&why, LEAT_FORMAT_BAD, 0, "some of the sets have none");
        refuse(out, LEAT_LABELS_FILE_MISSING, &why);
    }
    return rc;
}

void leat_labels_file_close(leat_labels_file *labels)
{
    free(labels->names);
    free(labels->text);
}
