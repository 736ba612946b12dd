/* SPDX-License-Identifier: MIT
 *
 * node_options.c: fills options structs from nodes, by their tables. */
#include <string.h>

#include "nearest.h"
#include "node.h"
#include "option_impl.h"

#define ROWS_MAX 64 /* of one table: `given` has a bit per row */

struct filling {
    const char *what;
    const leat_option *table;
    void *options;
    uint64_t given; /* bit r: row r was set */
    leat_error *err;
};

static int fail_value(const struct filling *f, const leat_node *at)
{
    leat_fail_in(f->err, LEAT_E_CONFIG, "%s: ", f->what);
    return leat_node_fail_in(at, f->err, LEAT_E_CONFIG);
}

static const char *kind_text(const leat_node *node)
{
    return leat_node_is_null(node)        ? "nothing"
           : node->kind == LEAT_NODE_LIST ? "a list"
           : node->kind == LEAT_NODE_MAP  ? "a mapping"
                                          : "text";
}

static int set_list(struct filling *f, const leat_option *row, const leat_node *list)
{
    int32_t i = 0;
    leat_option_clear(row, f->options);
    for (const leat_node *item = list->first; item; item = item->next, i++) {
        int rc;
        if (item->kind != LEAT_NODE_SCALAR || leat_node_is_null(item))
            rc = leat_option_fail_type(row, kind_text(item), f->err);
        else
            rc = leat_option_set_item(row, f->options, i, item->text, f->err);
        if (rc)
            return fail_value(f, item);
    }
    return LEAT_OK;
}

static int set_row(struct filling *f, const leat_option *row, const leat_node *node)
{
    if (row->type == LEAT_OPTION_TYPE_NODE && leat_node_is_null(node))
        return LEAT_OK;
    f->given |= (uint64_t)1 << (row - f->table);
    if (row->type == LEAT_OPTION_TYPE_NODE) {
        memcpy((char *)f->options + row->offset, &node, sizeof node);
        return LEAT_OK;
    }
    if (leat_option_is_list(row) && node->kind == LEAT_NODE_LIST)
        return set_list(f, row, node);
    if (node->kind != LEAT_NODE_SCALAR || leat_node_is_null(node)) {
        leat_option_fail_type(row, kind_text(node), f->err);
        return fail_value(f, node);
    }
    leat_option_clear(row, f->options);
    return leat_option_set_item(row, f->options, 0, node->text, f->err) ? fail_value(f, node)
                                                                        : LEAT_OK;
}

static int fail_unknown(const struct filling *f, const leat_node *entry)
{
    leat_nearest_word near = leat_nearest_init(entry->key);
    for (const leat_option *row = f->table; row->name; row++)
        leat_nearest_offer(&near, row->name);
    return leat_node_fail_key(entry, f->err, f->what, "option", &near);
}

/* The key "" has the bare value, for the first row (see node.h). It comes first in its map, so that a row
 * that is set by name overrides it. */
static int set_map(struct filling *f, const leat_node *map)
{
    for (const leat_node *entry = map->first; entry; entry = entry->next) {
        const leat_option *row = *entry->key ? leat_option_find(f->table, entry->key) : f->table;
        const int rc = row ? set_row(f, row, entry) : fail_unknown(f, entry);
        if (rc)
            return rc;
    }
    return LEAT_OK;
}

static int check_required(const struct filling *f, const leat_node *owner)
{
    for (const leat_option *row = f->table; row->name; row++)
        if (!row->initial && !(f->given >> (row - f->table) & 1))
            return leat_node_fail(owner, f->err, LEAT_E_CONFIG, "%s needs the option '%s' (%s)",
                                  f->what, row->name, row->help);
    return LEAT_OK;
}

int leat_node_options(const leat_node *node, const leat_node *owner, const char *what,
                      const leat_option *table, void *options, leat_error *err)
{
    struct filling f = { .what = what, .table = table, .options = options, .err = err };
    int rc = LEAT_OK;
    size_t n_rows = 0;
    while (table[n_rows].name)
        n_rows++;
    if (n_rows > ROWS_MAX)
        return leat_fail(err, LEAT_E_INTERNAL, "%s: more than %d options in a table", what,
                         ROWS_MAX);
    leat_option_init(table, options);
    if (leat_node_is_null(node))
        return check_required(&f, owner);
    if (n_rows == 0 && (node->kind != LEAT_NODE_MAP || node->first))
        return leat_node_fail(node, err, LEAT_E_CONFIG, "%s takes no options", what);
    rc = node->kind == LEAT_NODE_MAP ? set_map(&f, node) : set_row(&f, table, node);
    return rc ? rc : check_required(&f, owner);
}

/* --- options that only other programs have --------------------------------------------------- */

static const struct {
    const char *key, *advice;
} hints[] = {
    { "activation", "write the activation as a layer of its own after it, such as `- relu`" },
    { "input_shape", "leave it out: the shape comes from the data" },
    { "input_dim", "leave it out: the shape comes from the data" },
    { "in_features", "leave it out: the shape comes from the data" },
    { "in_channels", "leave it out: the shape comes from the data" },
    { "kernel_initializer", "leave it out: the layer has its own" },
    { "metrics", "leave it out: loss and accuracy are always reported" },
    { "tfrecord", "write it under `source:`" },
    { "images", "write it under `source:`" },
    { "num_classes", "leave it out: give the last layer as many units as there are classes" },
};

const char *leat_node_hint(const char *noun, const leat_node *node)
{
    if (strcmp(noun, "option") != 0)
        return NULL;
    if (!strcmp(node->key, "activation") && node->kind == LEAT_NODE_SCALAR &&
        !strcmp(node->text, "softmax"))
        return "leave it out: the loss softmax_cross_entropy computes the softmax";
    if (node->key[0] && !node->key[strspn(node->key, "0123456789")] && leat_node_is_null(node))
        return "if it is part of a number: write '.' as the decimal point";
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (!strcmp(hints[i].key, node->key))
            return hints[i].advice;
    return NULL;
}
