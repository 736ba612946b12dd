/* SPDX-License-Identifier: MIT
 *
 * dsp_impl.h: the tables of the levels, for dsp.c and the files of the levels. */
#ifndef LEAT_DSP_IMPL_H
#define LEAT_DSP_IMPL_H

#include "dsp.h"

extern const leat_dsp_table leat_dsp_c;
#if defined(__x86_64__)
extern const leat_dsp_table leat_dsp_avx2;
#endif

#endif
