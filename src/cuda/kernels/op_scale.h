/* SPDX-License-Identifier: MIT
 *
 * op_scale.h: one value; the constants are one factor and one offset. */
#ifndef LEAT_OP_SCALE_H
#define LEAT_OP_SCALE_H

#include "kernel_value.h"

#endif

LEAT_KERNEL(scale, leat_affine_value)
LEAT_KERNEL_OP(scale, .passes = { { "leat_scale", LEAT_PER_VALUE } })
