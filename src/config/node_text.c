/* SPDX-License-Identifier: MIT
 *
 * node_text.c: nodes as one line of flow YAML.
 *
 * DESIGN. Equal nodes have equal texts: keys are in byte order, only text that needs quotes has them, and
 * null is `null`. It allocates nothing. Sorting keys is quadratic, but mappings are small. */
#include <string.h>

#include "formats/yaml_text.h"
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

static void put_scalar(struct out *out, const char *text)
{
    const size_t at = out->length < out->size ? out->length : out->size;
    out->length += leat_yaml_text(text, LEAT_YAML_VALUE, out->size > at ? out->text + at : NULL,
                                  out->size - at);
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
