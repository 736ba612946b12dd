/* SPDX-License-Identifier: MIT
 *
 * jpeg_skim.c: the DC values of a scan, for pictures at an eighth of their size. It makes the tables of the loop in
 * jpeg_skim.inc, and takes the DC symbols from where blocks start. jpeg_scan.c calls it. */
#include "jpeg_bits.h"

enum { MISS = 255 << 8 };

/* MCUs at a time. Their blocks and the tables fit the first cache. */
enum { SKIM_MCUS = 32 };

/* Small files are read faster than large tables are made. */
enum { SMALL_BITS = 10, SMALL_BYTES = 512 << 10 };

/* One symbol as in leat_jpeg_quick, and above it the end of its code, which has `length` bits. */
static uint32_t entry_of(const leat_jpeg_table *table, unsigned symbol, unsigned length)
{
    const unsigned size = symbol & 15, used = length + size;
    if (used > LEAT_JPEG_FAST_BITS)
        return MISS;
    if (!table->is_dc && !size && symbol != 0xf0) /* the rest of the block is 0 */
        return used | LEAT_JPEG_EOB | length << 16;
    return used | (table->is_dc ? 1 : (symbol >> 4) + 1) << 8 | length << 16;
}

/* The entries of all look-ups of `bits` bits. */
static void fill_single(uint32_t *at, unsigned bits, const leat_jpeg_table *table,
                        const uint8_t *counts)
{
    uint32_t *const end = at + (1 << bits);
    const uint8_t *next = table->symbols;
    for (unsigned length = 1; length <= bits; length++)
        for (int i = 0; i < counts[length - 1]; i++) {
            const uint32_t entry = entry_of(table, *next++, length);
            for (int n = 1 << (bits - length); n; n--)
                *at++ = entry;
        }
    while (at < end)
        *at++ = MISS;
}

/* Joins the entry for `index` with the symbol that follows, if the look-up covers the code of both. */
static inline uint32_t join(uint32_t entry, uint32_t index, const uint32_t *single, unsigned bits)
{
    const uint32_t used = entry & 63, mask = (1u << bits) - 1;
    const uint32_t second = single[(uint64_t)index << used & mask];
    const uint32_t total = used + (second & 63), shown = used + (second >> 16);
    const uint32_t advance = (entry >> 8 & 255) + (second >> 8 & 255);
    const int is_fine = !(entry & LEAT_JPEG_EOB) & (used < bits) & (shown <= bits) &
                        (total <= LEAT_JPEG_FAST_BITS) & (advance < 64);
    return is_fine ? total | (second & LEAT_JPEG_EOB) | advance << 8 | shown << 16 : entry;
}

/* The symbols of `first`, each followed by up to three of `next`. */
static void fill_quick(leat_jpeg_quick *quick, const uint32_t *first, const uint32_t *next)
{
    const unsigned bits = quick->bits;
    for (uint32_t i = 0; i < 1u << bits; i++) {
        const uint32_t three = join(join(first[i], i, next, bits), i, next, bits);
        quick->entry[i] = (uint16_t)join(three, i, next, bits);
    }
}

/* The tables of component i: those of its DC symbols and of the others. */
static int make_tables(const leat_jpeg_scan *scan, int i, leat_jpeg_quick *quick[2],
                       leat_scratch *scratch)
{
    const leat_jpeg *jpeg = scan->jpeg;
    const leat_jpeg_component *c = &jpeg->component[i];
    const unsigned bits = jpeg->end - jpeg->scan < SMALL_BYTES ? SMALL_BITS : LEAT_JPEG_QUICK_BITS;
    uint32_t *single[2];
    for (int kind = LEAT_JPEG_DC; kind <= LEAT_JPEG_AC; kind++) {
        quick[kind] = leat_scratch_take(scratch, sizeof *quick[kind]);
        single[kind] = leat_scratch_take(scratch, sizeof *single[kind] << bits);
        if (!quick[kind] || !single[kind])
            return -1;
        quick[kind]->bits = bits;
        quick[kind]->codes = scan->table[kind][i];
        fill_single(single[kind], bits, quick[kind]->codes, kind == LEAT_JPEG_DC ? c->dc : c->ac);
    }
    fill_quick(quick[LEAT_JPEG_DC], single[LEAT_JPEG_DC], single[LEAT_JPEG_AC]);
    fill_quick(quick[LEAT_JPEG_AC], single[LEAT_JPEG_AC], single[LEAT_JPEG_AC]);
    return 0;
}

