/* SPDX-License-Identifier: MIT
 *
 * shape_fit.h: a shape given as an option, of which one dim may be -1: it follows from the rest. */
#ifndef LEAT_SHAPE_FIT_H
#define LEAT_SHAPE_FIT_H

#include "leat/option.h"
#include "leat/tensor.h"

/* Sets rank and dims of *out. n_elements is how many there are, -1 if unknown: a dim of -1 then
 * stays unknown. Returns LEAT_OK; LEAT_E_CONFIG if no shape of that form has n_elements (*out then
 * holds the shape as it was asked for). */
int leat_shape_fit(const char *op, const leat_i64s *dims, int64_t n_elements, leat_shape *out,
                   leat_error *err);

#endif
