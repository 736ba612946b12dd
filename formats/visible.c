/* SPDX-License-Identifier: MIT */
#include "visible.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

typedef struct out {
    char *text;
    size_t size, length;
    bool is_full; /* a piece did not fit: none after it is written */
} out;

static void put(out *to, const char *bytes, size_t n)
{
    to->is_full |= to->length + n >= to->size;
    if (!to->is_full)
        memcpy(to->text + to->length, bytes, n);
    if (!to->is_full)
        to->text[to->length + n] = 0;
    to->length += n;
}

size_t leat_visible(const char *text, size_t n, const char *keep, char *to, size_t size)
{
    out o = { .text = to, .size = size };
    if (size)
        *to = 0;
    for (size_t i = 0, used; i < n; i += used ? used : 1) {
        const unsigned char *const p = (const unsigned char *)text + i;
        uint32_t point = 0;
        char escape[16];
        int length = 0;
        used = leat_utf8_decode(p, n - i, &point);
        if (!used || *p == 0x7f || (*p < 0x20 && (!*p || !strchr(keep, *p))))
            length = snprintf(escape, sizeof escape, "\\x%02x", *p);
        else if (leat_utf8_is_control(point) || leat_utf8_is_invisible(point))
            length = snprintf(escape, sizeof escape, "\\u{%x}", (unsigned)point);
        put(&o, length ? escape : text + i, length ? (size_t)length : used);
    }
    return o.length;
}

/* What is shown of a text, byte by byte. */
typedef struct cursor {
    const char *text; /* behind what is in `piece` */
    char piece[16];   /* one character, or its escape */
    const char *at;
} cursor;

static char next_byte(cursor *c)
{
    uint32_t point;
    if (!*c->at) {
        const size_t used =
            leat_utf8_decode((const unsigned char *)c->text, strnlen(c->text, 4), &point);
        const size_t n = used || !*c->text ? used : 1;
        leat_visible(c->text, n, "", c->piece, sizeof c->piece);
        c->text += n;
        c->at = c->piece;
    }
    return *c->at ? *c->at++ : 0;
}

int leat_visible_order(const char *a, const char *b)
{
    cursor x = { .text = a, .at = "" }, y = { .text = b, .at = "" };
    char p, q;
    do {
        p = next_byte(&x);
        q = next_byte(&y);
    } while (p == q && p);
    return (unsigned char)p - (unsigned char)q;
}

bool leat_visible_same(const char *a, const char *b)
{
    return leat_visible_order(a, b) == 0;
}
