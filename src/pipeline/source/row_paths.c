/* SPDX-License-Identifier: MIT */
#include "row_paths.h"

#include <stdlib.h>
#include <string.h>

#include "formats/same_file.h"
#include "source_notes.h"

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

/* Drops what is listed again. same, label_same: of formats/same_file.h */
static int drop_again(leat_row_paths *out, const size_t *same, const size_t *label_same,
                      const leat_node *where, leat_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++) {
        const leat_row_pair *const first = &out->pairs[same[i]], *const again = &out->pairs[i];
        if (same[i] != i && again->labels && label_same[i] != label_same[same[i]])
            return leat_node_fail(where, err, LEAT_E_CONFIG,
                                  "%s is listed with two files of labels, %s and %s: list it once",
                                  again->file, first->labels, again->labels);
    }
    for (size_t i = 0; i < out->n; i++)
        if (same[i] != i)
            drop(&out->pairs[i]);
        else
            out->pairs[n++] = out->pairs[i];
    out->n = n;
    return LEAT_OK;
}

/* Finds what is listed again. */
static int take_once(leat_row_paths *out, const char *source, const leat_node *where, char **notes,
                     leat_error *err)
{
    char **const paths = calloc(2 * out->n + 1, sizeof *paths);
    char **const labels = paths ? paths + out->n : NULL;
    size_t *const same = malloc((2 * out->n + 1) * sizeof *same), n_again = 0, n_other = 0;
    int rc = paths && same ? LEAT_OK : LEAT_E_NOMEM;
    for (size_t i = 0; rc >= 0 && i < out->n; i++) {
        paths[i] = out->pairs[i].file;
        labels[i] = out->pairs[i].labels ? out->pairs[i].labels : out->pairs[i].file;
    }
    if (rc >= 0 && (leat_same_file_find(paths, out->n, same, &n_again) < 0 ||
                    leat_same_file_find(labels, out->n, same + out->n, &n_other) < 0))
        rc = LEAT_E_NOMEM;
    if (rc < 0)
        leat_fail(err, rc, "%zu paths", out->n);
    else if ((rc = leat_source_note_same(notes, source, paths, same, out->n, n_again, err)) >= 0)
        rc = drop_again(out, same, same + out->n, where, err);
    free(paths);
    free(same);
    return rc;
}

/* Fails if a list is not in byte order of names: who lists the files in another order wants them in that order. */
static int check_order(const leat_string *list, int32_t n, const leat_node *where, leat_error *err)
{
    char *last = NULL;
    int rc = LEAT_OK;
    for (int32_t i = 0; i < n && rc >= 0; i++) {
        char **paths;
        size_t n_paths;
        if ((rc = leat_source_glob(&list[i], 1, where, &paths, &n_paths, err)) < 0)
            break;
        if (last && strcmp(last, paths[0]) > 0)
            rc = leat_node_fail(where, err, LEAT_E_CONFIG,
                                "%s is listed behind %s, but lists of files and of labels that "
                                "differ in length are paired in byte order of names: list each "
                                "file, and its labels at the same place of the other list",
                                paths[0], last);
        free(last);
        last = paths[n_paths - 1];
        paths[n_paths - 1] = NULL;
        leat_source_free_paths(paths);
    }
    free(last);
    return rc;
}

int leat_row_paths_open(leat_row_paths *out, const char *source, const leat_strings *files,
                        const leat_strings *labels, const leat_node *where, char **notes,
                        leat_error *err)
{
    const leat_string *const of = labels ? labels->values : NULL;
    const int32_t n_of = labels ? labels->n : 0;
    int rc = LEAT_OK;
    *out = (leat_row_paths){ .n = 0 };
    if (n_of != files->n || n_of == 0)
        rc = add(out, files->values, files->n, of, n_of, 0, where, err);
    else
        for (int32_t i = 0; i < files->n && rc >= 0; i++)
            rc = add(out, &files->values[i], 1, &of[i], 1, files->n > 1 ? i + 1 : 0, where, err);
    if (rc >= 0 && n_of > 1 && n_of != files->n && (rc = check_order(of, n_of, where, err)) >= 0)
        rc = check_order(files->values, files->n, where, err);
    if (rc < 0)
        return rc;
    qsort(out->pairs, out->n, sizeof *out->pairs, by_file);
    return take_once(out, source, where, notes, err);
}

void leat_row_paths_close(leat_row_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        drop(&paths->pairs[i]);
    free(paths->pairs);
    *paths = (leat_row_paths){ .n = 0 };
}
