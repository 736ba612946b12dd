/* SPDX-License-Identifier: MIT
 *
 * svg.h: writes the elements of SVG that the command's pictures consist of. Texts are escaped. */
#ifndef LEAT_SVG_H
#define LEAT_SVG_H

#include <stddef.h>
#include <stdio.h>

/* Writes text of SVG or HTML, good inside of quotes, too. What is no UTF-8, or what XML does not allow, becomes '?'. */
void leat_svg_escape(FILE *out, const char *text);

/* kind: the class; "" none. anchor: "start", "middle" or "end". */
void leat_svg_text(FILE *out, double x, double y, const char *kind, const char *anchor,
                   const char *words);
void leat_svg_rect(FILE *out, double x, double y, double width, double height, const char *kind);
void leat_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *kind);

/* About how wide a text of 13 pixels is. */
double leat_svg_width(const char *text);

/* Copies a text. One that is wider than so many pixels is cut, with "…" at its end. Returns `out`. */
const char *leat_svg_fit(const char *text, double width, char *out, size_t size);

#endif
