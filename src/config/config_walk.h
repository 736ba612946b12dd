/* SPDX-License-Identifier: MIT
 *
 * config_walk.h: follows a path such as "pipeline.map[1].ops.resize.size" down a config's tree.
 * config_path.c calls it. A walk changes no node. */
#ifndef LEAT_CONFIG_WALK_H
#define LEAT_CONFIG_WALK_H

#include "node.h"

#define LEAT_WALK_STEPS 32
#define LEAT_WALK_BYTES 1024 /* of a path, with its 0 */

typedef struct leat_step {
    const char *name; /* NULL: an index */
    int64_t index;
} leat_step;

typedef struct leat_walk {
    leat_error *err;
    int code;                    /* of failures */
    char path[LEAT_WALK_BYTES];  /* as given */
    char parts[LEAT_WALK_BYTES]; /* the same, cut at dots and brackets */
    leat_step steps[LEAT_WALK_STEPS];
    int n_steps;
    int at; /* index of the next step; the steps before it lead to `node` */
    leat_node *node;
    /* `node` holds the options of the list entry of this name; NULL: it does not. */
    const char *owner;
    bool entry; /* `node` is a list entry that was reached by [i] */
    bool bare;  /* `node` is a list entry `- name` without options */
} leat_walk;

/* Splits the first n bytes of `path` into steps. */
int leat_config_walk_split(leat_walk *walk, const char *path, size_t n);
/* Follows the steps from a root as far as the tree has them. LEAT_OK with at < n_steps means that `node`
 * lacks the name of the next step, or is bare. Fails where a list has no such entry. */
int leat_config_walk_down(leat_walk *walk, leat_node *root);
/* Fails: the next step does not exist. The message lists the names that do. */
int leat_config_walk_fail_absent(const leat_walk *walk);
/* Finds the first path below a root that ends with this name. false: there is none. */
bool leat_config_walk_find(const leat_node *root, const char *name, char *path, size_t size);
/* The steps before `at`, as a path; "the config" if there are none. */
const char *leat_config_walk_place(const leat_walk *walk, char *text, size_t size);

#endif
