/* SPDX-License-Identifier: MIT
 *
 * jpeg_dsp.c: the tables of kernels per CPU level, and the choice of one. */
#include "jpeg_dsp.h"
#include "base/cpu.h"

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
const leat_jpeg_dsp leat_jpeg_dsp_avx2 = {
    .name = "avx2",
    .flat = leat_jpeg_flat_avx2,
    .skip = leat_jpeg_skip_avx2,
    .skim = leat_jpeg_skim_avx2,
    .band = leat_jpeg_band_avx2,
    .refine = leat_jpeg_refine_avx2,
    .join = leat_jpeg_join_avx2,
    .unstuff = leat_jpeg_unstuff_avx2,
    .idct = leat_jpeg_idct_avx2,
    .up_h2 = leat_jpeg_up_h2_avx2,
    .up_h2v2 = leat_jpeg_up_h2v2_avx2,
    .up_v2 = leat_jpeg_up_v2_avx2,
    .rgb = leat_jpeg_rgb_avx2,
};

const leat_jpeg_dsp leat_jpeg_dsp_avx512 = {
    .name = "avx512",
    .flat = leat_jpeg_flat_avx2,
    .skip = leat_jpeg_skip_avx2,
    .skim = leat_jpeg_skim_avx2,
    .band = leat_jpeg_band_avx2,
    .refine = leat_jpeg_refine_avx2,
    .join = leat_jpeg_join_avx512,
    .unstuff = leat_jpeg_unstuff_avx2,
    .idct = leat_jpeg_idct_avx512,
    .up_h2 = leat_jpeg_up_h2_avx2,
    .up_h2v2 = leat_jpeg_up_h2v2_avx2,
    .up_v2 = leat_jpeg_up_v2_avx2,
    .rgb = leat_jpeg_rgb_avx512,
    .mix_rows = leat_jpeg_mix_rows_avx512,
    .sample_row = leat_jpeg_sample_row_avx512,
};
#endif

const leat_jpeg_dsp *leat_jpeg_dsp_at(int level)
{
    if (level > leat_cpu_best())
        return NULL;
#if defined(__x86_64__)
    if (level == LEAT_CPU_AVX512)
        return &leat_jpeg_dsp_avx512;
    if (level == LEAT_CPU_AVX2)
        return &leat_jpeg_dsp_avx2;
#endif
    return &leat_jpeg_dsp_c;
}
