/* SPDX-License-Identifier: MIT */
#include "figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NO_BREAK "\xc2\xa0"
#define UNKNOWN  ((leat_figure){ "–" })

static leat_figure format(const char *format, ...) __attribute__((format(printf, 1, 2)));

static leat_figure format(const char *format, ...)
{
    leat_figure figure;
    va_list args;
    va_start(args, format);
    vsnprintf(figure.text, sizeof figure.text, format, args);
    va_end(args);
    return figure;
}

leat_figure leat_figure_group(const char *number)
{
    const size_t sign = *number == '-', n = strspn(number + sign, "0123456789");
    leat_figure figure = { "" };
    char *to = figure.text;
    if (n <= 3 || number[sign + n] == 'e' || strlen(number) + n / 3 >= sizeof figure.text)
        return format("%s", number);
    for (size_t i = 0; number[i]; i++) {
        if (i > sign && i < sign + n && (sign + n - i) % 3 == 0)
            *to++ = ',';
        *to++ = number[i];
    }
    return figure;
}

/* --- on terminals and in messages --------------------------------------------------------------*/

leat_figure leat_figure_count(uint64_t n)
{
    return leat_figure_group(format("%llu", (unsigned long long)n).text);
}

leat_figure leat_figure_rate(double per_s)
{
    const double most = 1e15;
    if (per_s > 0 && per_s < 99.95)
        return format("%.3g", per_s);
    return leat_figure_count((uint64_t)(!(per_s > 0) ? 0 : per_s < most ? per_s + 0.5 : most));
}

/* Three digits, a space, and a prefix. whole: without one, the value has no decimals. */
static leat_figure scaled(double value, bool whole, const char *const prefixes[6])
{
    size_t i = 0;
    value *= 1 + 1e-12; /* a half is rounded up, though it lies a little lower as a binary number */
    for (; value >= 999.5 && i < 5; i++)
        value /= 1000;
    const int digits = value >= 99.95 || (whole && i == 0) ? 0 : value >= 9.995 ? 1 : 2;
    return format("%.*f %s", digits, value, prefixes[i]);
}

leat_figure leat_figure_bytes(double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    return scaled(bytes, true, units);
}

leat_figure leat_figure_scaled(double value)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    return scaled(value, false, prefixes);
}

leat_figure leat_figure_ms(double ms)
{
    const int digits = ms == 0 ? 0 : ms < 0.01 ? 4 : ms < 1 ? 3 : ms < 100 ? 2 : 0;
    return format("%.*f", digits, ms);
}

/* --- on the page -------------------------------------------------------------------------------*/

static int digits_of(double size)
{
    return size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.0095 ? 3 : 5;
}

leat_figure leat_figure_number(double value)
{
    const double size = fabs(value);
    if (!isfinite(value))
        return UNKNOWN;
    if (size >= 1e12 || (size > 0 && size < 1e-4))
        return format("%.2e", value);
    if (size >= 999.5 || size == floor(size))
        return leat_figure_group(format("%.0f", value).text);
    return format("%.*f", digits_of(size), value);
}

leat_figure leat_figure_unit(double value, const char *unit)
{
    const leat_figure number = leat_figure_number(value);
    return isfinite(value) && *unit ? format("%.16s" NO_BREAK "%.15s", number.text, unit) : number;
}

leat_figure leat_figure_percent(double share)
{
    const double percent = fabs(share) < 0.0005 ? 0 : share * 100;
    if (!isfinite(share))
        return UNKNOWN;
    if (fabs(percent) > 1e6)
        return format("%.1e" NO_BREAK "%%", percent);
    return format("%.*f" NO_BREAK "%%", fabs(percent) < 9.95 && percent != 0, percent);
}

leat_figure leat_figure_times(double ratio)
{
    return isfinite(ratio) ? format(fabs(ratio) > 1e6 ? "%.2e×" : "%.2f×", ratio) : UNKNOWN;
}

leat_figure leat_figure_range(double low, double high)
{
    return isfinite(low) && isfinite(high)
               ? format("%.16s–%.16s", leat_figure_number(low).text, leat_figure_number(high).text)
               : (leat_figure){ "" };
}
