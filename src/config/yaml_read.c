/* SPDX-License-Identifier: MIT
 *
 * yaml_read.c: reads YAML by the events of libyaml.
 *
 * DESIGN. Events build the tree from its root down. `open` is a stack of the lists and mappings that are
 * not closed yet. */
#include "yaml_read.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/check.h"

struct open_node {
    leat_node *node;
    leat_node **tail; /* where the next child goes */
    leat_node *key;   /* in a mapping: the key of the next child; NULL: not read yet */
    size_t n;         /* children */
};

struct builder {
    leat_tree *tree;
    const char *name;
    bool places;
    const char *text;
    size_t n;
    leat_node *root;
    struct open_node open[LEAT_YAML_MAX_DEPTH];
    int depth;
    leat_error *err;
};

/* --- errors ----------------------------------------------------------------------------------- */

/* Puts the place before the message, and into the fields. */
static int fail_place(struct builder *b, size_t line, size_t column)
{
    if (b->err) {
        snprintf(b->err->file, sizeof b->err->file, "%s", b->name);
        b->err->line = b->places ? (int)line : 0;
        b->err->column = b->places ? (int)column : 0;
    }
    return b->places ? leat_fail_in(b->err, LEAT_E_CONFIG, "%s:%zu:%zu: ", b->name, line, column)
                     : leat_fail_in(b->err, LEAT_E_CONFIG, "%s: ", b->name);
}

static int fail_at(struct builder *b, yaml_mark_t mark, const char *what)
{
    leat_fail(b->err, LEAT_E_CONFIG, "%s", what);
    return fail_place(b, mark.line + 1, mark.column + 1);
}

static int fail_memory(struct builder *b)
{
    return leat_fail(b->err, LEAT_E_NOMEM, "%s: no memory for the config", b->name);
}

/* About bytes that are not text, libyaml gives an offset but no line. */
static int fail_bytes(struct builder *b, const yaml_parser_t *parser)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < parser->problem_offset && i < b->n; i++, column++)
        if (b->text[i] == '\n')
            line++, column = 0;
    leat_fail(b->err, LEAT_E_CONFIG, "%s", parser->problem ? parser->problem : "not a text");
    return fail_place(b, line, column);
}

static int fail_syntax(struct builder *b, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return fail_memory(b);
    if (parser->error == YAML_READER_ERROR)
        return fail_bytes(b, parser);
    const leat_yaml_fault fault = leat_yaml_words(parser, b->text, b->n);
    leat_fail(b->err, LEAT_E_CONFIG, "%s", fault.text);
    return fail_place(b, fault.line, fault.column);
}

/* --- building --------------------------------------------------------------------------------- */

static leat_node *make(struct builder *b, leat_node_kind kind, yaml_mark_t mark)
{
    leat_node *node = leat_tree_node(b->tree, kind);
    if (node)
        node->file = b->name;
    if (node && b->places) {
        node->line = (int)mark.line + 1;
        node->column = (int)mark.column + 1;
        node->start = mark.index;
    }
    return node;
}

/* Adds a key or a value to the innermost open list or mapping. */
static int add(struct builder *b, leat_node *node, yaml_mark_t mark)
{
    if (b->depth == 0) {
        b->root = node;
        return LEAT_OK;
    }
    struct open_node *top = &b->open[b->depth - 1];
    if (top->node->kind == LEAT_NODE_MAP) {
        if (!top->key) {
            if (node->kind != LEAT_NODE_SCALAR)
                return fail_at(b, mark, "a key must be a word, not a list or a mapping");
            if (!*node->text)
                return fail_at(b, mark, "a key is missing before ':'");
            top->key = node;
            return LEAT_OK;
        }
        node->key = top->key->text;
        node->key_line = top->key->line;
        node->key_column = top->key->column;
        top->key = NULL;
    }
    node->parent = top->node;
    *top->tail = node;
    top->tail = &node->next;
    top->n++;
    return LEAT_OK;
}

static int add_scalar(struct builder *b, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    const size_t n = event->data.scalar.length;
    if (strlen(text) != n)
        return fail_at(b, event->start_mark, "text must not hold a zero byte");
    leat_node *node = make(b, LEAT_NODE_SCALAR, event->start_mark);
    if (!node || !(node->text = leat_tree_text(b->tree, text, n)))
        return fail_memory(b);
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->end = event->end_mark.index;
    return add(b, node, event->start_mark);
}

