/* SPDX-License-Identifier: MIT
 *
 * word_list.h: lists in one word of the command line: "cpu,sim:h200", "2,4,8". */
#ifndef LEAT_WORD_LIST_H
#define LEAT_WORD_LIST_H

#include <stdint.h>

#include "leat/error.h"

enum { LEAT_WORD_LIST_MAX = 32 };

typedef struct leat_word_list {
    char *text; /* owns the words; leat_word_list_fini() */
    int n;
    const char *words[LEAT_WORD_LIST_MAX];
} leat_word_list;

/* Splits at commas that are not inside { } or [ ], and drops spaces around. what: for messages ("--threads").
 * Returns LEAT_OK; LEAT_E_ARGUMENT: a word is empty or given twice, or there are too many; LEAT_E_NOMEM. */
int leat_word_list_init(leat_word_list *list, const char *what, const char *text, leat_error *err);
void leat_word_list_fini(leat_word_list *list);

/* The same for different whole numbers within low … high; at most n of them. *found: how many there are. */
int leat_word_list_numbers(const char *what, const char *text, int32_t low, int32_t high,
                           int32_t *out, int n, int *found, leat_error *err);

#endif
