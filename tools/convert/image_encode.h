/* SPDX-License-Identifier: MIT
 *
 * image_encode.h: encodes pixels as JPEG or PNG, and draws the pictures of `leat synth`. */
#ifndef LEAT_IMAGE_ENCODE_H
#define LEAT_IMAGE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

/* Encode RGB pixels; free(*out). Return LEAT_OK or LEAT_E_NOMEM. JPEG: size × size, quality 90. */
int leat_image_encode_jpeg(const uint8_t *pixels, int size, uint8_t **out, size_t *n,
                           leat_error *err);
int leat_image_encode_png(const uint8_t *pixels, int height, int width, uint8_t **out, size_t *n,
                          leat_error *err);

/* The pictures of `leat synth`: one shape on a noisy ground. A picture is a function
 * of seed and number on every machine: its arithmetic is integers and IEEE + - * / sqrt. */

#define LEAT_DRAW_CLASSES 10

/* Name of a class, 0 … LEAT_DRAW_CLASSES - 1. */
const char *leat_draw_class(int label);

/* Draws picture `number` of class `label` into size × size RGB pixels. */
void leat_draw_picture(uint64_t seed, uint64_t number, int label, int size, uint8_t *pixels);

#endif
