/* SPDX-License-Identifier: MIT
 *
 * tone.h: more integer arithmetic on the colours of uint8 images (see color.h for alpha, `to` and
 * rounding): what the augmentation policies add to brightness, contrast and saturation. Formulas
 * are those of Pillow's ImageOps and torchvision. */
#ifndef LEAT_TONE_H
#define LEAT_TONE_H

#include "color.h"

/* Keeps the upper `amount` bits (0 to 8). */
leat_color_fn leat_tone_posterize;

/* 255 - x where x ≥ amount. */
leat_color_fn leat_tone_solarize;

/* (x - least) * 255 / (most - least) for each channel, to the nearest; a channel of one value stays.
 * `amount` is not used. */
leat_color_fn leat_tone_autocontrast;

/* Flattens each channel's histogram: (pixels below x + step / 2) / step, with
 * step = (pixels - those of the largest value) / 255, in whole numbers; a channel stays when step is
 * 0. `amount` is not used. */
leat_color_fn leat_tone_equalize;

/* (x - smooth) * factor + smooth; `smooth` is the mean of the 3 x 3 pixels around with the middle
 * counted five times, to the nearest. The outermost pixels stay. `to` is not `from`. */
void leat_tone_sharpness(uint8_t *to, const uint8_t *from, size_t height, size_t width,
                         size_t channels, int32_t factor);

#endif
