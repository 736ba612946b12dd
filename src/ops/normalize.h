/* SPDX-License-Identifier: MIT
 *
 * normalize.h: the constants of normalize, for fused functions that normalise too. */
#ifndef LEAT_NORMALIZE_H
#define LEAT_NORMALIZE_H

#include "leat/tensor.h"
#include "ops/image/dsp.h"

/* Computes scale and shift of each channel for inputs of a type. */
void leat_normalize_affine(const void *options, leat_dtype dtype, leat_affine *out);

#endif
