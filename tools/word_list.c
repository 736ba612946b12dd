/* SPDX-License-Identifier: MIT */
#include "word_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The end of the word at `at`: a comma outside all brackets, or the end of the text. */
static char *end_of(char *at)
{
    int depth = 0;
    for (; *at && (depth > 0 || *at != ','); at++)
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
    return at;
}

static char *trimmed(char *word, char *end)
{
    while (*word == ' ')
        word++;
    while (end > word && end[-1] == ' ')
        end--;
    *end = 0;
    return word;
}

static bool has(const leat_word_list *list, const char *word)
{
    for (int i = 0; i < list->n; i++)
        if (!strcmp(list->words[i], word))
            return true;
    return false;
}

int leat_word_list_init(leat_word_list *list, const char *what, const char *text, leat_error *err)
{
    *list = (leat_word_list){ .text = strdup(text) };
    char *at = list->text;
    if (!at)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    for (;;) {
        char *const end = end_of(at);
        const char last = *end;
        const char *word = trimmed(at, end);
        const char *const wrong = !*word                          ? "a value is empty"
                                  : list->n == LEAT_WORD_LIST_MAX ? "too many values"
                                  : has(list, word)               ? "a value is given twice"
                                                                  : NULL;
        if (wrong) {
            leat_word_list_fini(list);
            return leat_fail(err, LEAT_E_ARGUMENT, "%s '%s': %s", what, text, wrong);
        }
        list->words[list->n++] = word;
        if (!last)
            return LEAT_OK;
        at = end + 1;
    }
}

void leat_word_list_fini(leat_word_list *list)
{
    free(list->text);
    *list = (leat_word_list){ .n = 0 };
}

int leat_word_list_numbers(const char *what, const char *text, int32_t low, int32_t high,
                           int32_t *out, int n, int *found, leat_error *err)
{
    leat_word_list list;
    int rc = leat_word_list_init(&list, what, text, err);
    if (rc == LEAT_OK && list.n > n)
        rc = leat_fail(err, LEAT_E_ARGUMENT, "%s '%s': at most %d values", what, text, n);
    *found = 0;
    for (int i = 0; rc == LEAT_OK && i < list.n; i++) {
        char *end;
        errno = 0;
        const long value = strtol(list.words[i], &end, 10);
        if (errno || *end || value < low || value > high)
            rc = leat_fail(err, LEAT_E_ARGUMENT,
                           "%s must be whole numbers from %d to %d with commas between, got '%s'",
                           what, low, high, list.words[i]);
        for (int k = 0; rc == LEAT_OK && k < *found; k++)
            if (out[k] == value)
                rc = leat_fail(err, LEAT_E_ARGUMENT, "%s '%s': %ld is given twice", what, text,
                               value);
        if (rc == LEAT_OK)
            out[(*found)++] = (int32_t)value;
    }
    leat_word_list_fini(&list);
    return rc;
}
