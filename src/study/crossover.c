/* SPDX-License-Identifier: MIT
 *
 * crossover.c: leat_crossover() measures the step alone on two devices at several batch sizes.
 *
 * DESIGN: an arm is one device at one batch size, with a plan of its own without prefetch, so that no worker
 * runs while a step is measured. Sizes are a factor of four apart, around the size of the config, and grow
 * until a step takes too long. All arms alternate, as in a comparison. Opening and the first step are
 * measured before, once per device.
 *
 * The step time is not linear in the batch size: launches and the shortest kernel make it flat for small batches. So
 * the lines go only through the sizes around the place where the order of the devices changes, two on either side. If
 * these lines do not cross there, they go through the nearest two. */
#include "leat/crossover.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arm.h"
#include "base/text.h"
#include "median_bootstrap.h"
#include "rounds.h"

enum {
    DEFAULT_ROUNDS = 6,
    MIN_ROUNDS = 3,
    CHECK_ROUNDS = 5,
    SMALLER = 3, /* sizes below that of the config */
    FACTOR = 4,
    MOST_STEPS = 2000,
    LARGEST = 4096,
    BESIDE = 1,  /* sizes on either side of the nearest two */
    PASSES = 12, /* of a fit, each with less weight for points far off */
};
static const int64_t STEP_NS = 200000000; /* longest step at sizes above that of the config */

/* --- lines ------------------------------------------------------------------------------------- */

struct line {
    double alpha, beta; /* y = alpha + beta * x */
};

static struct line weighted(const double *x, const double *y, const double *w, size_t n)
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
    return (struct line){ my - beta * mx, beta };
}

static double median_of_points(const double *values, size_t n)
{
    double sorted[LEAT_CROSSOVER_POINTS];
    memcpy(sorted, values, n * sizeof *values);
    return leat_median_of_real(sorted, n);
}

/* Errors count relative to y, so that small sizes decide alpha and large ones beta. A point far off the others counts
 * little (Huber weights). n: 2 or more; y > 0. */
static struct line fit_line(const double *x, const double *y, size_t n)
{
    double w[LEAT_CROSSOVER_POINTS], off[LEAT_CROSSOVER_POINTS];
    struct line line = { 0, 0 };
    for (size_t i = 0; i < n; i++)
        w[i] = 1 / (y[i] * y[i]);
    for (int pass = 0; pass < PASSES; pass++) {
        line = weighted(x, y, w, n);
        for (size_t i = 0; i < n; i++)
            off[i] = fabs(line.alpha + line.beta * x[i] - y[i]) / y[i];
        /* 1.5 standard deviations, from the median; at least 0.1 %, because exact points have none. */
        const double usual = fmax(1.5 * 1.4826 * median_of_points(off, n), 1e-3);
        for (size_t i = 0; i < n; i++)
            w[i] = fmin(1, usual / fmax(off[i], 1e-12)) / (y[i] * y[i]);
    }
    return line;
}

/* x where both are equal; NaN if they are parallel. */
static double crossing(struct line a, struct line b)
{
    const double slope = a.beta - b.beta;
    const double scale = fmax(fabs(a.beta), fabs(b.beta));
    return fabs(slope) <= 1e-9 * scale ? (double)NAN : (b.alpha - a.alpha) / slope;
}

/* --- windows ----------------------------------------------------------------------------------- */

/* Step times in ms: of device d at the i-th batch size in round r, at ms[(d * n_sizes + i) * n_rounds + r]. */
struct times {
    const int64_t *batches; /* n_sizes (1 … LEAT_CROSSOVER_POINTS), growing */
    size_t n_sizes, n_rounds;
    double *ms;
};

struct window {
    const struct times *times;
    size_t first, end; /* sizes that the lines go through */
    int device;        /* that a statistic is of */
};

/* The times of a device at a size, one per round. */
static double *times_of(const struct times *t, int device, size_t size)
{
    return &t->ms[((size_t)device * t->n_sizes + size) * t->n_rounds];
}

static struct line line_of(const struct window *w, int device, const size_t *rounds, size_t n)
{
    double x[LEAT_CROSSOVER_POINTS], y[LEAT_CROSSOVER_POINTS];
    for (size_t i = w->first; i < w->end; i++) {
        x[i - w->first] = (double)w->times->batches[i];
        y[i - w->first] = leat_bootstrap_median_of(times_of(w->times, device, i), rounds, n);
    }
    return fit_line(x, y, w->end - w->first);
}

