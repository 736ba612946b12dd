/* SPDX-License-Identifier: MIT
 *
 * help.h: what `leat help` writes: pages, the reference, man pages, completion, and answers to a word. */
#ifndef LEAT_HELP_H
#define LEAT_HELP_H

#include <stdio.h>

#include "command.h"

/* What `leat help` and `leat help COMMAND` print. */
void leat_help_all(FILE *out);
void leat_help_command(const leat_command *command);
/* Help of a command-line option, with its choices and default. Returns text. */
const char *leat_help_flag_text(const leat_option *row, char text[512]);
/* Help of an option of a config, with its type and default. Returns text. */
const char *leat_help_option_text(const leat_option *row, char text[768]);
/* Prints an option table of a config. */
void leat_help_options(const leat_option *table);

/* These print to standard output, too. */
void leat_help_man(void);                           /* roff: leat(1) */
void leat_help_man_of(const leat_command *command); /* leat-COMMAND(1) */
void leat_help_completion(void);                    /* bash */
void leat_help_reference(void); /* Markdown: everything a config can say, and the commands */

/* The groups of things that a config can name. */
typedef struct leat_help_group {
    const char *title; /* "Stages" */
    const char *where; /* their place in a config */
    const leat_kind *(*kind)(size_t i);
    const char *example; /* YAML around the entry of a kind (%s) */
    /* Of an option, as --set takes it, up to its name (%s: the kind); NULL: none. */
    const char *path;
} leat_help_group;
/* Ends with a NULL title. */
extern const leat_help_group leat_help_groups[];

/* --- words of reports --- */

typedef struct leat_help_word {
    const char *word; /* "input wait" */
    const char *text;
} leat_help_word;

/* Ends with a NULL word. */
extern const leat_help_word leat_help_words[];

/* An example entry of a kind, "random_crop: {size: [32, 32], pad: 4}"; the bare name
 * if it needs no options. */
const char *leat_help_example(const char *part, const char *kind);

/* Prints all names that are one word, each once, with spaces between (cmd_help.c). */
void leat_help_names(void);

#endif
