/* SPDX-License-Identifier: MIT
 *
 * dropout: in training, makes each value 0 with probability `rate` and divides the others by
 * 1 - rate; in evaluation, nothing. */
#include "train/layers.h"

static const leat_option options[] = { LEAT_OPTION_F32(leat_dropout_options, rate, "0.5", 0, 0.99,
                                                       "probability of setting a value to 0"),
                                       LEAT_OPTION_END };

const leat_layer leat_layer_dropout = {
    .kind = { "dropout", "set random values to 0 while training", options },
    .options_size = sizeof(leat_dropout_options),
    .shape = leat_layer_same_shape,
};