/* --- statistics, as leat_bootstrap_estimate() takes them ---------------------------------------- */

static double alpha_of(const void *arg, const size_t *rounds, size_t n)
{
    const struct window *w = arg;
    return line_of(w, w->device, rounds, n).alpha;
}

static double beta_of(const void *arg, const size_t *rounds, size_t n)
{
    const struct window *w = arg;
    return line_of(w, w->device, rounds, n).beta;
}

/* If the lines of a draw do not cross, or only below 0, the crossing counts as beyond all sizes. */
static double crossing_of(const void *arg, const size_t *rounds, size_t n)
{
    const struct window *w = arg;
    const double at = crossing(line_of(w, 0, rounds, n), line_of(w, 1, rounds, n));
    return at > 0 ? at : (double)INFINITY;
}

static leat_estimate estimate(leat_statistic *statistic, const struct window *w)
{
    return leat_bootstrap_estimate(statistic, w, w->times->n_rounds);
}

/* --- the result --------------------------------------------------------------------------------- */

/* Index of the device that is faster at the i-th size, round by round; -1: the interval of the ratio includes 1. */
static int32_t faster_at(const struct times *times, size_t i)
{
    const double *a = times_of(times, 0, i), *b = times_of(times, 1, i);
    double ratios[LEAT_BOOTSTRAP_MAX];
    for (size_t r = 0; r < times->n_rounds; r++)
        ratios[r] = b[r] / a[r];
    const leat_estimate ratio = leat_bootstrap_median(ratios, times->n_rounds);
    return ratio.low > 1 ? 0 : ratio.high < 1 ? 1 : -1;
}

/* The last size at which device `below` is faster beyond noise while the other one is faster at a later size;
 * n_sizes: there is none. */
static size_t find_change(const int32_t *faster, size_t n)
{
    size_t last = n;
    for (size_t i = 0; i < n; i++) {
        if (faster[i] < 0)
            continue;
        if (last < n && faster[i] != faster[last])
            return last;
        last = i;
    }
    return n;
}

/* Sizes around a change of order between size `at` and the next one at which the other device is faster. */
static void place_window(struct window *w, size_t at, const int32_t *faster)
{
    size_t next = at + 1;
    while (faster[next] < 0)
        next++;
    w->first = at > BESIDE ? at - BESIDE : 0;
    w->end = next + 1 + BESIDE < w->times->n_sizes ? next + 1 + BESIDE : w->times->n_sizes;
    const double found = estimate(crossing_of, w).value;
    if (found >= (double)w->times->batches[at] && found <= (double)w->times->batches[next])
        return;
    w->first = at;
    w->end = next + 1;
}

static void conclude_device(const struct window *window, int device, leat_crossover_device *out)
{
    struct window w = *window;
    w.device = device;
    out->n_points = (int32_t)w.times->n_sizes;
    for (size_t i = 0; i < w.times->n_sizes; i++)
        out->points[i] = (leat_crossover_point){ w.times->batches[i],
                                                 leat_bootstrap_median(times_of(w.times, device, i),
                                                                       w.times->n_rounds) };
    if (w.end - w.first < 2) {
        out->alpha_ms = out->points[0].step_ms;
        return;
    }
    out->alpha_ms = estimate(alpha_of, &w);
    out->beta_ms_per_sample = estimate(beta_of, &w);
}

/* Fills points, lines, crosses, crossover, faster and faster_below of *out. A crossing needs a size at which one
 * device is faster beyond noise, and a larger one at which the other is. */
static void fit_crossover(const struct times *times, leat_crossover_result *out)
{
    struct window w = { .times = times, .end = times->n_sizes };
    int32_t *const faster = out->faster;
    for (size_t i = 0; i < times->n_sizes; i++)
        faster[i] = faster_at(times, i);
    const size_t change = find_change(faster, times->n_sizes);
    out->crosses = change < times->n_sizes;
    out->crossover = (leat_estimate){ (double)NAN, (double)NAN, (double)NAN };
    out->faster_below = faster[0];
    for (size_t i = 1; i < times->n_sizes; i++)
        if (faster[i] != faster[0])
            out->faster_below = -1;
    if (out->crosses) {
        out->faster_below = faster[change];
        place_window(&w, change, faster);
        out->crossover = estimate(crossing_of, &w);
    }
    for (int d = 0; d < 2; d++)
        conclude_device(&w, d, &out->devices[d]);
}

