/* SPDX-License-Identifier: MIT
 *
 * jpeg_flat_avx2.c: the Huffman loop of jpeg_flat.h for CPUs with BMI2; jpeg_flat_loads_avx2.c is another. */
#if defined(__x86_64__)
#include "ops/jpeg/jpeg_dsp.h"

#include <stddef.h>

/* Shifts in one instruction, without the copy of the operand that compilers make. Only the low six bits
 * of the results matter, or the results are small. */
static inline uint64_t rotate_right(uint64_t v, const int n)
{
    uint64_t out;
    __asm__("rorxq %2, %1, %0" : "=r"(out) : "r"(v), "n"(n));
    return out;
}

static inline uint64_t shift_right(uint64_t v, uint64_t n)
{
    uint64_t out;
    __asm__("shrxq %2, %1, %0" : "=r"(out) : "r"(v), "r"(n));
    return out;
}

static inline uint64_t shift_right32(uint64_t v, uint64_t n)
{
    uint64_t out;
    __asm__("shrxl %k2, %k1, %k0" : "=r"(out) : "r"(v), "r"(n));
    return out;
}

#define FLAT_SHIFT(entry, by) rotate_right(entry, by)
#define FLAT_ADVANCE1(entry)  shift_right32(entry, 24)
#define FLAT_TOP(v, by)       shift_right(v, by)

/* Assembly, because compilers turn these selects into branches. */
#define FLAT_SELECT(s, entry, after)                                                               \
    do {                                                                                           \
        (s).at = (after);                                                                          \
        __asm__("movq 8(%[node]), %[table]\n\t"                                                    \
                "testb $64, %b[e]\n\t"                                                             \
                "cmovnzq 16(%[node]), %[table]\n\t"                                                \
                "cmovnzq 24(%[node]), %[at]\n\t"                                                   \
                "cmovnzq 32(%[node]), %[node]"                                                     \
                : [node] "+r"((s).node), [at] "+r"((s).at), [table] "=&r"((s).table)               \
                : [e] "q"(entry)                                                                   \
                : "cc", "memory");                                                                 \
    } while (0)
_Static_assert(offsetof(leat_jpeg_node, ac) == 8, "read by the assembly above");
_Static_assert(offsetof(leat_jpeg_node, next_dc) == 16, "read by the assembly above");
_Static_assert(offsetof(leat_jpeg_node, next) == 24, "read by the assembly above");
_Static_assert(offsetof(leat_jpeg_node, after) == 32, "read by the assembly above");
_Static_assert(LEAT_JPEG_EOB == 64, "read by the assembly above");

#define FLAT_NAME      leat_jpeg_flat_avx2
#define FLAT_SKIP_NAME leat_jpeg_skip_avx2
#define FLAT_PAIR_NAME leat_jpeg_pair_avx2
#include "jpeg_flat.h"

#define SKIM_SELECT(s, entry, sum)                                                                 \
    do {                                                                                           \
        (s).k = (sum);                                                                             \
        __asm__("movq (%[block]), %[table]\n\t"                                                    \
                "testb $64, %b[e]\n\t"                                                             \
                "cmovnzq 8(%[block]), %[table]\n\t"                                                \
                "cmovnzq %[zero], %[k]\n\t"                                                        \
                "cmovnzq %[later], %[block]"                                                       \
                : [block] "+r"((s).block), [table] "=&r"((s).table), [k] "+r"((s).k)               \
                : [e] "q"(entry), [zero] "r"((uint64_t)0), [later] "r"((s).block + 1)              \
                : "cc", "memory");                                                                 \
    } while (0)
_Static_assert(offsetof(leat_jpeg_start, ac) == 0, "read by the assembly above");
_Static_assert(offsetof(leat_jpeg_start, next) == 8, "read by the assembly above");

#define SKIM_NAME leat_jpeg_skim_avx2
#include "jpeg_skim.inc"
#endif
