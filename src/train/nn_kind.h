/* SPDX-License-Identifier: MIT
 *
 * nn_kind.h: reads `name` or `name: options` from a config; the names are those of a list of kinds. */
#ifndef LEAT_NN_KIND_H
#define LEAT_NN_KIND_H

#include "nn.h"

typedef const leat_kind *leat_nn_kind_fn(size_t i); /* NULL past the end */

/* what: "layer"; *at: which of the list; *options: the node of its options, NULL: none.
 * Returns LEAT_OK, LEAT_E_CONFIG naming the nearest. */
int leat_nn_kind_find(const leat_node *node, const char *what, leat_nn_kind_fn *kind, size_t *at,
                      const leat_node **options, leat_error *err);
/* Memory for an options struct, filled; size 0 is allowed. The caller frees it, also after an error. */
int leat_nn_kind_options(const leat_node *node, const leat_node *owner, const char *what,
                         const leat_kind *kind, size_t size, void **out, leat_error *err);

#endif
