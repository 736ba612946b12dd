/* SPDX-License-Identifier: MIT
 *
 * sliding.h: the geometry of a window that slides over an image, for convolution and pooling. */
#ifndef LEAT_SLIDING_H
#define LEAT_SLIDING_H

#include "leat/option.h"
#include "leat/tensor.h"

typedef enum leat_padding { LEAT_PADDING_SAME, LEAT_PADDING_VALID } leat_padding;
extern const char *const leat_padding_names[]; /* choices of an option */

/* [0] height, [1] width. `same`: as many zeros that out = ceil(in / stride), the odd one high. */
typedef struct leat_sliding {
    int64_t in[2], out[2], size[2], stride[2], pad_low[2], pad_high[2];
} leat_sliding;

/* size, stride: one number for both or [height, width]; stride of 0 numbers: as size. `what` and
 * `size_name` are for messages. LEAT_E_CONFIG: `in` is no image, or the window does not fit. */
int leat_sliding_make(const leat_shape *in, const leat_i64s *size, const leat_i64s *stride,
                      leat_padding padding, const char *what, leat_sliding *out, leat_error *err);

#endif
