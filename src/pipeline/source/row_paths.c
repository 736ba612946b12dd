/* SPDX-License-Identifier: MIT */
#include "row_paths.h"

#include <stdlib.h>
#include <string.h>

static int by_file(const void *one, const void *other)
{
    const leat_row_pair *const a = one, *const b = other;
    const int order = strcmp(a->file, b->file);
    return order || !a->labels ? order : strcmp(a->labels, b->labels);
}

/* Adds the files of n entries with their labels. entry: its number, for the message; 0: of all entries */
static int add(leat_row_paths *out, const leat_string *files, int32_t n, const leat_string *labels,
               int32_t n_labels, int32_t entry, const leat_node *where, leat_error *err)
{
    char **paths = NULL, **label_paths = NULL, of_entry[40] = "";
    size_t n_paths = 0, n_label_paths = 0;
    int rc = leat_source_glob(files, n, where, &paths, &n_paths, err);
    if (rc >= 0 && n_labels)
        rc = leat_source_glob(labels, n_labels, where, &label_paths, &n_label_paths, err);
    if (entry)
        snprintf(of_entry, sizeof of_entry, "entry %d of the lists: ", entry);
    if (rc >= 0 && n_labels && n_paths != n_label_paths)
        rc = leat_node_fail(where, err, LEAT_E_CONFIG,
                            "%s%zu files but %zu of labels: each has its own", of_entry, n_paths,
                            n_label_paths);
    leat_row_pair *const more =
        rc < 0 ? NULL : realloc(out->pairs, (out->n + n_paths + 1) * sizeof *more);
    if (rc >= 0 && !more)
        rc = leat_fail(err, LEAT_E_NOMEM, "%zu paths", n_paths);
    if (more)
        out->pairs = more;
    for (size_t i = 0; more && i < n_paths; i++) {
        more[out->n++] = (leat_row_pair){ paths[i], label_paths ? label_paths[i] : NULL };
        paths[i] = NULL; /* the pair owns it */
        if (label_paths)
            label_paths[i] = NULL;
    }
    for (size_t i = 0; !more && i < n_paths; i++)
        free(paths[i]);
    for (size_t i = 0; !more && i < n_label_paths; i++)
        free(label_paths[i]);
    free(paths);
    free(label_paths);
    return rc;
}

static void drop(leat_row_pair *pair)
{
    free(pair->file);
    free(pair->labels);
}

int leat_row_paths_open(leat_row_paths *out, const leat_strings *files, const leat_strings *labels,
                        const leat_node *where, leat_error *err)
{
    const leat_string *const of = labels ? labels->values : NULL;
    const int32_t n_of = labels ? labels->n : 0;
    int rc = LEAT_OK;
    *out = (leat_row_paths){ .n = 0 };
    if (n_of != files->n)
        rc = add(out, files->values, files->n, of, n_of, 0, where, err);
    else
        for (int32_t i = 0; i < files->n && rc >= 0; i++)
            rc = add(out, &files->values[i], 1, &of[i], 1, files->n > 1 ? i + 1 : 0, where, err);
    if (rc >= 0)
        qsort(out->pairs, out->n, sizeof *out->pairs, by_file);
    return rc;
}

void leat_row_paths_close(leat_row_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        drop(&paths->pairs[i]);
    free(paths->pairs);
    *paths = (leat_row_paths){ .n = 0 };
}
