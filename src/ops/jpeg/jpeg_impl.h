/* SPDX-License-Identifier: MIT
 *
 * jpeg_impl.h: what the files of the decoder share: Huffman tables, the flat loop's nodes, the
 * state of a scan, and the table of kernels. */
#ifndef LEAT_JPEG_IMPL_H
#define LEAT_JPEG_IMPL_H

#include "jpeg.h"

enum {
    LEAT_JPEG_LOOKUP_BITS = 10, /* codes up to this length are found by one look-up */
    LEAT_JPEG_FAST_BITS = 18,   /* … if code and value together are not longer than this */
    LEAT_JPEG_PAD = 64          /* bytes that may be read after the bytes of a segment */
};

/* Zigzag position to natural order. */
extern const uint8_t leat_jpeg_natural[64];

/* A Huffman table. An entry of `fast` stands for one symbol or two, lowest bit first:
 *   bits 0 … 5  length of all codes and values      24  2 × coefficients that the first advances
 *   bit 6       the last one ends the block         32  the first one's value, as stored
 *   8           where the last one's value starts   48  where the last one's code ends
 *   16          63 - length of that value           56  2 × coefficients that all advance, or
 *                                                       MISS: not found here
 * For one symbol, first and last are the same, and the value at 32 means nothing. Places are in
 * bits from the start of the look-up. */
enum { LEAT_JPEG_EOB = 64, LEAT_JPEG_MISS = 254 };
typedef struct leat_jpeg_table {
    uint64_t fast[1 << LEAT_JPEG_LOOKUP_BITS];
    uint64_t single[1 << LEAT_JPEG_LOOKUP_BITS]; /* of AC tables: one symbol each */
    int32_t limit[18];  /* first code that is longer than n bits, left-aligned to 16; [17] ends */
    int32_t offset[17]; /* index of a symbol minus its code */
    uint8_t symbols[256];
    int32_t is_dc;
} leat_jpeg_table;

/* Builds a table. Returns -1 when the counts are not those of a prefix code, as libjpeg-turbo has
 * it (no code of ones only), or a DC symbol is above 15. */
int leat_jpeg_table_build(leat_jpeg_table *table, const uint8_t *spec, int is_dc,
                          const struct leat_jpeg_dsp *dsp);

/* A table for blocks that are only skipped: entries of `ac` joined as far as one look-up goes, so
 * that values mean nothing but the block ends where it did. */
void leat_jpeg_table_join(leat_jpeg_table *joined, const leat_jpeg_table *ac,
                          const struct leat_jpeg_dsp *dsp);

/* One block of the row that is being decoded, in the order of the scan. */
typedef struct leat_jpeg_node {
    int16_t *end;                 /* behind its 64 coefficients */
    const uint64_t *ac;           /* table of its AC symbols */
    const uint64_t *next_dc;      /* table of the next block's DC symbol */
    int16_t *next;                /* the next block's coefficients */
    struct leat_jpeg_node *after; /* the next block's node */
} leat_jpeg_node;

/* Bits of a segment: the upper `n` bits of `word` are next, `p` what follows them. Only the low six
 * bits of `n` mean anything. */
typedef struct leat_jpeg_bits {
    uint64_t word, n;
    const uint8_t *p, *limit; /* p beyond limit: the data have ended before */
} leat_jpeg_bits;

/* Decodes the blocks from `node` up to (not including) `stop`; `at` is the first one's memory, zero
 * before. Returns 0, or -1: no such code, or out of data. */
typedef int leat_jpeg_flat(leat_jpeg_bits *bits, const leat_jpeg_node *node,
                           const leat_jpeg_node *stop, int16_t *at, const uint64_t *dc);

/* The horizontal pass of a resize, laid out for vectors of 16 sums. Group g is output values
 * 16g … 16g + 15 of a row; for each pair of taps p it has 32 pairs of places, counted from
 * base[g * n_pairs + p], and their weights. Where all places are below LEAT_JPEG_SAMPLER_NEAR, `place`
 * has those of the two bytes of each value, low byte first. */
typedef struct leat_jpeg_sampler {
    int32_t n_groups, n_pairs;
    int32_t is_near;
    int32_t *base;
    int16_t *place, *weight;
} leat_jpeg_sampler;
enum {
    LEAT_JPEG_SAMPLER_NEAR = 32,
    LEAT_JPEG_SAMPLER_REACH = 64
}; /* places are below this, and so far may be read */

