/* SPDX-License-Identifier: MIT */
#include "csv.h"

#include <string.h>

enum { LINE, FIELD, PLAIN, QUOTED, QUOTE }; /* LINE, FIELD: before the first byte of one */

/* The state after a byte outside of quotes. */
static inline int after(uint8_t byte, char delimiter)
{
    return byte == (uint8_t)delimiter ? FIELD : byte == '\n' ? LINE : PLAIN;
}

int leat_csv_scan_next(leat_csv_scan *scan, const uint8_t *bytes, size_t n, size_t *at)
{
    const char delimiter = scan->delimiter;
    int state = scan->state, begins = 0;
    size_t i = *at;
    for (; i < n && !begins; i++) {
        const uint8_t byte = bytes[i];
        if (state == PLAIN) {
            state = after(byte, delimiter);
        } else if (state == QUOTED) {
            state = byte == '"' ? QUOTE : QUOTED;
        } else if (state == LINE && (byte == '\n' || byte == '\r')) {
            continue;
        } else { /* a quote opens a field, or stands for one after another quote */
            begins = state == LINE;
            state = byte == '"' ? QUOTED : after(byte, delimiter);
        }
    }
    scan->state = state;
    *at = i;
    return begins;
}

leat_csv_cursor leat_csv_begin(const uint8_t *record, size_t n, char delimiter)
{
    while (n && (record[n - 1] == '\n' || record[n - 1] == '\r'))
        n--;
    return (leat_csv_cursor){ .at = record, .end = record + n, .delimiter = delimiter };
}

/* The text of a field so far. */
typedef struct field {
    char *text;
    size_t room, n;
} field;

static inline void put(field *to, uint8_t byte)
{
    if (to->n + 1 < to->room)
        to->text[to->n] = (char)byte;
    to->n++;
}

/* Reads from after the opening quote to the closing quote; 0 if that is missing. */
static int take_quoted(leat_csv_cursor *c, field *out)
{
    for (; c->at < c->end; c->at++) {
        if (*c->at == '"') {
            c->at++;
            if (c->at == c->end || *c->at != '"')
                return 1;
        }
        put(out, *c->at);
    }
    return 0;
}

int leat_csv_take(leat_csv_cursor *c, char *text, size_t room, size_t *n)
{
    field out = { text, room, 0 };
    int good = 1;
    if (c->at < c->end && *c->at == '"') {
        c->at++;
        good = take_quoted(c, &out) && (c->at == c->end || *c->at == (uint8_t)c->delimiter);
    } else {
        for (; c->at < c->end && *c->at != (uint8_t)c->delimiter; c->at++) {
            put(&out, *c->at);
            good = good && *c->at != '"';
        }
    }
    c->done = c->at == c->end;
    c->at += !c->done;
    text[out.n < room ? out.n : room - 1] = 0;
    *n = out.n;
    return good;
}

char *leat_csv_trim(char *text)
{
    size_t n = strlen(text);
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    text[n] = 0;
    return text + strspn(text, " \t");
}
