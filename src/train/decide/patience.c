/* SPDX-License-Identifier: MIT */
#include "patience.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

const char *const leat_patience_metrics[] = {
#define METRIC_NAME(name, text, field) text,
    LEAT_METRIC_LIST(METRIC_NAME) NULL
#undef METRIC_NAME
};

static double value_of(int32_t metric, const leat_metrics *metrics)
{
    switch ((leat_metric)metric) {
#define METRIC_VALUE(name, text, field)                                                            \
    case LEAT_METRIC_##name:                                                                       \
        return metrics->field;
        LEAT_METRIC_LIST(METRIC_VALUE)
    case LEAT_N_METRICS:
        break;
#undef METRIC_VALUE
    }
    return NAN;
}

void leat_patience_reset(leat_patience *p)
{
    p->best = 0;
    p->best_at = -1;
    p->waited = p->again = 0;
}

/* A gain of min_delta is none: 0.4 - 0.35 is above 0.05 in doubles alone. */
static bool is_better(const leat_patience *p, double value)
{
    if (!isfinite(value) || p->best_at < 0)
        return isfinite(value);
    const double gain = p->metric == LEAT_METRIC_LOSS ? p->best - value : value - p->best;
    const double rounding = 4 * DBL_EPSILON * (fabs(value) + fabs(p->best));
    return gain > p->min_delta + (p->min_delta > 0 ? rounding : 0);
}

bool leat_patience_take(leat_patience *p, const leat_metrics *metrics, int64_t at)
{
    const double value = value_of(p->metric, metrics);
    const bool better = is_better(p, value);
    if (better) {
        p->best = value;
        p->best_at = at;
        p->waited = 0;
    } else {
        p->waited++;
    }
    return better;
}

bool leat_patience_is_over(const leat_patience *p)
{
    return p->on && p->patience > 0 && p->waited >= p->patience;
}

void leat_patience_again(leat_patience *p)
{
    p->waited = 0;
    p->again++;
}

/* --- in checkpoints -------------------------------------------------------------------------- */

void leat_patience_text(const leat_patience *p, const char *name, char text[LEAT_PATIENCE_TEXT])
{
    *text = 0;
    if (p->on)
        leat_text(text, LEAT_PATIENCE_TEXT, "%s %s %a %" PRId64 " %" PRId64 " %" PRId64 "\n", name,
                  leat_patience_metrics[p->metric], p->best, p->best_at, p->waited, p->again);
}

/* The line that begins with the name; NULL: none. */
static const char *find_line(const char *text, const char *name)
{
    const size_t n = strlen(name);
    while (strncmp(text, name, n) != 0 || text[n] != ' ') {
        text = strchr(text, '\n');
        if (!text)
            return NULL;
        text++;
    }
    return text + n + 1;
}

bool leat_patience_read(leat_patience *p, const char *name, const char *text)
{
    const char *const line = find_line(text, name);
    char metric[16], best[40];
    leat_patience read = *p;
    leat_patience_reset(p);
    if (!line)
        return true;
    if (sscanf(line, "%15s %39s %18" SCNd64 " %18" SCNd64 " %18" SCNd64, metric, best,
               &read.best_at, &read.waited, &read.again) != 5 ||
        read.best_at < -1 || read.waited < 0 || read.again < 0)
        return false;
    read.best = leat_text_f64(best);
    if (!isfinite(read.best))
        return false;
    if (p->on && !strcmp(metric, leat_patience_metrics[p->metric]))
        *p = read;
    p->again = read.again;
    return true;
}
