/* SPDX-License-Identifier: MIT
 *
 * number.c: numbers and sizes from text. */
#include "number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/utf8.h"

static const struct {
    const char *name;
    int64_t bytes;
} units[] = {
    { "B", 1 },
    { "KiB", (int64_t)1 << 10 },
    { "MiB", (int64_t)1 << 20 },
    { "GiB", (int64_t)1 << 30 },
    { "TiB", (int64_t)1 << 40 },
    { "KB", 1000 },
    { "MB", 1000000 },
    { "GB", 1000000000 },
    { "TB", 1000000000000 },
};

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

bool leat_number_is_ambiguous(const char *text)
{
    const char *const p = text + (*text == '-' || *text == '+');
    return p[0] == '0' && p[1] && !p[digits(p)];
}

leat_number leat_number_i64(const char *text, int64_t *out)
{
    return leat_number_is_ambiguous(text) ? LEAT_NUMBER_BAD : leat_number_data_i64(text, out);
}

leat_number leat_number_data_i64(const char *text, int64_t *out)
{
    const int minus = *text == '-';
    const char *p = text + (*text == '-' || *text == '+');
    int64_t value = 0;
    const size_t n = digits(p);
    if (n == 0 || p[n])
        return LEAT_NUMBER_BAD;
    for (; *p; p++) { /* the value is negative until the end, so that INT64_MIN fits */
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, *p - '0', &value))
            return LEAT_NUMBER_LARGE;
    }
    if (!minus && value == INT64_MIN)
        return LEAT_NUMBER_LARGE;
    *out = minus ? value : -value;
    return LEAT_NUMBER_OK;
}

/* Length of a number such as "12", "12.5", ".5", "12." or "1e-3"; 0: not a number. */
static size_t decimal(const char *text)
{
    size_t n = digits(text), m = 0;
    if (text[n] == '.')
        m = digits(text + n + 1), n += 1 + m;
    if (n == 0 || (n == 1 && text[0] == '.'))
        return 0;
    if (text[n] == 'e' || text[n] == 'E') {
        const size_t sign = text[n + 1] == '-' || text[n + 1] == '+';
        const size_t exponent = digits(text + n + 1 + sign);
        if (exponent)
            n += 1 + sign + exponent;
    }
    return n;
}

static leat_number any_f64(const char *text, double *out)
{
    const char *p = text + (*text == '-' || *text == '+');
    if (leat_utf8_same_ascii(p, "inf") || leat_utf8_same_ascii(p, ".inf") ||
        leat_utf8_same_ascii(p, "infinity")) { /* YAML has .inf, Python's JSON Infinity */
        *out = *text == '-' ? -INFINITY : INFINITY;
        return LEAT_NUMBER_OK;
    }
    const size_t n = decimal(p);
    if (n == 0 || p[n])
        return LEAT_NUMBER_BAD;
    const double value = leat_text_f64(text);
    if (isinf(value))
        return LEAT_NUMBER_LARGE;
    *out = value;
    return LEAT_NUMBER_OK;
}

leat_number leat_number_f64(const char *text, double *out)
{
    return leat_number_is_ambiguous(text) ? LEAT_NUMBER_BAD : any_f64(text, out);
}

/* It lies halfway between two floats, so it does not say on which side the text is; a subnormal float may. */
static bool is_half(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x1fffffff) == 0x10000000 || (fabs(value) < (double)FLT_MIN && value != 0);
}

leat_number leat_number_f32(const char *text, float *out)
{
    double value;
    const leat_number rc = any_f64(text, &value);
    if (rc != LEAT_NUMBER_OK)
        return rc;
    const float rounded = is_half(value) ? leat_text_f32(text) : (float)value;
    if (isinf(rounded) && !isinf(value))
        return LEAT_NUMBER_LARGE;
    *out = rounded;
    return LEAT_NUMBER_OK;
}

leat_number leat_number_data(const char *text, float *out)
{
    const char *const p = text + (*text == '-' || *text == '+');
    if (!leat_utf8_same_ascii(p, "nan"))
        return leat_number_f32(text, out);
    *out = NAN;
    return LEAT_NUMBER_OK;
}

static int64_t unit_bytes(const char *text)
{
    if (!*text)
        return 1;
    text += strspn(text, " ");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (leat_utf8_same_ascii(text, units[i].name))
            return units[i].bytes;
    return 0;
}

/* Adds n digits after the point, exactly. It takes at most 6, so that unit · digits fits an int64. */
static leat_number add_fraction(const char *p, size_t n, int64_t unit, int64_t *value)
{
    int64_t share = 0, whole = 1;
    while (n > 0 && p[n - 1] == '0')
        n--;
    if (n > 6)
        return LEAT_NUMBER_BAD;
    for (size_t i = 0; i < n; i++) {
        share = share * 10 + (p[i] - '0');
        whole *= 10;
    }
    if (share * unit % whole)
        return LEAT_NUMBER_BAD;
    return __builtin_add_overflow(*value, share * unit / whole, value) ? LEAT_NUMBER_LARGE
                                                                       : LEAT_NUMBER_OK;
}

leat_number leat_number_bytes(const char *text, int64_t *out)
{
    const size_t n = digits(text);
    const size_t n_fraction = text[n] == '.' ? digits(text + n + 1) : 0;
    const char *rest = text + n + (n_fraction ? n_fraction + 1 : 0);
    const int64_t unit = unit_bytes(rest);
    char whole[32];
    int64_t value;
    if (n == 0 || unit == 0 || (n > 1 && *text == '0')) /* see leat_number_is_ambiguous() */
        return LEAT_NUMBER_BAD;
    if (n >= sizeof whole)
        return LEAT_NUMBER_LARGE;
    memcpy(whole, text, n);
    whole[n] = 0;
    if (leat_number_data_i64(whole, &value) || __builtin_mul_overflow(value, unit, &value))
        return LEAT_NUMBER_LARGE;
    const leat_number rc = add_fraction(text + n + 1, n_fraction, unit, &value);
    if (rc == LEAT_NUMBER_OK)
        *out = value;
    return rc;
}

char *leat_number_bytes_text(int64_t bytes, char *text, size_t size)
{
    size_t best = 0;
    for (size_t i = 0; i <= 4; i++)
        if (bytes >= units[i].bytes && bytes % units[i].bytes == 0)
            best = i;
    if (best)
        snprintf(text, size, "%lld %s", (long long)(bytes / units[best].bytes), units[best].name);
    else
        snprintf(text, size, "%lld", (long long)bytes);
    return text;
}
