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

/* Whether a character beyond ASCII is invisible or changes what stands around it, so that two names look alike or a
 * name looks like another text: C1 controls, controls of direction, separators of lines, and most of Unicode's
 * Default_Ignorable_Code_Point, without the selectors of variants, which emoji have. */
bool leat_utf8_is_control(uint32_t point);

/* Whether two texts are equal but for the case of ASCII letters; the locale changes nothing. */
bool leat_utf8_same_ascii(const char *a, const char *b);

#endif
