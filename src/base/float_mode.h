/* SPDX-License-Identifier: MIT
 *
 * float_mode.h: what the caller has set for floats does not reach results. A program may flush subnormal numbers to zero (DAZ,
 * FTZ; in PyTorch torch.set_flush_denormal) or round another way; this is a setting of a thread, which its new threads
 * inherit. What computes in a thread of the caller, and what starts threads, begins with LEAT_FLOAT_MODE. */
#ifndef LEAT_FLOAT_MODE_H
#define LEAT_FLOAT_MODE_H

#if defined(__x86_64__)

#include <xmmintrin.h>

#define LEAT_FLOAT_MODE_USUAL                                                                      \
    0x1f80u /* rounds to nearest, flushes nothing, no exception is a signal */
#define LEAT_FLOAT_MODE_FLAGS 0x3fu /* what has happened: no setting */

static inline unsigned leat_float_mode_enter(void)
{
    const unsigned before = _mm_getcsr();
    if ((before & ~LEAT_FLOAT_MODE_FLAGS) != LEAT_FLOAT_MODE_USUAL)
        _mm_setcsr(LEAT_FLOAT_MODE_USUAL);
    return before;
}

static inline void leat_float_mode_leave(const unsigned *before)
{
    if ((*before & ~LEAT_FLOAT_MODE_FLAGS) != LEAT_FLOAT_MODE_USUAL)
        _mm_setcsr(*before);
}

/* A declaration: from here to the end of the block floats are as usual. */
#define LEAT_FLOAT_MODE                                                                            \
    __attribute__((cleanup(leat_float_mode_leave), unused))                                        \
    const unsigned leat_float_mode_before = leat_float_mode_enter()

#else
#define LEAT_FLOAT_MODE _Static_assert(1, "other machines: as the caller has it")
#endif

#endif
