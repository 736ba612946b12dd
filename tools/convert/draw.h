/* SPDX-License-Identifier: MIT
 *
 * draw.h: draws the pictures of `leat synth`: one shape on a noisy ground. A picture is a function
 * of seed and number on every machine: its arithmetic is integers and IEEE + - * / sqrt. */
#ifndef LEAT_DRAW_H
#define LEAT_DRAW_H

#include <stdint.h>

#define LEAT_DRAW_CLASSES 10

/* Name of a class, 0 … LEAT_DRAW_CLASSES - 1. */
const char *leat_draw_class(int label);

/* Draws picture `number` of class `label` into size × size RGB pixels. */
void leat_draw(uint64_t seed, uint64_t number, int label, int size, uint8_t *pixels);

#endif
