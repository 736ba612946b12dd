/* SPDX-License-Identifier: MIT
 *
 * tree.h: an arena for the nodes of one config. All its memory is freed at once, when the config is closed.
 * So a failed change leaves the old nodes intact. */
#ifndef LEAT_TREE_H
#define LEAT_TREE_H

#include "node.h"

typedef struct leat_tree {
    struct leat_tree_block *blocks;
} leat_tree;

/* A zeroed node; NULL: out of memory. */
leat_node *leat_tree_node(leat_tree *tree, leat_node_kind kind);
/* A copy of n bytes and a 0; NULL: out of memory. */
char *leat_tree_text(leat_tree *tree, const char *text, size_t n);
void leat_tree_fini(leat_tree *tree);

/* The fields of leat_config, for the files of this folder only. */
struct leat_config {
    leat_tree tree;
    leat_node *root;
};

#endif
