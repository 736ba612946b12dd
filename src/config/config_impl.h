/* SPDX-License-Identifier: MIT
 *
 * config_impl.h: the fields of leat_config, for the files of this folder only. */
#ifndef LEAT_CONFIG_IMPL_H
#define LEAT_CONFIG_IMPL_H

#include "tree.h"

struct leat_config {
    leat_tree tree;
    leat_node *root;
};

#endif
