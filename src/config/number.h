/* SPDX-License-Identifier: MIT
 *
 * number.h: strict numbers from text, for options and paths. The whole text must be the number. The locale
 * of the program does not matter. */
#ifndef LEAT_NUMBER_H
#define LEAT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum leat_number {
    LEAT_NUMBER_OK,
    LEAT_NUMBER_BAD,  /* not a number */
    LEAT_NUMBER_LARGE /* a number that does not fit the type */
} leat_number;

/* "010": eight to readers of YAML 1.1, ten to those of YAML 1.2. */
bool leat_number_is_ambiguous(const char *text);
/* "-12": decimal digits after an optional sign; not ambiguous. */
leat_number leat_number_i64(const char *text, int64_t *out);
/* "0.5", "1e-3", "inf", ".inf"; no NaN, no hexadecimal, no "010". */
leat_number leat_number_f64(const char *text, double *out);
/* As data files have them: "010" is ten. */
leat_number leat_number_data_i64(const char *text, int64_t *out);
leat_number leat_number_f32(const char *text, float *out); /* the nearest float */
/* The same; also "nan" and "infinity", which an array can hold, too. */
leat_number leat_number_data(const char *text, float *out);
/* "4096", "64 KiB", "1.5GiB", "100 MB"; not negative, a whole number of bytes, and no leading zero. */
leat_number leat_number_bytes(const char *text, int64_t *out);
/* The shortest such text: 65536 is "64 KiB". Returns `text`. */
char *leat_number_bytes_text(int64_t bytes, char *text, size_t size);

#endif
