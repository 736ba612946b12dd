/* SPDX-License-Identifier: MIT
 *
 * node.c: reading nodes, and errors that begin with a node's place. */
#include "node.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/yaml_text.h"
#include "nearest.h"
#include "number.h"

const leat_node *leat_node_find(const leat_node *node, const char *key)
{
    if (!node || node->kind != LEAT_NODE_MAP)
        return NULL;
    for (const leat_node *child = node->first; child; child = child->next)
        if (!strcmp(child->key, key))
            return child;
    return NULL;
}

size_t leat_node_count(const leat_node *node)
{
    size_t n = 0;
    if (node)
        for (const leat_node *child = node->first; child; child = child->next)
            n++;
    return n;
}

bool leat_node_is_null(const leat_node *node)
{
    return !node || (node->kind == LEAT_NODE_SCALAR && !node->quoted &&
                     (!*node->text || !strcmp(node->text, "~") || !strcmp(node->text, "null")));
}

/* --- errors ----------------------------------------------------------------------------------- */

static void put(char *text, size_t size, const char *format, ...) LEAT_PRINTF(3, 4);

/* Appends. */
static void put(char *text, size_t size, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, size - n, format, args);
    va_end(args);
}

/* Appends the place in the config, such as "pipeline[1].map[0].resize"; nothing for the root. Cut to fit. */
static void put_path(const leat_node *node, char *text, size_t size)
{
    if (!node->parent)
        return;
    put_path(node->parent, text, size);
    if (node->parent->kind == LEAT_NODE_LIST) {
        size_t i = 0;
        for (const leat_node *at = node->parent->first; at && at != node; at = at->next)
            i++;
        put(text, size, "[%zu]", i);
    } else if (node->key && *node->key) {
        put(text, size, "%s%s", *text ? "." : "", node->key);
    }
}

/* Puts the node's place before the message, and into the fields unless they have a more exact one. */
static int fail_place(const leat_node *node, int line, int column, leat_error *err, int code)
{
    if (err && !err->path[0] && !err->line) {
        put_path(node, err->path, sizeof err->path);
        snprintf(err->file, sizeof err->file, "%s", node->file ? node->file : "");
        err->line = line;
        err->column = line ? column : 0;
    }
    if (!node->file)
        return code;
    if (line == 0)
        return leat_fail_in(err, code, "%s: ", node->file);
    return leat_fail_in(err, code, "%s:%d:%d: ", node->file, line, column);
}

int leat_node_fail(const leat_node *node, leat_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        leat_fail(err, code, "%s", "");
        va_start(args, format);
        leat_text_message_v(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return node ? fail_place(node, node->line, node->column, err, code) : code;
}

int leat_node_fail_in(const leat_node *node, leat_error *err, int code)
{
    return node ? fail_place(node, node->line, node->column, err, code) : code;
}

int leat_node_fail_key(const leat_node *node, leat_error *err, const char *what, const char *noun,
                       leat_nearest_word *near)
{
    const char *const hint = leat_node_hint(noun, node);
    if (node->elsewhere || hint) {
        leat_fail(err, LEAT_E_CONFIG, "%s has no %s '%.80s'; %s%s%s", what, noun, node->key,
                  hint ? hint : "did you mean '", hint ? "" : node->elsewhere, hint ? "" : "'?");
        return fail_place(node, node->key_line, node->key_column, err, LEAT_E_CONFIG);
    }
    leat_fail(err, LEAT_E_CONFIG, "%s has no %s '%.80s'%s%s%s", what, noun, node->key,
              near->best || near->known.length ? leat_nearest_text(near) : "",
              near->known.length ? " It has: " : "", near->known.text);
    return fail_place(node, node->key_line, node->key_column, err, LEAT_E_CONFIG);
}

/* --- shapes of nodes -------------------------------------------------------------------------- */

/* The only entry of a map that names something; NULL: there are several. A bare value (see node.h) may
 * stand beside it if it is the same name: `optimizer: adam` with an option that --set added. */
static const leat_node *sole_entry(const leat_node *map)
{
    const leat_node *kept = leat_node_find(map, "");
    const leat_node *named = NULL;
    for (const leat_node *child = map->first; child; child = child->next) {
        if (child == kept)
            continue;
        if (named)
            return NULL;
        named = child;
    }
    if (kept && named && (kept->kind != LEAT_NODE_SCALAR || strcmp(kept->text, named->key)))
        return NULL;
    return named;
}

static int fail_entries(const leat_node *map, const char *what, leat_error *err)
{
    leat_words keys = { .length = 0 };
    for (const leat_node *child = map->first; child; child = child->next)
        leat_nearest_add_word(&keys, *child->key   ? child->key
                                     : child->text ? child->text
                                                   : "a list");
    if (!map->first)
        return leat_node_fail(map, err, LEAT_E_CONFIG, "%s is empty", what);
    const bool flat = *map->first->key && leat_node_is_null(map->first);
    return leat_node_fail(map, err, LEAT_E_CONFIG,
                          "%s must be one name with its options, but this has %zu: %s%s%s%s", what,
                          leat_node_count(map), keys.text, flat ? " (indent the options of '" : "",
                          flat ? map->first->key : "", flat ? "' further)" : "");
}

int leat_node_named(const leat_node *node, const char *what, const char **name,
                    const leat_node **options, leat_error *err)
{
    *name = NULL;
    *options = NULL;
    if (leat_node_is_null(node))
        return leat_node_fail(node, err, LEAT_E_CONFIG, "%s has no name", what);
    if (node->kind == LEAT_NODE_LIST)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "%s must be a name, or a name with options, not a list", what);
    if (node->kind == LEAT_NODE_SCALAR) {
        *name = node->text;
        return *node->text ? LEAT_OK
                           : leat_node_fail(node, err, LEAT_E_CONFIG, "%s has no name", what);
    }
    const leat_node *entry = sole_entry(node);
    if (!entry)
        return fail_entries(node, what, err);
    *name = entry->key;
    *options = leat_node_is_null(entry) ? NULL : entry;
    return LEAT_OK;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Nodes as one line of flow YAML.
 *
 * DESIGN. Equal nodes have equal texts: keys are in byte order, only text that needs quotes has them, and
 * null is `null`. It allocates nothing. Sorting keys is quadratic, but mappings are small. */

#define SHORT_KEY 128 /* bytes; YAML needs "? " before keys of more than 1024, with their escapes */

struct out {
    char *text;
    size_t size, length;
};

static void put_bytes(struct out *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++, out->length++)
        if (out->length + 1 < out->size)
            out->text[out->length] = bytes[i];
}

static void put_text(struct out *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

static void put_scalar(struct out *out, const char *text)
{
    const size_t at = out->length < out->size ? out->length : out->size;
    /* "010" is a text only in quotes: see csv's `default`. */
    const leat_yaml_kind kind = leat_number_is_ambiguous(text) ? LEAT_YAML_NAME : LEAT_YAML_VALUE;
    out->length +=
        leat_yaml_text(text, kind, out->size > at ? out->text + at : NULL, out->size - at);
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
