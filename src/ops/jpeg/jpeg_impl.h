/* SPDX-License-Identifier: MIT
 *
 * jpeg_impl.h: types that the files of the decoder share: Huffman tables, the nodes of the Huffman loop,
 * the state of a scan, and the table of kernels. */
#ifndef LEAT_JPEG_IMPL_H
#define LEAT_JPEG_IMPL_H

#include "jpeg.h"

enum {
    LEAT_JPEG_LOOKUP_BITS = 10, /* longest code that one look-up finds */
    LEAT_JPEG_FAST_BITS = 18,   /* longest code with value that one look-up finds */
    LEAT_JPEG_QUICK_BITS = 12,  /* the same of leat_jpeg_quick, at most */
    LEAT_JPEG_PAD = 64,         /* readable bytes after a segment */
    LEAT_JPEG_BAND_PAD = 320    /* the same for bands: a block of the longest codes, 252 bytes */
};

/* Zigzag position to natural order. */
extern const uint8_t leat_jpeg_natural[64];

/* The state of parsing a file. */
typedef struct leat_jpeg_header {
    leat_jpeg *jpeg;
    const uint8_t *huffman[2][4]; /* [AC][index] */
    const uint8_t *quant[4];      /* the byte of precision and index, then the values */
    uint8_t id[3], quant_index[3], v_max, h_max;
    uint8_t is_jfif, adobe; /* adobe: 1 + transform; 0: no Adobe marker */
    leat_error *err;
    const uint8_t *at, *end; /* the rest of the file */
    const uint8_t *scan;     /* the last scan's header of n_scan bytes; NULL: none yet */
    size_t n_scan;
    int marker; /* the last one */
} leat_jpeg_header;

/* Clears both. */
int leat_jpeg_header_open(leat_jpeg_header *h, leat_jpeg *jpeg, const uint8_t *data, size_t size,
                          leat_error *err);
/* Reads the segments from `at` up to a scan header (marker DA), or after the first scan up to the end
 * marker (D9), and sets `at` behind it. Returns LEAT_OK or LEAT_E_UNSUPPORTED. */
int leat_jpeg_header_next(leat_jpeg_header *h);

/* A Huffman table. An entry of `fast` holds one symbol or two, from the lowest bit:
 *   bits 0 … 5  length of all codes and values      24  2 × coefficients that the first advances
 *   bit 6       the last symbol ends the block      32  value of the first, as stored
 *   8           start of the last symbol's value    48  end of the last symbol's code
 *   16          63 - length of that value           56  2 × coefficients that both advance, or
 *                                                       MISS: not in the table
 * With one symbol, first and last are the same, and the value at 32 is unused. Starts and ends are in bits
 * from the start of the look-up. */
enum { LEAT_JPEG_EOB = 64, LEAT_JPEG_MISS = 254 };
typedef struct leat_jpeg_table {
    uint64_t fast[1 << LEAT_JPEG_LOOKUP_BITS];
    uint64_t single[1 << LEAT_JPEG_LOOKUP_BITS]; /* only AC tables: one symbol per entry */
    int32_t limit[18];  /* first code longer than n bits, left-aligned to 16; [17]: sentinel */
    int32_t offset[17]; /* index of a symbol minus its code */
    uint8_t symbols[256];
    int32_t is_dc;
} leat_jpeg_table;

/* Builds a table. Returns -1 if the counts do not form a prefix code in the sense of libjpeg-turbo (no
 * code of only ones), or if a DC symbol is above 15. */
int leat_jpeg_table_build(leat_jpeg_table *table, const uint8_t *spec, int is_dc,
                          const struct leat_jpeg_dsp *dsp);

/* Only limits, offsets and symbols. Returns the number of symbols, or -1. */
int leat_jpeg_table_codes(leat_jpeg_table *table, const uint8_t *spec);

