/* SPDX-License-Identifier: MIT */
#include "shard_gap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 9, MAX_TRIES = 1000000 };

/* A file name BEFORE NUMBER AFTER; AFTER begins with `-of-`. */
typedef struct part {
    const char *name, *after;
    size_t before; /* bytes of BEFORE */
    unsigned number, of;
} part;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns false: the name has no such numbers. */
static bool split(const char *path, part *out)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    const char *after = NULL, *at = name;
    for (; (at = strstr(at, "-of-")); at++)
        after = at;
    size_t digits = 0, of = 0;
    while (after && after - digits > name && is_digit(after[-1 - (ptrdiff_t)digits]))
        digits++;
    while (after && is_digit(after[4 + of]))
        of++;
    if (!digits || !of || digits > MAX_DIGITS || of > MAX_DIGITS)
        return false;
    *out = (part){ name, after, (size_t)(after - name) - digits,
                   (unsigned)strtoul(after - digits, NULL, 10),
                   (unsigned)strtoul(after + 4, NULL, 10) };
    return true;
}

static int by_set(const part *a, const part *b)
{
    const int order = strcmp(a->after, b->after);
    if (order || a->before != b->before)
        return order ? order : a->before < b->before ? -1 : 1;
    return memcmp(a->name, b->name, a->before);
}

static int by_set_and_number(const void *one, const void *other)
{
    const part *const a = one, *const b = other;
    const int order = by_set(a, b);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* parts: of one set, by number; one beyond the whole is of names that count something else. tries: names that may still be tried, as many as a hostile set has. */
static void find_in_set(const part *parts, size_t n, bool (*asks)(const char *, const void *),
                        const void *arg, unsigned *tries, leat_shard_gap *out)
{
    const part *const first = parts;
    const unsigned begin = parts[n - 1].number == first->of && first->number > 0;
    unsigned there = parts[n - 1].number > first->of ? first->of : 0;
    for (size_t i = 0; i < n; i++)
        there += !i || parts[i].number != parts[i - 1].number;
    for (unsigned number = begin; there < first->of && number < begin + first->of; number++) {
        for (; n > 1 && parts->number < number; n--)
            parts++;
        if (parts->number == number)
            continue;
        if ((*tries)-- == 0) {
            *tries = 0;
            break;
        }
        const int width = (int)(first->after - first->name - (ptrdiff_t)first->before);
        const int length = snprintf(out->name, sizeof out->name, "%.*s%0*u%s", (int)first->before,
                                    first->name, width, number, first->after);
        if (length < (int)sizeof out->name && asks(out->name, arg)) {
            out->there = there;
            out->of = first->of;
            return;
        }
    }
    *out->name = 0;
}

int leat_shard_gap_find(char *const *paths, size_t n_paths,
                        bool (*asks)(const char *name, const void *arg), const void *arg,
                        leat_shard_gap *out)
{
    part *const parts = malloc((n_paths + 1) * sizeof *parts);
    unsigned tries = MAX_TRIES;
    size_t n = 0;
    *out = (leat_shard_gap){ 0 };
    if (!parts)
        return LEAT_FORMAT_NOMEM;
    for (size_t i = 0; i < n_paths; i++)
        n += split(paths[i], &parts[n]);
    qsort(parts, n, sizeof *parts, by_set_and_number);
    for (size_t i = 0, next; i < n && !*out->name; i = next) {
        for (next = i + 1; next < n && by_set(&parts[i], &parts[next]) == 0;)
            next++;
        find_in_set(&parts[i], next - i, asks, arg, &tries, out);
    }
    free(parts);
    return LEAT_FORMAT_OK;
}
