/* SPDX-License-Identifier: MIT
 *
 * help_words.h: words of reports that no table explains, and an example for each key that a config can
 * name. */
#ifndef LEAT_HELP_WORDS_H
#define LEAT_HELP_WORDS_H

typedef struct leat_help_word {
    const char *word; /* "input wait" */
    const char *text;
} leat_help_word;

/* Ends with a NULL word. */
extern const leat_help_word leat_help_words[];

/* An example entry of a kind, "random_crop: {size: [32, 32], pad: 4}"; the bare name
 * if it needs no options. */
const char *leat_help_example(const char *part, const char *kind);

#endif
