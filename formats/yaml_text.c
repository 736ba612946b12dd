/* SPDX-License-Identifier: MIT */
#include "yaml_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

struct out {
    char *text;
    size_t size, length;
};

static void put(struct out *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++, out->length++)
        if (out->length + 1 < out->size)
            out->text[out->length] = bytes[i];
}

/* A colon inside a plain text: not at its end, and not before a space or what has a meaning in [..] and {..}. */
static bool is_plain_colon(const char *text, size_t at, size_t n)
{
    return text[at] == ':' && at + 1 < n && !strchr(" ,[]{}", text[at + 1]);
}

/* Whether the text needs no quotes. Stricter than YAML's own rule. */
static bool is_plain(const char *text)
{
    static const char extra[] = "_./+-*@%$~=()^;<>\\";
    static const char never_first[] = "-*@%~=>";
    const size_t n = strlen(text);
    if (n == 0 || !strcmp(text, "null") || text[n - 1] == ' ')
        return false;
    if (strchr(never_first, text[0]) && !(text[0] == '-' && text[1] >= '0' && text[1] <= '9'))
        return false;
    if (text[0] == '.' && text[1] == '.' && text[2] == '.')
        return false;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || strchr(extra, c);
        const bool inner = i > 0 && (c == ' ' || is_plain_colon(text, i, n));
        if (!word && !inner)
            return false;
    }
    return true;
}

/* Whether readers of YAML could take a plain text for a number, a date, a boolean or null. */
static bool is_typed(const char *text)
{
    static const char *const words[] = { "null", "true", "false", "yes", "no",
                                         "on",   "off",  "y",     "n",   "<<" };
    const char *const first = text + (*text == '+' || *text == '-');
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (leat_utf8_same_ascii(text, words[i]))
            return true;
    return ((*first >= '0' && *first <= '9') || *first == '.') && !strchr(text, '/');
}

static void put_quoted(struct out *out, const char *text, leat_yaml_kind kind)
{
    const size_t n = strlen(text);
    put(out, "\"", 1);
    for (size_t i = 0, used; i < n; i += used ? used : 1) {
        const unsigned char *const p = (const unsigned char *)text + i;
        uint32_t point = 0;
        char escape[16] = "";
        used = leat_utf8_decode(p, n - i, &point);
        if (!used && kind == LEAT_YAML_NAME)
            snprintf(escape, sizeof escape, "\xef\xbf\xbd"); /* U+FFFD */
        else if (*p == '"' || *p == '\\')
            snprintf(escape, sizeof escape, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f)
            snprintf(escape, sizeof escape, "\\x%02x", *p);
        else if (used && leat_utf8_is_control(point))
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)point);
        if (*escape)
            put(out, escape, strlen(escape));
        else
            put(out, text + i, used ? used : 1);
    }
    put(out, "\"", 1);
}

size_t leat_yaml_text(const char *text, leat_yaml_kind kind, char *to, size_t size)
{
    struct out out = { .text = to, .size = size };
    if (is_plain(text) && (kind == LEAT_YAML_VALUE || !is_typed(text)))
        put(&out, text, strlen(text));
    else
        put_quoted(&out, text, kind);
    if (size)
        to[out.length < size ? out.length : size - 1] = 0;
    return out.length;
}
