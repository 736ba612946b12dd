/* SPDX-License-Identifier: MIT
 *
 * nearest.h: "did you mean", offering candidates one by one. */
#ifndef LEAT_NEAREST_H
#define LEAT_NEAREST_H

#include <stddef.h>

#include "leat/option.h"

typedef struct leat_nearest_word {
    const char *word;
    const char *best; /* nearest offered so far, NULL: none is near */
    size_t distance;  /* of `best` */
} leat_nearest_word;

leat_nearest_word leat_nearest_init(const char *word);
/* Considers one candidate (may be NULL); of equals the first wins. */
void leat_nearest_offer(leat_nearest_word *near, const char *candidate);

/* A list of words for messages, cut with "…" when it does not fit. */
typedef struct leat_words {
    char text[400];
    size_t length;
} leat_words;
void leat_nearest_add_word(leat_words *words, const char *word);
/* The same, unless the list has the word. */
void leat_nearest_add_word_once(leat_words *words, const char *word);

#endif
