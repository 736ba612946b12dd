/* SPDX-License-Identifier: MIT
 *
 * activations.h: the activations, each in one row and one pair of functions. The layers, the CPU's loops and
 * the kernels of other devices are made from this list.
 *
 * The functions have no branch and call no library, so that compilers make vector code of them and every
 * device computes the same formula. a is the layer's option (the slope of leaky_relu). */
#ifndef LEAT_ACTIVATIONS_H
#define LEAT_ACTIVATIONS_H

#include <stdint.h>
#include <string.h>

#include "base/half.h"

/* X(name, what its gradient is computed from: the activation's INPUT or OUTPUT, help) */
#define LEAT_ACT_LIST(X)                                                                           \
    X(relu, OUTPUT, "negative values become 0")                                                    \
    X(leaky_relu, OUTPUT, "negative values are multiplied by a small slope")                       \
    X(sigmoid, OUTPUT, "1 / (1 + exp(-x))")                                                        \
    X(tanh, OUTPUT, "hyperbolic tangent")                                                          \
    X(gelu, INPUT, "x times the normal distribution's share below x (the exact form, with erf)")   \
    X(silu, INPUT, "x * sigmoid(x)")

typedef enum leat_act {
    LEAT_ACT_NONE,
#define LEAT_ACT_ENUM(name, from, help) LEAT_ACT_##name,
    LEAT_ACT_LIST(LEAT_ACT_ENUM)
#undef LEAT_ACT_ENUM
        LEAT_N_ACTS
} leat_act;

/* e^x, relative error below 3e-7; 0 below -87, e^88 above 88. Cody and Waite's reduction and a polynomial
 * of degree 6 (the Taylor series on ±ln(2)/2). */
LEAT_HOST_DEVICE float leat_act_exp(float x)
{
    const float shifter = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    x = x > 88.0f ? 88.0f : x;
    const float low = x < -87.0f ? -87.0f : x;
    const float rounded = low * 1.44269504f + shifter;
    const float n = rounded - shifter;
    const float r = (low - n * 0.693359375f) + n * 2.12194440e-4f;
    const float p =
        1.0f +
        r * (1.0f +
             r * (0.5f + r * (0.166666667f +
                              r * (0.0416666667f + r * (0.00833333333f + r * 0.00138888889f)))));
    const float power = leat_half_float((uint32_t)((int32_t)n + 127) << 23);
    return x < -87.0f ? 0.0f : p * power;
}

/* The error function, absolute error below 2e-7: Abramowitz and Stegun, 7.1.26. */
LEAT_HOST_DEVICE float leat_act_erf(float x)
{
    const float a = x < 0 ? -x : x;
    const float t = 1.0f / (1.0f + 0.3275911f * a);
    const float p =
        t * (0.254829592f +
             t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    const float y = 1.0f - p * leat_act_exp(-a * a);
    return x < 0 ? -y : y;
}

LEAT_HOST_DEVICE float leat_act_relu(float x, float a)
{
    (void)a;
    return x < 0 ? 0.0f : x; /* a NaN stays */
}

LEAT_HOST_DEVICE float leat_act_relu_grad(float y, float a)
{
    (void)a;
    return y > 0 ? 1.0f : 0.0f;
}

LEAT_HOST_DEVICE float leat_act_leaky_relu(float x, float a)
{
    return x < 0 ? a * x : x;
}

LEAT_HOST_DEVICE float leat_act_leaky_relu_grad(float y, float a)
{
    return y > 0 ? 1.0f : a;
}

LEAT_HOST_DEVICE float leat_act_sigmoid(float x, float a)
{
    (void)a;
    return 1.0f / (1.0f + leat_act_exp(-x));
}

LEAT_HOST_DEVICE float leat_act_sigmoid_grad(float y, float a)
{
    (void)a;
    return y * (1.0f - y);
}

/* Near 0 the quotient loses digits; the series does not. */
LEAT_HOST_DEVICE float leat_act_tanh(float x, float a)
{
    const float far = 1.0f - 2.0f / (leat_act_exp(2.0f * x) + 1.0f);
    const float s = x * x;
    const float near = x * (1.0f + s * (-0.333333333f + s * (0.133333333f - s * 0.0539682540f)));
    (void)a;
    return s < 0.04f ? near : far;
}

LEAT_HOST_DEVICE float leat_act_tanh_grad(float y, float a)
{
    (void)a;
    return 1.0f - y * y;
}

LEAT_HOST_DEVICE float leat_act_gelu(float x, float a)
{
    (void)a;
    return 0.5f * x * (1.0f + leat_act_erf(x * 0.707106781f));
}

LEAT_HOST_DEVICE float leat_act_gelu_grad(float x, float a)
{
    (void)a;
    return 0.5f * (1.0f + leat_act_erf(x * 0.707106781f)) +
           x * 0.398942280f * leat_act_exp(-0.5f * x * x);
}

LEAT_HOST_DEVICE float leat_act_silu(float x, float a)
{
    return x * leat_act_sigmoid(x, a);
}

LEAT_HOST_DEVICE float leat_act_silu_grad(float x, float a)
{
    const float s = leat_act_sigmoid(x, a);
    return s * (1.0f + x * (1.0f - s));
}

#endif
