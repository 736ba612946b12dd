/* SPDX-License-Identifier: MIT
 *
 * fields.h: reads keys of JSON that may have any type, or be missing. */
#ifndef LEAT_FIELDS_H
#define LEAT_FIELDS_H

#include <jansson.h>
#include <stdbool.h>

/* NaN if there is no such number, or one beyond 1e300 or, but for 0, below 1e-300 in size. */
double leat_fields_number(const json_t *object, const char *key);
/* The text, good as long as the object; NULL: there is none, or an empty one. */
const char *leat_fields_text(const json_t *object, const char *key);
/* The same with a word for a missing text. */
const char *leat_fields_text_or(const json_t *object, const char *key, const char *otherwise);
bool leat_fields_true(const json_t *object, const char *key);
/* A list of two numbers in order; NaN, NaN if it is not one. */
void leat_fields_interval(const json_t *object, const char *key, double *low, double *high);
/* A list of the key, NULL if it is none; and the smaller of its size and a limit. */
const json_t *leat_fields_list(const json_t *object, const char *key);
int leat_fields_count(const json_t *list, int limit);

#endif
