/* SPDX-License-Identifier: MIT
 *
 * relu: max(0, x). */
#include "train/layers.h"

const leat_option leat_layer_no_options[] = { LEAT_OPTION_END };

int leat_layer_same_shape(const void *options, const leat_shape *in, leat_shape *out,
                          leat_error *err)
{
    (void)options;
    (void)err;
    *out = *in;
    return LEAT_OK;
}

const leat_layer leat_layer_relu = {
    .kind = { "relu", "negative values become 0", leat_layer_no_options },
    .shape = leat_layer_same_shape,
};
