/* SPDX-License-Identifier: MIT
 *
 * csv.h: comma-separated values (RFC 4180): where records begin in a file, and the fields of a record. A
 * field that begins with a quote ends with a quote; two quotes inside stand for one; delimiters and line
 * ends inside are text. Lines end with LF or CR LF; empty lines are no records. */
#ifndef LEAT_CSV_H
#define LEAT_CSV_H

#include "format.h"

/* Position in a file that is read in pieces. Start with { .delimiter = ',' }. */
typedef struct leat_csv_scan {
    char delimiter;
    int state;
    uint64_t n_empty; /* empty lines so far */
} leat_csv_scan;

/* Reads on from bytes[*at] to the next first byte of a record, and moves *at behind it.
 * Returns 1; 0: no record begins in the rest of these n bytes, and *at is n. */
int leat_csv_scan_next(leat_csv_scan *scan, const uint8_t *bytes, size_t n, size_t *at);

/* 1 if the bytes so far end inside a field whose closing quote has not come. */
int leat_csv_scan_in_quotes(const leat_csv_scan *scan);

/* Position in one record. */
typedef struct leat_csv_cursor {
    const uint8_t *at, *end;
    char delimiter;
    int done;          /* the last field was taken */
    int quoted;        /* the field taken last is in quotes */
    const char *fault; /* what is wrong with the field taken last; NULL: nothing */
} leat_csv_cursor;

/* Starts at the first field of a record of n bytes; line ends at its end are no part of it. */
leat_csv_cursor leat_csv_begin(const uint8_t *record, size_t n, char delimiter);

/* Takes the next field, without its quotes, or if it has none without spaces and tabs around it: copies as many bytes
 * as there is room for, with a terminating 0. *n: all of these bytes. Returns `text`; NULL: a field with a zero byte or with
 * quotes that RFC 4180 does not allow, and cursor->fault says which. */
char *leat_csv_take(leat_csv_cursor *cursor, char *text, size_t room, size_t *n);

/* Cuts spaces and tabs off both ends, which a number in quotes may have. Returns its start in `text`. */
char *leat_csv_trim(char *text);

#endif
