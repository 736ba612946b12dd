/* SPDX-License-Identifier: MIT
 *
 * center_crop.h: the box of center_crop, for fused functions that cut too. */
#ifndef LEAT_CENTER_CROP_H
#define LEAT_CENTER_CROP_H

#include "ops/image/image.h"

/* The box of a size in the middle of an image, which is not smaller. */
leat_image_box leat_center_crop_box(const leat_shape *in, int32_t height, int32_t width);

#endif
