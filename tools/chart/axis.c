/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "files.h"

/* 1, 2 or 5 times a power of ten, so that `span` has at most n_most of them. */
static double nice_step(double span, int n_most)
{
    const double raw = span / n_most, power = pow(10, floor(log10(raw)));
    const double times = raw / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

/* Where values hardly differ, a range around them. */
static void widen(double *low, double *high)
{
    const double middle = *low <= *high ? *low / 2 + *high / 2 : 0;
    const double around = fmax(fabs(middle) * 0.1, 1e-6);
    if (*high - *low > fabs(middle) * 1e-9 + 1e-12 && isfinite(*high - *low))
        return;
    *low = middle - around;
    *high = middle + around;
}

leat_axis leat_axis_linear(double low, double high, bool wide, double at, double length, int n_most)
{
    widen(&low, &high);
    leat_axis s = { low, high, nice_step(high - low, n_most), false, at, length, n_most };
    if (wide) {
        s.low = floor(low / s.step) * s.step;
        s.high = ceil(high / s.step) * s.step;
    }
    return s;
}

/* The largest of 1, 2 and 5 times a power of ten that is not above; up: the smallest that is not below. */
static double round_log(double value, bool up)
{
    static const double steps[] = { 1, 2, 5, 10 };
    const double power = pow(10, floor(log10(value))), part = value / power;
    double found = up ? 10 : 1;
    for (int i = 0; i < 4; i++) {
        if (!up && steps[i] <= part * (1 + 1e-9))
            found = steps[i];
        if (up && steps[3 - i] >= part * (1 - 1e-9))
            found = steps[3 - i];
    }
    return power * found;
}

leat_axis leat_axis_log(double low, double high, double at, double length, int n_most)
{
    if (!(low <= high)) {
        low = 1;
        high = 10;
    }
    low = round_log(low, false);
    high = round_log(high, true);
    if (high < low * 5)
        high = round_log(low * 5, true);
    return (leat_axis){ low, high, 0, true, at, length, n_most };
}

/* The ratio itself may be more than a number can hold. */
static double decades_of(const leat_axis *s)
{
    return log10(s->high) - log10(s->low);
}

double leat_axis_place(const leat_axis *s, double value)
{
    if (s->log)
        return s->at + (log10(value) - log10(s->low)) / decades_of(s) * s->length;
    return s->at + (value - s->low) / (s->high - s->low) * s->length;
}

/* Powers of ten, with 2 and 5 times them where there is room, or every n-th where there is not. */
static int log_ticks(const leat_axis *s, double values[LEAT_AXIS_TICKS_MOST])
{
    static const double parts[] = { 1, 2, 5 };
    const double first = floor(log10(s->low) + 1e-9), decades = decades_of(s);
    const bool fine = 3 * decades + 1 <= s->n_most;
    const double stride = fmax(1, ceil((decades + 1) / s->n_most));
    int n = 0;
    for (double power = first; n < LEAT_AXIS_TICKS_MOST && power <= log10(s->high) + 1e-9;
         power += stride)
        for (int i = 0; i < (fine ? 3 : 1) && n < LEAT_AXIS_TICKS_MOST; i++) {
            const double value = parts[i] * pow(10, power);
            if (value >= s->low * (1 - 1e-9) && value <= s->high * (1 + 1e-9))
                values[n++] = value;
        }
    return n;
}

int leat_axis_ticks(const leat_axis *s, double values[LEAT_AXIS_TICKS_MOST])
{
    if (s->log)
        return log_ticks(s, values);
    const double first = ceil(s->low / s->step - 1e-9); /* counted in steps from 0 */
    const double n = floor(s->high / s->step + 1e-9) - first + 1;
    const int most = 2 * s->n_most < LEAT_AXIS_TICKS_MOST ? 2 * s->n_most : LEAT_AXIS_TICKS_MOST;
    const int count = n < 0 ? 0 : n > most ? most : (int)n;
    for (int i = 0; i < count; i++)
        values[i] = (first + i) * s->step;
    return count;
}

/* "10⁶", "2·10⁻⁵" */
static leat_figure power_text(double value)
{
    static const char *const digits[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
    const int power = (int)floor(log10(value) + 1e-9), part = (int)lround(value / pow(10, power));
    const int size = abs(power);
    leat_figure figure = { "" };
    if (part > 1)
        snprintf(figure.text, sizeof figure.text, "%d·", part);
    leat_files_append(figure.text, sizeof figure.text, "10%s", power < 0 ? "⁻" : "");
    for (int unit = size >= 100 ? 100 : size >= 10 ? 10 : 1; unit > 0; unit /= 10)
        leat_files_append(figure.text, sizeof figure.text, "%s", digits[size / unit % 10]);
    return figure;
}

leat_figure leat_axis_tick(const leat_axis *s, double value)
{
    char text[32];
    if (s->log && (value >= 1e6 || value < 1e-3))
        return power_text(value);
    const double size = fmax(fabs(s->low), fabs(s->high));
    const int digits = !s->log && s->step < 1 ? (int)ceil(-log10(s->step) - 1e-9) : 0;
    if (fabs(value) < s->step / 2)
        value = 0; /* not 1e-17, not -0 */
    if (s->log)
        snprintf(text, sizeof text, "%.10g", value);
    else if (size >= 1e7 || digits > 5)
        snprintf(text, sizeof text, "%.4g", value);
    else
        snprintf(text, sizeof text, "%.*f", digits, value);
    return leat_figure_group(text);
}
