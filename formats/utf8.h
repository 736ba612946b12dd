/* SPDX-License-Identifier: MIT
 *
 * utf8.h: characters of UTF-8, for what shows or quotes texts from outside. */
#ifndef LEAT_UTF8_H
#define LEAT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Number of bytes of the character at the start of n > 0 bytes; 0: they are not UTF-8. *point: its number. */
size_t leat_utf8_decode(const unsigned char *p, size_t n, uint32_t *point);

/* Bytes of the byte order mark at the start of a text of n bytes, 3 or 0. Some editors write one; no text is read with it. */
size_t leat_utf8_mark(const void *text, size_t n);

/* Whether a character beyond ASCII changes what stands around it: C1 controls, controls of direction, separators of lines,
 * byte order marks. */
bool leat_utf8_is_control(uint32_t point);
/* Whether one shows nothing, so that two names look alike: most of Unicode's Default_Ignorable_Code_Point that are no
 * controls, without the selectors of variants. Some languages and emoji need them. */
bool leat_utf8_is_invisible(uint32_t point);
/* Whether a text is UTF-8 without controls, of ASCII neither. */
bool leat_utf8_is_harmless(const char *text);

/* Whether two texts are equal but for the case of ASCII letters; the locale changes nothing. */
bool leat_utf8_same_ascii(const char *a, const char *b);

#endif
