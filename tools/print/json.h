/* SPDX-License-Identifier: MIT
 *
 * json.h: JSON output of commands, a thin layer over jansson. Keys are documented in docs/json.md. */
#ifndef LEAT_JSON_H
#define LEAT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "leat/error.h"
#include "leat/study.h"

/* A new object with "leat" (version) and "command"; NULL: out of memory. The setters below take
 * such a NULL, so that only leat_json_write() needs to check. */
json_t *leat_json_open(const char *command);

/* A text. JSON is UTF-8, and names of files may be other bytes: these are as leat_terminal_name() shows them. null if
 * the text is NULL. */
json_t *leat_json_string(const char *text);
void leat_json_text(json_t *object, const char *key, const char *text);
void leat_json_int(json_t *object, const char *key, int64_t value);
void leat_json_bool(json_t *object, const char *key, bool value);
/* null if the value is not finite. */
void leat_json_real(json_t *object, const char *key, double value);
/* [low, high]; null for an end that is not finite. */
void leat_json_interval(json_t *object, const char *key, const leat_estimate *estimate);
/* The value under `key`, its interval under `interval`. */
void leat_json_estimate(json_t *object, const char *key, const char *interval,
                        const leat_estimate *estimate);
/* 16 hexadecimal digits: JSON's numbers do not hold 64 bits. */
void leat_json_hex(json_t *object, const char *key, uint64_t value);
/* Takes ownership of `value`. */
void leat_json_add(json_t *object, const char *key, json_t *value);
/* A new list or object under `key`; a new object at the end of a list. They are borrowed: what they are in owns them. */
json_t *leat_json_list(json_t *object, const char *key);
json_t *leat_json_object(json_t *object, const char *key);
json_t *leat_json_row(json_t *list);
/* A text at the end of a list. */
void leat_json_append(json_t *list, const char *text);

/* True if JSON goes to standard output, so that other text must not. */
bool leat_json_to_stdout(const char *path);

/* Checks that leat_json_write() can write there. Returns LEAT_OK or LEAT_E_IO. */
int leat_json_check(const char *path, leat_error *err);

/* Writes the object to a file ("-": standard output; NULL: nowhere) and frees it. A file is written
 * beside and renamed. Returns LEAT_OK, LEAT_E_IO or LEAT_E_NOMEM. */
int leat_json_write(json_t *object, const char *path, leat_error *err);

#endif