static int open_node(struct builder *b, leat_node_kind kind, const yaml_event_t *event)
{
    leat_node *node = make(b, kind, event->start_mark);
    if (!node)
        return fail_memory(b);
    if (b->depth == LEAT_YAML_MAX_DEPTH)
        return fail_at(b, event->start_mark, "lists and mappings are nested too deeply");
    const int rc = add(b, node, event->start_mark);
    if (rc == LEAT_OK)
        b->open[b->depth++] = (struct open_node){ .node = node, .tail = &node->first };
    return rc;
}

static int by_key(const void *left, const void *right)
{
    const leat_node *a = *(leat_node *const *)left, *b = *(leat_node *const *)right;
    const int order = strcmp(a->key, b->key);
    if (order)
        return order;
    if (a->key_line != b->key_line)
        return a->key_line < b->key_line ? -1 : 1;
    return a->key_column < b->key_column ? -1 : a->key_column > b->key_column;
}

/* Refuses a key that occurs twice. Sorts them, so that n keys cost n log n. */
static int check_keys(struct builder *b, const struct open_node *map)
{
    if (map->n < 2)
        return LEAT_OK;
    leat_node **nodes = malloc(map->n * sizeof(leat_node *));
    if (!nodes)
        return fail_memory(b);
    size_t n = 0;
    for (leat_node *child = map->node->first; child; child = child->next)
        nodes[n++] = child;
    qsort(nodes, n, sizeof *nodes, by_key);
    int rc = LEAT_OK;
    for (size_t i = 1; i < n && rc == LEAT_OK; i++)
        if (!strcmp(nodes[i - 1]->key, nodes[i]->key)) {
            leat_fail(b->err, LEAT_E_CONFIG, "'%.80s' is given twice", nodes[i]->key);
            rc = fail_place(b, (size_t)nodes[i]->key_line, (size_t)nodes[i]->key_column);
        }
    free(nodes);
    return rc;
}

static int close_node(struct builder *b, const yaml_event_t *event)
{
    leat_check(b->depth > 0);
    const struct open_node *top = &b->open[--b->depth];
    top->node->end = event->end_mark.index;
    return top->node->kind == LEAT_NODE_MAP ? check_keys(b, top) : LEAT_OK;
}

static int check_extras(struct builder *b, const yaml_event_t *event, const yaml_char_t *anchor,
                        const yaml_char_t *tag)
{
    if (anchor)
        return fail_at(b, event->start_mark,
                       "anchors (&name) are not supported; text that begins with '&' must stand "
                       "in quotes");
    if (tag)
        return fail_at(b, event->start_mark,
                       "tags (!name) are not supported; text that begins with '!' must stand in "
                       "quotes");
    return LEAT_OK;
}

static int take_event(struct builder *b, const yaml_event_t *event)
{
    int rc = LEAT_OK;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return b->root ? fail_at(b, event->start_mark, "a second document; a config is one") : rc;
    case YAML_ALIAS_EVENT:
        return fail_at(b, event->start_mark,
                       "aliases (*name) are not supported; text that begins with '*' must stand "
                       "in quotes");
    case YAML_SCALAR_EVENT:
        rc = check_extras(b, event, event->data.scalar.anchor, event->data.scalar.tag);
        return rc ? rc : add_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        rc = check_extras(b, event, event->data.sequence_start.anchor,
                          event->data.sequence_start.tag);
        return rc ? rc : open_node(b, LEAT_NODE_LIST, event);
    case YAML_MAPPING_START_EVENT:
        rc =
            check_extras(b, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
        return rc ? rc : open_node(b, LEAT_NODE_MAP, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_node(b, event);
    default:
        return LEAT_OK;
    }
}

int leat_yaml_read(leat_tree *tree, const char *text, size_t n, const char *name, bool places,
                   leat_node **out, leat_error *err)
{
    struct builder b = {
        .tree = tree, .name = name, .places = places, .text = text, .n = n, .err = err
    };
    yaml_parser_t parser;
    int rc = LEAT_OK;
    *out = NULL;
    if (n > LEAT_YAML_MAX_BYTES)
        return leat_fail(err, LEAT_E_CONFIG, "%s: larger than %zu MiB", name,
                         LEAT_YAML_MAX_BYTES >> 20);
    if (!yaml_parser_initialize(&parser))
        return fail_memory(&b);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    for (int done = 0; !done && rc == LEAT_OK;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            rc = fail_syntax(&b, &parser);
            break;
        }
        done = event.type == YAML_STREAM_END_EVENT;
        rc = take_event(&b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (rc == LEAT_OK)
        *out = b.root;
    return rc;
}