/* Steps that pay for a larger one-time cost, see leat_crossover_result. ms: medians of a step. */
static double steps_to_pay(const double one_time_ms[2], const double ms[2], int32_t faster)
{
    if (faster < 0 || ms[faster] >= ms[!faster])
        return (double)NAN;
    const double more = one_time_ms[faster] - one_time_ms[!faster];
    return more > 0 ? ceil(more / (ms[!faster] - ms[faster])) : 0;
}

/* --- the study ---------------------------------------------------------------------------------- */

struct study {
    const leat_config *config;
    const char *devices[2];
    leat_crossover_options options;
    leat_crossover_result *out;
    int64_t sizes[LEAT_CROSSOVER_POINTS];
    size_t n_sizes;
    leat_arm arms[2][LEAT_CROSSOVER_POINTS + 1]; /* by device and size; the last: of a check */
    leat_compare_arm outs[2][LEAT_CROSSOVER_POINTS + 1];
    struct times times; /* of the sizes; free() its ms */
    int n_done, n_runs;
};

/* --- arms ------------------------------------------------------------------------------------ */

/* Sets the batch size and turns prefetch off. */
static int set_batch(leat_config *config, int64_t batch, leat_error *err)
{
    char text[64];
    leat_text(text, sizeof text, "pipeline.batch.size=%lld", (long long)batch);
    const int rc = leat_config_set_as(config, text, "pipeline.batch.size", err);
    if (rc == LEAT_OK) /* it may have no such stage */
        (void)leat_config_set(config, "pipeline.prefetch.batches=0", NULL);
    return rc;
}

static int in_arm(const struct study *study, int device, int64_t batch, int rc, leat_error *err)
{
    return rc < 0
               ? leat_fail_in(err, rc, "%s, batch %lld: ", study->devices[device], (long long)batch)
               : rc;
}

/* The i-th size of a device. */
static int open_arm(struct study *study, int device, size_t i, int64_t batch, int32_t n_rounds,
                    leat_error *err)
{
    leat_arm *const arm = &study->arms[device][i];
    leat_compare_arm *const out = &study->outs[device][i];
    int rc;
    out->steps = study->options.steps ? study->options.steps : MOST_STEPS;
    if ((rc = leat_arm_configure(arm, out, n_rounds, study->config, study->devices[device], err)) <
            0 ||
        (rc = set_batch(arm->config, batch, err)) < 0 || (rc = leat_arm_open(arm, err)) < 0 ||
        (rc = leat_arm_warm_step(arm, err)) < 0)
        return in_arm(study, device, batch, rc, err);
    leat_arm_whole_updates(arm);
    return LEAT_OK;
}

/* Median time of a step of the last run. */
static int64_t last_step_ns(const leat_arm *arm)
{
    leat_meter meter;
    return leat_meter_account(arm->times, 1, arm->n_times, &meter) < 0 ? 0 : meter.step_p50_ns;
}

/* --- one-time cost ---------------------------------------------------------------------------- */

/* Opens device and model at the config's batch size and runs the first step. */
static int measure_opening(struct study *study, int d, int64_t *n_samples, leat_error *err)
{
    leat_crossover_device *out = &study->out->devices[d];
    leat_arm arm = { .n_times = 0 };
    leat_loader *loader = NULL;
    int rc = leat_arm_configure(&arm, &study->outs[d][0], 1, study->config, study->devices[d], err);
    if (rc == LEAT_OK && (rc = leat_arm_open(&arm, err)) == LEAT_OK &&
        (rc = leat_arm_loader_open(&arm, &loader, err)) == LEAT_OK &&
        (rc = leat_arm_first_step(&arm, loader, err)) == LEAT_OK) {
        const leat_device_info *info = leat_device_get_info(arm.device);
        snprintf(out->name, sizeof out->name, "%.63s", info->name);
        out->simulated = info->simulated;
        out->open_ms = (double)(arm.once.device_ns + arm.once.trainer_ns) * 1e-6;
        out->first_step_ms = (double)arm.once.step_ns * 1e-6;
        study->out->batch = leat_plan_get_info(arm.plan)->batch_size;
        *n_samples = leat_plan_get_info(arm.plan)->n_samples;
    }
    leat_loader_close(&loader);
    leat_arm_close(&arm);
    return rc < 0 ? leat_fail_in(err, rc, "%s: ", study->devices[d]) : LEAT_OK;
}

