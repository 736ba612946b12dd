/* SPDX-License-Identifier: MIT
 *
 * rules.h: learning rates and weight decay of single parameters. */
#ifndef LEAT_RULES_H
#define LEAT_RULES_H

#include "nn.h"

/* Sets rate and decays of a model's parameters. A key of either names a part (`bias`), KIND.PART
 * (`batch_norm.shift`), a layer, or LAYER.PART; if several match a parameter, the most specific form counts
 * (the order here).
 * multipliers  a map of factors of the learning rate; NULL: none
 * no_decay     keys of parameters without weight decay
 * Returns LEAT_OK, LEAT_E_CONFIG: a key that matches nothing, with the nearest one. */
int leat_rules_set(leat_model *model, const leat_node *owner, const leat_node *multipliers,
                   const leat_strings *no_decay, leat_error *err);

#endif
