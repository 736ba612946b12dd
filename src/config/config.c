/* SPDX-License-Identifier: MIT
 *
 * config.c: a config from a file or a text. The root of an open config is always a map. */
#include "leat/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/whole_file.h"
#include "node.h"
#include "tree.h"
#include "yaml_read.h"

static int read_text(const char *path, char **text, size_t *n, leat_error *err)
{
    leat_format_error why;
    const int rc = leat_whole_file_read(path, LEAT_YAML_MAX_BYTES, text, n, &why);
    if (rc == LEAT_FORMAT_OK)
        return LEAT_OK;
    return leat_fail(err,
                     rc == LEAT_FORMAT_NOMEM ? LEAT_E_NOMEM
                     : rc == LEAT_FORMAT_IO  ? LEAT_E_IO
                                             : LEAT_E_CONFIG,
                     "%s", why.text);
}

static int parse(leat_config *config, const char *text, size_t n, const char *name, leat_error *err)
{
    const char *file = leat_tree_text(&config->tree, name, strlen(name));
    if (!file)
        return leat_fail(err, LEAT_E_NOMEM, "%s: no memory for the config", name);
    const int rc = leat_yaml_read(&config->tree, text, n, file, true, &config->root, err);
    if (rc)
        return rc;
    if (leat_node_is_null(config->root))
        return leat_fail(err, LEAT_E_CONFIG, "%s:1:1: the config is empty", name);
    if (config->root->kind != LEAT_NODE_MAP)
        return leat_node_fail(config->root, err, LEAT_E_CONFIG,
                              "a config must be a mapping with keys such as source and pipeline");
    return LEAT_OK;
}

static int open_config(const char *text, size_t n, const char *name, leat_config **out,
                       leat_error *err)
{
    *out = NULL;
    leat_config *config = calloc(1, sizeof *config);
    if (!config)
        return leat_fail(err, LEAT_E_NOMEM, "%s: no memory for the config", name);
    const int rc = parse(config, text, n, name, err);
    if (rc)
        leat_config_close(&config);
    *out = config;
    return rc;
}

int leat_config_parse(const char *text, const char *name, leat_config **out, leat_error *err)
{
    if (!text || !name || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_config_parse: text, name and out must be given");
    return open_config(text, strlen(text), name, out, err);
}

int leat_config_load(const char *path, leat_config **out, leat_error *err)
{
    if (!path || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_config_load: path and out must be given");
    char *text;
    size_t n;
    *out = NULL;
    int rc = read_text(path, &text, &n, err);
    if (rc)
        return rc;
    rc = open_config(text, n, path, out, err);
    free(text);
    return rc;
}

void leat_config_close(leat_config **config)
{
    if (!config || !*config)
        return;
    leat_tree_fini(&(*config)->tree);
    free(*config);
    *config = NULL;
}

const leat_node *leat_config_root(const leat_config *config)
{
    return config ? config->root : NULL;
}

/* --- copy ------------------------------------------------------------------------------------- */

/* A deep copy that shares nothing with its original. */

/* Most nodes have the same file, so its name is copied once for all neighbours. */
struct copying {
    leat_tree *tree;
    const char *from_file, *to_file;
};

static const char *copy_text(struct copying *c, const char *text, int *rc)
{
    const char *copy = text ? leat_tree_text(c->tree, text, strlen(text)) : NULL;
    if (text && !copy)
        *rc = LEAT_E_NOMEM;
    return copy;
}

static const char *copy_file(struct copying *c, const char *file, int *rc)
{
    if (file != c->from_file) {
        c->to_file = copy_text(c, file, rc);
        c->from_file = file;
    }
    return c->to_file;
}

/* Recursion is as deep as the config, at most LEAT_YAML_MAX_DEPTH. NULL: out of memory. */
static leat_node *copy_node(struct copying *c, const leat_node *from)
{
    int rc = LEAT_OK;
    leat_node *node = leat_tree_node(c->tree, from->kind);
    if (!node)
        return NULL;
    *node = *from;
    node->key = copy_text(c, from->key, &rc);
    node->text = copy_text(c, from->text, &rc);
    node->file = copy_file(c, from->file, &rc);
    node->elsewhere = copy_text(c, from->elsewhere, &rc);
    node->first = node->next = node->parent = NULL;
    leat_node **end = &node->first;
    for (const leat_node *child = from->first; child && rc == LEAT_OK; child = child->next) {
        *end = copy_node(c, child);
        if (!*end)
            return NULL;
        (*end)->parent = node;
        end = &(*end)->next;
    }
    return rc == LEAT_OK ? node : NULL;
}

int leat_config_copy(const leat_config *config, leat_config **out, leat_error *err)
{
    if (!config || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_config_copy: config and out must be given");
    *out = NULL;
    leat_config *copy = calloc(1, sizeof *copy);
    struct copying c = { copy ? &copy->tree : NULL, NULL, NULL };
    if (copy && config->root)
        copy->root = copy_node(&c, config->root);
    if (!copy || (config->root && !copy->root)) {
        leat_config_close(&copy);
        return leat_fail(err, LEAT_E_NOMEM, "no memory for a copy of the config");
    }
    *out = copy;
    return LEAT_OK;
}

/* --- text ------------------------------------------------------------------------------------- */

/* A config as a file for people. What fits a line is one line of flow
 * YAML (node.c); the rest is indented blocks, with keys in their order. */

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
    } else {
        w->column = COLUMNS; /* a new line, however short the key is */
        put_block(w, node, indent);
    }
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
