/* SPDX-License-Identifier: MIT
 *
 * sliding.h: the geometry of a window that slides over an image, for convolution and pooling. */
#ifndef LEAT_SLIDING_H
#define LEAT_SLIDING_H

#include "leat/option.h"
#include "leat/tensor.h"

/* Words that a padding may be beside a number of pixels on every side. */
#define LEAT_PADDING_SAME LEAT_OPTION_CHOICE(0)
extern const char *const leat_padding_words[];

/* [0] height, [1] width. `same`: as many zeros that out = ceil(in / stride), the odd one high. Taps of the
 * window are `dilation` pixels apart. */
typedef struct leat_sliding {
    int64_t in[2], out[2], size[2], stride[2], dilation[2], pad_low[2], pad_high[2];
} leat_sliding;

/* size, stride, dilation: one number for both or [height, width]; stride of 0 numbers: as size; dilation
 * NULL: 1. `what` is for messages. LEAT_E_CONFIG: `in` is no image, or the window does not fit. */
int leat_sliding_make(const leat_shape *in, const leat_i64s *size, const leat_i64s *stride,
                      const leat_i64s *dilation, int64_t padding, const char *what,
                      leat_sliding *out, leat_error *err);
/* The window that is the whole image. */
leat_sliding leat_sliding_whole(const leat_shape *in);

#endif
