/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "formats/utf8.h"

static const double character_px = 7.6; /* wide: a text that is cut too early can still be read */

/* Bytes of the character at `text`; 0: it is not UTF-8, or none that XML allows. */
static size_t character(const char *text)
{
    uint32_t code;
    const size_t n = leat_utf8_decode((const unsigned char *)text, strnlen(text, 4), &code);
    if (n == 1)
        return code >= ' ' && code != 127;
    return n > 1 && (code & 0xfffe) != 0xfffe ? n : 0;
}

void leat_svg_escape(FILE *out, const char *text)
{
    static const char signs[] = "&<>\"'";
    static const char *const names[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
    for (size_t n; *text; text += n ? n : 1) {
        const char *const sign = strchr(signs, *text);
        n = character(text);
        if (sign)
            fputs(names[sign - signs], out);
        else if (n)
            fwrite(text, 1, n, out);
        else
            fprintf(out, "\\x%02x", (unsigned char)*text);
    }
}

void leat_svg_put(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (size_t n; n = strcspn(format, "%"), fwrite(format, 1, n, out), format[n]; format += n + 2)
        if (format[n + 1] == 's')
            leat_svg_escape(out, va_arg(args, const char *));
        else
            fprintf(out, "%d", va_arg(args, int));
    va_end(args);
}

void leat_svg_text(FILE *out, double x, double y, const char *kind, const char *anchor,
                   const char *words)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"", x, y);
    if (*kind)
        fprintf(out, " class=\"%s\"", kind);
    leat_svg_put(out, " text-anchor=\"%s\">%s</text>\n", anchor, words);
}

void leat_svg_rect(FILE *out, double x, double y, double width, double height, const char *kind)
{
    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\"/>\n", x,
            y, width, height, kind);
}

void leat_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *kind)
{
    fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, x2,
            y1, y2, kind);
}

void leat_svg_name(FILE *out, double x, double y, const char *kind, const char *anchor,
                   double width, const char *name)
{
    char text[400];
    leat_svg_text(out, x, y, kind, anchor, leat_svg_fit(name, width, text, sizeof text));
}

/* Bytes of the character of UTF-8 at `text`. */
static size_t bytes_of(const char *text)
{
    size_t n = 1;
    while ((text[n] & 0xc0) == 0x80)
        n++;
    return n;
}

double leat_svg_width(const char *text)
{
    double width = 0;
    for (; *text; text += bytes_of(text))
        width += character_px;
    return width;
}

const char *leat_svg_fit(const char *text, double width, char *out, size_t size)
{
    static const char end[] = "…";
    size_t n = 0;
    double left = width - (leat_svg_width(text) > width || strlen(text) >= size ? character_px : 0);
    while (text[n] && left >= character_px && n + bytes_of(text + n) + sizeof end <= size) {
        n += bytes_of(text + n);
        left -= character_px;
    }
    memcpy(out, text, n);
    strcpy(out + n, text[n] ? end : "");
    return out;
}
