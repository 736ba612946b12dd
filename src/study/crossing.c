/* SPDX-License-Identifier: MIT
 *
 * crossing.c: where two measured curves are equal: leat/experiment.h. Between two points a curve is a
 * straight line in log-log axes, as a power of x is. */
#include <math.h>
#include <stdbool.h>

#include "leat/experiment.h"

/* ln a - ln b at the x that both series have. */
struct gaps {
    int32_t n;
    double x[LEAT_SERIES_MAX_POINTS];
    double mid[LEAT_SERIES_MAX_POINTS], low[LEAT_SERIES_MAX_POINTS], high[LEAT_SERIES_MAX_POINTS];
};

static bool is_above_0(const leat_point *p)
{
    return p->x > 0 && p->y > 0 && p->low > 0 && p->high > 0;
}

static int gaps_of(const leat_series *a, const leat_series *b, struct gaps *out, leat_error *err)
{
    out->n = 0;
    for (int32_t i = 0, j = 0; i < a->n_points && j < b->n_points;) {
        const leat_point *p = &a->points[i], *q = &b->points[j];
        if (!is_above_0(p) || !is_above_0(q))
            return leat_fail(err, LEAT_E_ARGUMENT, "leat_crossing_find: x and y must be above 0");
        if (p->x == q->x) {
            out->x[out->n] = p->x;
            out->mid[out->n] = log(p->y / q->y);
            out->low[out->n] = log(p->low / q->high);
            out->high[out->n++] = log(p->high / q->low);
        }
        i += p->x <= q->x;
        j += q->x <= p->x;
    }
    return LEAT_OK;
}

/* Last change of sign; 0: there is none. */
static double last_zero(const struct gaps *gaps, const double *gap)
{
    for (int32_t i = gaps->n - 1; i > 0; i--) {
        if ((gap[i] > 0) == (gap[i - 1] > 0))
            continue;
        const double share = gap[i - 1] / (gap[i - 1] - gap[i]);
        return gaps->x[i - 1] * pow(gaps->x[i] / gaps->x[i - 1], share);
    }
    return 0;
}

static double sign_at_end(const struct gaps *gaps, const double *gap)
{
    return gaps->n ? (double)((gap[gaps->n - 1] > 0) - (gap[gaps->n - 1] < 0)) : 0;
}

/* A bound that never changes sign has its zero before the first point if its sign is that of the end, else
 * beyond the last. */
static double bound(const struct gaps *gaps, const double *gap, double sign)
{
    const double zero = last_zero(gaps, gap);
    return zero > 0 ? zero : sign_at_end(gaps, gap) == sign ? 0 : INFINITY;
}

int leat_crossing_find(const leat_series *a, const leat_series *b, leat_crossing *out,
                       leat_error *err)
{
    struct gaps gaps;
    if (!a || !b || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_crossing_find: a, b and out must be given");
    *out = (leat_crossing){ 0 };
    const int rc = gaps_of(a, b, &gaps, err);
    if (rc < 0)
        return rc;
    const double sign = sign_at_end(&gaps, gaps.mid);
    out->above = (int32_t)sign;
    out->x = last_zero(&gaps, gaps.mid);
    out->found = out->x > 0;
    const double one = bound(&gaps, gaps.low, sign), other = bound(&gaps, gaps.high, sign);
    out->low = one < other ? one : other;
    out->high = one < other ? other : one;
    return LEAT_OK;
}
