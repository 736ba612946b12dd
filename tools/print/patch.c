/* SPDX-License-Identifier: MIT
 *
 * patch.c: a unified diff.
 *
 * DESIGN. First a script says of each line in turn whether it stays, goes or comes. Equal lines at both ends stay. Between
 * them a table has, for each pair of places, how many lines behind them can stay; where it would be too large, no line
 * stays. Then the script is cut into hunks. */
#include "patch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

enum { CONTEXT = 3, MOST_CELLS = 1 << 22 };

struct lines {
    const char **at; /* each line, */
    size_t *length;  /* and its bytes with its end */
    size_t n;
};

struct diff {
    struct lines old, new;
    char *script; /* ' ' stays, '-' goes, '+' comes */
    size_t n;
};

static bool split(struct lines *lines, const char *text)
{
    size_t most = 1;
    for (const char *c = text; *c; c++)
        most += *c == '\n';
    lines->at = malloc(most * sizeof *lines->at);
    lines->length = malloc(most * sizeof *lines->length);
    if (!lines->at || !lines->length)
        return false;
    for (; *text; text += lines->length[lines->n++]) {
        const char *const end = strchr(text, '\n');
        lines->at[lines->n] = text;
        lines->length[lines->n] = end ? (size_t)(end - text) + 1 : strlen(text);
    }
    return true;
}

static bool equal(const struct diff *d, size_t old, size_t new)
{
    return d->old.length[old] == d->new.length[new] &&
           !memcmp(d->old.at[old], d->new.at[new], d->old.length[old]);
}

static void add(struct diff *d, char what, size_t n)
{
    memset(d->script + d->n, what, n);
    d->n += n;
}

/* The n_old and n_new lines from line `head` on. False: out of memory. */
static bool compare_middle(struct diff *d, size_t head, size_t n_old, size_t n_new)
{
    const size_t row = n_new + 1;
    if (n_old >= MOST_CELLS / row) {
        add(d, '-', n_old);
        add(d, '+', n_new);
        return true;
    }
    uint32_t *const stay = calloc((n_old + 1) * row, sizeof *stay);
    if (!stay)
        return false;
    for (size_t i = n_old; i-- > 0;)
        for (size_t k = n_new; k-- > 0;) {
            const uint32_t goes = stay[(i + 1) * row + k], comes = stay[i * row + k + 1];
            stay[i * row + k] = equal(d, head + i, head + k) ? stay[(i + 1) * row + k + 1] + 1
                                : goes > comes               ? goes
                                                             : comes;
        }
    for (size_t i = 0, k = 0; i < n_old || k < n_new;) {
        const bool both = i < n_old && k < n_new;
        if (both && equal(d, head + i, head + k))
            add(d, ' ', 1), i++, k++;
        else if (k == n_new || (both && stay[(i + 1) * row + k] >= stay[i * row + k + 1]))
            add(d, '-', 1), i++;
        else
            add(d, '+', 1), k++;
    }
    free(stay);
    return true;
}

static bool compare(struct diff *d)
{
    const size_t least = d->old.n < d->new.n ? d->old.n : d->new.n;
    size_t head = 0, tail = 0;
    d->script = malloc(d->old.n + d->new.n + 1);
    if (!d->script)
        return false;
    while (head < least && equal(d, head, head))
        head++;
    while (tail < least - head && equal(d, d->old.n - 1 - tail, d->new.n - 1 - tail))
        tail++;
    add(d, ' ', head);
    if (!compare_middle(d, head, d->old.n - tail - head, d->new.n - tail - head))
        return false;
    add(d, ' ', tail);
    return true;
}

/* --- hunks ------------------------------------------------------------------------------------ */

static void put_line(FILE *to, char mark, const struct lines *lines, size_t i)
{
    fprintf(to, "%c%.*s", mark, (int)lines->length[i], lines->at[i]);
    if (lines->at[i][lines->length[i] - 1] != '\n')
        fputs("\n\\ No newline at end of file\n", to);
}

/* The end of the hunk that begins with the change at `at`: so many equal lines follow that the next one is its own. */
static size_t hunk_end(const struct diff *d, size_t at)
{
    size_t last = at;
    for (; at < d->n && at <= last + 2 * CONTEXT + 1; at++)
        if (d->script[at] != ' ')
            last = at;
    return last + 1 + CONTEXT < d->n ? last + 1 + CONTEXT : d->n;
}

static size_t count_of(const struct diff *d, size_t from, size_t to, char besides)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++)
        n += d->script[i] == ' ' || d->script[i] == besides;
    return n;
}

/* A range of no lines is named by the line before it. */
static void put_range(FILE *to, char mark, size_t first, size_t n)
{
    fprintf(to, "%c%zu,%zu ", mark, first + (n > 0), n);
}

static void put_hunks(const struct diff *d, FILE *to)
{
    size_t old = 0, new = 0;
    for (size_t i = 0; i < d->n;) {
        const char *const change = memchr(d->script + i, '-', d->n - i), *const other =
                                                                             memchr(d->script + i,
                                                                                    '+', d->n - i);
        if (!change && !other)
            return;
        const char *const first = !change || (other && other < change) ? other : change;
        const size_t at = (size_t)(first - d->script), end = hunk_end(d, at);
        const size_t skipped = at - i > CONTEXT ? at - i - CONTEXT : 0;
        i += skipped, old += skipped, new += skipped;
        fputs("@@ ", to);
        put_range(to, '-', old, count_of(d, i, end, '-'));
        put_range(to, '+', new, count_of(d, i, end, '+'));
        fputs("@@\n", to);
        for (; i < end; i++) {
            const bool comes = d->script[i] == '+';
            put_line(to, d->script[i], comes ? &d->new : &d->old, comes ? new : old);
            old += !comes;
            new += d->script[i] != '-';
        }
    }
}

char *leat_patch_text(const char *before, const char *after, const char *path)
{
    struct diff d = { .n = 0 };
    char *text = NULL;
    size_t n;
    const bool fine = split(&d.old, before) && split(&d.new, after) && compare(&d);
    FILE *const to = fine ? open_memstream(&text, &n) : NULL;
    const char *const end =
        strchr(path, ' ') ? "\t" : ""; /* else the name ends at its first space */
    if (to && strcmp(before, after) != 0)
        fprintf(to, "--- %s%s\n+++ %s%s\n", path, end, path, end);
    if (to)
        put_hunks(&d, to);
    leat_files_close_text(to, &text);
    free(d.old.at);
    free(d.old.length);
    free(d.new.at);
    free(d.new.length);
    free(d.script);
    return text;
}
