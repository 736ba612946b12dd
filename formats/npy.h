/* SPDX-License-Identifier: MIT
 *
 * npy.h: the header of a .npy file, as numpy.save() writes it (format versions 1 to 3). The values
 * follow it. */
#ifndef LEAT_NPY_H
#define LEAT_NPY_H

#include "array.h"

#define LEAT_NPY_LOOK 12 /* bytes that leat_npy_header_bytes() needs */
#define LEAT_NPY_MOST                                                                              \
    (1 << 16) /* longest header that is read; those of NumPy have 64 to 256 bytes */

/* Returns the length of the header from its first n bytes; 0: this is no .npy file, or its header is
 * longer than LEAT_NPY_MOST. */
size_t leat_npy_header_bytes(const uint8_t *begin, size_t n);

/* Reads a whole header.
 *
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: damaged, or values that leat has no type for (structured
 *          types, objects, text, complex numbers), or in Fortran order; the text says which */
int leat_npy_parse(const uint8_t *header, size_t n, leat_array *out, leat_format_error *err);

#endif
