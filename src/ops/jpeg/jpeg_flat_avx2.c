/* SPDX-License-Identifier: MIT
 *
 * jpeg_flat_avx2.c: the flat loop for CPUs with BMI2. */
#if defined(__x86_64__)
#include "jpeg_dsp_x86.h"

#include <stddef.h>

/* Compilers make branches of these selects; they must be moves. */
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

#define FLAT_NAME leat_jpeg_flat_avx2
#include "jpeg_flat.h"
#endif
