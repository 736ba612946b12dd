/* SPDX-License-Identifier: MIT
 *
 * rules.h: learning rates and weight decay of single parameters, and which are frozen.
 *
 * A key names a part (`bias`), KIND.PART (`batch_norm.shift`), a layer, or LAYER.PART, or is a pattern for one of
 * these names (`layer1.*`), with `*`, `?` and `[...]`. */
#ifndef LEAT_RULES_H
#define LEAT_RULES_H

#include "nn.h"

/* Freezes the parameters and running statistics that a key matches; of statistics always mean and variance together.
 * Before leat_model_params().
 * Returns LEAT_OK, LEAT_E_CONFIG: a key that matches nothing, with the nearest one. */
int leat_rules_freeze(leat_model *model, const leat_node *owner, const leat_strings *frozen,
                      leat_error *err);

/* Sets rate and decays of a model's trained parameters. If several keys match a parameter, names count before patterns,
 * the most specific form of a name counts (the order above), and of patterns the last one.
 * multipliers  a map of factors of the learning rate; NULL: none
 * no_decay     keys of parameters without weight decay
 * Returns as above. */
int leat_rules_set(leat_model *model, const leat_node *owner, const leat_node *multipliers,
                   const leat_strings *no_decay, leat_error *err);

#endif
