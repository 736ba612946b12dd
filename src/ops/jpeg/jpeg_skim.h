/* SPDX-License-Identifier: MIT
 *
 * jpeg_skim.h: the Huffman loop for DC values only. jpeg_flat.c and jpeg_flat_avx2.c include it, after jpeg_flat.h.
 *
 * DESIGN. A loop over look-ups as in jpeg_flat.h, which only notes where blocks start. leat_jpeg_skim() takes the
 * DC symbols from there later. So a step is shorter, an entry has 16 bits, and a table of more bits fits the L1
 * cache. Each step notes its end as the start of the next block; the last one that does is right. */
typedef struct skim_state {
    uint64_t word, n;
    const uint8_t *p;
    uint64_t k; /* coefficients of the block so far */
    leat_jpeg_start *next;
    const leat_jpeg_turn *turn;
    const leat_jpeg_quick *table;
} skim_state;

static inline void skim_refill(skim_state *s)
{
    s->word |= load_be64(s->p) >> (s->n & 63);
    s->p += (~s->n >> 3) & 7;
    s->n = (s->n & 7) | 56;
}

/* Places fit 32 bits modulo 2^32. */
static inline void skim_note(const skim_state *s)
{
    s->next->p = (uint32_t)(uintptr_t)s->p;
    s->next->n = (uint32_t)s->n;
}

/* What no entry does: one symbol whose code is too long, or whose coefficient is the block's last. */
static __attribute__((noinline)) int skim_rare(skim_state *s)
{
    int length;
    skim_refill(s);
    const leat_jpeg_table *codes = s->table->codes;
    const int symbol = search_code(codes, s->word, &length);
    if (symbol < 0)
        return -1;
    const int size = symbol & 15, run = codes->is_dc ? 0 : symbol >> 4;
    const int is_end = !codes->is_dc && !size && run != 15;
    s->word = s->word << length << size;
    s->n -= (uint64_t)(length + size);
    s->k += (uint64_t)run + 1;
    s->table = s->turn->ac;
    if (is_end || s->k > 63) {
        skim_note(s);
        s->next++;
        s->k = 0;
        s->table = s->turn->next;
        s->turn = s->turn->after;
    }
    return 0;
}

#ifndef SKIM_SELECT
#define SKIM_SELECT(s, entry, sum)                                                                 \
    do {                                                                                           \
        const int is_end = (entry)&LEAT_JPEG_EOB;                                                  \
        (s).table = is_end ? (s).turn->next : (s).turn->ac;                                        \
        (s).turn = is_end ? (s).turn->after : (s).turn;                                            \
        (s).k = is_end ? 0 : (sum);                                                                \
        (s).next += is_end / LEAT_JPEG_EOB;                                                        \
    } while (0)
#endif

/* The symbols of one entry. In a rare case it jumps before it changes anything. */
#define SKIM_STEP(s)                                                                               \
    do {                                                                                           \
        const uint64_t entry = (s).table->entry[FLAT_TOP((s).word, rest)];                         \
        const uint64_t sum = (s).k + (entry >> 8);                                                 \
        if (__builtin_expect(sum > 63, 0))                                                         \
            goto rare;                                                                             \
        (s).word <<= entry & 63;                                                                   \
        (s).n -= entry;                                                                            \
        skim_note(&(s));                                                                           \
        SKIM_SELECT(s, entry, sum);                                                                \
    } while (0)

int SKIM_NAME(leat_jpeg_bits *bits, const leat_jpeg_turn *turn, const leat_jpeg_quick *dc,
              leat_jpeg_start *starts, const leat_jpeg_start *stop)
{
    const uint8_t *const limit = bits->limit;
    const uint64_t rest = 64 - dc->bits;
    skim_state s = { bits->word, bits->n, bits->p, 0, starts, turn, dc };
    skim_note(&s);
    s.next++;
    while (s.next <= stop) {
        if (s.p > limit)
            return -1;
        skim_refill(&s);
        SKIM_STEP(s);
        if (s.next < stop - 1) { /* the next symbols end at most two blocks */
            SKIM_STEP(s);
            SKIM_STEP(s);
        }
        continue;
    rare:;
        skim_state copy = s; /* keeps s in registers */
        if (skim_rare(&copy) < 0)
            return -1;
        s = copy;
    }
    bits->word = s.word;
    bits->n = s.n;
    bits->p = s.p;
    return 0;
}
