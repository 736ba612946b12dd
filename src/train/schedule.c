/* SPDX-License-Identifier: MIT
 *
 * schedule.c: schedules of the learning rate. With t updates done, W of warm-up and T in all, the factor is
 * (t + 1) / W while t < W, and then a function of u = t - W and U = T - W. A plateau's is factor^n, n: how often its
 * patience ran out. */
#include "schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "nn_kind.h"

/* Every schedule's options begin with these. */
typedef struct schedule_common {
    double warmup, length;
    int32_t unit; /* 0: epochs, 1: steps */
} schedule_common;

typedef struct schedule_spec {
    leat_kind kind;
    size_t options_size;
    bool ends; /* it needs a length */
    double (*factor)(const leat_schedule *s, double u, double all);
} schedule_spec;

struct leat_schedule {
    const schedule_spec *spec;
    void *options;
    double per_unit;        /* updates per epoch, or 1 */
    int64_t warmup, length; /* updates; length 0: none */
    leat_patience patience; /* of a plateau */
};

static const char *const units[] = { "epochs", "steps", NULL };

#define COMMON(type)                                                                               \
    LEAT_OPTION_NAMED("warmup", type, base.warmup, F64, "0", 0, 1e12,                              \
                      "length of the warm-up: the rate grows linearly, then the schedule begins"), \
        LEAT_OPTION_NAMED("length", type, base.length, F64, "0", 0, 1e12,                          \
                          "length of the schedule, warm-up included; 0: the whole run"),           \
        { "unit",                                                                                  \
          LEAT_OPTION_TYPE_ENUM,                                                                   \
          offsetof(type, base.unit),                                                               \
          "epochs",                                                                                \
          0,                                                                                       \
          0,                                                                                       \
          units,                                                                                   \
          "unit of the lengths; a step is one update of the weights",                              \
          0 },                                                                                     \
        LEAT_OPTION_END

/* --- the schedules --------------------------------------------------------------------------- */

static double between(double from, double to, double share)
{
    return from + (to - from) * (share < 0 ? 0 : share < 1 ? share : 1);
}

/* From `from` to `to` along half a cosine. */
static double cosine_between(double from, double to, double share)
{
    const double x = share < 0 ? 0 : share < 1 ? share : 1;
    return to + (from - to) * 0.5 * (1 + cos(3.14159265358979323846 * x));
}

typedef struct constant_options {
    schedule_common base;
} constant_options;

static const leat_option constant_table[] = { COMMON(constant_options) };

static double constant_factor(const leat_schedule *s, double u, double all)
{
    (void)s;
    (void)u;
    (void)all;
    return 1;
}

typedef struct step_options {
    schedule_common base;
    leat_f64s milestones;
    float factor;
} step_options;

static const leat_option step_table[] = {
    LEAT_OPTION_F64S(step_options, milestones, NULL, 0, 1e12,
                     "when the rate is multiplied by factor, counted from the run's start"),
    LEAT_OPTION_F32(step_options, factor, "0.1", 0, 1e6, "factor of the rate at each milestone"),
    COMMON(step_options)
};

static double step_factor(const leat_schedule *s, double u, double all)
{
    const step_options *o = s->options;
    double factor = 1;
    (void)all;
    for (int32_t i = 0; i < o->milestones.n; i++)
        if (u + (double)s->warmup >= round(o->milestones.values[i] * s->per_unit))
            factor *= (double)o->factor;
    return factor;
}

typedef struct end_options {
    schedule_common base;
    double end;
} end_options;

static const leat_option end_table[] = { LEAT_OPTION_F64(end_options, end, "0", 0, 1e6,
                                                         "factor of the rate at the end"),
                                         COMMON(end_options) };

static double linear_factor(const leat_schedule *s, double u, double all)
{
    return between(1, ((const end_options *)s->options)->end, u / all);
}

static double cosine_factor(const leat_schedule *s, double u, double all)
{
    return cosine_between(1, ((const end_options *)s->options)->end, u / all);
}

typedef struct peak_options {
    schedule_common base;
    double peak, start, end;
} peak_options;

#define PEAK(peak_, start_, end_, end_is)                                                          \
    LEAT_OPTION_F64(peak_options, peak, peak_, 0, 1,                                               \
                    "when the rate is highest, as a share of the length"),                         \
        LEAT_OPTION_F64(peak_options, start, start_, 0, 1e6,                                       \
                        "factor of the rate at the first update"),                                 \
        LEAT_OPTION_F64(peak_options, end, end_, 0, 1e6, end_is), COMMON(peak_options)

