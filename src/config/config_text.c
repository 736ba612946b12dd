/* SPDX-License-Identifier: MIT
 *
 * config_text.c: leat_config_text(): a config as a file for people. What fits a line is one line of flow
 * YAML (node_text.c); the rest is indented blocks, with keys in their order. */
#include <stdio.h>
#include <string.h>

#include "node.h"
#include "tree.h"

enum { COLUMNS = 100 };

struct writer {
    char *text;
    size_t size, length, column;
    /* An option without a name, which no file can hold; NULL: there is none. */
    const leat_node *bare;
};

static void put(struct writer *w, const char *text)
{
    for (; *text; text++, w->length++) {
        if (w->length + 1 < w->size)
            w->text[w->length] = *text;
        w->column = *text == '\n' ? 0 : w->column + 1;
    }
}

static void put_line_start(struct writer *w, size_t indent)
{
    if (w->column > indent)
        put(w, "\n");
    while (w->column < indent)
        put(w, " ");
}

/* A text that is too long for its place goes out whole. */
static void put_flow(struct writer *w, const leat_node *node)
{
    const size_t at = w->length < w->size ? w->length : w->size;
    w->length += leat_node_text(node, w->size > at ? w->text + at : NULL, w->size - at);
    w->column = COLUMNS;
}

static bool fits(const struct writer *w, const leat_node *node)
{
    return !node->first || w->column + leat_node_text(node, NULL, 0) <= COLUMNS;
}

static void put_key(struct writer *w, const leat_node *entry)
{
    const leat_node key = { .kind = LEAT_NODE_SCALAR, .text = entry->key, .quoted = true };
    put_flow(w, &key);
    put(w, ":");
    w->column = strlen(entry->key);
}

static void put_block(struct writer *w, const leat_node *node, size_t indent);

/* `column` is where the entry begins. */
static void put_value(struct writer *w, const leat_node *node, size_t indent)
{
    if (fits(w, node)) {
        put(w, " ");
        put_flow(w, node);
    } else
        put_block(w, node, indent);
}

static void put_block(struct writer *w, const leat_node *node, size_t indent)
{
    for (const leat_node *child = node->first; child; child = child->next) {
        put_line_start(w, indent);
        if (node->kind == LEAT_NODE_LIST) {
            put(w, "-");
            if (fits(w, child))
                put_value(w, child, indent);
            else {
                put(w, " ");
                put_block(w, child, indent + 2);
            }
            continue;
        }
        put_key(w, child);
        w->column += indent;
        put_value(w, child, indent + 2);
    }
}

/* The first entry without a name, at any depth. */
static const leat_node *find_bare(const leat_node *node)
{
    for (const leat_node *child = node ? node->first : NULL; child; child = child->next) {
        const leat_node *found = child->key && !*child->key ? node : find_bare(child);
        if (found)
            return found;
    }
    return NULL;
}

int leat_config_text(const leat_config *config, char *text, size_t size, size_t *length,
                     leat_error *err)
{
    struct writer w = { .text = text, .size = size };
    if (!config || !length || (size && !text))
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_config_text: config and length must be given");
    const leat_node *root = leat_config_root(config), *bare = find_bare(root);
    if (bare)
        return leat_fail(err, LEAT_E_UNSUPPORTED,
                         "%s:%d: '%s' has a value without a name and options besides it, which a "
                         "file cannot hold: give the value its name in the config",
                         bare->file ? bare->file : "config", bare->line,
                         bare->key ? bare->key : "");
    if (root)
        put_block(&w, root, 0);
    put(&w, "\n");
    if (size)
        text[w.length < size ? w.length : size - 1] = 0;
    *length = w.length;
    return LEAT_OK;
}
