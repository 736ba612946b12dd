/* SPDX-License-Identifier: MIT
 *
 * words.h: numbers as the page writes them. NaN is "–". Each returns `text`. */
#ifndef LEAT_WORDS_H
#define LEAT_WORDS_H

enum { LEAT_WORDS_SIZE = 48 };

/* Three digits or more: 0.0123, 4.16, 98.1, 10,464. */
const char *leat_words_number(double value, char text[LEAT_WORDS_SIZE]);
/* Puts commas between thousands of the number that a text begins with. */
const char *leat_words_group(char text[LEAT_WORDS_SIZE]);
/* The same with a unit behind. */
const char *leat_words_unit(double value, const char *unit, char text[LEAT_WORDS_SIZE]);
/* Of a share: "28 %", "2.1 %". */
const char *leat_words_percent(double share, char text[LEAT_WORDS_SIZE]);
/* "1.40×" */
const char *leat_words_times(double ratio, char text[LEAT_WORDS_SIZE]);
/* "low–high"; empty if there is no interval. */
const char *leat_words_range(double low, double high, char text[LEAT_WORDS_SIZE]);

#endif
