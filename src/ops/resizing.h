/* SPDX-License-Identifier: MIT
 *
 * resizing.h: reads the options of resize and random_resized_crop, for fused functions that resize too. */
#ifndef LEAT_RESIZING_H
#define LEAT_RESIZING_H

#include <stdint.h>

/* The size of the result of resize. Returns 1 if both are the shorter side and the other one follows the aspect. */
int leat_resize_size(const void *options, int64_t *height, int64_t *width);
/* The filter, of taps.h. */
int32_t leat_resize_interpolation(const void *options);
int32_t leat_random_resized_crop_interpolation(const void *options);

#endif