/* The blocks of SKIM_MCUS MCUs. */
static int make_starts(leat_jpeg_scan *scan, leat_scratch *scratch)
{
    const size_t n_blocks = (size_t)SKIM_MCUS * (size_t)scan->jpeg->blocks_per_mcu;
    leat_jpeg_start *at = leat_scratch_take(scratch, (n_blocks + 1) * sizeof *at);
    if (!at)
        return -1;
    scan->starts = at;
    for (int mcu = 0; mcu < SKIM_MCUS; mcu++)
        for (int i = 0; i < scan->jpeg->n_components; i++) {
            const leat_jpeg_component *c = &scan->jpeg->component[i];
            for (int b = 0; b < c->h * c->v; b++, at++) {
                *at = (leat_jpeg_start){ scan->quick[i][LEAT_JPEG_AC], scan->quick[0][LEAT_JPEG_DC],
                                         0, 0 };
                if (at != scan->starts)
                    at[-1].next = scan->quick[i][LEAT_JPEG_DC];
            }
        }
    return 0;
}

int leat_jpeg_skim_memory(leat_jpeg_scan *scan, leat_scratch *scratch)
{
    for (int i = 0; i < scan->jpeg->n_components; i++) {
        const leat_jpeg_component *c = &scan->jpeg->component[i];
        const size_t n = (size_t)c->n_across * (size_t)c->v;
        if (!(scan->blocks[i] = leat_scratch_take(scratch, n * sizeof(int16_t))))
            return -1;
    }
    return make_starts(scan, scratch);
}

int leat_jpeg_skim_open(leat_jpeg_scan *scan, leat_scratch *scratch)
{
    for (int i = 0; i < scan->jpeg->n_components; i++) {
        const leat_jpeg_component *c = &scan->jpeg->component[i];
        leat_jpeg_quick *quick[2];
        if (i == 2 && c->dc == c[-1].dc && c->ac == c[-1].ac)
            memcpy(quick, scan->quick[i - 1], sizeof quick);
        else if (make_tables(scan, i, quick, scratch))
            return -1;
        memcpy(scan->quick[i], quick, sizeof quick);
    }
    return leat_jpeg_skim_memory(scan, scratch);
}

/* The DC difference at the start of a block. */
static inline int32_t difference_at(const leat_jpeg_scan *scan, const leat_jpeg_start *start,
                                    const leat_jpeg_table *table)
{
    const uint32_t n = start->n & 63; /* bits before p */
    const uint8_t *p = scan->segment + (uint32_t)(start->p - (uint32_t)(uintptr_t)scan->segment);
    const uint64_t word = load_be64(p - (n + 7) / 8) << (-n & 7);
    const uint64_t entry = table->fast[word >> (64 - LEAT_JPEG_LOOKUP_BITS)];
    int length;
    if (entry >> 56 != LEAT_JPEG_MISS)
        return leat_jpeg_coefficient(leat_jpeg_signed_bits(word, entry >> 8, entry >> 16));
    const int size = search_code(table, word, &length);
    const uint64_t bits = word << length;
    return size < 1 ? 0 : (int32_t)(bits >> (64 - size)) - (bits >> 63 ? 0 : (1 << size) - 1);
}

/* The DC values of component i. `start`: its first block. Returns 1 if one is out of range. */
static uint32_t sum_dc(leat_jpeg_scan *scan, int i, const leat_jpeg_start *start, int32_t column,
                       int32_t n_mcus)
{
    const leat_jpeg_component *c = &scan->jpeg->component[i];
    const leat_jpeg_table *table = scan->table[LEAT_JPEG_DC][i];
    const int32_t h = c->h, v = c->v, step = scan->jpeg->blocks_per_mcu;
    int16_t *to = scan->blocks[i] + (ptrdiff_t)column * h;
    int32_t dc = scan->dc_sum[i];
    uint32_t beyond = 0;
    for (; n_mcus; n_mcus--, start += step, to += h)
        for (int32_t y = 0; y < v; y++)
            for (int32_t x = 0; x < h; x++) {
                dc += difference_at(scan, &start[y * h + x], table);
                beyond |= (uint32_t)(dc + 32767) > 65534;
                to[y * c->n_across + x] = (int16_t)dc;
            }
    scan->dc_sum[i] = dc;
    return beyond;
}

