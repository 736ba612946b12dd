/* SPDX-License-Identifier: MIT
 *
 * image_record.h: one image file as a tf.train.Example, with the feature names that TensorFlow's
 * own image sets use. The image's bytes are passed on untouched. */
#ifndef LEAT_IMAGE_RECORD_H
#define LEAT_IMAGE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

/* A maker of records; one per thread. NULL: out of memory. */
typedef struct leat_image_record leat_image_record;
leat_image_record *leat_image_record_open(bool verify);
void leat_image_record_close(leat_image_record **record);

/* Reads folder/path and encodes it.
 * out, size  the message, valid until the next call
 * bytes_in   size of the file
 * returns    LEAT_OK; LEAT_E_DATA: no image, the message is "path: why"; LEAT_E_IO; LEAT_E_NOMEM */
int leat_image_record_make(leat_image_record *record, int folder, const char *path, int32_t label,
                           const char *class_name, const uint8_t **out, size_t *size,
                           size_t *bytes_in, leat_error *err);

#endif
