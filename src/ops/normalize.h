/* SPDX-License-Identifier: MIT
 *
 * normalize.h: what the op's options come to, for others that do its work on the way. */
#ifndef LEAT_NORMALIZE_H
#define LEAT_NORMALIZE_H

#include "leat/tensor.h"
#include "ops/image/dsp.h"

/* x * scale + shift for inputs of a type. */
void leat_normalize_affine(const void *options, leat_dtype dtype, leat_affine *out);

#endif
