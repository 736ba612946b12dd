/* SPDX-License-Identifier: MIT
 *
 * help.h: help, man page, completion and reference, all made from the tables. */
#ifndef LEAT_HELP_H
#define LEAT_HELP_H

#include "command.h"

/* What `leat help` and `leat help COMMAND` print. */
void leat_help_all(FILE *out);
void leat_help_command(FILE *out, const leat_command *command);
/* Help of a command-line option, with its choices and default. Returns text. */
const char *leat_help_flag_text(const leat_option *row, char text[512]);
/* One option table of a config: name, type, initial value, help. */
void leat_help_options(FILE *out, const leat_option *table);

void leat_help_man(FILE *out);                                 /* roff: leat(1) */
void leat_help_man_of(FILE *out, const leat_command *command); /* leat-COMMAND(1) */
void leat_help_completion(FILE *out);                          /* bash */
void leat_help_reference(FILE *out); /* Markdown: everything a config can say, and the commands */

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

#endif