/* Builds `fast` for a band of AC coefficients of a progressive file; jpeg_bands.inc describes the entries.
 * Returns -1 as leat_jpeg_table_build(). */
int leat_jpeg_table_band(leat_jpeg_table *table, const uint8_t *spec, int is_refining, int shift);

/* Makes a table for skipped blocks. It joins as many entries of `ac` as one look-up covers. Values are
 * then meaningless, but the end of a block is right. */
void leat_jpeg_table_join(leat_jpeg_table *joined, const leat_jpeg_table *ac,
                          const struct leat_jpeg_dsp *dsp);

/* One block of the current row, in the order of the scan. */
typedef struct leat_jpeg_node {
    int16_t *end;                 /* after its 64 coefficients */
    const uint64_t *ac;           /* table of its AC symbols */
    const uint64_t *next_dc;      /* table of the next block's DC symbol */
    int16_t *next;                /* the next block's coefficients */
    struct leat_jpeg_node *after; /* the next block's node */
} leat_jpeg_node;

/* Reading position in a segment: the upper `n` bits of `word`, then the bytes from `p`. Only the low six
 * bits of `n` matter. */
typedef struct leat_jpeg_bits {
    uint64_t word, n;
    const uint8_t *p, *limit; /* p beyond limit: the data has ended */
} leat_jpeg_bits;

/* Blocks to decode: those from `node` to before `stop`. at, table: as `at` and `dc` of leat_jpeg_flat. */
typedef struct leat_jpeg_block_run {
    leat_jpeg_bits bits;
    const leat_jpeg_node *node, *stop;
    int16_t *at;
    const uint64_t *table;
} leat_jpeg_block_run;

/* Goes on with two runs at the same time until one has reached its stop. Returns 0 or -1 as leat_jpeg_flat. */
typedef int leat_jpeg_pair(leat_jpeg_block_run *a, leat_jpeg_block_run *b);

/* Decodes the blocks from `node` to before `stop`. `at` is the memory of the first, which must be zero.
 * Returns 0, or -1: no such code, or end of data. */
typedef int leat_jpeg_flat(leat_jpeg_bits *bits, const leat_jpeg_node *node,
                           const leat_jpeg_node *stop, int16_t *at, const uint64_t *dc);

/* A table for symbols that are only skipped. An entry holds some that follow each other, from the lowest bit:
 *   bits 0 … 5  length of all codes and values      8  coefficients that they advance; 255: not in the table
 *   bit 6       the last symbol ends the block */
typedef struct leat_jpeg_quick {
    uint16_t entry[1 << LEAT_JPEG_QUICK_BITS];
    uint32_t bits;                /* of a look-up; all tables of a file have the same */
    const leat_jpeg_table *codes; /* limits and symbols */
} leat_jpeg_quick;

/* A block: tables of its symbols after the DC symbol, and of the next block's start; and where it starts: a reading
 * position, as the lower 32 bits of both numbers. */
typedef struct leat_jpeg_start {
    const leat_jpeg_quick *ac, *next;
    uint32_t p, n;
} leat_jpeg_start;

/* The state of skipping the blocks before `stop`. The loop sets p and n of each block after the first, and of *stop,
 * the place after the last. */
typedef struct leat_jpeg_skimmer {
    uint64_t word, n; /* as in leat_jpeg_bits */
    const uint8_t *p;
    uint64_t k; /* coefficients of the block so far */
    leat_jpeg_start *block;
    const leat_jpeg_quick *table; /* of the next symbol */
    const leat_jpeg_start *stop;
    const uint8_t *limit;
} leat_jpeg_skimmer;

/* Goes on with one, or with two at the same time, until one has reached its stop. Returns 0, or -1: no such code,
 * or end of data. */
typedef int leat_jpeg_skim_fn(leat_jpeg_skimmer *const *skimmers, int n);

