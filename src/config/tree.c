/* SPDX-License-Identifier: MIT
 *
 * tree.c: the arena: a list of blocks, of which only the first one has room left. */
#include "tree.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define BLOCK_BYTES 8192

struct leat_tree_block {
    struct leat_tree_block *next;
    size_t used, size; /* of `bytes` */
    alignas(max_align_t) char bytes[];
};

static void *take(leat_tree *tree, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    struct leat_tree_block *block = tree->blocks;
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + align - 1) / align * align;
    if (!block || bytes > block->size - block->used) {
        const size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block = malloc(sizeof *block + size);
        if (!block)
            return NULL;
        *block = (struct leat_tree_block){ .next = tree->blocks, .size = size };
        tree->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += bytes;
    leat_check(block->used <= block->size);
    return memory;
}

leat_node *leat_tree_node(leat_tree *tree, leat_node_kind kind)
{
    leat_node *node = take(tree, sizeof *node);
    if (node)
        *node = (leat_node){ .kind = kind };
    return node;
}

char *leat_tree_text(leat_tree *tree, const char *text, size_t n)
{
    char *copy = take(tree, n + 1);
    if (copy) {
        memcpy(copy, text, n);
        copy[n] = 0;
    }
    return copy;
}

void leat_tree_fini(leat_tree *tree)
{
    for (struct leat_tree_block *block = tree->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    tree->blocks = NULL;
}
