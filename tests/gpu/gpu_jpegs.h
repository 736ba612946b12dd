/* SPDX-License-Identifier: MIT
 *
 * gpu_jpegs.h: a TFRecord file of JPEG pictures that are drawn for it, for cases and benchmarks of
 * decoding on a GPU. Records have `image` and `label` (their number). */
#ifndef GPU_JPEGS_H
#define GPU_JPEGS_H

#include <stdbool.h>
#include <stdint.h>

#include "leat/error.h"

typedef struct gpu_jpegs {
    int n;
    int least_px, most_px; /* of a side; all sizes between, drawn by seed */
    int odd_every;         /* each this many: progressive, gray, or of an uncommon kind; 0: none */
    bool cmyk;             /* some of these in CMYK, which cannot be read as gray */
    bool seekable;         /* all others have a restart marker after each line of blocks */
    int wide, wide_px;     /* this record's picture is so wide; -1: none */
    int cut;               /* this record's file lacks its last tenth; -1: none */
    bool ends;             /* but it has an end marker */
    int headless;          /* this record's is no JPEG file; -1: none */
    uint64_t seed;
} gpu_jpegs;

/* A new file in /tmp. path: its name comes here; remove it and its index with gpu_jpegs_remove(). */
int gpu_jpegs_write(const gpu_jpegs *what, char path[64], leat_error *err);
void gpu_jpegs_remove(const char *path);

#endif