/* Adds up the DC values that a run has found, from `column` on. */
static uint32_t sum_all_dc(leat_jpeg_scan *scan, int32_t column, int32_t n_mcus)
{
    const leat_jpeg_start *start = scan->starts;
    uint32_t beyond = 0;
    for (int i = 0; i < scan->jpeg->n_components; i++) {
        beyond |= sum_dc(scan, i, start, column, n_mcus);
        start += scan->jpeg->component[i].h * scan->jpeg->component[i].v;
    }
    return beyond;
}

/* Begins to skip some of the next MCUs, n_mcus at most. */
static void begin(leat_jpeg_scan *scan, int32_t n_mcus)
{
    const int32_t n = n_mcus < SKIM_MCUS ? n_mcus : SKIM_MCUS;
    leat_jpeg_start *const first = scan->starts;
    const leat_jpeg_start *const stop = first + (ptrdiff_t)n * scan->jpeg->blocks_per_mcu;
    scan->skim_mcus = n;
    scan->skimmer = (leat_jpeg_skimmer){
        scan->bits.word, scan->bits.n, scan->bits.p, 0, first, scan->quick[0][LEAT_JPEG_DC], stop,
        scan->bits.limit
    };
    first->p = (uint32_t)(uintptr_t)scan->bits.p;
    first->n = (uint32_t)scan->bits.n;
}

/* Takes their DC values. */
static int end(leat_jpeg_scan *scan, int32_t column)
{
    const leat_jpeg_skimmer *const s = &scan->skimmer;
    const uint32_t beyond = sum_all_dc(scan, column, scan->skim_mcus);
    scan->bits = (leat_jpeg_bits){ s->word, s->n, s->p, s->limit };
    scan->skim_mcus = 0;
    return beyond ? -1 : 0;
}

int leat_jpeg_skim(leat_jpeg_scan *scan, int32_t column, int32_t n_mcus)
{
    leat_jpeg_skimmer *const skimmer = &scan->skimmer;
    for (int32_t n; n_mcus; column += n, n_mcus -= n) {
        begin(scan, n_mcus);
        n = scan->skim_mcus;
        if (scan->jpeg->dsp->skim(&skimmer, 1) || end(scan, column))
            return -1;
    }
    return 0;
}

static int32_t column_of(const leat_jpeg_scan *scan)
{
    return (int32_t)(scan->mcu % (uint64_t)scan->jpeg->mcus_x);
}

/* Goes on with a scan, or with two at the same time, until one has reached its stop. */
static int skim_both(leat_jpeg_scan *scans)
{
    leat_jpeg_skimmer *skimmers[2];
    int n = 0;
    for (leat_jpeg_scan *s = scans; s < scans + 2; s++) {
        if (s->mcu < s->segment_stop && !s->skim_mcus)
            begin(s, s->jpeg->mcus_x - column_of(s));
        if (s->skim_mcus)
            skimmers[n++] = &s->skimmer;
    }
    return scans->jpeg->dsp->skim(skimmers, n);
}

int leat_jpeg_skim_rows(leat_jpeg_scan *scans)
{
    for (;;) {
        if (skim_both(scans))
            return -1;
        for (leat_jpeg_scan *s = scans; s < scans + 2; s++) {
            const int32_t column = column_of(s), n_mcus = s->skim_mcus;
            if (!n_mcus || s->skimmer.block < s->skimmer.stop)
                continue;
            if (end(s, column))
                return -1;
            s->mcu += (uint64_t)n_mcus;
            if (column + n_mcus == s->jpeg->mcus_x)
                return (int)(s - scans);
        }
    }
}
