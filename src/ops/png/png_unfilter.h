/* SPDX-License-Identifier: MIT
 *
 * png_unfilter.h: undoes the filters of PNG rows. All functions give the same bytes; plain C is the
 * definition. */
#ifndef LEAT_PNG_UNFILTER_H
#define LEAT_PNG_UNFILTER_H

#include <stddef.h>
#include <stdint.h>

enum {
    LEAT_PNG_NONE,
    LEAT_PNG_SUB,
    LEAT_PNG_UP,
    LEAT_PNG_AVERAGE,
    LEAT_PNG_PAETH,
    LEAT_PNG_N_FILTERS
};
enum { LEAT_PNG_PAD = 16 }; /* readable bytes after `raw` and `zeros` */

/* in       rows of a filter, below LEAT_PNG_N_FILTERS, and row_bytes bytes
 * zeros    row_bytes bytes of 0: the row above the first
 * pixel    bytes per pixel, 1 … 4 */
typedef void leat_png_unfilter(uint8_t *out, const uint8_t *in, size_t height, size_t row_bytes,
                               size_t pixel, const uint8_t *zeros);

leat_png_unfilter leat_png_unfilter_c;
#if defined(__x86_64__)
leat_png_unfilter leat_png_unfilter_avx2;
#endif

/* Undoes the filter of one row of n bytes. `up` is the row above. */
void leat_png_unfilter_row(int filter, uint8_t *out, const uint8_t *in, const uint8_t *up, size_t n,
                           size_t pixel);

#endif
