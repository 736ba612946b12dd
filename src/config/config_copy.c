/* SPDX-License-Identifier: MIT
 *
 * config_copy.c: leat_config_copy(): a deep copy that shares nothing with its original. */
#include <stdlib.h>
#include <string.h>

#include "tree.h"

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
