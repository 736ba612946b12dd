/* SPDX-License-Identifier: MIT
 *
 * shape_fit.h: completes a shape option in which one dim may be -1. reshape and decode_raw call it. */
#ifndef LEAT_SHAPE_FIT_H
#define LEAT_SHAPE_FIT_H

#include "leat/option.h"
#include "leat/tensor.h"

/* Sets rank and dims of *out, so that it has n_elements. If n_elements is -1 (unknown), a dim of -1
 * stays unknown. Returns LEAT_OK, or LEAT_E_CONFIG if no such shape has n_elements; *out then holds the
 * shape of the option. */
int leat_shape_fit(const char *op, const leat_i64s *dims, int64_t n_elements, leat_shape *out,
                   leat_error *err);

#endif