/* Launches per step, of the later half of an arm's last run. */
static void count_launches(const leat_arm *arm, leat_crossover_device *out)
{
    leat_meter meter;
    const size_t half = arm->n_times / 2;
    const bool known =
        leat_meter_account(arm->times, half, arm->n_times, &meter) == LEAT_OK && meter.launches > 0;
    out->launches = known ? meter.launches : -1;
    out->launch_ms = known ? (double)meter.launch_p50_ns * 1e-6 : 0;
}

/* --- sizes ----------------------------------------------------------------------------------- */

static int64_t largest(const struct study *study, int64_t n_samples)
{
    const int64_t limit = study->options.largest_batch ? study->options.largest_batch : LARGEST;
    const int64_t most = n_samples > 0 && n_samples < limit ? n_samples : limit;
    return most > study->out->batch ? most : study->out->batch;
}

/* Opens both devices at one size. Above the config's size, *fits is 0 if opening fails or a step takes too long. */
static int open_size(struct study *study, int64_t batch, bool *fits, leat_error *err)
{
    const bool optional = batch > study->out->batch;
    const size_t i = study->n_sizes;
    int rc = LEAT_OK;
    for (int d = 0; d < 2 && rc == LEAT_OK && *fits; d++) {
        rc = open_arm(study, d, i, batch, study->options.rounds, err);
        *fits = rc == LEAT_OK && (!optional || study->options.largest_batch ||
                                  last_step_ns(&study->arms[d][i]) <= STEP_NS);
    }
    if (*fits) {
        study->sizes[study->n_sizes++] = batch;
        return LEAT_OK;
    }
    leat_arm_close(&study->arms[0][i]);
    leat_arm_close(&study->arms[1][i]);
    return optional ? LEAT_OK : rc;
}

static int open_sizes(struct study *study, int64_t most, leat_error *err)
{
    int64_t batch = study->out->batch;
    bool fits = true;
    int rc = LEAT_OK;
    for (int i = 0; i < SMALLER && batch / FACTOR >= 1; i++)
        batch /= FACTOR;
    while (study->n_sizes < LEAT_CROSSOVER_POINTS && fits && batch <= most && rc == LEAT_OK) {
        rc = open_size(study, batch, &fits, err);
        /* Division rounds down; the config's own size must be among them. */
        const int64_t next = batch * FACTOR, own = study->out->batch;
        batch = batch < own && next > own / 2 && next < own * 2 ? own : next;
    }
    return rc;
}

/* --- rounds ---------------------------------------------------------------------------------- */

static void report(struct study *study)
{
    study->n_done++;
    if (study->options.progress)
        study->options.progress(study->options.user, study->n_done, study->n_runs);
}

/* Arms of both devices at some sizes, and the time of a step in each round, as in struct times. */
struct runs {
    struct study *study;
    size_t first; /* of the sizes, among the arms */
    struct times times;
};

static int run_cell(void *user, int32_t cell, int32_t round, leat_error *err)
{
    const struct runs *const runs = user;
    const size_t i = (size_t)cell / 2;
    const int d = cell % 2;
    leat_arm *const arm = &runs->study->arms[d][runs->first + i];
    const int rc = leat_arm_run_step(arm, round, err);
    if (rc < 0)
        return in_arm(runs->study, d, runs->times.batches[i], rc, err);
    times_of(&runs->times, d, i)[round] = leat_arm_step_ns(arm, round) * 1e-6;
    report(runs->study);
    return LEAT_OK;
}

static int run_all(struct runs *runs, leat_error *err)
{
    leat_alternate rounds = { .n_cells = (int32_t)(2 * runs->times.n_sizes),
                              .n_rounds = (int32_t)runs->times.n_rounds,
                              .run = run_cell,
                              .user = runs };
    return leat_rounds_run(&rounds, err);
}

static int run_rounds(struct study *study, leat_error *err)
{
    const size_t n = study->n_sizes, n_rounds = (size_t)study->options.rounds;
    study->n_runs = (int)(2 * n * n_rounds) + 2 * 2 * CHECK_ROUNDS;
    study->times =
        (struct times){ study->sizes, n, n_rounds, calloc(2 * n * n_rounds, sizeof(double)) };
    if (!study->times.ms)
        return leat_fail(err, LEAT_E_NOMEM, "times of %zu runs", 2 * n * n_rounds);
    return run_all(&(struct runs){ .study = study, .times = study->times }, err);
}

