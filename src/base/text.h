/* SPDX-License-Identifier: MIT
 *
 * text.h: text functions that do not depend on the locale of the program. Numbers have a decimal point;
 * letters are ASCII. The library formats every number with a fraction with them. */
#ifndef LEAT_TEXT_H
#define LEAT_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "leat/api.h"

/* snprintf() and vsnprintf() in the C locale. They never allocate. */
int leat_text(char *text, size_t size, const char *format, ...) LEAT_PRINTF(3, 4);
int leat_text_v(char *text, size_t size, const char *format, va_list args) LEAT_PRINTF(3, 0);

/* Adds to a text of `size` bytes in all, as far as there is room. */
void leat_text_append(char *text, size_t size, const char *format, ...) LEAT_PRINTF(3, 4);

/* leat_text_v() for a message: what its arguments hold cannot move a terminal's cursor or colour it
 * (formats/visible.h). Line breaks stay where the format has one. Returns the length of the message. */
size_t leat_text_message_v(char *text, size_t size, const char *format, va_list args)
    LEAT_PRINTF(3, 0);

/* strtod() of a decimal number, in the C locale. */
double leat_text_f64(const char *text);
float leat_text_f32(const char *text); /* strtof(), likewise */

#endif
