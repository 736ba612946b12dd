/* SPDX-License-Identifier: MIT
 *
 * jpeg_color.c: chroma upsampling (triangle filter, with the alternating rounding of libjpeg) and YCbCr to
 * RGB (16-bit fixed point) in plain C, which defines the results of all levels. */
#include "jpeg_dsp.h"

void leat_jpeg_up_h2_c(const uint8_t *in, uint8_t *out, int n)
{
    for (int i = 0; i < n; i++) {
        const int left = in[i ? i - 1 : 0], right = in[i < n - 1 ? i + 1 : i];
        out[2 * i] = (uint8_t)((3 * in[i] + left + 1) >> 2);
        out[2 * i + 1] = (uint8_t)((3 * in[i] + right + 2) >> 2);
    }
}

void leat_jpeg_up_h2v2_c(const uint8_t *near, const uint8_t *far, uint8_t *out, int n)
{
    int left = 3 * near[0] + far[0], here = left;
    for (int i = 0; i < n; i++) {
        const int next = i < n - 1 ? i + 1 : i;
        const int right = 3 * near[next] + far[next];
        out[2 * i] = (uint8_t)((3 * here + left + 8) >> 4);
        out[2 * i + 1] = (uint8_t)((3 * here + right + 7) >> 4);
        left = here;
        here = right;
    }
}

void leat_jpeg_up_v2_c(const uint8_t *near, const uint8_t *far, uint8_t *out, int n, int bias)
{
    for (int i = 0; i < n; i++)
        out[i] = (uint8_t)((3 * near[i] + far[i] + bias) >> 2);
}

static uint8_t clamp(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

void leat_jpeg_rgb_c(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *out, int n)
{
    for (int i = 0; i < n; i++) {
        const int b = cb[i] - 128, r = cr[i] - 128;
        out[3 * i] = clamp(y[i] + ((91881 * r + 32768) >> 16));
        out[3 * i + 1] = clamp(y[i] + ((-22554 * b - 46802 * r + 32768) >> 16));
        out[3 * i + 2] = clamp(y[i] + ((116130 * b + 32768) >> 16));
    }
}
