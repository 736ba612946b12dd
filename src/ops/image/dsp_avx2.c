/* SPDX-License-Identifier: MIT
 *
 * dsp_avx2.c: the inner loops that gain from AVX2. Only this file is compiled for AVX2, and dsp.c calls it
 * after a CPU check. Elements that do not fill a vector go to plain C, which gives the same bytes. */
#include "dsp_impl.h"

#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

static __m256i load(const void *at)
{
    return _mm256_loadu_si256((const __m256i *)at);
}

static void store(void *at, __m256i x)
{
    _mm256_storeu_si256((__m256i *)at, x);
}

static __m128i load_half(const void *at)
{
    return _mm_loadu_si128((const __m128i *)at);
}

static void store_half(void *at, __m128i x)
{
    _mm_storeu_si128((__m128i *)at, x);
}

/* --- affine ---------------------------------------------------------------------------------- */

static __m256 affine_8(__m256 x, const leat_affine *affine, int32_t at)
{
    return _mm256_add_ps(_mm256_mul_ps(x, _mm256_loadu_ps(affine->scale + at)),
                         _mm256_loadu_ps(affine->shift + at));
}

static void affine_u8(float *out, const uint8_t *in, size_t n, const leat_affine *affine)
{
    const size_t period = (size_t)affine->period;
    for (; n >= period; n -= period, in += period, out += period)
        for (int32_t i = 0; i < affine->period; i += 8) {
            const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(in + i));
            const __m256 x = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
            _mm256_storeu_ps(out + i, affine_8(x, affine, i));
        }
    leat_dsp_c.affine_u8(out, in, n, affine);
}

static void affine_f32(float *out, const float *in, size_t n, const leat_affine *affine)
{
    const size_t period = (size_t)affine->period;
    for (; n >= period; n -= period, in += period, out += period)
        for (int32_t i = 0; i < affine->period; i += 8)
            _mm256_storeu_ps(out + i, affine_8(_mm256_loadu_ps(in + i), affine, i));
    leat_dsp_c.affine_f32(out, in, n, affine);
}

/* --- 16 bits --------------------------------------------------------------------------------- */

static void f16_of_f32(uint16_t *out, const float *in, size_t n)
{
    for (; n >= 8; n -= 8, in += 8, out += 8)
        store_half(out, _mm256_cvtps_ph(_mm256_loadu_ps(in), _MM_FROUND_TO_NEAREST_INT));
    leat_dsp_c.f16_of_f32(out, in, n);
}

static __m256i bf16_8(const float *in)
{
    const __m256i bits = load(in), upper = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    const __m256i near = _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7fff));
    const __m256 x = _mm256_castsi256_ps(bits), is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    return _mm256_blendv_epi8(_mm256_srli_epi32(near, 16),
                              _mm256_or_si256(upper, _mm256_set1_epi32(0x40)),
                              _mm256_castps_si256(is_nan));
}

static void bf16_of_f32(uint16_t *out, const float *in, size_t n)
{
    for (; n >= 16; n -= 16, in += 16, out += 16)
        store(out, _mm256_permute4x64_epi64(_mm256_packus_epi32(bf16_8(in), bf16_8(in + 8)), 0xd8));
    leat_dsp_c.bf16_of_f32(out, in, n);
}

/* --- mirror_row ------------------------------------------------------------------------------ */

typedef struct vectors {
    __m128i part[3];
} vectors;

static vectors load_48(const uint8_t *at)
{
    return (vectors){ { load_half(at), load_half(at + 16), load_half(at + 32) } };
}

static void store_48(uint8_t *at, vectors v)
{
    for (int i = 0; i < 3; i++)
        store_half(at + 16 * i, v.part[i]);
}

/* Reverses 16 pixels of 3 bytes: byte j of the result is byte 45 - j + 2 (j mod 3) of the 48 bytes.
 * Each vector of 16 bytes comes from two or three input vectors. */
