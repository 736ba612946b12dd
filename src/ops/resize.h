/* SPDX-License-Identifier: MIT
 *
 * resize.h: reads the options of resize, for decode_jpeg, which may decode at a smaller size before it. */
#ifndef LEAT_RESIZE_H
#define LEAT_RESIZE_H

#include <stdint.h>

/* The size of the result. Returns 1 if both are the shorter side and the other one follows the aspect. */
int leat_resize_size(const void *options, int64_t *height, int64_t *width);

#endif
