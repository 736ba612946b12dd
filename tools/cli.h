/* SPDX-License-Identifier: MIT
 *
 * cli.h: reads a command line by a command's option table, and lists in one word of it. */
#ifndef LEAT_CLI_H
#define LEAT_CLI_H

#include "command.h"

/* What an option's value is called in help ("FILE"), and its letter (0: none); the same for every
 * command that has an option of that name. */
typedef struct leat_cli_word {
    const char *option, *value;
    char letter;
} leat_cli_word;

/* Never NULL: an unknown name gets a word for its type. */
leat_cli_word leat_cli_word_of(const leat_option *row);

/* True for an option that can stand without its value. */
bool leat_cli_word_is_optional(const leat_option *row);

/* The name as written on the command line ("skip-bad"). */
const char *leat_cli_spelling(const leat_option *row, char text[64]);

/* Parses argv[0 … argc-1], the words after the command's name. `--name value`, `--name=value`,
 * `-o value`, flags alone; `--` ends the options. `--json` alone, or before a word that is neither
 * "-" nor ends in ".json", means standard output ("-"). `--resume` alone, or before a word that does not
 * end in ".safetensors", is "".
 * call     filled; leat_cli_close()
 * returns  LEAT_OK; LEAT_E_END when --help was asked for; LEAT_E_ARGUMENT; LEAT_E_NOMEM */
int leat_cli_parse(const leat_command *command, int argc, char **argv, leat_call *call,
                   leat_error *err);
void leat_cli_close(leat_call *call);

/* Whether one of these options (names as in the table, ends with NULL) stands on the command line. */
bool leat_cli_has_any(const leat_call *call, const char *const *names);

/* The command line again, quoted for a shell, without some options (names as in the table, ends
 * with NULL) and with more words appended (ends with NULL). In new memory; NULL: out of memory. */
char *leat_cli_again(const leat_call *call, const char *const *without, const char *const *more);

/* --- lists in one word: "cpu,sim:h200", "2,4,8" --- */

enum { LEAT_CLI_LIST_MAX = 32 };

typedef struct leat_cli_list {
    char *text; /* owns the words; leat_cli_list_fini() */
    int n;
    const char *words[LEAT_CLI_LIST_MAX];
} leat_cli_list;

/* Splits at commas that are not inside { } or [ ], and drops spaces around. what: for messages ("--threads").
 * Returns LEAT_OK; LEAT_E_ARGUMENT: a word is empty or given twice, or there are too many; LEAT_E_NOMEM. */
int leat_cli_list_init(leat_cli_list *list, const char *what, const char *text, leat_error *err);
void leat_cli_list_fini(leat_cli_list *list);

/* The same for different whole numbers within low … high; at most n of them. *found: how many there are. */
int leat_cli_list_numbers(const char *what, const char *text, int32_t low, int32_t high,
                          int32_t *out, int n, int *found, leat_error *err);

#endif
