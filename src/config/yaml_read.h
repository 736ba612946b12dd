/* SPDX-License-Identifier: MIT
 *
 * yaml_read.h: reads YAML text into a tree of nodes: one document of mappings, lists and scalars. Anchors,
 * aliases and tags are refused, so that a tree is never larger than its text. */
#ifndef LEAT_YAML_READ_H
#define LEAT_YAML_READ_H

#include "tree.h"
#include <stddef.h>
#include <yaml.h>

#define LEAT_YAML_MAX_BYTES ((size_t)16 << 20)
#define LEAT_YAML_MAX_DEPTH 64

/* The tree owns nodes and texts. Nodes borrow `name` as their file for as long as they live.
 * places   false: nodes and messages have no line and column (the text is no file)
 * out      the root; NULL where the text has no document
 * returns  LEAT_OK, LEAT_E_CONFIG ("name:line:column: …"), LEAT_E_NOMEM */
int leat_yaml_read(leat_tree *tree, const char *text, size_t n, const char *name, bool places,
                   leat_node **out, leat_error *err);

/* --- yaml_words.c ---------------------------------------------------------------------------- */

typedef struct leat_yaml_fault {
    size_t line, column; /* from 1 */
    char text[400];
} leat_yaml_fault;

/* parser: has failed with an error of its scanner or parser. text: the n bytes that it read. */
leat_yaml_fault leat_yaml_words(const yaml_parser_t *parser, const char *text, size_t n);

#endif
