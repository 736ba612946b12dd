/* SPDX-License-Identifier: MIT
 *
 * image_encode.h: encodes pixels as JPEG or PNG. cmd_synth.c calls it. */
#ifndef LEAT_IMAGE_ENCODE_H
#define LEAT_IMAGE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

/* Encodes size × size RGB pixels; free(*out). Returns LEAT_OK or LEAT_E_NOMEM. */
int leat_image_encode_jpeg(const uint8_t *pixels, int size, int quality, uint8_t **out, size_t *n,
                           leat_error *err);
int leat_image_encode_png(const uint8_t *pixels, int size, uint8_t **out, size_t *n,
                          leat_error *err);

#endif
