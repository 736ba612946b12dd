/* SPDX-License-Identifier: MIT
 *
 * tfrecord_labels.c: the names of the classes of a TFRecord set, which `leat convert` writes beside it as
 * PREFIX-labels.txt: a name per line, in the order of the labels. source_tfrecord.c calls it at open. A set without
 * such a file has no names; sets that are read together and differ in their names have none either. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/shard_set.h"
#include "formats/whole_file.h"
#include "tfrecord_impl.h"

#define NAMES_BYTES_MOST ((size_t)16 << 20)

/* The text of the file beside this path. *out is NULL if there is none, or it cannot be read (then with a note). */
static int read_beside(leat_tfrecord_source *source, const char *path, char **out, size_t *n,
                       leat_error *err)
{
    const size_t prefix = leat_shard_set_prefix(path);
    char name[4096];
    leat_format_error why;
    *out = NULL;
    if (!prefix ||
        (size_t)snprintf(name, sizeof name, "%.*s-labels.txt", (int)prefix, path) >= sizeof name)
        return LEAT_OK;
    if (access(name, R_OK) < 0)
        return LEAT_OK;
    if (leat_whole_file_read(name, NAMES_BYTES_MOST, out, n, &why) < 0 || memchr(*out, 0, *n)) {
        const bool read = *out != NULL;
        free(*out);
        *out = NULL;
        return leat_source_add_note(&source->base.notes, err, "no names of classes: %s",
                                    read ? "a labels file has a zero byte" : why.text);
    }
    return LEAT_OK;
}

/* Cuts the text into lines. Takes it over. */
static int take_names(leat_tfrecord_source *source, char *text, leat_error *err)
{
    size_t n = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        n++;
    char **const names = n && n <= INT32_MAX ? calloc(n, sizeof *names) : NULL;
    if (n && !names) {
        free(text);
        return leat_fail(err, LEAT_E_NOMEM, "tfrecord: names of %zu classes", n);
    }
    char *at = text;
    for (size_t i = 0; i < n; i++) {
        names[i] = at;
        at += strcspn(at, "\n");
        *at++ = 0;
        names[i][strcspn(names[i], "\r")] = 0;
    }
    source->class_text = text;
    source->base.class_names = names;
    source->base.n_classes = (int32_t)n;
    return LEAT_OK;
}

int leat_tfrecord_labels_read(leat_tfrecord_source *source, char *const *paths, size_t n_paths,
                              leat_error *err)
{
    char *all = NULL;
    size_t bytes = 0, last = 0;
    for (size_t i = 0; i < n_paths; i++) {
        const size_t prefix = leat_shard_set_prefix(paths[i]);
        if (i > 0 && prefix == last && !strncmp(paths[i], paths[i - 1], prefix))
            continue; /* the same set */
        char *text;
        size_t n = 0;
        const int rc = read_beside(source, paths[i], &text, &n, err);
        last = prefix;
        if (rc < 0 || !text || (all && (n != bytes || memcmp(all, text, n) != 0))) {
            free(text);
            free(all);
            return rc;
        }
        if (all)
            free(text);
        all = all ? all : text;
        bytes = n;
    }
    return all ? take_names(source, all, err) : LEAT_OK;
}

void leat_tfrecord_labels_close(leat_tfrecord_source *source)
{
    free(source->base.class_names);
    free(source->class_text);
}
