/* SPDX-License-Identifier: MIT */
#include "source_notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

size_t leat_source_common_folder(const char *one, const char *other)
{
    size_t n = 0;
    for (size_t i = 0; one[i] && one[i] == other[i]; i++)
        n = one[i] == '/' ? i + 1 : n;
    return n;
}

void leat_source_count_file(leat_source *source, const char *name)
{
    source->n_files++;
    source->digest = leat_digest_text(source->digest, name);
}

int leat_source_note_files(char **notes, const char *source, size_t n, const char *path,
                           const char *one, const char *more, leat_error *err)
{
    if (n == 0)
        return LEAT_OK;
    if (n == 1)
        return leat_source_add_note(notes, err, "%s: %s %s", source, path, one);
    return leat_source_add_note(notes, err, "%s: %zu files %s; the first: %s", source, n, more,
                                path);
}

int leat_source_note_same(char **notes, const char *source, char *const *paths, const size_t *same,
                          size_t n, size_t n_again, leat_error *err)
{
    size_t first = n, again = n;
    char *both = NULL;
    for (size_t i = 0; i < n; i++)
        if (same[i] != i && same[i] < first) {
            first = same[i];
            again = i;
        }
    if (n_again && strcmp(paths[first], paths[again]) != 0 &&
        asprintf(&both, "%s (also %s)", paths[first], paths[again]) < 0)
        both = NULL;
    const int rc = leat_source_note_files(notes, source, n_again,
                                          both      ? both
                                          : n_again ? paths[first]
                                                    : "",
                                          "is listed twice and read once",
                                          "are listed twice and read once", err);
    free(both);
    return rc;
}
