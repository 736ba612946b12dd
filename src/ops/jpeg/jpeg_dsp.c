/* SPDX-License-Identifier: MIT
 *
 * jpeg_dsp.c: which kernels run. */
#include "jpeg_dsp_c.h"
#include "jpeg_dsp_x86.h"

const leat_jpeg_dsp leat_jpeg_dsp_c = {
    .name = "c",
    .flat = leat_jpeg_flat_c,
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
    .unstuff = leat_jpeg_unstuff_avx2,
    .idct = leat_jpeg_idct_avx512,
    .up_h2 = leat_jpeg_up_h2_avx2,
    .up_h2v2 = leat_jpeg_up_h2v2_avx2,
    .up_v2 = leat_jpeg_up_v2_avx2,
    .rgb = leat_jpeg_rgb_avx512,
};
#endif

const leat_jpeg_dsp *leat_jpeg_dsp_at(int level)
{
    if (level == 0)
        return &leat_jpeg_dsp_c;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const int has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    const int has_avx512 =
        has_avx2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi");
    if (has_avx512 && (level == 2 || level < 0))
        return &leat_jpeg_dsp_avx512;
    if (has_avx2 && (level == 1 || level < 0))
        return &leat_jpeg_dsp_avx2;
#endif
    return level < 0 ? &leat_jpeg_dsp_c : NULL;
}
