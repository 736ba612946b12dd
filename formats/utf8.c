/* SPDX-License-Identifier: MIT */
#include "utf8.h"

#include <string.h>

size_t leat_utf8_decode(const unsigned char *p, size_t n, uint32_t *point)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t size = *p < 0x80   ? 1
                        : *p < 0xc2 ? 0
                        : *p < 0xe0 ? 2
                        : *p < 0xf0 ? 3
                        : *p < 0xf5 ? 4
                                    : 0;
    if (size == 0 || size > n)
        return 0;
    *point = size == 1 ? *p : *p & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (p[i] & 0x3fu);
    }
    const bool is_surrogate = *point >= 0xd800 && *point <= 0xdfff;
    return *point < least[size] || *point > 0x10ffff || is_surrogate ? 0 : size;
}

size_t leat_utf8_mark(const void *text, size_t n)
{
    return n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0;
}

static bool is_within(uint32_t point, const uint32_t ranges[][2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (point >= ranges[i][0] && point <= ranges[i][1])
            return true;
    return false;
}

bool leat_utf8_is_control(uint32_t point)
{
    static const uint32_t ranges[][2] = {
        { 0x80, 0x9f },     /* C1 */
        { 0x61c, 0x61c },   /* direction */
        { 0x200e, 0x200f }, /* direction */
        { 0x2028, 0x202e }, /* line, paragraph, direction */
        { 0x2066, 0x2069 }, /* direction */
        { 0xfeff, 0xfeff }, /* byte order mark */
    };
    return is_within(point, ranges, sizeof ranges / sizeof *ranges);
}

bool leat_utf8_is_invisible(uint32_t point)
{
    static const uint32_t ranges[][2] = {
        { 0xad, 0xad },       /* soft hyphen */
        { 0x34f, 0x34f },     /* grapheme joiner */
        { 0x115f, 0x1160 },   /* Hangul fillers */
        { 0x17b4, 0x17b5 },   /* Khmer vowels without a form */
        { 0x180e, 0x180e },   /* Mongolian separator of vowels */
        { 0x200b, 0x200d },   /* zero width */
        { 0x2060, 0x206f },   /* zero width */
        { 0x3164, 0x3164 },   /* Hangul filler */
        { 0xffa0, 0xffa0 },   /* Hangul filler */
        { 0xfff0, 0xfffb },   /* marks of annotations */
        { 0x1bca0, 0x1bca3 }, /* controls of shorthand */
        { 0x1d173, 0x1d17a }, /* controls of music */
        { 0xe0000, 0xe00ff }, /* tags */
    };
    return is_within(point, ranges, sizeof ranges / sizeof *ranges);
}

bool leat_utf8_is_harmless(const char *text)
{
    const size_t n = strlen(text);
    for (size_t i = 0, used; i < n; i += used) {
        uint32_t point;
        used = leat_utf8_decode((const unsigned char *)text + i, n - i, &point);
        if (!used || point < 0x20 || point == 0x7f || leat_utf8_is_control(point))
            return false;
    }
    return true;
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool leat_utf8_same_ascii(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b))
        a++, b++;
    return *a == *b;
}
