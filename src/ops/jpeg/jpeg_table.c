/* SPDX-License-Identifier: MIT
 *
 * jpeg_table.c: builds Huffman tables: a look-up table for short codes, and limits per length for others. */
#include "jpeg_dsp.h"

#include <string.h>

static const uint64_t miss = (uint64_t)LEAT_JPEG_MISS << 56;

static uint64_t entry_of(int symbol, int length, int is_dc)
{
    const int size = symbol & 15;
    const int is_end =
        !is_dc && !size && symbol != 0xf0; /* libjpeg ends the block at any symbol x0 except F0 */
    const uint64_t advance = is_dc || is_end ? 1 : (uint64_t)(symbol >> 4) + 1;
    const uint64_t start = (uint64_t)length, cut = (uint64_t)(63 - size);
    if (length + size > LEAT_JPEG_FAST_BITS)
        return miss;
    return (uint64_t)(length + size) | (is_end ? LEAT_JPEG_EOB : 0u) | start << 8 | cut << 16 |
           2 * advance << 24 | start << 48 | 2 * advance << 56;
}

/* Codes are assigned in ascending order, so entries fill the table from its start. */
static void fill_single(leat_jpeg_table *table, uint64_t *at, const uint8_t *counts)
{
    uint64_t *const end = at + (1 << LEAT_JPEG_LOOKUP_BITS);
    const uint8_t *symbol = table->symbols;
    for (int length = 1; length <= LEAT_JPEG_LOOKUP_BITS; length++)
        for (int i = 0; i < counts[length - 1]; i++) {
            const uint64_t entry = entry_of(*symbol++, length, table->is_dc);
            for (int n = 1 << (LEAT_JPEG_LOOKUP_BITS - length); n; n--)
                *at++ = entry;
        }
    while (at < end)
        *at++ = miss;
}

/* Joins the entry for `index` with the one that follows, if the look-up covers the code of both. */
static inline uint64_t join(uint64_t entry, uint64_t index, const uint64_t *next)
{
    const uint64_t used = entry & 63, mask = (1u << LEAT_JPEG_LOOKUP_BITS) - 1;
    const uint64_t second = next[index << used & mask];
    const uint64_t total = used + (second & 63), shown = used + (second >> 48 & 63);
    const uint64_t advance = (entry >> 56) + (second >> 56);
    if (entry & LEAT_JPEG_EOB || used >= LEAT_JPEG_LOOKUP_BITS || shown > LEAT_JPEG_LOOKUP_BITS ||
        total > LEAT_JPEG_FAST_BITS || advance >= 128)
        return entry;
    const uint64_t first = (uint16_t)leat_jpeg_signed_bits(index << (64 - LEAT_JPEG_LOOKUP_BITS),
                                                           entry >> 8, entry >> 16);
    return total | (second & LEAT_JPEG_EOB) | (used + (second >> 8 & 63)) << 8 |
           (second & 0xff0000) | (entry & 0xff000000) | first << 32 | shown << 48 | advance << 56;
}

void leat_jpeg_join_c(uint64_t *out, const uint64_t *first, const uint64_t *next)
{
    for (uint64_t i = 0; i < 1 << LEAT_JPEG_LOOKUP_BITS; i++)
        out[i] = join(first[i], i, next);
}

int leat_jpeg_table_codes(leat_jpeg_table *table, const uint8_t *spec)
{
    int32_t code = 0, n_symbols = 0;
    for (int length = 1; length <= 16; length++) {
        const int32_t count = spec[length - 1];
        table->offset[length] = n_symbols - code;
        n_symbols += count;
        code += count;
        if (count && code >= 1 << length)
            return -1;
        table->limit[length] = code << (16 - length);
        code <<= 1;
    }
    table->limit[17] = 1 << 16;
    memcpy(table->symbols, spec + 16, (size_t)n_symbols);
    return n_symbols;
}

int leat_jpeg_table_build(leat_jpeg_table *table, const uint8_t *spec, int is_dc,
                          const leat_jpeg_dsp *dsp)
{
    const int n_symbols = leat_jpeg_table_codes(table, spec);
    table->is_dc = is_dc;
    for (int i = 0; is_dc && i < n_symbols; i++)
        if (table->symbols[i] > 15)
            return -1;
    if (n_symbols < 0)
        return -1;
    if (is_dc) {
        fill_single(table, table->fast, spec);
        return 0;
    }
    fill_single(table, table->single, spec);
    dsp->join(table->fast, table->single, table->single);
    return 0;
}

void leat_jpeg_table_join(leat_jpeg_table *joined, const leat_jpeg_table *ac,
                          const leat_jpeg_dsp *dsp)
{
    uint64_t three[1 << LEAT_JPEG_LOOKUP_BITS];
    memcpy(joined->limit, ac->limit, sizeof ac->limit);
    memcpy(joined->offset, ac->offset, sizeof ac->offset);
    memcpy(joined->symbols, ac->symbols, sizeof ac->symbols);
    joined->is_dc = 0;
    dsp->join(three, ac->fast, ac->single);
    dsp->join(joined->fast, ac->fast, ac->fast);
    for (int i = 0; i < 1 << LEAT_JPEG_LOOKUP_BITS; i++)
        joined->fast[i] = joined->fast[i] != ac->fast[i] ? joined->fast[i] : three[i];
}
