/* SPDX-License-Identifier: MIT
 *
 * jpeg_plain.h: which JPEG files any decoder takes, one in hardware too. */
#ifndef LEAT_JPEG_PLAIN_H
#define LEAT_JPEG_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a file is baseline, of 8 bits and one scan, gray or YCbCr with chroma at full or half size,
 * with a header that nothing is wrong with. Reads the header only. Any thread. */
bool leat_jpeg_is_plain(const uint8_t *file, size_t bytes);

#endif
