/* SPDX-License-Identifier: MIT
 *
 * nn_text.h: shapes in messages, and the two input checks of layers. */
#ifndef LEAT_NN_TEXT_H
#define LEAT_NN_TEXT_H

#include "leat/tensor.h"

/* "[32, 32, 3]", cut to fit; returns text. */
char *leat_nn_dims_text(const leat_shape *shape, char *text, size_t size);

/* LEAT_E_CONFIG unless the input is [height, width, channels]. `what`: "conv2d". */
int leat_nn_want_image(const leat_shape *in, const char *what, leat_error *err);
/* The same unless it is a vector. */
int leat_nn_want_vector(const leat_shape *in, const char *what, leat_error *err);

#endif
