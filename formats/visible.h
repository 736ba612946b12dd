/* SPDX-License-Identifier: MIT
 *
 * visible.h: names from outside on a terminal. A name of a file or of a class may hold control characters, which
 * colour, hide or rewrite what a terminal shows. Messages of the library and the output of commands show
 * them in place. */
#ifndef LEAT_VISIBLE_H
#define LEAT_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes a text so that a terminal shows all of it: bytes below 0x20, 0x7f and those that are not UTF-8 become
 * \xHH; the controls U+0080 to U+009F and those of line and direction (U+2028, U+202E, ...) become \u{H}.
 * All else stays, so doing it twice does no more. Allocates nothing.
 *
 * keep     bytes below 0x20 that stay, such as "\n"
 * to       gets what fits, never a part of a character, and ends with a zero byte; NULL if size is 0
 * returns  the length of the whole result */
size_t leat_visible(const char *text, size_t n, const char *keep, char *to, size_t size);

/* Whether two names are shown as one. A class of a folder is the same as that of a set converted from it, whose list of
 * names has escapes. */
bool leat_visible_same(const char *a, const char *b);
/* The order of what is shown, as that of strcmp(). */
int leat_visible_order(const char *a, const char *b);

#endif
