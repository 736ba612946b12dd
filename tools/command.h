/* SPDX-License-Identifier: MIT
 *
 * command.h: the `leat` command is a table of subcommands; help, man page, completion and the
 * parser loop over it. A subcommand is one file, cmd_<name>.c, and one line in LEAT_COMMAND_LIST.
 *
 * Options are rows of option.h, with two differences in their fields: a text option is a
 * `const char *` (NULL if not given and without initial value; no limit of length), a list of texts
 * is a `leat_texts`, one entry per time the option is given. Underscores in names are hyphens on
 * the command line. */
#ifndef LEAT_COMMAND_H
#define LEAT_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "leat/leat.h"

/* Exit codes. AGAIN: stopped in good order before its end; the same command with --resume goes on. */
enum { LEAT_EXIT_OK = 0, LEAT_EXIT_FAILED = 1, LEAT_EXIT_USAGE = 2, LEAT_EXIT_AGAIN = 85 };

#define LEAT_TEXTS_MAX 64
typedef struct leat_texts {
    int32_t n;
    const char *values[LEAT_TEXTS_MAX];
} leat_texts;

typedef struct leat_command leat_command;

/* A command line, parsed. Texts point into argv. */
typedef struct leat_call {
    const leat_command *command;
    void *options;
    const char **arguments;
    int n_arguments;
    /* The words as given, and for each word the option that it belongs to; NULL: none. */
    char **words;
    const leat_option **rows;
    int n_words;
} leat_call;

struct leat_command {
    const char *name;
    const char *summary;   /* one line, lower case, no full stop */
    const char *arguments; /* as in a usage line: "images DIR", "FILE..." */
    const char *text;      /* paragraphs for help and man page, separated by empty lines */
    const char *example;   /* lines of a shell */
    int n_min, n_max;      /* arguments; n_max -1: any number */
    size_t options_size;
    const leat_option *options; /* ends with LEAT_OPTION_END */
    /* Returns LEAT_OK; an error, which is then printed; or the exit code of what it has reported itself. */
    int (*run)(const leat_call *call, leat_error *err);
};

/* Of a command whose file has the table `options` of a struct. */
#define LEAT_COMMAND_OPTIONS(s) .options_size = sizeof(s), .options = options

/* X(name): every subcommand, in the order of help. */
#define LEAT_COMMAND_LIST(X)                                                                       \
    X(convert)                                                                                     \
    X(synth)                                                                                       \
    X(index)                                                                                       \
    X(inspect)                                                                                     \
    X(repair)                                                                                      \
    X(plan)                                                                                        \
    X(bench)                                                                                       \
    X(train)                                                                                       \
    X(eval)                                                                                        \
    X(predict)                                                                                     \
    X(export)                                                                                      \
    X(plot)                                                                                        \
    X(compare)                                                                                     \
    X(doctor)                                                                                      \
    X(watch)                                                                                       \
    X(whatif)                                                                                      \
    X(experiment)                                                                                  \
    X(report)                                                                                      \
    X(tune)                                                                                        \
    X(ops)                                                                                         \
    X(devices)                                                                                     \
    X(help)

#define LEAT_COMMAND_DECLARE(name) extern const leat_command leat_command_##name;
LEAT_COMMAND_LIST(LEAT_COMMAND_DECLARE)
#undef LEAT_COMMAND_DECLARE

/* All subcommands, NULL-terminated; and the one of that name, or NULL. */
const leat_command *const *leat_commands(void);
const leat_command *leat_command_find(const char *name);

/* Rows that several commands share: an option of one name means the same in all. */
#define LEAT_ROW_JSON(s)                                                                           \
    LEAT_OPTION_STRING(s, json, NULL,                                                              \
                       "write the figures as JSON to this file, or to standard output; "           \
                       "keys: docs/json.md")
#define LEAT_ROW_SET(s)                                                                            \
    LEAT_OPTION_STRINGS(s, set, NULL, "override a value of the config (may be given many times)")
/* A number, or "auto", which is stored as -1. */
#define LEAT_ROW_AUTO(s, field, low, high, help)                                                   \
    LEAT_OPTION_I64_OR(s, field, "auto", low, high, leat_command_auto, help)
extern const char *const leat_command_auto[];
#define LEAT_ROW_THREADS(s)                                                                        \
    LEAT_ROW_AUTO(s, threads, 0, 1024,                                                             \
                  "worker threads, overrides engine.threads; 0: only the command's own thread; "   \
                  "auto: as the config says, or by the number of cores")
#define LEAT_ROW_STEPS(s)                                                                          \
    LEAT_ROW_AUTO(s, steps, 1, 1e12, "number of steps (one batch each); auto: see the text above")

#define LEAT_ROW_TRACE(s)                                                                          \
    LEAT_OPTION_STRING(                                                                            \
        s, trace, NULL,                                                                            \
        "write a trace of all threads to this file, for ui.perfetto.dev: the newest engine.spans " \
        "spans of each thread; default: 1,048,576 in all (about 200 MB)")

/* Prints "leat COMMAND: MESSAGE" to standard error and returns the matching exit code. */
int leat_command_fail(const char *command, const leat_error *err);
/* The same for errors of the command line; adds a hint to --help. */
int leat_command_misuse(const char *command, const char *format, ...) LEAT_PRINTF(2, 3);

#endif
