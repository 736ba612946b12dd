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
    .pair = leat_jpeg_pair_c,
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
#define KERNELS_AVX2(loop, two)                                                                    \
    .flat = leat_jpeg_flat##loop, .skip = leat_jpeg_skip##loop, .pair = two,                       \
    .skim = leat_jpeg_skim_avx2, .band = leat_jpeg_band_avx2, .refine = leat_jpeg_refine_avx2,     \
    .unstuff = leat_jpeg_unstuff_avx2, .up_h2 = leat_jpeg_up_h2_avx2,                              \
    .up_h2v2 = leat_jpeg_up_h2v2_avx2, .up_v2 = leat_jpeg_up_v2_avx2

#define AVX2(loop, two)                                                                            \
    {                                                                                              \
        KERNELS_AVX2(loop, two), .name = "avx2", .join = leat_jpeg_join_avx2,                      \
                                 .idct = leat_jpeg_idct_avx2, .rgb = leat_jpeg_rgb_avx2            \
    }

#define AVX512(loop, two)                                                                          \
    {                                                                                              \
        KERNELS_AVX2(loop, two), .name = "avx512", .join = leat_jpeg_join_avx512,                  \
                                 .idct = leat_jpeg_idct_avx512, .rgb = leat_jpeg_rgb_avx512,       \
                                 .mix_rows = leat_jpeg_mix_rows_avx512,                            \
                                 .sample_row = leat_jpeg_sample_row_avx512                         \
    }

/* By loop, and without and with pairs. */
#define ALL(LEVEL)                                                                                 \
    {                                                                                              \
        { LEVEL(_avx2, NULL), LEVEL(_avx2, leat_jpeg_pair_avx2) },                                 \
        {                                                                                          \
            LEVEL(_loads_avx2, NULL), LEVEL(_loads_avx2, leat_jpeg_pair_loads_avx2)                \
        }                                                                                          \
    }
static const leat_jpeg_dsp avx2[LEAT_JPEG_N_LOOPS][2] = ALL(AVX2);
static const leat_jpeg_dsp avx512[LEAT_JPEG_N_LOOPS][2] = ALL(AVX512);
#endif

static const leat_jpeg_dsp *dsp_with(int level, int loop, bool pairs)
{
    if (level > leat_cpu_best())
        return NULL;
#if defined(__x86_64__)
    if (level == LEAT_CPU_AVX512)
        return &avx512[loop][pairs];
    if (level == LEAT_CPU_AVX2)
        return &avx2[loop][pairs];
#endif
    return &leat_jpeg_dsp_c;
}

const leat_jpeg_dsp *leat_jpeg_dsp_at(int i)
{
    static const struct {
        int level, loop;
        bool pairs;
    } all[LEAT_JPEG_N_DSP] = { { LEAT_CPU_C, 0, true },
                               { LEAT_CPU_AVX2, LEAT_JPEG_LOOP_SHIFTS, true },
                               { LEAT_CPU_AVX512, LEAT_JPEG_LOOP_SHIFTS, true },
                               { LEAT_CPU_AVX2, LEAT_JPEG_LOOP_LOADS, true },
                               { LEAT_CPU_AVX512, LEAT_JPEG_LOOP_LOADS, true },
                               { LEAT_CPU_AVX2, LEAT_JPEG_LOOP_LOADS, false } };
    return dsp_with(all[i].level, all[i].loop, all[i].pairs);
}

const leat_jpeg_dsp *leat_jpeg_dsp_use(int level)
{
    const bool has_choice = level >= LEAT_CPU_AVX2;
    return dsp_with(level, has_choice ? leat_jpeg_loop_get() : 0,
                    has_choice && leat_jpeg_loop_pairs());
}
