/* SPDX-License-Identifier: MIT
 *
 * png_unfilter.c: the filters of PNG in plain C. The first pixel of a row has zeros to its left. */
#include "png_unfilter.h"

#include <stdlib.h>
#include <string.h>

static void sub(uint8_t *out, const uint8_t *in, size_t n, size_t pixel)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(in[i] + (i < pixel ? 0 : out[i - pixel]));
}

static void up(uint8_t *out, const uint8_t *in, const uint8_t *above, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(in[i] + above[i]);
}

static void average(uint8_t *out, const uint8_t *in, const uint8_t *above, size_t n, size_t pixel)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(in[i] + ((i < pixel ? 0 : out[i - pixel]) + above[i]) / 2);
}

/* The nearest of left, above and above left to left + above - above left. */
static uint8_t nearest(int a, int b, int c)
{
    const int from_a = abs(b - c), from_b = abs(a - c), from_c = abs(a + b - 2 * c);
    if (from_a <= from_b && from_a <= from_c)
        return (uint8_t)a;
    return (uint8_t)(from_b <= from_c ? b : c);
}

static void paeth(uint8_t *out, const uint8_t *in, const uint8_t *above, size_t n, size_t pixel)
{
    for (size_t i = 0; i < n && i < pixel; i++)
        out[i] = (uint8_t)(in[i] + above[i]);
    for (size_t i = pixel; i < n; i++)
        out[i] = (uint8_t)(in[i] + nearest(out[i - pixel], above[i], above[i - pixel]));
}

void leat_png_unfilter_row(int filter, uint8_t *out, const uint8_t *in, const uint8_t *above,
                           size_t n, size_t pixel)
{
    switch (filter) {
    case LEAT_PNG_SUB:
        sub(out, in, n, pixel);
        break;
    case LEAT_PNG_UP:
        up(out, in, above, n);
        break;
    case LEAT_PNG_AVERAGE:
        average(out, in, above, n, pixel);
        break;
    case LEAT_PNG_PAETH:
        paeth(out, in, above, n, pixel);
        break;
    default:
        memcpy(out, in, n);
    }
}

void leat_png_unfilter_c(uint8_t *out, const uint8_t *in, size_t height, size_t row_bytes,
                         size_t pixel, const uint8_t *zeros)
{
    const uint8_t *above = zeros;
    for (size_t y = 0; y < height; y++, above = out, out += row_bytes, in += 1 + row_bytes)
        leat_png_unfilter_row(in[0], out, in + 1, above, row_bytes, pixel);
}