/* The state of decoding a scan of one band of AC coefficients, `first` to `last` in zigzag order. */
typedef struct leat_jpeg_band {
    leat_jpeg_bits bits; /* refining: the next bit is the lowest */
    const leat_jpeg_table *table;
    int32_t first, last;
    int32_t shift;    /* of the bit that the scan gives */
    uint32_t eob_run; /* blocks that have ended before they start */
} leat_jpeg_band;

/* Decodes a scan's part of n blocks side by side.
 *
 * masks    of each block, bit k is set if coefficient k is not 0
 * blocks   the coefficients; the next block is `step` values on. 0: the blocks are not needed, only their
 *          masks, and `blocks` is memory for one
 * returns  0, or -1: no such code, a run beyond the band, or end of data */
typedef int leat_jpeg_decode_band(leat_jpeg_band *band, uint64_t *masks, int16_t *blocks,
                                  ptrdiff_t step, int32_t n);

/* The horizontal pass of a resize, arranged for vectors of 16 sums. Group g has the output values
 * 16g … 16g + 15 of a row. For each pair of taps p it has 32 places, relative to
 * base[g * n_pairs + p], and 32 weights. If all places are below LEAT_JPEG_SAMPLER_NEAR, `place` has the
 * places of the two bytes of each value instead, low byte first. */
typedef struct leat_jpeg_sampler {
    int32_t n_groups, n_pairs;
    int32_t is_near;
    int32_t *base;
    int16_t *place, *weight;
} leat_jpeg_sampler;
enum {
    LEAT_JPEG_SAMPLER_NEAR = 32,
    LEAT_JPEG_SAMPLER_REACH = 64 /* places are below this; values up to it may be read */
};

/* The kernels of a CPU level. All levels give the same bytes; plain C is the definition. */
typedef struct leat_jpeg_dsp {
    const char *name;
    leat_jpeg_flat *flat; /* all coefficients */
    leat_jpeg_flat *skip; /* only DC differences, with tables of leat_jpeg_table_join() */
    leat_jpeg_pair *pair; /* all coefficients of two runs; NULL: one after the other is as fast */
    leat_jpeg_skim_fn *skim;
    /* A band's first scan, and a later one, which adds a bit to each coefficient. */
    leat_jpeg_decode_band *band, *refine;
    /* Joins each entry of `first` with the entry of `next` that follows it, if one look-up covers the
     * codes of both. Other entries are copied. */
    void (*join)(uint64_t *out, const uint64_t *first, const uint64_t *next);
    /* Copies a segment without stuffed zeros, up to its marker. Returns the bytes written, and sets
     * *stop to the FF of the marker (or to end). It may write 32 bytes more than it returns. */
    size_t (*unstuff)(const uint8_t *src, const uint8_t *end, uint8_t *dst, const uint8_t **stop);
    /* Transforms blocks in zigzag order to 8 rows of samples; n_blocks is a multiple of 4. Returns the
     * largest magnitude of a dequantised value in the first row of a block. */
    uint32_t (*idct)(const int16_t *blocks, int n_blocks, const int16_t *quant, uint8_t *out,
                     ptrdiff_t stride);
    /* Upsampling: h2 makes 2n samples of n >= 3. h2v2 and v2 make a row between two rows, closer to
     * near. */
    void (*up_h2)(const uint8_t *in, uint8_t *out, int n);
    void (*up_h2v2)(const uint8_t *near, const uint8_t *far, uint8_t *out, int n);
    void (*up_v2)(const uint8_t *near, const uint8_t *far, uint8_t *out, int n, int bias);
    void (*rgb)(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *out, int n);
    /* The passes of a resize, which write whole groups. NULL: use those of leat_dsp_table. */
    void (*mix_rows)(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                     const int16_t *weights, int32_t n_taps, int32_t shift);
    void (*sample_row)(uint8_t *out, const int16_t *in, const leat_jpeg_sampler *sampler,
                       int32_t shift);
} leat_jpeg_dsp;

