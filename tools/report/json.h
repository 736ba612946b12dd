/* SPDX-License-Identifier: MIT
 *
 * json.h: JSON output of commands, thin over jansson. Keys are documented in docs/json.md. */
#ifndef LEAT_JSON_H
#define LEAT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "leat/error.h"

/* A new object with "leat" (version) and "command"; NULL: out of memory. The setters below take
 * such a NULL, so that only leat_json_write() needs to look. */
json_t *leat_json_open(const char *command);

void leat_json_text(json_t *object, const char *key, const char *text);
void leat_json_int(json_t *object, const char *key, int64_t value);
void leat_json_bool(json_t *object, const char *key, bool value);
/* null for what is not a number. */
void leat_json_real(json_t *object, const char *key, double value);
/* 16 hexadecimal digits: JSON's numbers do not hold 64 bits. */
void leat_json_hex(json_t *object, const char *key, uint64_t value);
/* Takes `value` over. */
void leat_json_add(json_t *object, const char *key, json_t *value);

/* True when figures go to standard output and people's text should not. */
bool leat_json_to_stdout(const char *path);

/* Whether leat_json_write() will be able to write there. Returns LEAT_OK or LEAT_E_IO. */
int leat_json_check(const char *path, leat_error *err);

/* Writes the object to a file ("-": standard output; NULL: nowhere) and frees it. A file is written
 * beside and renamed. Returns LEAT_OK, LEAT_E_IO or LEAT_E_NOMEM. */
int leat_json_write(json_t *object, const char *path, leat_error *err);

#endif
