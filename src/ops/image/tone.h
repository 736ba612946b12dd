/* SPDX-License-Identifier: MIT
 *
 * tone.h: the colour operations that only the augmentation policies (augment.h) use. Alpha, `to` and
 * rounding are as in color.h. The formulas are those of Pillow's ImageOps and torchvision. */
#ifndef LEAT_TONE_H
#define LEAT_TONE_H

#include "color.h"

/* Keeps the upper `amount` bits (0 to 8). */
leat_color_fn leat_tone_posterize;

/* Inverts values x ≥ amount to 255 - x. */
leat_color_fn leat_tone_solarize;

/* Stretches each channel to the full range: (x - least) * 255 / (most - least), to the nearest. A
 * channel with a single value does not change. `amount` is not used. */
leat_color_fn leat_tone_autocontrast;

/* Flattens the histogram of each channel: (pixels below x + step / 2) / step in integers, with
 * step = (pixels - those of the largest value) / 255. If step is 0, the channel does not change.
 * `amount` is not used. */
leat_color_fn leat_tone_equalize;

/* (x - smooth) * factor + smooth. `smooth` is the mean of the 3 x 3 pixels with the middle counted five
 * times, to the nearest. Border pixels do not change. `to` must not be `from`. */
void leat_tone_sharpness(uint8_t *to, const uint8_t *from, size_t height, size_t width,
                         size_t channels, int32_t factor);

#endif
