/* SPDX-License-Identifier: MIT
 *
 * mix.h: drawing and arithmetic of the batch ops mixup and cutmix. */
#ifndef LEAT_MIX_H
#define LEAT_MIX_H

#include "leat/rng.h"

#include <stddef.h>

/* Draws from Beta(alpha, alpha) as X / (X + Y) with X, Y from Gamma(alpha) by Marsaglia and Tsang ("A
 * Simple Method for Generating Gamma Variables", 2000), with their boost U^(1/alpha) for alpha < 1. It
 * computes in logarithms, so that tiny alphas do not underflow. Rejection makes the number of draws
 * vary, so give it a generator of its own. */
double leat_mix_beta(leat_rng *rng, double alpha);

/* Mixes both at once: a = own a + (1 - own) b, and b = own b + (1 - own) a with the old a. */
void leat_mix_f32(float *a, float *b, size_t n, float own);
/* The same for uint8 with own in 1/256, rounded half up. */
void leat_mix_u8(uint8_t *a, uint8_t *b, size_t n, uint32_t own_256);
/* Exchanges n bytes. */
void leat_mix_swap(uint8_t *a, uint8_t *b, size_t n);

#endif
