/* SPDX-License-Identifier: MIT
 *
 * record_print.h: prints the fields of one record. cmd_inspect.c calls it. */
#ifndef LEAT_RECORD_PRINT_H
#define LEAT_RECORD_PRINT_H

#include <stdio.h>

#include "print/json.h"

/* Finds record `number`, counted over all files, checks its CRCs, prints it to `out` (NULL: nowhere) and
 * adds it to `json`. Returns LEAT_OK; LEAT_E_ARGUMENT: there are fewer records; LEAT_E_DATA,
 * LEAT_E_IO with the place. */
int leat_record_print(char *const *files, size_t n_files, uint64_t number, FILE *out, json_t *json,
                      leat_error *err);

#endif
