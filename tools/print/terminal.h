/* SPDX-License-Identifier: MIT
 *
 * terminal.h: text output: the width of a terminal, line wrapping, and colour. */
#ifndef LEAT_TERMINAL_H
#define LEAT_TERMINAL_H

#include <stdio.h>

/* Tables and paragraphs fit into this many columns everywhere. */
enum { LEAT_TERMINAL_COLUMNS = 80 };

/* Columns of the terminal that a stream goes to, as it is now; 0: it goes elsewhere. */
int leat_terminal_width(FILE *stream);

typedef enum leat_terminal_colour {
    LEAT_TERMINAL_PLAIN, /* ends a colour */
    LEAT_TERMINAL_RED,
    LEAT_TERMINAL_GREEN,
    LEAT_TERMINAL_YELLOW,
} leat_terminal_colour;

/* The code that starts a colour; "" if the stream is no terminal, TERM is "dumb", or the
 * environment variable NO_COLOR is set and not empty. */
const char *leat_terminal_colour_text(FILE *stream, leat_terminal_colour colour);

/* A name from outside as a terminal may show it (formats/visible.h): the name itself, or a copy that is valid
 * until eight more calls. Only the main thread calls it. */
const char *leat_terminal_name(const char *name);

/* Prints text in lines of at most LEAT_TERMINAL_COLUMNS, and ends with a newline. The first begins at
 * `column`, where the stream is already; the others have `indent` spaces before them. A word that is
 * longer than a line stays whole. */
void leat_terminal_wrap(FILE *out, const char *text, int column, int indent);

/* Like printf, and then leat_terminal_wrap(), after as many spaces as `column` says. */
void leat_terminal_put(FILE *out, int column, int indent, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same on standard output, from column 0. */
void leat_terminal_say(int indent, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Like leat_terminal_say(), for text with colours: names in it need leat_terminal_name(). */
void leat_terminal_paint(int indent, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text of several lines as a terminal may show it: the text itself, or a copy. *copy: free() it. */
const char *leat_terminal_shown(const char *text, char **copy);

/* Prints lines that a program reads, such as a diff: they are not wrapped. */
void leat_terminal_lines(FILE *out, const char *text);

/* A head, and text from `column` on, on the same line if the head leaves room. */
void leat_terminal_entry(FILE *out, const char *head, int column, const char *text);

#endif
