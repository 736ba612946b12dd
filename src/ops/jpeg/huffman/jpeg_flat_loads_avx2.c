/* SPDX-License-Identifier: MIT
 *
 * jpeg_flat_loads_avx2.c: the Huffman loop of jpeg_flat.h for CPUs that shift at two of their ports only, but
 * load at three (Intel). A step of jpeg_flat_avx2.c has ten shifts. Here the fields of an entry are loaded again,
 * byte by byte, which leaves four. The choices of the next block are loaded before the test. jpeg_loop.c
 * measures which of the two loops is faster. */
#if defined(__x86_64__)
#include "ops/jpeg/jpeg_dsp.h"

/* A field of 8 or 16 bits of table[index], `at` bytes from its start. Assembly, because compilers compute the
 * address of the entry first, which makes each step a cycle longer. It does not name the memory that it reads:
 * nothing here writes to tables. */
static inline uint64_t load_8(const uint64_t *table, uint64_t index, const int at)
{
    uint64_t out;
    __asm__("movzbl %c3(%1,%2,8), %k0" : "=r"(out) : "r"(table), "r"(index), "i"(at));
    return out;
}

static inline uint64_t load_16(const uint64_t *table, uint64_t index, const int at)
{
    uint64_t out;
    __asm__("movzwl %c3(%1,%2,8), %k0" : "=r"(out) : "r"(table), "r"(index), "i"(at));
    return out;
}

static inline uint64_t shift_right(uint64_t v, uint64_t n)
{
    uint64_t out;
    __asm__("shrxq %2, %1, %0" : "=r"(out) : "r"(v), "r"(n));
    return out;
}

/* Assembly, because compilers turn these selects into branches. */
#define SELECT_LOADED(s, length, after)                                                            \
    do {                                                                                           \
        const uint64_t *const next_dc = (s).node->next_dc;                                         \
        int16_t *const next = (s).node->next;                                                      \
        leat_jpeg_node *const next_node = (s).node->after;                                         \
        (s).table = (s).node->ac;                                                                  \
        (s).at = (after);                                                                          \
        __asm__("testb $64, %b[l]\n\t"                                                             \
                "cmovnzq %[dc], %[table]\n\t"                                                      \
                "cmovnzq %[next], %[at]\n\t"                                                       \
                "cmovnzq %[after], %[node]"                                                        \
                : [node] "+r"((s).node), [at] "+r"((s).at), [table] "+r"((s).table)                \
                : [l] "q"(length), [dc] "r"(next_dc), [next] "r"(next), [after] "r"(next_node)     \
                : "cc");                                                                           \
    } while (0)
_Static_assert(LEAT_JPEG_EOB == 64, "read by the assembly above");

/* The step of jpeg_flat.h. Fields of an entry: see leat_jpeg_table. */
#define FLAT_STEP(s, rare)                                                                         \
    do {                                                                                           \
        const uint64_t *const table = (s).table;                                                   \
        const uint64_t index = shift_right((s).word, 64 - LEAT_JPEG_LOOKUP_BITS);                  \
        int16_t *const after = (int16_t *)((char *)(s).at + load_8(table, index, 7));              \
        if (__builtin_expect(after >= (s).node->end, 0))                                           \
            goto rare;                                                                             \
        if (!is_skip)                                                                              \
            ((int16_t *)((char *)(s).at + load_8(table, index, 3)))[-1] =                          \
                (int16_t)load_16(table, index, 4);                                                 \
        after[-1] =                                                                                \
            leat_jpeg_signed_bits((s).word, load_8(table, index, 1), load_8(table, index, 2));     \
        const uint64_t length = load_8(table, index, 0);                                           \
        (s).word <<= length & 63;                                                                  \
        (s).n -= length;                                                                           \
        SELECT_LOADED(s, length, after);                                                           \
    } while (0)

#define FLAT_NAME      leat_jpeg_flat_loads_avx2
#define FLAT_SKIP_NAME leat_jpeg_skip_loads_avx2
#define FLAT_PAIR_NAME leat_jpeg_pair_loads_avx2
#include "jpeg_flat.h"
#endif
