/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_set.h"
#include "files.h"
#include "formats/shard_set.h"
#include "formats/whole_file.h"

#define BYTES_MOST ((size_t)16 << 20)

/* The labels file of the set that a file is of. *out NULL: it has none. */
static int read_beside(const char *file, char **out, size_t *n, leat_error *err)
{
    leat_format_error why;
    const size_t prefix = leat_shard_set_prefix(file);
    char *const name = leat_files_text("%.*s-labels.txt", (int)prefix, file);
    int rc = name ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    *out = NULL;
    if (name && prefix && access(name, F_OK) == 0 &&
        leat_whole_file_read(name, BYTES_MOST, out, n, &why) < 0)
        rc = leat_files_fail(err, &why);
    free(name);
    return rc;
}

static int cut_lines(leat_set_labels *labels, leat_error *err)
{
    size_t n = 0;
    for (char *at = labels->text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        n++;
    labels->names = calloc(n + 1, sizeof *labels->names);
    if (!labels->names)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    for (char *at = labels->text; labels->n < n; at++) {
        labels->names[labels->n++] = at;
        at += strcspn(at, "\n");
        *at = 0;
    }
    for (size_t i = 0; i < n; i++)
        labels->names[i][strcspn(labels->names[i], "\r")] = 0;
    return LEAT_OK;
}

int leat_set_labels_read(const char *const *files, size_t n_files, leat_set_labels *out,
                         leat_error *err)
{
    size_t n = 0, last = 0, n_with = 0, n_sets = 0;
    bool same = true;
    int rc = LEAT_OK;
    *out = (leat_set_labels){ .n = 0 };
    for (size_t i = 0; i < n_files && rc == LEAT_OK && same; i++) {
        const size_t prefix = leat_shard_set_prefix(files[i]);
        char *text;
        size_t bytes = 0;
        if (i > 0 && prefix && prefix == last && !strncmp(files[i], files[i - 1], prefix))
            continue; /* the same set */
        last = prefix;
        n_sets++;
        rc = read_beside(files[i], &text, &bytes, err);
        n_with += text != NULL;
        same = !text || !out->text || (n == bytes && !memcmp(text, out->text, n));
        if (out->text || !text) {
            free(text);
            continue;
        }
        out->text = text;
        n = bytes;
    }
    if (rc == LEAT_OK && out->text && same && n_with == n_sets && !memchr(out->text, 0, n))
        return cut_lines(out, err);
    if (rc == LEAT_OK && out->text)
        fprintf(stderr, "leat convert: the names of the classes are not kept: %s\n",
                !same             ? "the sets have different ones"
                : n_with < n_sets ? "some of the sets have none"
                                  : "their file has a zero byte");
    return rc;
}

void leat_set_labels_close(leat_set_labels *labels)
{
    free(labels->text);
    free(labels->names);
}
