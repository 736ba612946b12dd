/* SPDX-License-Identifier: MIT
 *
 * experiment_claims.c: checks the claims of an experiment against its arms. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment_rows.h"

int32_t leat_experiment_holds(double low, double high, double least, double most)
{
    if (!isfinite(low) || !isfinite(high))
        return -1;
    if (low >= least && (most <= 0 || high <= most))
        return 1;
    return high < least || (most > 0 && low > most) ? 0 : -1;
}

/* hypot() of the C library is a newer symbol than any other that leat needs. */
static double root_of_squares(double a, double b)
{
    return sqrt(a * a + b * b);
}

/* In logarithms the distances to the limits of two independent figures add up as squares (the MOVER interval of a
 * ratio). Arms that alternate share the machine's drift, so for them the interval is wider than needed. */
leat_estimate leat_experiment_ratio(leat_estimate a, leat_estimate b)
{
    const double value = a.value / b.value;
    const double down = root_of_squares(log(a.value / a.low), log(b.high / b.value));
    const double up = root_of_squares(log(a.high / a.value), log(b.value / b.low));
    return (leat_estimate){ value, value * exp(-down), value * exp(up) };
}

/* The name with '@' replaced by a device. */
static void expand(const char *name, const char *device, char *out, size_t size)
{
    const char *at = strchr(name, '@');
    if (at)
        snprintf(out, size, "%.*s%s%s", (int)(at - name), name, device, at + 1);
    else
        snprintf(out, size, "%s", name);
}

static const leat_compare_arm *find_arm(const leat_experiment_run *run, const char *name,
                                        const char *device)
{
    char wanted[256];
    expand(name, device, wanted, sizeof wanted);
    for (int32_t i = 0; i < run->n_arms; i++)
        if (!strcmp(run->arms[i].name, wanted))
            return &run->arms[i];
    return NULL;
}

static leat_estimate figure(const leat_compare_arm *arm, leat_experiment_metric metric)
{
    switch (metric) {
    case LEAT_CLAIM_LOADER:
        return arm->loader;
    case LEAT_CLAIM_STEP:
        return arm->step;
    case LEAT_CLAIM_IDLE:
        return arm->idle;
    default:
        return arm->samples_per_s;
    }
}

static void check(leat_experiment_run *run, const leat_experiment_claim *claim, const char *device)
{
    const leat_compare_arm *a = find_arm(run, claim->a, device);
    const leat_compare_arm *b = claim->b ? find_arm(run, claim->b, device) : NULL;
    if (!a || (claim->b && !b))
        return;
    leat_estimate x = figure(a, claim->metric);
    const char *const on = device ? device : "";
    if (b)
        x = leat_experiment_ratio(x, figure(b, claim->metric));
    const double unit = b ? 1 : 100;
    leat_experiment_finding(run, leat_experiment_holds(x.low, x.high, claim->low, claim->high),
                            "%s%s%s%s: %.3g%s (%.3g-%.3g)", claim->text, *on ? ", on " : "", on,
                            *on && (a->simulated || (b && b->simulated)) ? " (simulated)" : "",
                            x.value * unit, b ? " times" : " %", x.low * unit, x.high * unit);
}

void leat_experiment_check_claims(leat_experiment_run *run)
{
    for (const leat_experiment_claim *claim = run->experiment->claims; claim->text; claim++) {
        const bool every = strchr(claim->a, '@') || (claim->b && strchr(claim->b, '@'));
        if (!every)
            check(run, claim, NULL);
        for (int32_t i = 0; every && i < run->n_devices; i++)
            if (run->devices[i].kind != LEAT_ON_CPU)
                check(run, claim, run->devices[i].name);
    }
}