extern const leat_jpeg_dsp leat_jpeg_dsp_c;
/* The kernels of a level of cpu.h, with the Huffman loop that is fastest here (jpeg_loop.h); NULL if this CPU does
 * not have the level. */
const leat_jpeg_dsp *leat_jpeg_dsp_use(int level);
/* For tests: tables with all kernels there are. The first are those of the levels of cpu.h; NULL as above. */
enum { LEAT_JPEG_N_DSP = 6 };
const leat_jpeg_dsp *leat_jpeg_dsp_at(int i);

/* MCUs in columns x0 … x1 - 1 and rows y0 … y1 - 1. */
typedef struct leat_jpeg_window {
    int32_t x0, x1, y0, y1;
    int32_t dc_only; /* only DC values */
} leat_jpeg_window;

/* Where the rows of a box go, from top to bottom. next() gives the memory of the next row and may process
 * the rows before it, which are complete. */
typedef struct leat_jpeg_rows {
    uint8_t *(*next)(struct leat_jpeg_rows *rows);
} leat_jpeg_rows;

/* leat_jpeg_decode_box() row by row. */
int leat_jpeg_decode_rows(const leat_jpeg *jpeg, const leat_image_box *box, int channels,
                          leat_jpeg_rows *rows, leat_scratch *scratch, leat_error *err);

/* Processes height × width pixels, with rows stride_bytes apart, to `out`. Returns LEAT_OK or
 * LEAT_E_NOMEM. */
int leat_jpeg_resize(const leat_jpeg_dsp *kernels, const uint8_t *pixels, size_t stride_bytes,
                     int32_t height, int32_t width, const leat_jpeg_target *target, void *out,
                     leat_scratch *scratch, leat_error *err);

enum { LEAT_JPEG_DC, LEAT_JPEG_AC, LEAT_JPEG_SKIP, LEAT_JPEG_N_TABLES };

/* The state of decoding a scan from top to bottom, one row of MCUs at a time. */
typedef struct leat_jpeg_scan {
    const leat_jpeg *jpeg;
    leat_jpeg_window window;
    const leat_jpeg_table *table[LEAT_JPEG_N_TABLES][3]; /* per component; SKIP may be NULL */
    /* The blocks of one row of MCUs in scan order. `nodes` skips blocks outside of the window,
     * `skip_nodes` skips all blocks. NULL with dc_only. */
    leat_jpeg_node *nodes, *skip_nodes;
    /* One row of MCUs per component: v rows of n_across blocks, or with dc_only of their DC values. */
    int16_t *blocks[3];
    leat_jpeg_start *starts;            /* with dc_only: the blocks of some MCUs */
    const leat_jpeg_quick *quick[3][2]; /* with dc_only: tables of DC and AC symbols */
    leat_jpeg_skimmer skimmer;
    int32_t skim_mcus; /* MCUs that it is skipping; 0: none */
    uint8_t *segment;  /* unstuffed bytes of the segment */
    const uint8_t *segment_end;
    const uint8_t *src; /* the file after the segment */
    leat_jpeg_bits bits;
    uint64_t mcu, n_mcus;  /* next MCU; MCUs of the image */
    uint64_t segment_bits; /* with points: position of the next point */
    uint64_t segment_stop; /* first MCU after the segment; `mcu` if no segment is open */
    uint32_t n_restarts;   /* markers passed */
    int32_t dc_sum[3];     /* predictors */
    struct leat_jpeg_scan
        *below;         /* jpeg_pair.c: decodes the next row at the same time; NULL: none */
    int32_t below_row;  /* the row that it has; -1: none */
    int16_t *planes[3]; /* progressive: the blocks of all rows of the window */
} leat_jpeg_scan;

/* Takes memory and builds the tables. It does not read the scan yet. */
int leat_jpeg_scan_open(leat_jpeg_scan *scan, const leat_jpeg *jpeg, const leat_jpeg_window *window,
                        leat_scratch *scratch, leat_error *err);
