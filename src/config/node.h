/* SPDX-License-Identifier: MIT
 *
 * node.h: a parsed config as a tree of nodes. Every node knows its file and line, so that a message can
 * name the place. Stages, ops, sources and layers read their options from nodes. [const after load] */
#ifndef LEAT_NODE_H
#define LEAT_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/config.h"
#include "leat/option.h"
#include "nearest.h"

typedef enum leat_node_kind { LEAT_NODE_SCALAR, LEAT_NODE_LIST, LEAT_NODE_MAP } leat_node_kind;

/* Where the file has `batch: 128`, setting "pipeline.batch.drop_remainder" makes a map of two entries. Its
 * first entry is the bare value 128, under the key "". No config can write that key itself.
 * leat_node_options() and leat_node_named() read it. */
typedef struct leat_node leat_node;
struct leat_node {
    leat_node_kind kind;
    const char *key;   /* in a map: this entry's key, else NULL */
    const char *text;  /* scalars, else NULL */
    bool quoted;       /* the scalar has quotes: "null" is then a string */
    leat_node *first;  /* children of lists and maps, in order */
    leat_node *next;   /* sibling */
    leat_node *parent; /* list or map; NULL: the root */
    const char *file;  /* as given to load, "--set path", or an origin (leat_config_set_as()) */
    int line, column;  /* from 1, of the value; 0 = unknown */
    int key_line, key_column;
    /* Of the file's text, in characters: where the value begins and, except of block lists and mappings, ends. */
    size_t start, end;
    /* For messages about a key that --set added: another path that ends with this name. NULL: none. */
    const char *elsewhere;
};

/* Root of a config (a map), or NULL for an empty one. Borrowed. */
const leat_node *leat_config_root(const leat_config *config);

/* Gives the value that stands alone at a path of n bytes the name of an option: `batch: 2` becomes `batch: {size: 2}`. The
 * value keeps its quotes and its place in the file.
 * returns  LEAT_OK, also if there is no such value; LEAT_E_NOMEM: the config is as it was */
int leat_config_name_value(leat_config *config, const char *path, size_t n, const char *name,
                           leat_error *err);

/* Child of a map by key; NULL when absent or when `node` is NULL or no map. */
const leat_node *leat_node_find(const leat_node *node, const char *key);
/* Number of children; 0 for scalars and NULL. */
size_t leat_node_count(const leat_node *node);

/* Whether nothing is given: NULL, or a scalar that is empty, `~` or `null` without quotes. */
bool leat_node_is_null(const leat_node *node);

/* leat_fail() with "file:line:column: " before the message. */
int leat_node_fail(const leat_node *node, leat_error *err, int code, const char *format, ...)
    LEAT_PRINTF(4, 5);
/* Puts "file:line:column: " before the message that *err holds. */
int leat_node_fail_in(const leat_node *node, leat_error *err, int code);
/* Advice about an option that only other programs have; NULL: none. A constant. */
const char *leat_node_hint(const char *noun, const leat_node *node);
/* "file:line:column: WHAT has no NOUN 'key'; did you mean 'near'? It has: …" about a map's entry. */
int leat_node_fail_key(const leat_node *node, leat_error *err, const char *what, const char *noun,
                       leat_nearest_word *near);

/* Reads a list entry such as `- relu` or `- dense: {units: 10}`: a stage, op, layer or loss. Gives its
 * name and the node of its options (NULL: it has none). LEAT_E_CONFIG if the entry has another form. */
int leat_node_named(const leat_node *node, const char *what, const char **name,
                    const leat_node **options, leat_error *err);

/* Fills an options struct from a node by its table, after setting initial values. Unknown keys, wrong
 * types, values out of range and missing required options are LEAT_E_CONFIG with their place.
 * node   NULL = nothing given; a scalar or list sets the first row; a map sets rows by name
 * owner  the node to blame for missing options, and `what` its name ("op 'resize'") */
int leat_node_options(const leat_node *node, const leat_node *owner, const char *what,
                      const leat_option *table, void *options, leat_error *err);

/* Writes a node as one line of flow YAML with its keys in order, cut to fit. Digests of plans and printing
 * use it. Returns the length of the whole text. */
size_t leat_node_text(const leat_node *node, char *text, size_t size);

#endif
