/* SPDX-License-Identifier: MIT
 *
 * jpeg_flat.h: the inner loop of Huffman decoding. One file per CPU level includes it, which names the
 * functions (FLAT_NAME, FLAT_SKIP_NAME, FLAT_PAIR_NAME) and may define FLAT_SELECT, or FLAT_STEP.
 *
 * DESIGN. Usual decoders have a loop over the coefficients of a block inside a loop over blocks. Its exit
 * is hard to predict, since a block ends after 1 to 64 symbols, and a misprediction takes as long as four
 * symbols. Here there is one loop over symbols, without a branch that depends on decoded data. Its state
 * is in registers:
 *
 *   word, n    the next bits, and the number of valid ones; refilled every three symbols
 *   at         place of the next coefficient if no zeros are skipped
 *   node       the block: its end, its AC table, the next block and its DC table
 *   table      table of the next symbol: node->ac inside a block, node->next_dc after its end
 *
 * A step looks up an entry (length of the code, length of the value, coefficients to advance), extracts
 * the value from word and stores it. Then conditional moves choose by the end-of-block bit of the entry:
 *
 *   not the end     table = node->ac        at = after the value   node stays
 *   end of block    table = node->next_dc   at = node->next        node = node->after
 *
 * So DC symbols need no step of their own: the first row applies after them too. All rare cases share one
 * branch, `at` beyond the block: codes that are not in the look-up table (their entry advances very far),
 * a last coefficient at place 63 (no end-of-block symbol follows), and runs that overshoot. rare_step()
 * then does that symbol from its start.
 *
 * Values are stored in zigzag order, and negative values one too low. The bits of a value of s bits with
 * first bit b are then the number [~b, b, …] of s + 1 bits, which one arithmetic shift extracts for both
 * signs. For s = 0 it gives 0 or -1, which both mean 0. leat_jpeg_coefficient() corrects the values. */
#include "ops/jpeg/jpeg_bits.h"

#include <stddef.h>

typedef struct flat_state {
    uint64_t word, n;
    const uint8_t *p;
    int16_t *at;
    const leat_jpeg_node *node;
    const uint64_t *table;
} flat_state;

static inline void refill(flat_state *s)
{
    s->word |= load_be64(s->p) >> (s->n & 63);
    s->p += (~s->n >> 3) & 7;
    s->n = (s->n & 7) | 56;
}

static inline void end_block(flat_state *s)
{
    s->table = s->node->next_dc;
    s->at = s->node->next;
    s->node = s->node->after;
}

/* Decodes one symbol of any kind. As in libjpeg, the value of a run that overshoots goes to the last place
 * of the block. */
static __attribute__((noinline)) int slow_step(flat_state *s)
{
    const leat_jpeg_table *table = (const void *)s->table; /* `fast` is its first field */
    int length;
    refill(s);
    const int symbol = search_code(table, s->word, &length);
    if (symbol < 0)
        return -1;
    const int size = symbol & 15, run = table->is_dc ? 0 : symbol >> 4;
    const uint64_t bits = s->word << length;
    s->word = bits << size;
    s->n -= (uint64_t)(length + size);
    if (!size && !table->is_dc && run != 15) {
        end_block(s);
        return 0;
    }
    const ptrdiff_t room = s->node->end - s->at;
    if (size) {
        const int64_t value = (int64_t)(bits >> (64 - size)) - (bits >> 63 ? 0 : 1 << size);
        s->at[run < room ? run : room - 1] = (int16_t)value;
    } else if (table->is_dc) {
        *s->at = 0; /* the memory of skipped blocks is not cleared */
    }
    s->at += run + 1;
    s->table = s->node->ac;
    if (run + 1 >= room)
        end_block(s);
    return 0;
}

#ifndef FLAT_SELECT
#define FLAT_SHIFT(entry, by) ((entry) >> (by)) /* only the lowest six bits matter */
#define FLAT_ADVANCE1(entry)  ((uint32_t)(entry) >> 24)
#define FLAT_TOP(v, by)       ((v) >> (by))
#define FLAT_SELECT(s, entry, after)                                                               \
    do {                                                                                           \
        const int is_end = (entry)&LEAT_JPEG_EOB;                                                  \
        (s).table = is_end ? (s).node->next_dc : (s).node->ac;                                     \
        (s).at = is_end ? (s).node->next : (after);                                                \
        (s).node = is_end ? (s).node->after : (s).node;                                            \
    } while (0)
#endif

/* Stores the values of the first and the last symbol of an entry, which may be the same symbol. */
static inline void store_values(int16_t *at, int16_t *after, uint64_t word, uint64_t entry,
                                const int is_skip)
{
    int16_t *first = (int16_t *)((char *)at + FLAT_ADVANCE1(entry));
    if (!is_skip)
        first[-1] = (int16_t)FLAT_SHIFT(entry, 32);
    after[-1] = leat_jpeg_signed_bits(word, FLAT_SHIFT(entry, 8), FLAT_SHIFT(entry, 16));
}

