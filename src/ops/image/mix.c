/* SPDX-License-Identifier: MIT
 *
 * mix.c: drawing and arithmetic of the batch ops (mix.h). */
#include "mix.h"

#include <math.h>

/* Draws from Gamma(alpha) and returns the logarithm. */
static double log_gamma_draw(leat_rng *rng, double alpha)
{
    const double shape = alpha < 1 ? alpha + 1 : alpha;
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    double v;
    for (;;) {
        const double x = (double)leat_rng_normal(rng), t = 1 + c * x;
        const double u = 1 - (double)leat_rng_f32(rng); /* (0, 1] */
        v = t * t * t;
        if (v > 0 && log(u) < 0.5 * x * x + d - d * v + d * log(v))
            break;
    }
    const double boost = alpha < 1 ? log(1 - (double)leat_rng_f32(rng)) / alpha : 0;
    return log(d * v) + boost;
}

double leat_mix_beta(leat_rng *rng, double alpha)
{
    const double x = log_gamma_draw(rng, alpha), y = log_gamma_draw(rng, alpha);
    return 1 / (1 + exp(y - x));
}

void leat_mix_f32(float *restrict a, float *restrict b, size_t n, float own)
{
    const float other = 1 - own;
    for (size_t i = 0; i < n; i++) {
        const float x = a[i], y = b[i];
        a[i] = own * x + other * y;
        b[i] = own * y + other * x;
    }
}

void leat_mix_u8(uint8_t *restrict a, uint8_t *restrict b, size_t n, uint32_t own_256)
{
    const uint16_t own = (uint16_t)own_256, other = (uint16_t)(256 - own_256);
    for (size_t i = 0; i < n; i++) {
        const uint16_t x = a[i], y = b[i];
        a[i] = (uint8_t)((uint16_t)(x * own + y * other + 128) >> 8);
        b[i] = (uint8_t)((uint16_t)(y * own + x * other + 128) >> 8);
    }
}

void leat_mix_swap(uint8_t *restrict a, uint8_t *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t x = a[i];
        a[i] = b[i];
        b[i] = x;
    }
}
