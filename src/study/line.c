/* SPDX-License-Identifier: MIT
 *
 * line.c: fits lines by weighted least squares, again and again with less weight for points far off.
 * crossover.c and whatif.c call it. */
#include "line.h"

#include <math.h>
#include <string.h>

#include "median.h"

enum { MOST = 64, PASSES = 12 };

static leat_line weighted(const double *x, const double *y, const double *w, size_t n)
{
    double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < n; i++) {
        sw += w[i];
        sx += w[i] * x[i];
        sy += w[i] * y[i];
    }
    const double mx = sx / sw, my = sy / sw;
    for (size_t i = 0; i < n; i++) {
        sxx += w[i] * (x[i] - mx) * (x[i] - mx);
        sxy += w[i] * (x[i] - mx) * (y[i] - my);
    }
    const double beta = sxx > 0 ? sxy / sxx : 0;
    return (leat_line){ my - beta * mx, beta };
}

static double median(const double *values, size_t n)
{
    double sorted[MOST];
    memcpy(sorted, values, n * sizeof *values);
    return leat_median_of_real(sorted, n);
}

leat_line leat_line_fit(const double *x, const double *y, size_t n)
{
    double w[MOST], off[MOST];
    leat_line line = { 0, 0 };
    for (size_t i = 0; i < n; i++)
        w[i] = 1 / (y[i] * y[i]);
    for (int pass = 0; pass < PASSES; pass++) {
        line = weighted(x, y, w, n);
        for (size_t i = 0; i < n; i++)
            off[i] = fabs(line.alpha + line.beta * x[i] - y[i]) / y[i];
        /* 1.5 standard deviations, from the median; at least 0.1 %, because exact points have none. */
        const double usual = fmax(1.5 * 1.4826 * median(off, n), 1e-3);
        for (size_t i = 0; i < n; i++)
            w[i] = fmin(1, usual / fmax(off[i], 1e-12)) / (y[i] * y[i]);
    }
    return line;
}

double leat_line_crossing(leat_line a, leat_line b)
{
    const double slope = a.beta - b.beta;
    const double scale = fmax(fabs(a.beta), fabs(b.beta));
    return fabs(slope) <= 1e-9 * scale ? (double)NAN : (b.alpha - a.alpha) / slope;
}
