/* SPDX-License-Identifier: MIT
 *
 * node_text.c: nodes as one line of flow YAML.
 *
 * DESIGN. Equal nodes have equal texts: keys are in byte order, only text that needs quotes has them, and
 * null is `null`. It allocates nothing. Sorting keys is quadratic, but mappings are small. */
#include <stdio.h>
#include <string.h>

#include "node.h"

#define SHORT_KEY 128 /* bytes; YAML needs "? " before keys of more than 1024, with their escapes */

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

static void put_text(struct out *out, const char *text)
{
    put(out, text, strlen(text));
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
        const bool inner = i > 0 && (c == ' ' || (c == ':' && text[i + 1] != ' ' && i + 1 < n &&
                                                  !strchr(",[]{}", text[i + 1])));
        if (!word && !inner)
            return false;
    }
    return true;
}

/* A code point that YAML folds or refuses inside quotes (U+0080–009F, U+2028, U+2029, U+FEFF); else 0. */
static unsigned special(const unsigned char *p)
{
    if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
        return p[1];
    if (p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9))
        return 0x2000u + (p[2] - 0x80u);
    return p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf ? 0xfeff : 0;
}

static void put_quoted(struct out *out, const char *text)
{
    put_text(out, "\"");
    for (const char *p = text; *p; p++) {
        const unsigned char c = (unsigned char)*p;
        const unsigned point = special((const unsigned char *)p);
        char escape[16];
        if (point) {
            snprintf(escape, sizeof escape, "\\u%04x", point);
            p += point < 0x100 ? 1 : 2;
        } else if (c == '"' || c == '\\')
            snprintf(escape, sizeof escape, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            snprintf(escape, sizeof escape, "\\x%02x", c);
        else
            snprintf(escape, sizeof escape, "%c", c);
        put_text(out, escape);
    }
    put_text(out, "\"");
}

static void put_scalar(struct out *out, const char *text)
{
    if (is_plain(text))
        put_text(out, text);
    else
        put_quoted(out, text);
}

/* The child with the smallest key above `after` (NULL: the smallest of all). */
static const leat_node *next_key(const leat_node *map, const char *after)
{
    const leat_node *least = NULL;
    for (const leat_node *child = map->first; child; child = child->next)
        if ((!after || strcmp(child->key, after) > 0) &&
            (!least || strcmp(child->key, least->key) < 0))
            least = child;
    return least;
}

static void put_node(struct out *out, const leat_node *node)
{
    if (leat_node_is_null(node)) {
        put_text(out, "null");
    } else if (node->kind == LEAT_NODE_SCALAR) {
        put_scalar(out, node->text);
    } else if (node->kind == LEAT_NODE_LIST) {
        put_text(out, "[");
        for (const leat_node *child = node->first; child; child = child->next) {
            put_node(out, child);
            put_text(out, child->next ? ", " : "");
        }
        put_text(out, "]");
    } else {
        put_text(out, "{");
        for (const leat_node *child = next_key(node, NULL); child;) {
            put_text(out, strlen(child->key) > SHORT_KEY ? "? " : "");
            put_scalar(out, child->key);
            put_text(out, ": ");
            put_node(out, child);
            child = next_key(node, child->key);
            put_text(out, child ? ", " : "");
        }
        put_text(out, "}");
    }
}

size_t leat_node_text(const leat_node *node, char *text, size_t size)
{
    struct out out = { .text = text, .size = size };
    put_node(&out, node);
    if (size > 0)
        text[out.length < size ? out.length : size - 1] = 0;
    return out.length;
}
