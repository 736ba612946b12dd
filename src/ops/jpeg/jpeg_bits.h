/* SPDX-License-Identifier: MIT
 *
 * jpeg_bits.h: what Huffman loops share: loading bits, and decoding a code that look-up tables miss. */
#ifndef LEAT_JPEG_BITS_H
#define LEAT_JPEG_BITS_H

#include "jpeg_impl.h"

#include <string.h>

static inline uint64_t load_be64(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t load_le64(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Decodes the symbol at the start of word, and the length of its code; -1: no such code. */
static inline int search_code(const leat_jpeg_table *table, uint64_t word, int *length)
{
    const int32_t code = (int32_t)(word >> 48);
    int n = 1;
    while (code >= table->limit[n])
        n++;
    *length = n;
    return n > 16 ? -1 : table->symbols[table->offset[n] + (code >> (16 - n))];
}

/* Makes `word` hold at least 56 bits, the next one highest. Only the low six bits of n matter before. */
static inline void refill_bits(leat_jpeg_bits *b)
{
    b->word |= load_be64(b->p) >> (b->n & 63);
    b->p += (~b->n >> 3) & 7;
    b->n = (b->n & 7) | 56;
}

/* The same for bits whose next one is the lowest; n is below 64. */
static inline void refill_low_bits(leat_jpeg_bits *b)
{
    b->word |= load_le64(b->p) << b->n;
    b->p += (63 - b->n) >> 3;
    b->n |= 56;
}

/* Bits that have not been decoded, of bytes up to `end`; negative: more were decoded than there are. */
static inline int64_t bits_left(const leat_jpeg_bits *b, const uint8_t *end)
{
    return 8 * (int64_t)(end - b->p) + (int64_t)(b->n & 63);
}

#endif
