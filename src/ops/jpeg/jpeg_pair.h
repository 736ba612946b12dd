/* SPDX-License-Identifier: MIT
 *
 * jpeg_pair.h: what jpeg_scan.c and jpeg_pair.c call of each other. */
#ifndef LEAT_JPEG_PAIR_H
#define LEAT_JPEG_PAIR_H

#include "jpeg_impl.h"

/* Takes the memory for decoding two rows at the same time if there are points and the kernels can. Returns 0 or -1. */
int leat_jpeg_pair_open(leat_jpeg_scan *scan, leat_scratch *scratch);
/* Returns 1 if the row has been decoded with the one above it: it is then in blocks[]. */
int leat_jpeg_pair_take(leat_jpeg_scan *scan, int32_t row);
/* Decodes a row as leat_jpeg_scan_row(), and the one below it, which must be in the window. */
int leat_jpeg_pair_rows(leat_jpeg_scan *scan, int32_t row, leat_error *err);

/* jpeg_scan.c: memory for a segment, and for the blocks of a row and their nodes. Returns 0 or -1. */
int leat_jpeg_scan_memory(leat_jpeg_scan *scan, leat_scratch *scratch);
/* Skips to the row's window, or to a few MCUs before it, and clears the window. */
int leat_jpeg_scan_seek_row(leat_jpeg_scan *scan, int32_t row, leat_error *err);
/* Opens a segment if none is open, and sets *upto: its end, or `stop` if that is before. */
int leat_jpeg_scan_begin(leat_jpeg_scan *scan, uint64_t stop, uint64_t *upto, leat_error *err);
/* The MCUs before `upto` have been decoded, and all but their DC sums are done. */
int leat_jpeg_scan_end(leat_jpeg_scan *scan, uint64_t upto, leat_error *err);
void leat_jpeg_scan_clear_beside(const leat_jpeg_scan *scan);

#endif
