/* SPDX-License-Identifier: MIT
 *
 * tune_print.h: prints the result of `leat tune`, as text and as JSON. */
#ifndef LEAT_TUNE_PRINT_H
#define LEAT_TUNE_PRINT_H

#include <jansson.h>

#include "leat/tune.h"

/* On standard output, within LEAT_TERMINAL_COLUMNS. output: the file for a winner; NULL: none. */
void leat_tune_print(const leat_tune_result *result, const char *output);

/* A new object; NULL: out of memory. path: of the config. */
json_t *leat_tune_json(const leat_tune_result *result, const char *path);

#endif
