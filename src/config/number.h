/* SPDX-License-Identifier: MIT
 *
 * number.h: strict numbers from text: all of it or nothing, in the C locale whatever the program's
 * locale is. */
#ifndef LEAT_NUMBER_H
#define LEAT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

typedef enum leat_number {
    LEAT_NUMBER_OK,
    LEAT_NUMBER_BAD,  /* not a number */
    LEAT_NUMBER_LARGE /* a number that does not fit the type */
} leat_number;

/* "-12": decimal digits after an optional sign. */
leat_number leat_number_i64(const char *text, int64_t *out);
/* "0.5", "1e-3", "inf", ".inf"; no NaN, no hexadecimal. */
leat_number leat_number_f64(const char *text, double *out);
/* "4096", "64 KiB", "1.5GiB", "100 MB", not negative; a fraction must come out in whole bytes. */
leat_number leat_number_bytes(const char *text, int64_t *out);
/* The shortest of those: 65536 is "64 KiB"; returns text. */
char *leat_number_bytes_text(int64_t bytes, char *text, size_t size);

#endif
