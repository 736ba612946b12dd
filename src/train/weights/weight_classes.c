/* SPDX-License-Identifier: MIT */
#include "train/weights/weight_classes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "formats/visible.h"

#define BYTES_MOST ((size_t)64 << 10)
#define DIGEST     "xxh3\t" /* no name that is shown has a tab */

static size_t visible(const char *name, char *to, size_t size)
{
    return leat_visible(name, strlen(name), "", to, size);
}

int leat_weight_classes_text(const char *const *names, int64_t n, char **out, leat_error *err)
{
    size_t size = 64; /* of a digest */
    for (int64_t i = 0; i < n; i++)
        size += visible(names[i], NULL, 0) + 1;
    char *const text = *out = malloc(size), *end = text;
    if (!text)
        return leat_fail(err, LEAT_E_NOMEM, "no memory for the names of classes");
    *text = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i)
            *end++ = '\n';
        end += visible(names[i], end, size - (size_t)(end - text));
    }
    if ((size_t)(end - text) > BYTES_MOST)
        snprintf(text, size, DIGEST "%016" PRIx64 "\t%" PRId64,
                 leat_digest_row(text, (size_t)(end - text), 0), n);
    return LEAT_OK;
}

int leat_weight_classes_of(const leat_plan *plan, const char *target, int32_t n, char **out,
                           leat_error *err)
{
    const char **const names = calloc((size_t)n, sizeof *names);
    int32_t known = 0;
    *out = NULL;
    if (!names)
        return leat_fail(err, LEAT_E_NOMEM, "no memory for the names of %d classes", n);
    while (known < n && (names[known] = leat_plan_tensor_class(plan, target, known)))
        known++;
    const int rc = known ? leat_weight_classes_text(names, known, out, err) : LEAT_OK;
    free(names);
    return rc;
}

static int differ(int64_t i, const char *here, const char *trained, int n, leat_error *err)
{
    return leat_fail(
        err, LEAT_E_CONFIG,
        "class %lld is '%s' here, but '%.*s' in the data that the weights were trained "
        "on: use the same names in the same order (a class folder that was renamed, "
        "added or removed changes it)",
        (long long)i, here, n, trained);
}

static int same_digest(const char *note, const char *const *names, int64_t n, leat_error *err)
{
    const char *const count = strrchr(note, '\t');
    char *here;
    if (strtoll(count + 1, NULL, 10) != n)
        return LEAT_OK;
    const int rc = leat_weight_classes_text(names, n, &here, err);
    const bool same = rc == LEAT_OK && !strcmp(here, note);
    free(here);
    return rc < 0 || same
               ? rc
               : leat_fail(err, LEAT_E_CONFIG,
                           "the %lld names of classes here are not those of the data that the "
                           "weights were trained on, or in another order",
                           (long long)n);
}

int leat_weight_classes_same(const char *note, const char *const *names, int64_t n, leat_error *err)
{
    if (strchr(note, '\t'))
        return same_digest(note, names, n, err);
    for (int64_t i = 0; i < n && note; i++) {
        const int length = (int)strcspn(note, "\n");
        char *here;
        const int rc = leat_weight_classes_text(&names[i], 1, &here, err);
        if (rc < 0)
            return rc;
        const bool same = strlen(here) == (size_t)length && !memcmp(here, note, (size_t)length);
        free(here);
        if (!same)
            return differ(i, names[i], note, length, err);
        note = note[length] ? note + length + 1 : NULL;
    }
    return LEAT_OK;
}
