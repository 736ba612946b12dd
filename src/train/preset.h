/* SPDX-License-Identifier: MIT
 *
 * preset.h: ready-made models by name: each writes the list of layers that a user could write. */
#ifndef LEAT_PRESET_H
#define LEAT_PRESET_H

#include "nn.h"

/* Where `node` is not a list of layers but names a ready-made model (`resnet18`, `mlp: [128, 10]`), writes its
 * layers as YAML into model->preset; *list is their node. Otherwise *list = node.
 * Returns LEAT_OK; LEAT_E_CONFIG: no such model, wrong options; LEAT_E_NOMEM */
int leat_preset_expand(leat_model *model, const leat_node *node, const leat_node **list,
                       leat_error *err);

#endif