/* --- checks ---------------------------------------------------------------------------------- */

/* Measures one size that may not have been among the others. */
static int check(struct study *study, int64_t batch, leat_error *err)
{
    enum { PLACE = LEAT_CROSSOVER_POINTS };
    leat_crossover_result *out = study->out;
    double ms[2 * CHECK_ROUNDS];
    struct runs runs = { study, PLACE, { &batch, 1, CHECK_ROUNDS, ms } };
    int rc = LEAT_OK;
    for (int d = 0; d < 2 && rc == LEAT_OK; d++)
        rc = open_arm(study, d, PLACE, batch, CHECK_ROUNDS, err);
    if (rc == LEAT_OK && (rc = run_all(&runs, err)) == LEAT_OK) {
        const bool below = (double)batch < out->crossover.value;
        out->checks[out->n_checks++] =
            (leat_crossover_check){ batch, below ? out->faster_below : !out->faster_below,
                                    faster_at(&runs.times, 0) };
    }
    for (int d = 0; d < 2; d++)
        leat_arm_close(&study->arms[d][PLACE]);
    return rc;
}

static int check_both(struct study *study, int64_t most, leat_error *err)
{
    const double at = study->out->crossover.value;
    int rc = LEAT_OK;
    if (study->out->crosses && llround(at / 2) >= 1)
        rc = check(study, llround(at / 2), err);
    if (study->out->crosses && rc == LEAT_OK && llround(at * 2) <= most)
        rc = check(study, llround(at * 2), err);
    return rc;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* "sim:h200 (simulated)" */
static const char *name_of(const leat_crossover_device *device, char text[96])
{
    snprintf(text, 96, "%s%s", device->name,
             device->simulated && strncmp(device->name, "sim", 3) != 0 ? " (simulated)" : "");
    return text;
}

static const char *simulated_text(const leat_crossover_result *out)
{
    const int n = (out->devices[0].simulated != 0) + (out->devices[1].simulated != 0);
    return n == 2 ? "simulated" : n == 1 ? "simulated in part" : "";
}

/* The sizes at which a device is faster: "32, 128 and 512". */
static const char *sizes_text(const leat_crossover_result *out, int32_t n_faster,
                              char text[24 * LEAT_CROSSOVER_POINTS])
{
    int32_t n = 0;
    *text = 0;
    for (int32_t i = 0; i < out->devices[0].n_points; i++)
        if (out->faster[i] >= 0) {
            const char *const before = n == 0 ? "" : n < n_faster - 1 ? ", " : " and ";
            leat_text_append(text, 24 * LEAT_CROSSOVER_POINTS, "%s%lld", before,
                             (long long)out->devices[0].points[i].batch);
            n++;
        }
    return text;
}

/* Without a crossing: one device is faster at all sizes, or at some, or at none. */
static void say_no_crossing(leat_crossover_result *out)
{
    const leat_crossover_point *const points = out->devices[0].points;
    const int32_t n = out->devices[0].n_points;
    const long long first = points[0].batch, last = points[n - 1].batch;
    const char *const simulated = simulated_text(out);
    int32_t which = 0, n_faster = 0;
    char name[96], note[32] = "", sizes[24 * LEAT_CROSSOVER_POINTS];
    for (int32_t i = 0; i < n; i++)
        if (out->faster[i] >= 0) {
            which = out->faster[i];
            n_faster++;
        }
    if (*simulated)
        leat_text(note, sizeof note, " (%s)", simulated);
    if (out->faster_below >= 0)
        leat_text(out->sentence, sizeof out->sentence,
                  "%s is the faster device from batch %lld to %lld, all that were measured%s",
                  name_of(&out->devices[which], name), first, last, note);
    else if (n_faster > 0)
        leat_text(out->sentence, sizeof out->sentence,
                  "%s is faster at batch size%s %s; at the others from %lld to %lld there is no "
                  "difference beyond noise%s",
                  name_of(&out->devices[which], name), n_faster > 1 ? "s" : "",
                  sizes_text(out, n_faster, sizes), first, last, note);
    else
        leat_text(out->sentence, sizeof out->sentence,
                  "neither device is faster beyond noise from batch %lld to %lld%s", first, last,
                  note);
}

static void say(leat_crossover_result *out)
{
    char a[96], b[96], to[48] = "any larger one";
    const char *const simulated = simulated_text(out);
    const int below = out->faster_below;
    if (out->crosses && isfinite(out->crossover.high))
        leat_text(to, sizeof to, "%.0f", out->crossover.high);
    if (out->crosses)
        leat_text(
            out->sentence, sizeof out->sentence,
            "%s is faster below a batch of %.0f samples, %s above (95 %% interval %.0f to %s)%s%s",
            name_of(&out->devices[below], a), out->crossover.value,
            name_of(&out->devices[!below], b), out->crossover.low, to, *simulated ? "; " : "",
            simulated);
    else
        say_no_crossing(out);
}

static void conclude(struct study *study)
{
    leat_crossover_result *out = study->out;
    double one_time[2], ms[2];
    size_t now = 0;
    fit_crossover(&study->times, out);
    while (now + 1 < study->n_sizes && study->sizes[now] != out->batch)
        now++;
    for (int d = 0; d < 2; d++) {
        leat_crossover_device *device = &out->devices[d];
        ms[d] = device->points[now].step_ms.value;
        device->one_time_ms = device->open_ms + fmax(0, device->first_step_ms - ms[d]);
        count_launches(&study->arms[d][0], device);
        one_time[d] = device->one_time_ms;
    }
    out->faster_now = faster_at(&study->times, now);
    out->steps_to_pay = steps_to_pay(one_time, ms, out->faster_now);
    say(out);
}

static int measure(struct study *study, leat_error *err)
{
    int64_t n_samples = 0;
    int rc;
    if ((rc = measure_opening(study, 0, &n_samples, err)) < 0 ||
        (rc = measure_opening(study, 1, &n_samples, err)) < 0)
        return rc;
    const int64_t most = largest(study, n_samples);
    if ((rc = open_sizes(study, most, err)) < 0 || (rc = run_rounds(study, err)) < 0)
        return rc;
    conclude(study);
    return check_both(study, most, err);
}

static int check_arguments(const leat_config *config, const char *const devices[2],
                           const leat_crossover_options *o, const leat_crossover_result *out,
                           leat_error *err)
{
    if (!config || !devices || !devices[0] || !devices[1] || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_crossover: config, two devices and out must be given");
    if (!strcmp(devices[0], devices[1]))
        return leat_fail(err, LEAT_E_ARGUMENT, "both devices are %s: name two different ones",
                         devices[0]);
    if (o && o->rounds && (o->rounds < MIN_ROUNDS || o->rounds > LEAT_BOOTSTRAP_MAX))
        return leat_fail(err, LEAT_E_ARGUMENT, "rounds must be within %d … %d", MIN_ROUNDS,
                         LEAT_BOOTSTRAP_MAX);
    if (o && (o->steps < 0 || o->steps > MOST_STEPS))
        return leat_fail(err, LEAT_E_ARGUMENT, "steps must be within 1 … %d", MOST_STEPS);
    if (o && (o->largest_batch < 0 || o->largest_batch > INT32_MAX))
        return leat_fail(err, LEAT_E_ARGUMENT, "the largest batch must be within 1 … %d",
                         INT32_MAX);
    return LEAT_OK;
}

int leat_crossover(const leat_config *config, const char *const devices[2],
                   const leat_crossover_options *options, leat_crossover_result *out,
                   leat_error *err)
{
    int rc = check_arguments(config, devices, options, out, err);
    if (rc < 0)
        return rc;
    memset(out, 0, sizeof *out);
    struct study *study = calloc(1, sizeof *study);
    if (!study)
        return leat_fail(err, LEAT_E_NOMEM, "a study of two devices");
    study->config = config;
    study->devices[0] = devices[0];
    study->devices[1] = devices[1];
    study->out = out;
    if (options)
        study->options = *options;
    if (!study->options.rounds)
        study->options.rounds = DEFAULT_ROUNDS;
    rc = measure(study, err);
    for (int d = 0; d < 2; d++)
        for (size_t i = 0; i < LEAT_CROSSOVER_POINTS; i++)
            leat_arm_close(&study->arms[d][i]);
    free(study->times.ms);
    free(study);
    return rc;
}
