/* SPDX-License-Identifier: MIT
 *
 * jpeg_loop.h: which Huffman loop this process uses. All loops give the same bytes. Which one is faster depends on
 * the processor (how many shifts and how many loads it does in a cycle), and no flag of the processor says so.
 * Called by jpeg_dsp.c and by the public leat_jpeg_loop(). */
#ifndef LEAT_JPEG_LOOP_H
#define LEAT_JPEG_LOOP_H

#include <stdbool.h>

/* X(name, text): from AVX2 on; plain C has its own. The first is used unless another one is faster. */
#define LEAT_JPEG_LOOP_LIST(X)                                                                     \
    X(SHIFTS, "shifts") /* jpeg_flat_avx2.c: shifts the fields of an entry out of a register */    \
    X(LOADS, "loads")   /* jpeg_flat_loads_avx2.c: loads each field again */

enum {
#define LEAT_JPEG_LOOP_ENUM(name, text) LEAT_JPEG_LOOP_##name,
    LEAT_JPEG_LOOP_LIST(LEAT_JPEG_LOOP_ENUM)
#undef LEAT_JPEG_LOOP_ENUM
        LEAT_JPEG_N_LOOPS
};

/* Returns the value of LEAT_JPEG_LOOP if it is not one of these words, otherwise NULL. Any thread. */
const char *leat_jpeg_loop_misnamed(void);
/* Returns the loop in use. The first call measures them, in less than a millisecond, unless the environment variable
 * LEAT_JPEG_LOOP names one. Any thread; the answer stays the same. */
int leat_jpeg_loop_get(void);
/* Whether it decodes two places of a file at the same time where it can. */
bool leat_jpeg_loop_pairs(void);

#endif
