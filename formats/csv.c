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
            scan->n_empty += byte == '\n';
        } else { /* a quote opens a field, or stands for one after another quote */
            begins = state == LINE;
            state = byte == '"' ? QUOTED : after(byte, delimiter);
        }
    }
    scan->state = state;
    *at = i;
    return begins;
}

int leat_csv_scan_in_quotes(const leat_csv_scan *scan)
{
    return scan->state == QUOTED;
}

leat_csv_cursor leat_csv_begin(const uint8_t *record, size_t n, char delimiter)
{
    while (n && (record[n - 1] == '\n' || record[n - 1] == '\r'))
        n--;
    return (leat_csv_cursor){ .at = record, .end = record + n, .delimiter = delimiter };
}

/* Copies the bytes of a quoted field, from after the opening quote to the closing one, as far as there is
 * room; *n: all of them. 0: the closing quote is missing. */
static int take_quoted(leat_csv_cursor *c, char *text, size_t room, size_t *n)
{
    for (; c->at < c->end; c->at++) {
        if (*c->at == '"') {
            c->at++;
            if (c->at == c->end || *c->at != '"')
                return c->at == c->end || *c->at == (uint8_t)c->delimiter;
        }
        if (*n < room)
            text[*n] = (char)*c->at;
        ++*n;
    }
    return 0;
}

static int is_space(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Blanks are left out before the field is cut to the room: they must not make it an empty one. */
static int take_plain(leat_csv_cursor *c, char *text, size_t room, size_t *n)
{
    const uint8_t *const end = c->end, *begin = c->at, *at = begin;
    const uint8_t delimiter = (uint8_t)c->delimiter;
    int good = 1;
    for (; at < end && *at != delimiter; at++)
        good &= *at != '"';
    c->at = at;
    while (at > begin && is_space((char)at[-1]))
        at--;
    while (begin < at && is_space((char)*begin))
        begin++;
    *n = (size_t)(at - begin);
    memcpy(text, begin, *n < room ? *n : room);
    return good;
}

char *leat_csv_trim(char *text)
{
    size_t kept = strlen(text);
    while (kept && is_space(text[kept - 1]))
        kept--;
    text[kept] = 0;
    while (is_space(*text))
        text++;
    return text;
}

char *leat_csv_take(leat_csv_cursor *c, char *text, size_t room, size_t *n)
{
    const uint8_t *const begin = c->at;
    const size_t most = room - 1;
    int good;
    *n = 0;
    c->quoted = c->at < c->end && *c->at == '"';
    if (c->quoted) {
        c->at++;
        good = take_quoted(c, text, most, n);
        while (c->at < c->end && *c->at != (uint8_t)c->delimiter) /* go on after a quote too many */
            c->at++;
    } else {
        good = take_plain(c, text, most, n);
    }
    c->fault = memchr(begin, 0, (size_t)(c->at - begin)) ? "a zero byte, which no text has"
               : good                                    ? NULL
                                                         : "a quote that RFC 4180 does not allow";
    c->done = c->at == c->end;
    c->at += !c->done;
    text[*n < most ? *n : most] = 0;
    return c->fault ? NULL : text;
}
