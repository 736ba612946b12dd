/* SPDX-License-Identifier: MIT
 *
 * help_find.h: finds the meaning of a word of a config, the command line or a report. */
#ifndef LEAT_HELP_FIND_H
#define LEAT_HELP_FIND_H

#include <stdbool.h>
#include <stdio.h>

/* Prints everything with that name; '_', '-' and ' ' are the same, as are upper and lower case.
 * False: none has. */
bool leat_help_find(const char *word);

/* Prints a line for each thing that has this text in its name or its explanation. False: none has. */
bool leat_help_search(const char *text);

/* A name near to this word, among all that leat_help_find() knows; NULL: none is near. */
const char *leat_help_near(const char *word);

/* All names that are one word, each once, with spaces between. */
void leat_help_names(FILE *out);

#endif
