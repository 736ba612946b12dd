/* SPDX-License-Identifier: MIT
 *
 * vary.c: parses "path=a,b,c". compare.c calls it. Whether a path exists is checked later, by the config. */
#include "vary.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

static leat_vary_slice trimmed(const char *text, size_t length)
{
    while (length && text[0] == ' ')
        text++, length--;
    while (length && text[length - 1] == ' ')
        length--;
    return (leat_vary_slice){ text, length };
}

/* Length of the quoted text that begins at `text`, with its quotes; 0 if it does not end. In "…" a
 * backslash escapes the next byte; in '…' two quotes mean one. */
static size_t quoted(const char *text)
{
    for (size_t i = 1; text[i]; i++) {
        const bool escape = text[i] == (text[0] == '"' ? '\\' : '\'');
        if (escape && text[i + 1] && (text[0] == '"' || text[i + 1] == '\''))
            i++;
        else if (text[i] == text[0])
            return i + 1;
    }
    return 0;
}

/* Length of the value at `text` up to a comma outside all brackets or the end. */
static int value_length(const char *text, size_t *length, leat_error *err)
{
    char closing[MAX_DEPTH];
    size_t depth = 0, i = 0;
    bool begins = true; /* a quote counts only at the start of a value */
    for (; text[i] && (depth || text[i] != ','); i++) {
        const char c = text[i];
        if (begins && (c == '"' || c == '\'')) {
            const size_t n = quoted(text + i);
            if (!n)
                return leat_fail(err, LEAT_E_ARGUMENT, "%c is never closed in '%s'", c, text);
            i += n - 1;
        } else if (c == '[' || c == '{') {
            if (depth == MAX_DEPTH)
                return leat_fail(err, LEAT_E_ARGUMENT, "brackets nest too deep");
            closing[depth++] = c == '[' ? ']' : '}';
        } else if (c == ']' || c == '}') {
            if (!depth || closing[depth - 1] != c)
                return leat_fail(err, LEAT_E_ARGUMENT, "%c without an opening bracket in '%s'", c,
                                 text);
            depth--;
        }
        begins = c == ' ' ? begins : strchr("[{,:", c) != NULL;
    }
    if (depth)
        return leat_fail(err, LEAT_E_ARGUMENT, "%c is missing in '%s'", closing[depth - 1], text);
    *length = i;
    return LEAT_OK;
}

int leat_vary_parse(const char *text, leat_vary *out, leat_error *err)
{
    const char *equals = strchr(text, '=');
    *out = (leat_vary){ .n_values = 0 };
    if (equals)
        out->path = trimmed(text, (size_t)(equals - text));
    if (!out->path.length)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "'%s' does not say what to vary: write path=a,b,c, such as "
                         "pipeline.prefetch.batches=0,2",
                         text);
    for (const char *at = equals + 1;; at++) {
        size_t length = 0;
        if (out->n_values == LEAT_VARY_MAX_VALUES)
            return leat_fail(err, LEAT_E_ARGUMENT, "%.*s: more than %d values",
                             (int)out->path.length, out->path.text, LEAT_VARY_MAX_VALUES);
        const int rc = value_length(at, &length, err);
        if (rc < 0)
            return leat_fail_in(err, rc, "%.*s: ", (int)out->path.length, out->path.text);
        const leat_vary_slice value = trimmed(at, length);
        if (!value.length)
            return leat_fail(err, LEAT_E_ARGUMENT, "%.*s: value %zu is empty",
                             (int)out->path.length, out->path.text, out->n_values + 1);
        out->values[out->n_values++] = value;
        at += length;
        if (!*at)
            return LEAT_OK;
    }
}

/* A path that ends in '+' adds an entry each time. */
static bool sets_same(const leat_vary *a, const leat_vary *b)
{
    const size_t n = a->path.length;
    return n == b->path.length && !memcmp(a->path.text, b->path.text, n) &&
           a->path.text[n - 1] != '+';
}

int leat_vary_count(const leat_vary *varies, size_t n, size_t most, size_t *out, leat_error *err)
{
    *out = 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            if (sets_same(&varies[k], &varies[i]))
                return leat_fail(err, LEAT_E_ARGUMENT,
                                 "%.*s is varied twice: write all its values in one list",
                                 (int)varies[i].path.length, varies[i].path.text);
        *out *= varies[i].n_values;
        if (*out > most)
            return leat_fail(
                err, LEAT_E_ARGUMENT,
                "the varied values make more than %zu combinations: vary fewer options at once",
                most);
    }
    return LEAT_OK;
}

leat_vary_slice leat_vary_value(const leat_vary *varies, size_t n, size_t arm, size_t v)
{
    for (size_t i = n; i-- > v + 1;)
        arm /= varies[i].n_values;
    return varies[v].values[arm % varies[v].n_values];
}