static const leat_option one_cycle_table[] = { PEAK("0.3", "0.04", "4e-6",
                                                    "factor of the rate at the last update") };

/* As in PyTorch: the peak is the update peak × all - 1, the end the last update, not the one after. */
static double one_cycle_factor(const leat_schedule *s, double u, double all)
{
    const peak_options *o = s->options;
    const double top = o->peak * all - 1;
    if (u <= top)
        return cosine_between(o->start, 1, top > 0 ? u / top : 1);
    return all - 1 > top ? cosine_between(1, o->end, (u - top) / (all - 1 - top)) : 1;
}

static const leat_option triangular_table[] = { PEAK("0.23", "0.2", "0.07",
                                                     "factor of the rate at the end") };

static double triangular_factor(const leat_schedule *s, double u, double all)
{
    const peak_options *o = s->options;
    const double top = o->peak * all;
    return u < top ? between(o->start, 1, u / top) : between(1, o->end, (u - top) / (all - top));
}

typedef struct plateau_options {
    schedule_common base;
    int64_t patience;
    double factor, min, min_delta;
    int32_t metric;
} plateau_options;

static const leat_option plateau_table[] = {
    LEAT_OPTION_I64(plateau_options, patience, "10", 1, 1e9,
                    "epochs in a row without a better evaluation, after which the rate falls"),
    LEAT_OPTION_F64(plateau_options, factor, "0.1", 0, 1, "what the rate is multiplied by"),
    LEAT_OPTION_F64(plateau_options, min, "0", 0, 1,
                    "smallest rate, as a factor of the optimizer's"),
    LEAT_OPTION_ENUM(plateau_options, metric, "loss", leat_patience_metrics,
                     "what of the evaluation has to improve"),
    LEAT_OPTION_F64(plateau_options, min_delta, "0", 0, 1e9, "it must improve by more than this"),
    COMMON(plateau_options)
};

static double plateau_factor(const leat_schedule *s, double u, double all)
{
    const plateau_options *o = s->options;
    double factor = 1;
    (void)u;
    (void)all;
    for (int64_t i = 0; i < s->patience.again && factor > o->min; i++)
        factor *= o->factor;
    return factor > o->min ? factor : o->min;
}

static const schedule_spec specs[] = {
    { { "constant", "the full learning rate, after a warm-up", constant_table },
      sizeof(constant_options),
      false,
      constant_factor },
    { { "step", "multiplied by a factor at milestones", step_table },
      sizeof(step_options),
      false,
      step_factor },
    { { "cosine", "falls along half a cosine", end_table },
      sizeof(end_options),
      true,
      cosine_factor },
    { { "linear", "falls along a line", end_table }, sizeof(end_options), true, linear_factor },
    { { "one_cycle", "rises and falls along half cosines, as in PyTorch", one_cycle_table },
      sizeof(peak_options),
      true,
      one_cycle_factor },
    { { "triangular", "rises and falls along lines", triangular_table },
      sizeof(peak_options),
      true,
      triangular_factor },
    { { "plateau", "multiplied by a factor whenever evaluations stop improving", plateau_table },
      sizeof(plateau_options),
      false,
      plateau_factor },
};

const leat_kind *leat_schedule_kind(size_t i)
{
    return i < sizeof specs / sizeof *specs ? &specs[i].kind : NULL;
}

/* --- open ------------------------------------------------------------------------------------ */

int64_t leat_run_updates(const leat_run_length *run)
{
    return run->batches > 0 ? run->epochs * run->batches / run->accumulate : 0;
}

