/* SPDX-License-Identifier: MIT
 *
 * op_normalize.h: one value; the constants are scale and shift of each channel. */
#ifndef LEAT_OP_NORMALIZE_H
#define LEAT_OP_NORMALIZE_H

#include "kernel_value.h"

#endif

LEAT_KERNEL(normalize, leat_affine_value)
LEAT_KERNEL_OP(normalize, .passes = { { "leat_normalize", LEAT_PER_VALUE } })
