/* SPDX-License-Identifier: MIT
 *
 * jpeg_dsp.c: the tables of kernels per CPU level, and the choice of one. */
#include "jpeg_dsp.h"
#include "base/cpu.h"
#include "huffman/jpeg_loop.h"

const leat_jpeg_dsp leat_jpeg_dsp_c = {
    .name = "c",
    .flat = leat_jpeg_flat_c,
    .skip = leat_jpeg_skip_c,
    .skim = leat_jpeg_skim_c,
    .band = leat_jpeg_band_c,
    .refine = leat_jpeg_refine_c,
    .join = leat_jpeg_join_c,
    .unstuff = leat_jpeg_unstuff_c,
    .idct = leat_jpeg_idct_c,
    .up_h2 = leat_jpeg_up_h2_c,
    .up_h2v2 = leat_jpeg_up_h2v2_c,
    .up_v2 = leat_jpeg_up_v2_c,
    .rgb = leat_jpeg_rgb_c,
};

#if defined(__x86_64__)
#define KERNELS_AVX2(loop)                                                                         \
    .flat = leat_jpeg_flat##loop, .skip = leat_jpeg_skip##loop, .skim = leat_jpeg_skim_avx2,       \
    .band = leat_jpeg_band_avx2, .refine = leat_jpeg_refine_avx2,                                  \
    .unstuff = leat_jpeg_unstuff_avx2, .up_h2 = leat_jpeg_up_h2_avx2,                              \
    .up_h2v2 = leat_jpeg_up_h2v2_avx2, .up_v2 = leat_jpeg_up_v2_avx2

#define AVX2(loop)                                                                                 \
    {                                                                                              \
        KERNELS_AVX2(loop), .name = "avx2", .join = leat_jpeg_join_avx2,                           \
                            .idct = leat_jpeg_idct_avx2, .rgb = leat_jpeg_rgb_avx2                 \
    }

#define AVX512(loop)                                                                               \
    {                                                                                              \
        KERNELS_AVX2(loop), .name = "avx512", .join = leat_jpeg_join_avx512,                       \
                            .idct = leat_jpeg_idct_avx512, .rgb = leat_jpeg_rgb_avx512,            \
                            .mix_rows = leat_jpeg_mix_rows_avx512,                                 \
                            .sample_row = leat_jpeg_sample_row_avx512                              \
    }

static const leat_jpeg_dsp avx2[] = { AVX2(_avx2), AVX2(_loads_avx2) };
static const leat_jpeg_dsp avx512[] = { AVX512(_avx2), AVX512(_loads_avx2) };
#endif

static const leat_jpeg_dsp *dsp_with(int level, int loop)
{
    if (level > leat_cpu_best())
        return NULL;
#if defined(__x86_64__)
    if (level == LEAT_CPU_AVX512)
        return &avx512[loop];
    if (level == LEAT_CPU_AVX2)
        return &avx2[loop];
#endif
    return &leat_jpeg_dsp_c;
}

const leat_jpeg_dsp *leat_jpeg_dsp_at(int i)
{
    return i < LEAT_N_CPU_LEVELS ? dsp_with(i, LEAT_JPEG_LOOP_SHIFTS)
                                 : dsp_with(i - LEAT_N_CPU_LEVELS + 1, LEAT_JPEG_LOOP_LOADS);
}

const leat_jpeg_dsp *leat_jpeg_dsp_use(int level)
{
    return dsp_with(level, level < LEAT_CPU_AVX2 ? 0 : leat_jpeg_loop_get());
}