/* Decodes one symbol or two. In a rare case it jumps to `rare` before it changes anything. */
#ifndef FLAT_STEP
#define FLAT_STEP(s, rare)                                                                         \
    do {                                                                                           \
        const uint64_t entry = (s).table[FLAT_TOP((s).word, 64 - LEAT_JPEG_LOOKUP_BITS)];          \
        int16_t *after = (int16_t *)((char *)(s).at + FLAT_TOP(entry, 56));                        \
        if (__builtin_expect(after >= (s).node->end, 0))                                           \
            goto rare;                                                                             \
        store_values((s).at, after, (s).word, entry, is_skip);                                     \
        FLAT_SELECT(s, entry, after);                                                              \
        (s).word <<= entry & 63;                                                                   \
        (s).n -= entry;                                                                            \
    } while (0)
#endif

/* The rare cases of FLAT_STEP: does the last coefficient of a block here, and the others in
 * slow_step(). */
static inline int rare_step(flat_state *s)
{
    const uint64_t entry = s->table[s->word >> (64 - LEAT_JPEG_LOOKUP_BITS)];
    if ((char *)s->at + (entry >> 56) != (char *)s->node->end)
        return slow_step(s);
    store_values(s->at, s->node->end, s->word, entry, 0);
    s->word <<= entry & 63;
    s->n -= entry;
    end_block(s);
    return 0;
}

static inline __attribute__((always_inline)) int run(leat_jpeg_bits *bits,
                                                     const leat_jpeg_node *node,
                                                     const leat_jpeg_node *stop, int16_t *at,
                                                     const uint64_t *dc, const int is_skip)
{
    const uint8_t *const limit = bits->limit;
    const leat_jpeg_node *const stop3 = stop - node > 2 ? stop - 2 : node;
    flat_state s = { bits->word, bits->n, bits->p, at, node, dc };
    while (s.node < stop3) { /* three symbols end at most two blocks */
        if (s.p > limit)
            return -1;
        refill(&s);
        FLAT_STEP(s, rare3);
        FLAT_STEP(s, rare3);
        FLAT_STEP(s, rare3);
        continue;
    rare3:;
        flat_state copy = s; /* keeps s in registers */
        if (rare_step(&copy) < 0)
            return -1;
        s = copy;
    }
    while (s.node < stop) {
        if (s.p > limit)
            return -1;
        refill(&s);
        FLAT_STEP(s, rare1);
        continue;
    rare1:;
        flat_state copy = s;
        if (rare_step(&copy) < 0)
            return -1;
        s = copy;
    }
    bits->word = s.word;
    bits->n = s.n;
    bits->p = s.p;
    return 0;
}

int FLAT_NAME(leat_jpeg_bits *bits, const leat_jpeg_node *node, const leat_jpeg_node *stop,
              int16_t *at, const uint64_t *dc)
{
    return run(bits, node, stop, at, dc, 0);
}

int FLAT_SKIP_NAME(leat_jpeg_bits *bits, const leat_jpeg_node *node, const leat_jpeg_node *stop,
                   int16_t *at, const uint64_t *dc)
{
    return run(bits, node, stop, at, dc, 1);
}

/* A state from which three steps cannot pass the stop. */
static inline const leat_jpeg_node *last_for_3(const leat_jpeg_block_run *s)
{
    return s->stop - s->node > 2 ? s->stop - 2 : s->node;
}

static inline flat_state load_state(const leat_jpeg_block_run *s)
{
    return (flat_state){ s->bits.word, s->bits.n, s->bits.p, s->at, s->node, s->table };
}

static inline void store_state(leat_jpeg_block_run *to, const flat_state *s)
{
    *to = (leat_jpeg_block_run){
        { s->word, s->n, s->p, to->bits.limit }, s->node, to->stop, s->at, s->table
    };
}

/* The rare case of one of two. A copy keeps the state in registers. */
#define PAIR_RARE(s)                                                                               \
    do {                                                                                           \
        flat_state copy = s;                                                                       \
        if (rare_step(&copy) < 0)                                                                  \
            return -1;                                                                             \
        s = copy;                                                                                  \
    } while (0)

/* Each step waits for the one before it, so the steps of the other run meanwhile. */
int FLAT_PAIR_NAME(leat_jpeg_block_run *first, leat_jpeg_block_run *second)
{
    enum { is_skip = 0 };
    const leat_jpeg_node *const stop_a = last_for_3(first), *const stop_b = last_for_3(second);
    const uint8_t *const limit_a = first->bits.limit, *const limit_b = second->bits.limit;
    flat_state a = load_state(first), b = load_state(second);
    while (a.node < stop_a && b.node < stop_b) {
        if (a.p > limit_a || b.p > limit_b)
            return -1;
        refill(&a);
        refill(&b);
        FLAT_STEP(a, rare_a);
        FLAT_STEP(b, rare_b);
        FLAT_STEP(a, rare_a);
        FLAT_STEP(b, rare_b);
        FLAT_STEP(a, rare_a);
        FLAT_STEP(b, rare_b);
        continue;
    rare_a:
        PAIR_RARE(a);
        continue;
    rare_b:
        PAIR_RARE(b);
    }
    store_state(first, &a);
    store_state(second, &b);
    leat_jpeg_block_run *const ends = a.node < stop_a ? second : first;
    if (run(&ends->bits, ends->node, ends->stop, ends->at, ends->table, 0))
        return -1;
    ends->node = ends->stop;
    return 0;
}
