/* SPDX-License-Identifier: MIT
 *
 * census_print.h: prints what TFRecord files hold. cmd_inspect.c calls it. */
#ifndef LEAT_CENSUS_PRINT_H
#define LEAT_CENSUS_PRINT_H

#include "census.h"
#include "convert/paths.h"
#include "print/json.h"

/* The whole report of `leat inspect`. `label` is the name of the feature that holds the class. */
json_t *leat_census_json(const leat_census *census, const leat_paths *paths, const char *label);

/* Prints the same to standard output, with at most 50 classes. */
void leat_census_print(const leat_census *census, const leat_paths *paths);

#endif
