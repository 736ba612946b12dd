/* SPDX-License-Identifier: MIT
 *
 * class_pattern.c: finds the class in the name of a file: an extended regular expression (POSIX) whose first group
 * is the class. Lists of files (file_list.h) call it.
 *
 * Besides POSIX there are \d \D \w \W \s \S, in ASCII. Refused, because POSIX would read it in another way than other
 * languages do: (?…), two quantifiers in a row (*? +? ++), other letters and digits after a backslash, and \] \^ \-
 * in brackets. The locale of the program does not matter: characters are bytes. */
#include "pattern.h"

#include <ctype.h>
#include <locale.h>
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

enum {
    LONGEST = 13,          /* bytes that stand for two of the text */
    MOST_REPEATED = 10000, /* bytes of an expression times its repetitions */
};

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

/* regcomp() writes what `{n}` repeats n times, and calls itself for each: nested repetitions would take all memory, or
 * the stack. Takes up the bound at text[i], of a group or of one character; false: there are too many. */
static int may_repeat(const char *text, size_t i, double *groups, double *longest)
{
    const char *const at = text + i;
    const int of_group = i > 0 && (at[-1] == ')' || at[-1] == '}');
    const long least = strtol(at + 1, NULL, 10);
    const char *const comma = at + strcspn(at, ",}");
    const long most = *comma == ',' ? strtol(comma + 1, NULL, 10) : 0;
    const double n = (double)(most > least ? most : least);
    if (of_group && n > 1)
        *groups *= n;
    else if (n > *longest)
        *longest = n;
    return *groups * *longest * (double)strlen(text) <= MOST_REPEATED;
}

/* Length of [:alpha:], [.a.] or [=a=], which stand inside brackets; 0: it is none of them. */
static size_t named_length(const char *at)
{
    const char end[] = { at[1], ']', 0 };
    const char *const found =
        *at == '[' && at[1] && strchr(":.=", at[1]) ? strstr(at + 2, end) : NULL;
    return found ? (size_t)(found - at) + 2 : 0;
}

/* Writes the expression as POSIX has it; `to` has room. */
static int translate(const char *text, char *to, leat_format_error *err)
{
    size_t open = 0; /* of the brackets: first place where ']' closes them; 0: outside */
    double groups = 1, longest = 1;
    const char *why;
    for (size_t i = 0; text[i]; i++) {
        const int is_escape = text[i] == '\\';
        const size_t named = open ? named_length(text + i) : 0;
        if (named) {
            to = stpncpy(to, text + i, named);
            i += named - 1;
            continue;
        }
        why = is_escape ? translate_escape(text[i + 1], open != 0, &to)
              : open    ? NULL
                        : foreign(text + i);
        if (!why && !open && text[i] == '{' && !may_repeat(text, i, &groups, &longest))
            why = "too many repetitions, one inside another";
        if (why)
            return leat_format_fail(err, LEAT_FORMAT_BAD, i, "class_from '%s', character %zu: %s",
                                    text, i + 1, why);
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

/* regcomp() for the C locale, which regexec() then keeps to. */
static int compile(regex_t *out, const char *posix)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = c ? uselocale(c) : (locale_t)0;
    const int code = regcomp(out, posix, REG_EXTENDED);
    if (c) {
        uselocale(before);
        freelocale(c);
    }
    return code;
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
        const int code = compile(&out->regex, posix);
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
