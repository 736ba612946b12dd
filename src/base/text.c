/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/visible.h"
#include "leat/error.h"

int leat_text_v(char *text, size_t size, const char *format, va_list args)
{
    /* This locale is a constant of libc: newlocale() does not allocate. */
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = c ? uselocale(c) : (locale_t)0;
    const int n = vsnprintf(text, size, format, args);
    if (c) {
        uselocale(before);
        freelocale(c);
    }
    return n;
}

int leat_text(char *text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = leat_text_v(text, size, format, args);
    va_end(args);
    return n;
}

void leat_text_append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    leat_text_v(text + used, size - used, format, args);
    va_end(args);
}

size_t leat_text_message_v(char *text, size_t size, const char *format, va_list args)
{
    char raw[2 * sizeof(leat_error)]; /* long enough that only leat_visible() cuts */
    const size_t room = size < sizeof raw ? size : sizeof raw;
    if (leat_text_v(raw, room, format, args) < 0)
        *raw = 0;
    leat_visible(raw, strlen(raw), strchr(format, '\n') ? "\n" : "", text, size);
    return strlen(text);
}

double leat_text_f64(const char *text)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const double value = c ? strtod_l(text, NULL, c) : strtod(text, NULL);
    if (c)
        freelocale(c);
    return value;
}

float leat_text_f32(const char *text)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const float value = c ? strtof_l(text, NULL, c) : strtof(text, NULL);
    if (c)
        freelocale(c);
    return value;
}
