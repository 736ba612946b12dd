/* SPDX-License-Identifier: MIT */
#include "shard_gap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 9, MAX_TRIES = 1000000 };

/* A path FOLDER/BEFORE NUMBER AFTER; AFTER begins with `-of-`. */
typedef struct part {
    const char *path, *name, *after; /* name: BEFORE */
    size_t before;                   /* bytes of BEFORE */
    unsigned number, of;
} part;

typedef bool (*asks_fn)(const char *path, const void *arg);

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
    *out = (part){ .path = path,
                   .name = name,
                   .after = after,
                   .before = (size_t)(after - name) - digits,
                   .number = (unsigned)strtoul(after - digits, NULL, 10),
                   .of = (unsigned)strtoul(after + 4, NULL, 10) };
    return true;
}

/* Of two names of one count, whatever is behind it: 0. */
static int by_count(const part *a, const part *b)
{
    if (a->of != b->of || a->before != b->before)
        return (a->of != b->of ? a->of < b->of : a->before < b->before) ? -1 : 1;
    return memcmp(a->name, b->name, a->before);
}

static int by_count_and_number(const void *one, const void *other)
{
    const part *const a = one, *const b = other;
    const int order = by_count(a, b);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* Whether somebody asks for the file of this number beside `near`, and its path. */
static bool is_asked(const part *near, unsigned number, asks_fn asks, const void *arg,
                     leat_shard_gap *out)
{
    const size_t length = (size_t)(near->name - near->path) + near->before;
    const int width = (int)(near->after - near->path - (ptrdiff_t)length);
    if (length + strlen(near->after) + MAX_DIGITS >= sizeof out->path)
        return false;
    snprintf(out->path, sizeof out->path, "%.*s%0*u%s", (int)length, near->path, width, number,
             near->after);
    return asks(out->path, arg);
}

/* parts: of one set, by number; one beyond the whole is of names that count something else. tries: paths that may still be
 * tried, as many as a hostile set has. */
static void find_in_set(const part *parts, size_t n, asks_fn asks, const void *arg, unsigned *tries,
                        leat_shard_gap *out)
{
    const part *const last = parts + n - 1;
    const unsigned of = parts->of, begin = last->number == of && parts->number > 0;
    unsigned there = last->number > of ? of : 0;
    for (size_t i = 0; i < n; i++)
        there += !i || parts[i].number != parts[i - 1].number;
    for (unsigned number = begin; there < of && *tries && number < begin + of; number++) {
        while (parts < last && parts[1].number <= number)
            parts++;
        if (parts->number == number)
            continue;
        --*tries;
        if (is_asked(parts, number, asks, arg, out)) {
            out->there = there;
            out->of = of;
            return;
        }
    }
    *out->path = 0;
}

int leat_shard_gap_find(char *const *paths, size_t n_paths, asks_fn asks, const void *arg,
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
    qsort(parts, n, sizeof *parts, by_count_and_number);
    for (size_t i = 0, next; i < n && !*out->path; i = next) {
        bool is_set = true;
        for (next = i + 1; next < n && by_count(&parts[i], &parts[next]) == 0; next++)
            is_set &= strcmp(parts[i].after, parts[next].after) == 0;
        if (is_set)
            find_in_set(&parts[i], next - i, asks, arg, &tries, out);
    }
    free(parts);
    return LEAT_FORMAT_OK;
}
