/* SPDX-License-Identifier: MIT
 *
 * jpeg_table.c: Huffman tables: one look-up for the short codes, limits per length for the rest. */
#include "jpeg_impl.h"

#include <string.h>

static uint32_t entry_of(int symbol, int length, int is_dc)
{
    const int size = symbol & 15;
    const int is_end = !is_dc && !size && symbol != 0xf0; /* libjpeg ends the block at any x0 */
    const int advance = is_dc || is_end ? 1 : (symbol >> 4) + 1;
    if (length + size > LEAT_JPEG_FAST_BITS)
        return (uint32_t)LEAT_JPEG_MISS << 24;
    return (uint32_t)(length + size) | (is_end ? LEAT_JPEG_EOB : 0u) | (uint32_t)length << 8 |
           (uint32_t)(63 - size) << 16 | (uint32_t)(2 * advance) << 24;
}

/* Codes are handed out in order, so that entries fill `fast` from its start. */
static void fill_fast(leat_jpeg_table *table, const uint8_t *counts)
{
    uint32_t *at = table->fast, *const end = at + (1 << LEAT_JPEG_LOOKUP_BITS);
    const uint8_t *symbol = table->symbols;
    for (int length = 1; length <= LEAT_JPEG_LOOKUP_BITS; length++)
        for (int i = 0; i < counts[length - 1]; i++) {
            const uint32_t entry = entry_of(*symbol++, length, table->is_dc);
            for (int n = 1 << (LEAT_JPEG_LOOKUP_BITS - length); n; n--)
                *at++ = entry;
        }
    while (at < end)
        *at++ = (uint32_t)LEAT_JPEG_MISS << 24;
}

int leat_jpeg_table_build(leat_jpeg_table *table, const uint8_t *spec, int is_dc)
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
    table->is_dc = is_dc;
    memcpy(table->symbols, spec + 16, (size_t)n_symbols);
    for (int i = 0; is_dc && i < n_symbols; i++)
        if (table->symbols[i] > 15)
            return -1;
    fill_fast(table, spec);
    return 0;
}

/* What `entry` and the entry after it come to, if the look-up has shown the code of that. The
 * length of the code of a joined entry is up to the end of its last code. */
static uint32_t join(uint32_t entry, uint32_t index, const uint32_t *next)
{
    const uint32_t used = entry & 63, mask = (1u << LEAT_JPEG_LOOKUP_BITS) - 1;
    if (entry & LEAT_JPEG_EOB || used >= LEAT_JPEG_LOOKUP_BITS)
        return entry;
    const uint32_t second = next[index << used & mask];
    const uint32_t total = used + (second & 63), shown = used + (second >> 8 & 63);
    const uint32_t advance = (entry >> 24) + (second >> 24);
    if (second >> 24 == LEAT_JPEG_MISS || shown > LEAT_JPEG_LOOKUP_BITS ||
        total > LEAT_JPEG_FAST_BITS || advance >= 128)
        return entry;
    return total | (second & LEAT_JPEG_EOB) | shown << 8 | (entry & 0xff0000) | advance << 24;
}

void leat_jpeg_table_join(leat_jpeg_table *joined, const leat_jpeg_table *ac)
{
    uint32_t pairs[1 << LEAT_JPEG_LOOKUP_BITS];
    *joined = *ac;
    for (uint32_t i = 0; i < 1 << LEAT_JPEG_LOOKUP_BITS; i++)
        pairs[i] = join(ac->fast[i], i, ac->fast);
    for (uint32_t i = 0; i < 1 << LEAT_JPEG_LOOKUP_BITS; i++) {
        const uint32_t three = join(ac->fast[i], i, pairs);
        joined->fast[i] = three == ac->fast[i] ? pairs[i] : three;
    }
}
