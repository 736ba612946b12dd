/* SPDX-License-Identifier: MIT
 *
 * exif.h: reads and sets the orientation in the Exif data of an image. The JPEG decoder and `leat convert`
 * use it. */
#ifndef LEAT_EXIF_H
#define LEAT_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* Orientation as Exif 2.3 numbers it: 1 is upright, 2 mirrored left to right, 3 half a turn, 4 mirrored
 * top to bottom, 5 transposed, 6 needs a quarter turn clockwise, 7 mirrored along the other diagonal,
 * 8 needs three quarter turns clockwise.
 *
 * segment, size  data of an APP1 segment of a JPEG file: "Exif", two zeros, a TIFF header, …
 * returns        1 to 8; 0: no Exif data, damaged before that field, or without the field */
int leat_exif_orientation(const uint8_t *segment, size_t size);

/* Sets the orientation if the field exists. Returns the old value, as above. */
int leat_exif_set_orientation(uint8_t *segment, size_t size, int orientation);

#endif
