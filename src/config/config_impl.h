/* SPDX-License-Identifier: MIT
 *
 * config_impl.h: what a config is made of. */
#ifndef LEAT_CONFIG_IMPL_H
#define LEAT_CONFIG_IMPL_H

#include "tree.h"

struct leat_config {
    leat_tree tree;
    leat_node *root;
};

#endif
