/* SPDX-License-Identifier: MIT
 *
 * exif.h: the one thing of a picture's Exif data that decides what it looks like: orientation. */
#ifndef LEAT_EXIF_H
#define LEAT_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* Orientation as Exif 2.3 numbers it: 1 is upright, 2 mirrored left to right, 3 half a turn, 4 mirrored
 * top to bottom, 5 transposed, 6 to be turned clockwise by a quarter, 7 mirrored along the other
 * diagonal, 8 to be turned by three quarters.
 *
 * segment, size  data of an APP1 segment of a JPEG file: "Exif", two zeros, a TIFF header, …
 * returns        1 to 8; 0: it is no Exif data, is damaged before that field, or has none */
int leat_exif_orientation(const uint8_t *segment, size_t size);

/* Sets it where it stands, if it stands there. Returns what it was, as above. */
int leat_exif_set_orientation(uint8_t *segment, size_t size, int orientation);

#endif
