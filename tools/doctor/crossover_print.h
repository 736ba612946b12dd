/* SPDX-License-Identifier: MIT
 *
 * crossover_print.h: prints a crossover of two devices, as text and as JSON. */
#ifndef LEAT_CROSSOVER_PRINT_H
#define LEAT_CROSSOVER_PRINT_H

#include <jansson.h>

#include "leat/crossover.h"

/* On standard output, within LEAT_TERMINAL_COLUMNS. */
void leat_crossover_print(const leat_crossover_result *result);

/* Adds the keys of docs/json.md to an object. */
void leat_crossover_json(json_t *object, const leat_crossover_result *result);

#endif