static vectors reverse_48(vectors v)
{
    const __m128i first_from_3 =
        _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, -1);
    const __m128i first_from_2 =
        _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 14);
    const __m128i mid_from_3 =
        _mm_setr_epi8(-1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i mid_from_2 = _mm_setr_epi8(15, -1, 11, 12, 13, 8, 9, 10, 5, 6, 7, 2, 3, 4, -1, 0);
    const __m128i mid_from_1 =
        _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 15, -1);
    const __m128i last_from_2 =
        _mm_setr_epi8(1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i last_from_1 = _mm_setr_epi8(-1, 12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2);
    return (vectors){ {
        _mm_or_si128(_mm_shuffle_epi8(v.part[2], first_from_3),
                     _mm_shuffle_epi8(v.part[1], first_from_2)),
        _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(v.part[2], mid_from_3),
                                  _mm_shuffle_epi8(v.part[1], mid_from_2)),
                     _mm_shuffle_epi8(v.part[0], mid_from_1)),
        _mm_or_si128(_mm_shuffle_epi8(v.part[1], last_from_2),
                     _mm_shuffle_epi8(v.part[0], last_from_1)),
    } };
}

/* Reads both ends before it writes either, so `out` may be `in`. Returns the pixels done at each
 * end. */
static size_t mirror_ends_3(uint8_t *out, const uint8_t *in, size_t n_px)
{
    size_t done = 0;
    for (; n_px - 2 * done >= 32; done += 16) {
        const size_t low = 3 * done, high = 3 * (n_px - 16 - done);
        const vectors left = load_48(in + low), right = load_48(in + high);
        store_48(out + low, reverse_48(right));
        store_48(out + high, reverse_48(left));
    }
    return done;
}

static __m256i reverse_bytes(__m256i x)
{
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(x, order), 0x4e);
}

static __m256i reverse_words(__m256i x)
{
    return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}

static size_t mirror_ends_1(uint8_t *out, const uint8_t *in, size_t n_px)
{
    size_t done = 0;
    for (; n_px - 2 * done >= 64; done += 32) {
        const size_t high = n_px - 32 - done;
        const __m256i left = load(in + done), right = load(in + high);
        store(out + done, reverse_bytes(right));
        store(out + high, reverse_bytes(left));
    }
    return done;
}

static size_t mirror_ends_4(uint8_t *out, const uint8_t *in, size_t n_px)
{
    size_t done = 0;
    for (; n_px - 2 * done >= 16; done += 8) {
        const size_t low = 4 * done, high = 4 * (n_px - 8 - done);
        const __m256i left = load(in + low), right = load(in + high);
        store(out + low, reverse_words(right));
        store(out + high, reverse_words(left));
    }
    return done;
}

static void mirror_row(uint8_t *out, const uint8_t *in, size_t n_px, size_t pixel_bytes)
{
    const size_t done = pixel_bytes == 3   ? mirror_ends_3(out, in, n_px)
                        : pixel_bytes == 1 ? mirror_ends_1(out, in, n_px)
                        : pixel_bytes == 4 ? mirror_ends_4(out, in, n_px)
                                           : 0;
    leat_dsp_c.mirror_row(out + done * pixel_bytes, in + done * pixel_bytes, n_px - 2 * done,
                          pixel_bytes);
}

/* --- add_u8 ---------------------------------------------------------------------------------- */

static void add_u8(uint8_t *out, const uint8_t *in, size_t n, int32_t delta)
{
    const __m256i more = _mm256_set1_epi8((char)(delta > 0 ? delta : 0));
    const __m256i less = _mm256_set1_epi8((char)(delta < 0 ? -delta : 0));
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        store(out + i, _mm256_subs_epu8(_mm256_adds_epu8(load(in + i), more), less));
    leat_dsp_c.add_u8(out + i, in + i, n - i, delta);
}

const leat_dsp_table leat_dsp_avx2 = {
    .affine_u8 = affine_u8,
    .affine_f32 = affine_f32,
    .f16_of_f32 = f16_of_f32,
    .bf16_of_f32 = bf16_of_f32,
    .mirror_row = mirror_row,
    .add_u8 = add_u8,
    .mix_rows = leat_mix_rows_avx2,
    .sample_row = leat_sample_row_avx2,
};
#endif
