/* SPDX-License-Identifier: MIT
 *
 * config_walk.h: down a config's tree along a path such as "pipeline.map[1].ops.resize.size". */
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
    int code;                   /* of failures */
    char path[LEAT_WALK_BYTES]; /* as given */
    char parts[LEAT_WALK_BYTES];
    leat_step steps[LEAT_WALK_STEPS];
    int n_steps, at;   /* steps from `at` on are not taken */
    leat_node *node;   /* where the steps taken lead */
    const char *owner; /* `node` is all that a list's entry of this name has; else NULL */
    bool entry;        /* `node` is a list's entry, reached by [i] */
    bool bare;         /* `node` is a list's entry `- name`, and stands for options that it lacks */
} leat_walk;

/* Cuts the first n bytes of `path` into steps. */
int leat_config_walk_split(leat_walk *walk, const char *path, size_t n);
/* Goes down from a root as far as the tree reaches: LEAT_OK with at < n_steps means that the next
 * step is a name that `node` lacks, or that `node` is bare. Fails where a list has no such entry. */
int leat_config_walk_down(leat_walk *walk, leat_node *root);
/* Fails about the first step not taken, with what is there instead. */
int leat_config_walk_fail_absent(const leat_walk *walk);
/* The path of the first place below a root whose last part is this name; false: there is none. */
bool leat_config_walk_find(const leat_node *root, const char *name, char *path, size_t size);
/* The steps taken, as a path; "the config" when none is. */
const char *leat_config_walk_place(const leat_walk *walk, char *text, size_t size);

#endif
