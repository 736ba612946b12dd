/* SPDX-License-Identifier: MIT
 *
 * jpeg_usual.h: the Huffman tables that ITU-T T.81, annex K, gives as examples. Most programs write them, unless they
 * are asked for small files. For small pictures it takes longer to build tables than to decode with them, so these are
 * built once per process. */
#ifndef LEAT_JPEG_USUAL_H
#define LEAT_JPEG_USUAL_H

#include "ops/jpeg/jpeg_impl.h"

enum { LEAT_JPEG_N_USUAL = 2 }; /* for luma, for chroma */

/* Tables as in a file: 16 counts, then symbols. */
extern const uint8_t leat_jpeg_usual_dc[LEAT_JPEG_N_USUAL][16 + 12];
extern const uint8_t leat_jpeg_usual_ac[LEAT_JPEG_N_USUAL][16 + 162];

/* Returns the built table for `spec`, a table of a file (DC or AC; or SKIP, then spec is that of AC symbols), or NULL:
 * it is none of these. Any thread; valid for ever. */
const leat_jpeg_table *leat_jpeg_usual_find(int kind, const uint8_t *spec);

#endif
