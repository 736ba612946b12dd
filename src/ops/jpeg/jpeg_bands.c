/* SPDX-License-Identifier: MIT
 *
 * jpeg_bands.c: the tables for bands of AC coefficients, and the loops of jpeg_bands.inc in plain C. */
#include "jpeg_dsp.h"

/* --- tables -------------------------------------------------------------------------------------- */

static uint64_t reverse(uint64_t v, int n)
{
    uint64_t out = 0;
    for (int i = 0; i < n; i++, v >>= 1)
        out = out << 1 | (v & 1);
    return out;
}

/* An entry of a first scan. */
static uint64_t first_entry(int symbol, int length, int shift)
{
    const int size = symbol & 15, run = symbol >> 4;
    const int n = size ? size : run; /* bits after the code */
    const uint64_t is_eob = size ? 0 : LEAT_JPEG_EOB;
    if ((!size && run == 15) || size + shift > 15)
        return LEAT_JPEG_EOB; /* rare, or damaged */
    return (uint64_t)(length + n) | is_eob | (uint64_t)length << 8 | (uint64_t)(63 - n) << 16 |
           (uint64_t)run << 24;
}

/* An entry of a refining scan; `bits` follow the code, `room` of them in the look-up. */
static uint64_t refine_entry(int symbol, int length, uint64_t bits, int room)
{
    const int size = symbol & 15, run = symbol >> 4;
    if (size > 1 || (size ? 1 : run == 15 ? 0 : run) > room)
        return (uint64_t)LEAT_JPEG_EOB << 32;
    if (size)
        return 1ull << run | (uint64_t)(length + 1 + (bits & 1 ? 256 : 384)) << 32;
    if (run == 15)
        return 1ull << run | (uint64_t)length << 32;
    return ((1u << run) + reverse(bits & ((1u << run) - 1), run)) |
           (uint64_t)(length + run + LEAT_JPEG_EOB) << 32;
}

int leat_jpeg_table_band(leat_jpeg_table *table, const uint8_t *spec, int is_refining, int shift)
{
    enum { BITS = LEAT_JPEG_LOOKUP_BITS };
    const uint8_t *symbol = table->symbols;
    uint64_t code = 0;
    if (leat_jpeg_table_codes(table, spec) < 0)
        return -1;
    for (int i = 0; i < 1 << BITS; i++)
        table->fast[i] = (uint64_t)LEAT_JPEG_EOB << (is_refining ? 32 : 0);
    for (int length = 1; length <= BITS; length++, code <<= 1)
        for (int i = 0; i < spec[length - 1]; i++, code++, symbol++) {
            const uint64_t first = is_refining ? reverse(code, length) : code << (BITS - length);
            const uint64_t entry = first_entry(*symbol, length, shift);
            for (uint64_t rest = 0; rest < 1u << (BITS - length); rest++)
                if (is_refining)
                    table->fast[first | rest << length] =
                        refine_entry(*symbol, length, rest, BITS - length);
                else
                    table->fast[first | rest] = entry;
        }
    return 0;
}

/* --- loops --------------------------------------------------------------------------------------- */

/* Puts the lowest bits of `bits` at the places of the bits of `mask`. */
static inline uint64_t spread(uint64_t bits, uint64_t mask)
{
    uint64_t out = 0;
    for (; mask && bits; mask &= mask - 1, bits >>= 1)
        out |= mask & -mask & -(bits & 1);
    return out;
}

static inline void change(int16_t *block, uint64_t more, uint64_t fresh, uint64_t negative,
                          int16_t one)
{
    for (; more; more &= more - 1) {
        int16_t *const at = &block[__builtin_ctzll(more)];
        *at = (int16_t)(*at < 0 ? *at - one : *at + one);
    }
    for (; fresh; fresh &= fresh - 1)
        block[__builtin_ctzll(fresh)] = (int16_t)(fresh & -fresh & negative ? -one - 1 : one);
}

#define BAND_NAME   leat_jpeg_band_c
#define REFINE_NAME leat_jpeg_refine_c
#define BAND_SPREAD spread
#define BAND_CHANGE change
#include "jpeg_bands.inc"
