/* SPDX-License-Identifier: MIT
 *
 * dsp.c: the inner loops in plain C, which define the results of all levels, and the choice of a level. */
#include "dsp.h"

#include <string.h>

#include "base/cpu.h"
#include "base/half.h"
#include "dsp_impl.h"
#include "taps.h"

void leat_dsp_affine_fill(leat_affine *affine)
{
    affine->period = 8 * affine->n_channels;
    for (int32_t i = affine->n_channels; i < affine->period; i++) {
        affine->scale[i] = affine->scale[i - affine->n_channels];
        affine->shift[i] = affine->shift[i - affine->n_channels];
    }
}

static void affine_u8(float *out, const uint8_t *in, size_t n, const leat_affine *affine)
{
    const size_t period = (size_t)affine->period;
    for (; n; n -= n < period ? n : period, in += period, out += period)
        for (size_t i = 0; i < period && i < n; i++)
            out[i] = (float)in[i] * affine->scale[i] + affine->shift[i];
}

static void affine_f32(float *out, const float *in, size_t n, const leat_affine *affine)
{
    const size_t period = (size_t)affine->period;
    for (; n; n -= n < period ? n : period, in += period, out += period)
        for (size_t i = 0; i < period && i < n; i++)
            out[i] = in[i] * affine->scale[i] + affine->shift[i];
}

#define MIRROR(name, n_bytes)                                                                      \
    static void name(uint8_t *out, const uint8_t *in, size_t n_px)                                 \
    {                                                                                              \
        for (size_t i = 0; i < (n_px + 1) / 2; i++) {                                              \
            uint8_t left[n_bytes], right[n_bytes];                                                 \
            memcpy(left, in + i * (n_bytes), n_bytes);                                             \
            memcpy(right, in + (n_px - 1 - i) * (n_bytes), n_bytes);                               \
            memcpy(out + i * (n_bytes), right, n_bytes);                                           \
            memcpy(out + (n_px - 1 - i) * (n_bytes), left, n_bytes);                               \
        }                                                                                          \
    }
MIRROR(mirror_1, 1)
MIRROR(mirror_2, 2)
MIRROR(mirror_3, 3)
MIRROR(mirror_4, 4)
MIRROR(mirror_8, 8)
MIRROR(mirror_12, 12)
MIRROR(mirror_16, 16)

static void mirror_row(uint8_t *out, const uint8_t *in, size_t n_px, size_t pixel_bytes)
{
    switch (pixel_bytes) {
    case 1:
        mirror_1(out, in, n_px);
        break;
    case 2:
        mirror_2(out, in, n_px);
        break;
    case 3:
        mirror_3(out, in, n_px);
        break;
    case 4:
        mirror_4(out, in, n_px);
        break;
    case 8:
        mirror_8(out, in, n_px);
        break;
    case 12:
        mirror_12(out, in, n_px);
        break;
    default:
        mirror_16(out, in, n_px);
    }
}

static void add_u8(uint8_t *out, const uint8_t *in, size_t n, int32_t delta)
{
    for (size_t i = 0; i < n; i++) {
        const int32_t x = in[i] + delta;
        out[i] = (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
    }
}

static void mix_rows(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                     const int16_t *weights, int32_t n_taps, int32_t shift)
{
    for (size_t i = 0; i < n; i++) {
        int32_t sum = 1 << (shift - 1);
        for (int32_t k = 0; k < n_taps; k++)
            sum += weights[k] * in[(size_t)k * in_stride + i];
        out[i] = (int16_t)(sum >> shift);
    }
}

static void sample_row(uint8_t *out, const int16_t *in, const leat_dsp_axis *axis, int32_t channels,
                       int32_t shift)
{
    for (int32_t i = 0; i < axis->n_out; i++) {
        const int16_t *weights = axis->weights + (size_t)i * (size_t)axis->stride;
        const int16_t *from = in + (size_t)axis->start[i] * (size_t)channels;
        for (int32_t c = 0; c < channels; c++) {
            int32_t sum = 1 << (shift - 1);
            for (int32_t k = 0; k < axis->n_taps; k++)
                sum += weights[k] * from[k * channels + c];
            *out++ = leat_taps_clamp(sum >> shift);
        }
    }
}

static void f16_of_f32(uint16_t *out, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = leat_half_f16(in[i]);
}

static void bf16_of_f32(uint16_t *out, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = leat_half_bf16(in[i]);
}

const leat_dsp_table leat_dsp_c = {
    .affine_u8 = affine_u8,
    .affine_f32 = affine_f32,
    .f16_of_f32 = f16_of_f32,
    .bf16_of_f32 = bf16_of_f32,
    .mirror_row = mirror_row,
    .add_u8 = add_u8,
    .mix_rows = mix_rows,
    .sample_row = sample_row,
};

const leat_dsp_table *leat_dsp_level(int level)
{
#if defined(__x86_64__)
    if (level >= LEAT_CPU_AVX2)
        return &leat_dsp_avx2;
#endif
    (void)level;
    return &leat_dsp_c;
}

const leat_dsp_table *leat_dsp(void)
{
    return leat_dsp_level(leat_cpu_level());
}