/* Kernels. All levels give the same bytes; plain C is the definition. */
typedef struct leat_jpeg_dsp {
    const char *name;
    leat_jpeg_flat *flat; /* all coefficients */
    leat_jpeg_flat *skip; /* DC differences only, by tables of leat_jpeg_table_join() */
    /* Entries of `first`, each joined with the entry of `next` that follows it, where one look-up
     * shows the codes of both; else as they are. */
    void (*join)(uint64_t *out, const uint64_t *first, const uint64_t *next);
    /* Copies a segment without stuffed zeros up to its marker; returns the bytes written and sets
     * *stop to the FF of the marker (or to end). May write 32 bytes more than it returns. */
    size_t (*unstuff)(const uint8_t *src, const uint8_t *end, uint8_t *dst, const uint8_t **stop);
    /* Blocks in zigzag order to 8 rows of samples; n_blocks is a multiple of 4. Returns the
     * largest magnitude of a dequantised value in the first row of a block. */
    uint32_t (*idct)(const int16_t *blocks, int n_blocks, const int16_t *quant, uint8_t *out,
                     ptrdiff_t stride);
    /* n samples to 2n (n >= 3), and two rows of n to one of 2n or n between them, closer to near */
    void (*up_h2)(const uint8_t *in, uint8_t *out, int n);
    void (*up_h2v2)(const uint8_t *near, const uint8_t *far, uint8_t *out, int n);
    void (*up_v2)(const uint8_t *near, const uint8_t *far, uint8_t *out, int n, int bias);
    void (*rgb)(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *out, int n);
    /* Both passes of a resize, as leat_dsp_table has them; NULL: use those. Writes whole groups. */
    void (*mix_rows)(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                     const int16_t *weights, int32_t n_taps, int32_t shift);
    void (*sample_row)(uint8_t *out, const int16_t *in, const leat_jpeg_sampler *sampler,
                       int32_t shift);
} leat_jpeg_dsp;

extern const leat_jpeg_dsp leat_jpeg_dsp_c;
#if defined(__x86_64__)
extern const leat_jpeg_dsp leat_jpeg_dsp_avx2, leat_jpeg_dsp_avx512;
#endif
/* Kernels of a level of cpu.h; NULL if this CPU lacks it. */
const leat_jpeg_dsp *leat_jpeg_dsp_at(int level);

/* MCUs of a picture: columns x0 … x1 - 1 and rows y0 … y1 - 1 */
typedef struct leat_jpeg_window {
    int32_t x0, x1, y0, y1;
} leat_jpeg_window;

/* The second half of leat_jpeg_decode_resized(): height × width pixels, rows stride_bytes apart, to
 * `out`. Returns LEAT_OK or LEAT_E_NOMEM. */
int leat_jpeg_resize(const leat_jpeg_dsp *kernels, const uint8_t *pixels, size_t stride_bytes,
                     int32_t height, int32_t width, const leat_jpeg_target *target, void *out,
                     leat_scratch *scratch, leat_error *err);

enum { LEAT_JPEG_DC, LEAT_JPEG_AC, LEAT_JPEG_SKIP, LEAT_JPEG_N_TABLES };

/* A scan on its way from top to bottom, one row of MCUs at a time. */
typedef struct leat_jpeg_scan {
    const leat_jpeg *jpeg;
    leat_jpeg_window window;
    const leat_jpeg_table *table[LEAT_JPEG_N_TABLES][3]; /* per component; SKIP: NULL if not used */
    /* Of one row of MCUs, in scan order. In `nodes`, blocks left and right of the window are to be
     * skipped, in `skip_nodes` all blocks. */
    leat_jpeg_node *nodes, *skip_nodes;
    int16_t *blocks[3]; /* of one row of MCUs per component: v rows of n_across blocks */
    uint8_t *segment;   /* unstuffed bytes of the segment */
    const uint8_t *segment_end;
    const uint8_t *src; /* what follows the segment in the file */
    leat_jpeg_bits bits;
    uint64_t mcu, n_mcus;  /* the next MCU, and of the picture */
    uint64_t segment_bits; /* with marks: where the next one is */
    uint64_t segment_stop; /* the segment's MCUs end here; mcu if the next one is not open yet */
    uint32_t n_restarts;   /* markers passed */
    int32_t dc_sum[3];     /* predictors */
} leat_jpeg_scan;

/* Takes memory and builds the tables; reads nothing of the scan yet. */
int leat_jpeg_scan_open(leat_jpeg_scan *scan, const leat_jpeg *jpeg, const leat_jpeg_window *window,
                        leat_scratch *scratch, leat_error *err);
/* Decodes a row of MCUs below those decoded before, as far as the window goes, into blocks[]. Beside
 * the window these are 0 up to the next multiple of 4 in each component, and mean nothing from there
 * on. After the picture's last MCU the end of the file is checked. */
int leat_jpeg_scan_row(leat_jpeg_scan *scan, int32_t row, leat_error *err);
/* After the last row that is wanted: checks that what is left of the file is as many segments as are
 * due, each with its marker, and the end marker, without decoding them. Not with marks: who uses them
 * knows the file. */
int leat_jpeg_scan_finish(leat_jpeg_scan *scan, leat_error *err);
/* Decodes DC differences from the next MCU up to `stop`, which is in the same row or its end. */
int leat_jpeg_scan_pass(leat_jpeg_scan *scan, uint64_t stop, leat_error *err);

/* Coefficients are stored one too low if negative: the bits of a value of s bits with first bit b
 * are then the number [~b, b, …] of s + 1 bits, which one shift cuts out for positive and negative
 * ones alike. For s = 0 it is 0 or -1, which both mean 0. */
static inline int16_t leat_jpeg_cut(uint64_t word, uint64_t start, uint64_t cut)
{
    const int64_t bits = (int64_t)(word << (start & 63));
    return (int16_t)(((bits >> 1) ^ INT64_MIN) >> (cut & 63));
}

static inline int16_t leat_jpeg_coefficient(int16_t stored)
{
    return (int16_t)(stored - (stored >> 15));
}

#endif
