/* SPDX-License-Identifier: MIT
 *
 * sheet.h: draws the images of a batch side by side, as `leat train --log` keeps them. */
#ifndef LEAT_SHEET_H
#define LEAT_SHEET_H

#include <stdbool.h>
#include <stdint.h>

#include "leat/tensor.h"

typedef struct leat_sheet {
    int32_t height, width;
    uint8_t *pixels; /* RGB; free() */
} leat_sheet;

/* Whether samples of this shape can be drawn: [height, width, 1 or 3], uint8 or float32. */
bool leat_sheet_fits(const leat_shape *sample);

/* Draws the first images of a batch, at most 64, eight in a row. Small images are enlarged and large ones
 * thinned out, by whole numbers. uint8 is shown as it is. float32 is mapped linearly, by channel: the smallest
 * value in the batch becomes 0, the largest 255. This undoes `normalize` where the batch has black and white
 * pixels in every channel.
 * returns  LEAT_OK; LEAT_E_ARGUMENT: not images, or none; LEAT_E_NOMEM */
int leat_sheet_make(const leat_view *batch, leat_sheet *out);

#endif
