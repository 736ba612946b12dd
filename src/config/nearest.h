/* SPDX-License-Identifier: MIT
 *
 * nearest.h: the nearest of several words, for "did you mean" in messages. All rooms and the
 * command call it. */
#ifndef LEAT_NEAREST_H
#define LEAT_NEAREST_H

#include <stddef.h>

#include "leat/option.h"

/* A list of words for messages. It ends with "…" when it does not fit. */
typedef struct leat_words {
    char text[400];
    size_t length;
} leat_words;
void leat_nearest_add_word(leat_words *words, const char *word);
/* Does nothing if the list has the word. */
void leat_nearest_add_word_once(leat_words *words, const char *word);

typedef struct leat_nearest_word {
    const char *word;
    const char *best; /* nearest candidate so far; NULL: none is near */
    size_t distance;  /* of `best` */
    leat_words known; /* all candidates */
    char text[96];
} leat_nearest_word;

leat_nearest_word leat_nearest_init(const char *word);
/* Considers one candidate (may be NULL). Of equally near ones the first wins. */
void leat_nearest_offer(leat_nearest_word *near, const char *candidate);
/* "; did you mean 'BEST'?", or "." where none is near. Valid as long as `near`. */
const char *leat_nearest_text(leat_nearest_word *near);

#endif
