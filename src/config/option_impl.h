/* SPDX-License-Identifier: MIT
 *
 * option_impl.h: functions on option tables for the reader of configs, beside include/leat/option.h. */
#ifndef LEAT_OPTION_IMPL_H
#define LEAT_OPTION_IMPL_H

#include <stdbool.h>
#include <stdio.h>

#include "leat/option.h"
#include "number.h"

#define LEAT_OPTION_GOT_MAX 80 /* bytes of a wrong value that a message repeats */

/* Whether the option takes a list of values (I64S, F32S, STRINGS). */
bool leat_option_is_list(const leat_option *row);

/* Whether a struct of this size has the fields of all rows; NULL: there are none. */
bool leat_option_table_fits(const leat_option *table, size_t size);

/* Sets value i of a list option from text and makes the list i + 1 long. i is 0 for other types. */
int leat_option_set_item(const leat_option *row, void *options, int32_t i, const char *text,
                         leat_error *err);
/* Makes a list option empty. */
void leat_option_clear(const leat_option *row, void *options);

/* Prints the value of an option such that leat_option_set() reads the same value: "0.5", "[32, 32]", "same"; but the items
 * of a list of strings as they are, also with commas in them. Nothing of a node. */
void leat_option_print(FILE *to, const leat_option *row, const void *options);

/* --- messages. `name` is the option, with [i] in a list. -------------------------- */

/* Fails with "NAME must be RANGE, got GOT". */
int leat_option_fail_range(const leat_option *row, const char *name, const char *got,
                           leat_error *err);
/* Fails with "NAME must be ALLOWED; got 'GOT', did you mean …?". */
int leat_option_fail_kind(const leat_option *row, const char *name, const char *got,
                          leat_error *err);
/* Fails with one of the two, by the result of reading a number. */
int leat_option_fail_number(leat_number rc, const leat_option *row, const char *name,
                            const char *got, leat_error *err);
/* Fails with "NAME must be ALLOWED; got GOT". */
int leat_option_fail_type(const leat_option *row, const char *got, leat_error *err);

#endif