static int set_lengths(leat_schedule *s, const leat_node *owner, const leat_run_length *run,
                       leat_error *err)
{
    const schedule_common *o = s->options;
    const bool steps = o->unit == 1, known = run->batches > 0;
    const bool counts = o->warmup > 0 || o->length > 0 || s->spec->factor == step_factor;
    if (!known && !steps && counts)
        return leat_node_fail(owner, err, LEAT_E_CONFIG,
                              "schedule '%s': the pipeline has no end, so an epoch has no length: "
                              "give lengths in steps, `unit: steps`",
                              s->spec->kind.name);
    if (!known && o->length <= 0 && s->spec->ends)
        return leat_node_fail(owner, err, LEAT_E_CONFIG,
                              "schedule '%s': the pipeline has no end: say when the schedule ends, "
                              "such as `length: 10000, unit: steps`",
                              s->spec->kind.name);
    s->per_unit = steps ? 1 : (double)run->batches / (double)run->accumulate;
    s->warmup = (int64_t)llround(o->warmup * s->per_unit);
    s->length = o->length > 0 ? (int64_t)llround(o->length * s->per_unit) : leat_run_updates(run);
    if (s->spec->ends && s->warmup >= s->length)
        return leat_node_fail(owner, err, LEAT_E_CONFIG,
                              "schedule '%s': the warm-up of %lld steps leaves nothing of its "
                              "length, %lld steps",
                              s->spec->kind.name, (long long)s->warmup, (long long)s->length);
    return LEAT_OK;
}

static void set_patience(leat_schedule *s)
{
    const plateau_options *o = s->options;
    s->patience = (leat_patience){
        .on = true, .metric = o->metric, .patience = o->patience, .min_delta = o->min_delta
    };
    leat_patience_reset(&s->patience);
}

int leat_schedule_open(const leat_node *node, const leat_node *owner, const leat_run_length *run,
                       leat_schedule **out, leat_error *err)
{
    const leat_node *options = NULL;
    size_t at = 0; /* the first one: constant */
    int rc = leat_node_is_null(node)
                 ? LEAT_OK
                 : leat_nn_kind_find(node, "schedule", leat_schedule_kind, &at, &options, err);
    *out = NULL;
    if (rc < 0)
        return rc;
    const leat_node *blamed = leat_node_is_null(node) ? owner : node;
    leat_schedule *s = calloc(1, sizeof *s);
    if (!s)
        return leat_fail(err, LEAT_E_NOMEM, "schedule: %zu bytes", sizeof *s);
    s->spec = &specs[at];
    rc = leat_nn_kind_options(options, blamed, "schedule", &s->spec->kind, s->spec->options_size,
                              &s->options, err);
    if (rc == LEAT_OK)
        rc = set_lengths(s, blamed, run, err);
    if (rc == LEAT_OK && s->spec->factor == plateau_factor)
        set_patience(s);
    if (rc < 0)
        leat_schedule_close(&s);
    *out = s;
    return rc;
}

void leat_schedule_close(leat_schedule **schedule)
{
    if (!*schedule)
        return;
    free((*schedule)->options);
    free(*schedule);
    *schedule = NULL;
}

leat_patience *leat_schedule_patience(leat_schedule *s)
{
    return s->patience.on ? &s->patience : NULL;
}

bool leat_schedule_warms_up(const leat_schedule *s, int64_t done)
{
    return s->warmup > 0 && done <= s->warmup;
}

double leat_schedule_factor(const leat_schedule *s, int64_t done)
{
    if (done < s->warmup)
        return (double)(done + 1) / (double)s->warmup;
    return s->spec->factor(s, (double)(done - s->warmup), (double)(s->length - s->warmup));
}

/* The first milestone that the run does not reach; -1: none. */
static double late_milestone(const leat_schedule *s, int64_t updates)
{
    const step_options *o = s->options;
    double first = -1;
    for (int32_t i = 0; i < o->milestones.n; i++) {
        const double at = o->milestones.values[i];
        if (round(at * s->per_unit) >= (double)updates && (first < 0 || at < first))
            first = at;
    }
    return first;
}

void leat_schedule_remark(const leat_schedule *s, const leat_run_length *run, char *text,
                          size_t size)
{
    const schedule_common *const o = s->options;
    const int64_t updates = leat_run_updates(run);
    const bool steps = s->spec->factor == step_factor;
    const double late = steps && updates > 0 ? late_milestone(s, updates) : -1;
    *text = 0;
    if (steps && ((const step_options *)s->options)->milestones.n == 0)
        snprintf(text, size, "has no milestones, so the learning rate does not change");
    else if (late >= 0)
        leat_text(text, size,
                  "milestones from %.10g %s on are not within the run, which has %lld updates, so "
                  "they have no effect",
                  late, units[o->unit], (long long)updates);
    else if (!s->spec->ends && o->length > 0)
        snprintf(text, size, "`length` has no effect here");
    else if (updates > 0 && s->warmup > updates)
        snprintf(text, size,
                 "the warm-up of %lld updates is longer than the run, which has %lld, so the "
                 "learning rate stays below the optimizer's",
                 (long long)s->warmup, (long long)updates);
}
