/* SPDX-License-Identifier: MIT
 *
 * idx.h: the header of an IDX file, the format of MNIST: two zero bytes, the type, the number of
 * dimensions, and each dimension as a big-endian uint32. The values follow, big-endian too. */
#ifndef LEAT_IDX_H
#define LEAT_IDX_H

#include "array.h"

#define LEAT_IDX_LOOK 4 /* bytes that leat_idx_header_bytes() needs */
#define LEAT_IDX_MOST (LEAT_IDX_LOOK + 4 * LEAT_ARRAY_MAX_RANK)

/* Returns the length of the header from its first n bytes; 0: this is no IDX file. */
size_t leat_idx_header_bytes(const uint8_t *begin, size_t n);

/* Reads a whole header. Returns LEAT_FORMAT_OK or LEAT_FORMAT_BAD. */
int leat_idx_parse(const uint8_t *header, size_t n, leat_array *out, leat_format_error *err);

#endif
