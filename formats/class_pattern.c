/* SPDX-License-Identifier: MIT
 *
 * class_pattern.c: finds the class in the name of a file: an extended regular expression (POSIX) whose first group
 * is the class. Lists of files (file_list.h) call it.
 *
 * Besides POSIX there are \d \D \w \W \s \S, in ASCII. Refused, because POSIX would read it in another way than other
 * languages do: (?…), two quantifiers in a row (*? +? ++), other letters and digits after a backslash, and \] \^ \-
 * in brackets. */
#include "pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What a letter after a backslash means: as POSIX writes it outside of brackets, and inside. */
static const struct {
    char letter;
    const char *outside, *inside;
} escapes[] = {
    { 'd', "[0-9]", "0-9" },
    { 'D', "[^0-9]", NULL },
    { 'w', "[A-Za-z0-9_]", "A-Za-z0-9_" },
    { 'W', "[^A-Za-z0-9_]", NULL },
    { 's', "[ \t\n\r\f\v]", " \t\n\r\f\v" },
    { 'S', "[^ \t\n\r\f\v]", NULL },
};

enum { LONGEST = 13 }; /* bytes that stand for two of the text */

static int fail(const char *text, size_t at, const char *what, leat_format_error *err)
{
    return leat_format_fail(err, LEAT_FORMAT_BAD, at, "class_from '%s', character %zu: %s", text,
                            at + 1, what);
}

/* Appends what `\letter` means. Returns NULL, or why it means nothing. */
static const char *translate_escape(char letter, int in_brackets, char **to)
{
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (escapes[i].letter == letter) {
            const char *const meant = in_brackets ? escapes[i].inside : escapes[i].outside;
            if (meant)
                *to = stpcpy(*to, meant);
            return meant ? NULL : "not supported in brackets";
        }
    if (!letter)
        return "a backslash at the end";
    if (isalnum((unsigned char)letter))
        return "only \\d \\w \\s \\D \\W \\S have a meaning";
    if (in_brackets && strchr("]^-", letter))
        return "not supported in brackets";
    if (!in_brackets) /* POSIX knows no backslash in brackets */
        *(*to)++ = '\\';
    *(*to)++ = letter;
    return NULL;
}

/* What POSIX would read in another way than the writer means; NULL: nothing. */
static const char *foreign(const char *at)
{
    if (at[0] == '(' && at[1] == '?')
        return "(?...) is not supported: the first group is the class";
    if (strchr("*+?}", at[0]) && (at[1] == '?' || at[1] == '+'))
        return "two quantifiers in a row are not supported: say which characters the class has, "
               "as in ([^_]+)_";
    return NULL;
}

/* Writes the expression as POSIX has it; `to` has room. */
static int translate(const char *text, char *to, leat_format_error *err)
{
    size_t open = 0; /* of the brackets: first place where ']' closes them; 0: outside */
    const char *why;
    for (size_t i = 0; text[i]; i++) {
        const int is_escape = text[i] == '\\';
        why = is_escape ? translate_escape(text[i + 1], open != 0, &to)
              : open    ? NULL
                        : foreign(text + i);
        if (why)
            return fail(text, i, why, err);
        if (is_escape) {
            i++;
            continue;
        }
        if (!open && text[i] == '[')
            open = i + 2 + (text[i + 1] == '^');
        else if (open && text[i] == ']' && i >= open)
            open = 0;
        *to++ = text[i];
    }
    *to = 0;
    return LEAT_FORMAT_OK;
}

int leat_class_pattern_open(leat_class_pattern *out, const char *text, leat_format_error *err)
{
    char why[200];
    *out = (leat_class_pattern){ .is_open = 0 };
    char *const posix = malloc(strlen(text) * LONGEST + 1);
    if (!posix)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "class_from: out of memory");
    int rc = translate(text, posix, err);
    if (rc == LEAT_FORMAT_OK) {
        const int code = regcomp(&out->regex, posix, REG_EXTENDED);
        out->is_open = !code;
        if (code) {
            regerror(code, &out->regex, why, sizeof why);
            rc = leat_format_fail(err, LEAT_FORMAT_BAD, 0, "class_from '%s': %s", text, why);
        }
    }
    free(posix);
    if (rc == LEAT_FORMAT_OK && out->regex.re_nsub == 0)
        rc = leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                              "class_from '%s' has no group: put the class in parentheses, as in "
                              "'([^/]+)_[0-9]+[.]jpg'",
                              text);
    return rc;
}

void leat_class_pattern_close(leat_class_pattern *pattern)
{
    if (pattern->is_open)
        regfree(&pattern->regex);
    pattern->is_open = 0;
}

const char *leat_class_pattern_find(const leat_class_pattern *pattern, const char *name, size_t *n)
{
    regmatch_t match[2];
    if (regexec(&pattern->regex, name, 2, match, 0) != 0 || match[1].rm_so < 0 ||
        match[1].rm_eo == match[1].rm_so)
        return NULL;
    *n = (size_t)(match[1].rm_eo - match[1].rm_so);
    return name + match[1].rm_so;
}
