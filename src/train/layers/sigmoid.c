/* SPDX-License-Identifier: MIT
 *
 * sigmoid: 1 / (1 + exp(-x)). */
#include "train/layers.h"

const leat_layer leat_layer_sigmoid = {
    .kind = { "sigmoid", "map every value into (0, 1)", leat_layer_no_options },
    .shape = leat_layer_same_shape,
};
