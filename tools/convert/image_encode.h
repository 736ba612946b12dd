/* SPDX-License-Identifier: MIT
 *
 * image_encode.h: encodes pixels as JPEG or PNG. cmd_synth.c and train_log.c call it. */
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

#endif
