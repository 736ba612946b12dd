/* SPDX-License-Identifier: MIT
 *
 * png_unfilter_avx2.c: the filters of PNG for pixels of 3 and 4 bytes. DESIGN: a pixel is four 16-bit lanes.
 * Average and Paeth need the pixel to the left, so one row is a long chain of dependent steps. Two such rows
 * below each other are done at once, the lower one a pixel behind: it finds what lies above in registers. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "png_unfilter.h"

typedef __m128i V;

#define INLINE __attribute__((always_inline)) static inline

/* Reads 4 bytes, also of a pixel of 3. */
INLINE V load(const uint8_t *at)
{
    int32_t bytes;
    memcpy(&bytes, at, 4);
    return _mm_cvtepu8_epi16(_mm_cvtsi32_si128(bytes));
}

/* Writes 4 bytes, or exactly a pixel of `n`. */
INLINE void store(uint8_t *to, V x, size_t n)
{
    const int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(x, x));
    memcpy(to, &bytes, n);
}

/* left: a, above: b, above left: c */
INLINE V undo(int filter, V x, V a, V b, V c)
{
    if (filter == LEAT_PNG_SUB)
        return _mm_add_epi8(x, a);
    if (filter == LEAT_PNG_AVERAGE)
        return _mm_add_epi8(x, _mm_srli_epi16(_mm_add_epi16(a, b), 1));
    const V by_b = _mm_sub_epi16(b, c), by_a = _mm_sub_epi16(a, c);
    const V from_a = _mm_abs_epi16(by_b), from_b = _mm_abs_epi16(by_a);
    const V from_c = _mm_abs_epi16(_mm_add_epi16(by_a, by_b));
    const V least = _mm_min_epi16(from_a, _mm_min_epi16(from_b, from_c));
    const V b_or_c = _mm_blendv_epi8(c, b, _mm_cmpeq_epi16(from_b, least));
    return _mm_add_epi8(x, _mm_blendv_epi8(b_or_c, a, _mm_cmpeq_epi16(from_a, least)));
}

INLINE void undo_one(int filter, uint8_t *out, const uint8_t *in, const uint8_t *up, size_t n,
                     size_t pixel)
{
    V a = _mm_setzero_si128(), c = a;
    size_t i = 0;
    for (; i < n - pixel; i += pixel) {
        const V b = load(up + i);
        a = undo(filter, load(in + i), a, b, c);
        c = b;
        store(out + i, a, 4);
    }
    store(out + i, undo(filter, load(in + i), a, load(up + i), c), pixel);
}

/* Of the upper row: the pixel to the left, and what is above that. The same of the lower row. */
typedef struct two_rows {
    V a, c, d, e;
} two_rows;

/* The pixel at i of the upper row (with filter f) and the one before it of the lower row (g). */
INLINE two_rows step(int f, int g, two_rows r, uint8_t *out, const uint8_t *in, const uint8_t *up,
                     size_t i, size_t n, size_t pixel, size_t n_stored)
{
    const V b = load(up + i), x = undo(f, load(in + i), r.a, b, r.c);
    const V y = undo(g, load(in + n + 1 + i - pixel), r.d, r.a, r.e);
    store(out + i, x, n_stored);
    store(out + n + i - pixel, y, 4);
    return (two_rows){ x, b, y, r.a };
}

INLINE void undo_two(int f, int g, uint8_t *out, const uint8_t *in, const uint8_t *up, size_t n,
                     size_t pixel)
{
    const V zero = _mm_setzero_si128(), b = load(up);
    two_rows r = { undo(f, load(in), zero, b, zero), b, zero, zero };
    size_t i = pixel;
    store(out, r.a, pixel);
    for (; i + pixel < n; i += pixel)
        r = step(f, g, r, out, in, up, i, n, pixel, 4);
    if (i < n) {
        r = step(f, g, r, out, in, up, i, n, pixel, pixel); /* must not write into the lower row */
        i += pixel;
    }
    store(out + n + i - pixel, undo(g, load(in + n + 1 + i - pixel), r.d, r.a, r.e), pixel);
}

static void undo_up(uint8_t *out, const uint8_t *in, const uint8_t *up, size_t n)
{
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(in + i));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(up + i));
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_add_epi8(a, b));
    }
    leat_png_unfilter_row(LEAT_PNG_UP, out + i, in + i, up + i, n - i, 1);
}

INLINE void undo_row(int filter, uint8_t *out, const uint8_t *in, const uint8_t *up, size_t n,
                     size_t pixel)
{
    if (filter == LEAT_PNG_SUB)
        undo_one(LEAT_PNG_SUB, out, in, up, n, pixel);
    else if (filter == LEAT_PNG_AVERAGE)
        undo_one(LEAT_PNG_AVERAGE, out, in, up, n, pixel);
    else if (filter == LEAT_PNG_PAETH)
        undo_one(LEAT_PNG_PAETH, out, in, up, n, pixel);
    else if (filter == LEAT_PNG_UP)
        undo_up(out, in, up, n);
    else
        memcpy(out, in, n);
}

INLINE void undo_pair(int f, int g, uint8_t *out, const uint8_t *in, const uint8_t *up, size_t n,
                      size_t pixel)
{
    if (f == LEAT_PNG_PAETH && g == LEAT_PNG_PAETH)
        undo_two(LEAT_PNG_PAETH, LEAT_PNG_PAETH, out, in, up, n, pixel);
    else if (f == LEAT_PNG_PAETH)
        undo_two(LEAT_PNG_PAETH, LEAT_PNG_AVERAGE, out, in, up, n, pixel);
    else if (g == LEAT_PNG_PAETH)
        undo_two(LEAT_PNG_AVERAGE, LEAT_PNG_PAETH, out, in, up, n, pixel);
    else
        undo_two(LEAT_PNG_AVERAGE, LEAT_PNG_AVERAGE, out, in, up, n, pixel);
}

INLINE void undo_rows(uint8_t *out, const uint8_t *in, size_t height, size_t n, size_t pixel,
                      const uint8_t *up)
{
    for (size_t y = 0; y < height;) {
        const int f = in[0], g = y + 1 < height ? in[n + 1] : LEAT_PNG_NONE;
        const size_t n_rows = f >= LEAT_PNG_AVERAGE && g >= LEAT_PNG_AVERAGE ? 2 : 1;
        if (n_rows == 2)
            undo_pair(f, g, out, in + 1, up, n, pixel);
        else
            undo_row(f, out, in + 1, up, n, pixel);
        y += n_rows;
        in += n_rows * (n + 1);
        out += n_rows * n;
        up = out - n;
    }
}

void leat_png_unfilter_avx2(uint8_t *out, const uint8_t *in, size_t height, size_t row_bytes,
                            size_t pixel, const uint8_t *zeros)
{
    if (pixel == 3)
        undo_rows(out, in, height, row_bytes, 3, zeros);
    else if (pixel == 4)
        undo_rows(out, in, height, row_bytes, 4, zeros);
    else
        leat_png_unfilter_c(out, in, height, row_bytes, pixel, zeros);
}
#endif
