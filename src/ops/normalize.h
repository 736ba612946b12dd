/* SPDX-License-Identifier: MIT
 *
 * normalize.h: the options of normalize, for fused functions that normalise too. */
#ifndef LEAT_NORMALIZE_H
#define LEAT_NORMALIZE_H

#include <stdbool.h>

#include "leat/tensor.h"
#include "ops/image/output.h"

/* Fills scale, shift, element type and layout for inputs of a shape. Images need a known shape if the
 * channels come first. */
void leat_normalize_output(const void *options, const leat_shape *in, leat_output *out);
/* Whether the channels come first. */
bool leat_normalize_is_planar(const void *options);

#endif