/* Decodes the window's part of a row of MCUs into blocks[]. Rows must ascend. Outside of the window, blocks
 * are 0 up to the next multiple of 4 in each component, and undefined from there on. After the last MCU
 * of the image it checks the end of the file. */
int leat_jpeg_scan_row(leat_jpeg_scan *scan, int32_t row, leat_error *err);
/* Call it after the last row. Checks that the rest of the file has all segments with their markers and
 * the end marker, without decoding. With points it checks nothing, because the caller knows the file. */
int leat_jpeg_scan_finish(leat_jpeg_scan *scan, leat_error *err);
/* The same for a progressive file. Opening decodes all scans. */
int leat_jpeg_progressive_open(leat_jpeg_scan *scan, leat_scratch *scratch, leat_error *err);
int leat_jpeg_progressive_row(leat_jpeg_scan *scan, int32_t row);
/* With points and dc_only, after opening: scans[0] decodes the rows of MCUs before `row`, and scans[1], which this sets,
 * the others. leat_jpeg_scan_either() decodes the next row of one of them, and says of which. After its last row,
 * leat_jpeg_scan_meet() checks that scans[0] has reached the place from which `other` started. */
int leat_jpeg_scan_halve(leat_jpeg_scan *scans, int32_t row, leat_scratch *scratch,
                         leat_error *err);
int leat_jpeg_scan_either(leat_jpeg_scan *scans, int *which, leat_error *err);
int leat_jpeg_scan_meet(const leat_jpeg_scan *scan, const leat_jpeg_scan *other, leat_error *err);
/* Decodes only DC differences, from the next MCU to before `stop`, inside one row of MCUs. */
int leat_jpeg_scan_pass(leat_jpeg_scan *scan, uint64_t stop, leat_error *err);

/* What jpeg_scan.c calls to decode n_mcus MCUs of a row from `column` on: everything, or only DC values. open()
 * takes memory for it and makes what it needs. They return 0 or -1: no memory; no such code, data that ends, or
 * a DC value out of range. */
int leat_jpeg_nodes_open(leat_jpeg_scan *scan, leat_scratch *scratch);
int leat_jpeg_nodes_decode(leat_jpeg_scan *scan, const leat_jpeg_node *nodes, int32_t column,
                           int32_t n_mcus);
/* The first half of it, the next n_mcus MCUs for the Huffman loop, and the last: the DC values of `column` and on. */
leat_jpeg_block_run leat_jpeg_nodes_begin(const leat_jpeg_scan *scan, const leat_jpeg_node *nodes,
                                          int32_t n_mcus);
int leat_jpeg_nodes_end(leat_jpeg_scan *scan, const leat_jpeg_node *nodes, int32_t column,
                        int32_t n_mcus);
int leat_jpeg_skim_open(leat_jpeg_scan *scan, leat_scratch *scratch);
int leat_jpeg_skim(leat_jpeg_scan *scan, int32_t column, int32_t n_mcus);
/* Skims a row of MCUs in each of two scans at the same time, until the first of them has come to the end of its row.
 * Returns the index of that scan, or -1: the data is damaged. No scan goes beyond its segment_stop. */
int leat_jpeg_skim_rows(leat_jpeg_scan *scans);
/* Takes the memory that a second scan needs for itself. */
int leat_jpeg_skim_memory(leat_jpeg_scan *scan, leat_scratch *scratch);

/* Extracts a value from the bits of a look-up. Negative values are stored one too low; see jpeg_flat.h. */
static inline int16_t leat_jpeg_signed_bits(uint64_t word, uint64_t start, uint64_t drop)
{
    const int64_t bits = (int64_t)(word << (start & 63));
    return (int16_t)(((bits >> 1) ^ INT64_MIN) >> (drop & 63));
}

static inline int16_t leat_jpeg_coefficient(int16_t stored)
{
    return (int16_t)(stored - (stored >> 15));
}

#endif
