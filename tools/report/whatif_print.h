/* SPDX-License-Identifier: MIT
 *
 * whatif_print.h: prints the result of `leat whatif`, as text and as JSON. */
#ifndef LEAT_WHATIF_PRINT_H
#define LEAT_WHATIF_PRINT_H

#include <jansson.h>

#include "leat/whatif.h"

/* On standard output, within LEAT_TERMINAL_COLUMNS. */
void leat_whatif_print(const leat_whatif_result *result);

/* A new object; NULL: out of memory. path: of the config. */
json_t *leat_whatif_json(const leat_whatif_result *result, const char *path);

#endif
