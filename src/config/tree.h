/* SPDX-License-Identifier: MIT
 *
 * tree.h: memory of the nodes of one config: given out in order, freed all at once. Nothing is freed
 * before, so that a failed change leaves a tree as it was. */
#ifndef LEAT_TREE_H
#define LEAT_TREE_H

#include "node.h"

typedef struct leat_tree {
    struct leat_tree_block *blocks;
} leat_tree;

/* A zeroed node; NULL: out of memory. */
leat_node *leat_tree_node(leat_tree *tree, leat_node_kind kind);
/* A copy of n bytes with a 0 after them; NULL: out of memory. */
char *leat_tree_text(leat_tree *tree, const char *text, size_t n);
void leat_tree_fini(leat_tree *tree);

#endif
