/* SPDX-License-Identifier: MIT
 *
 * whatif.c: leat_whatif() measures a pipeline on this machine and predicts how it would feed other devices.
 *
 * DESIGN: three things are measured, each alone: the loader into host memory, with 1, 2, 4 … threads up to
 * the number of cores and with the other ways to decode (alternating, forwards and backwards); the step on
 * each device; and the copies to it. Only the loader depends on this machine; on a simulated device the
 * other two are arithmetic. Where the loader uses all cores that other processes leave to it, the rate per
 * second of CPU time is what counts, because a busy neighbour hardly changes it. More threads than cores are
 * measured too if the threads sleep most of the time, because then they need no cores. */
#include "leat/whatif.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "study/facts.h"
#include "study/median_bootstrap.h"
#include "study/other_processes.h"
#include "study/rounds.h"
#include "whatif_model.h"

enum {
    DEFAULT_ROUNDS = 6,
    MIN_ROUNDS = 3,
    STEP_ROUNDS = 3,
    MOST_STEPS = 2000,
    FEED_NS = 150000000, /* a run of the loader */
    FEEDS = LEAT_WHATIF_THREADS * 2 + LEAT_WHATIF_TRIALS,
    MOST_WAITING = 64, /* largest number of threads to measure if they wait */
};
static const double EVEN = 0.05;
static const double WAITS = 0.3;      /* on_cpu() below: threads wait */
static const double SATURATED = 0.85; /* of the cores, by this process and others */

/* --- the arithmetic ---------------------------------------------------------------------------- */

leat_estimate leat_whatif_rate(const leat_whatif_rates *rates, int32_t threads, int32_t *predicted)
{
    *predicted = 0;
    for (size_t i = 0; i < rates->n; i++)
        if (rates->threads[i] == threads)
            return rates->rates[i];
    const leat_estimate one = rates->per_thread;
    *predicted = 1;
    return (leat_estimate){ one.value * threads, one.low * threads, one.high * threads };
}

static int32_t how_many(double rate, double each)
{
    const double n = ceil(rate / each - 1e-9);
    return n < 1 ? 1 : n < INT32_MAX ? (int32_t)n : INT32_MAX;
}

void leat_whatif_fill(const leat_whatif_rates *rates, double bytes_per_sample, leat_whatif_row *row)
{
    const double consumer = fmin(row->step, row->copy);
    row->loader = leat_whatif_rate(rates, row->threads, &row->predicted);
    const double of = row->loader.value / consumer;
    row->idle = of < 1 ? 1 - of : 0;
    const char *bound = fabs(of - 1) <= EVEN    ? "even"
                        : of < 1                ? "input"
                        : row->copy < row->step ? "copy"
                                                : "step";
    snprintf(row->bound, sizeof row->bound, "%s", bound);
    row->threads_needed = how_many(consumer, rates->per_thread.value);
    row->cores_needed = how_many(consumer, rates->per_core);
    row->bytes_per_s_needed = consumer * bytes_per_sample;
}

void leat_whatif_say(leat_whatif_result *out)
{
    const leat_whatif_row *row = out->rows;
    for (int32_t i = 1; i < out->n_rows; i++)
        if (out->rows[i].cores_needed > row->cores_needed)
            row = &out->rows[i];
    const char *simulated = row->simulated ? " (simulated)" : "";
    if (row->cores_needed <= out->cores)
        leat_text(out->sentence, sizeof out->sentence,
                  "%d thread%s on %d of this machine's cores keep%s %s busy%s", row->threads_needed,
                  row->threads_needed == 1 ? "" : "s", row->cores_needed,
                  row->threads_needed == 1 ? "s" : "", row->device, simulated);
    else
        leat_text(
            out->sentence, sizeof out->sentence,
            "%s%s would need %d threads on %d cores like these to be busy all the time; predicted "
            "from %d cores",
            row->device, simulated, row->threads_needed, row->cores_needed, out->cores);
}

/* --- a feed ----------------------------------------------------------------------------------- */

/* The loader with a number of threads, or with other options. */
struct feed {
    int32_t threads;
    int trial; /* index in trials; -1: the config as it is */
    leat_arm arm;
    leat_compare_arm out;
    double *rates;   /* by round */
    double *per_cpu; /* samples per second of CPU time, by round */
    double cores;    /* average number of busy cores of this process, last round */
};

struct study {
    const leat_config *config;
    leat_whatif_options options;
    leat_whatif_result *out;
    struct feed feeds[FEEDS];
    size_t n_feeds;
    leat_compare_arm device; /* of the step on the one that is measured */
    int n_done, n_runs;
};

static int measure_feed(struct feed *feed, int32_t round, leat_error *err)
{
    leat_arm_use *const use = &feed->arm.use_loader;
    *use = (leat_arm_use){ 0 };
    const int rc = leat_arm_run_loader(&feed->arm, round, err);
    if (rc < 0)
        return rc;
    feed->rates[round] = feed->arm.loader[round].samples_per_s;
    feed->per_cpu[round] = (double)use->rows * 1e9 / fmax((double)use->cpu_ns, 1);
    feed->cores = (double)use->cpu_ns / fmax((double)use->wall_ns, 1);
    return rc;
}

/* CPU time of the stages over their time. */
static double on_cpu(const struct feed *feed)
{
    const leat_arm_input *const input = &feed->arm.input;
    double busy = 0, cpu = 0;
    for (int32_t i = 0; i < input->n_stages; i++) {
        busy += (double)input->stages[i].busy_ns;
        cpu += (double)input->stages[i].cpu_ns;
    }
    return busy > 0 ? cpu / busy : 1;
}

/* --- all feeds -------------------------------------------------------------------------------- */

/* Other ways to decode that a config can choose. Add a row to try more. */
static const struct {
    const char *lines[2], *text;
} ways[] = {
    { { "pipeline.map.ops.decode_jpeg.scale=auto", "pipeline.map.ops.decode_jpeg.exact=false" },
      "decode at the size that the resize after it needs; pixels differ slightly" },
};
enum { N_WAYS = sizeof ways / sizeof *ways };

/* Copies the config and sets its threads; the caller opens the arm. drop_last_feed() closes it, also after an error. */
static int add_feed(struct study *study, int32_t threads, int trial, struct feed **out,
                    leat_error *err)
{
    struct feed *const feed = *out = &study->feeds[study->n_feeds++];
    const int32_t n_rounds = study->options.rounds;
    char text[64];
    *feed = (struct feed){ .threads = threads,
                           .trial = trial,
                           .arm = { .input_only = true, .loader_ns = FEED_NS },
                           .out = { .steps = INT32_MAX },
                           .rates = calloc(2 * (size_t)n_rounds, sizeof *feed->rates) };
    if (!feed->rates)
        return leat_fail(err, LEAT_E_NOMEM, "rates of %d rounds", n_rounds);
    feed->per_cpu = feed->rates + n_rounds;
    leat_text(text, sizeof text, "engine.threads=%d", threads);
    const int rc = leat_arm_configure(&feed->arm, &feed->out, n_rounds, study->config, "cpu", err);
    return rc < 0 ? rc : leat_config_set(feed->arm.config, text, err);
}

static void drop_last_feed(struct study *study)
{
    struct feed *const feed = &study->feeds[--study->n_feeds];
    leat_arm_close(&feed->arm);
    free(feed->rates);
}

static int add_threads(struct study *study, int32_t threads, leat_error *err)
{
    struct feed *feed;
    for (size_t i = 0; i < study->n_feeds; i++)
        if (study->feeds[i].threads == threads)
            return LEAT_OK;
    const int rc = add_feed(study, threads, -1, &feed, err);
    return rc < 0 ? rc : leat_arm_open(&feed->arm, err);
}

/* Adds the ways to decode that this config can have. */
static int add_ways(struct study *study, leat_error *err)
{
    leat_whatif_result *out = study->out;
    for (size_t w = 0; w < N_WAYS; w++) {
        struct feed *feed;
        bool fits = true;
        char *set = out->trials[out->n_trials].set;
        const size_t size = sizeof out->trials->set;
        const int rc = add_feed(study, out->threads, out->n_trials, &feed, err);
        if (rc < 0)
            return rc;
        set[0] = 0;
        for (size_t i = 0; i < 2 && ways[w].lines[i] && fits; i++) {
            fits = leat_config_set(feed->arm.config, ways[w].lines[i], NULL) == LEAT_OK;
            leat_text(set + strlen(set), size - strlen(set), "%s%s", i ? "; " : "",
                      ways[w].lines[i]);
        }
        if (!fits || leat_arm_open(&feed->arm, NULL) < 0) {
            drop_last_feed(study);
            continue;
        }
        snprintf(out->trials[out->n_trials].text, sizeof out->trials->text, "%s", ways[w].text);
        out->n_trials++;
    }
    return LEAT_OK;
}

static void report(struct study *study)
{
    study->n_done++;
    if (study->options.progress)
        study->options.progress(study->options.user, study->n_done, study->n_runs);
}

static int run_feed(void *user, int32_t feed, int32_t round, leat_error *err)
{
    struct study *const study = user;
    const int rc = measure_feed(&study->feeds[feed], round, err);
    report(study);
    return rc;
}

static int run_rounds(struct study *study, leat_error *err)
{
    leat_alternate rounds = { .n_cells = (int32_t)study->n_feeds,
                              .n_rounds = study->options.rounds,
                              .run = run_feed,
                              .user = study };
    study->n_runs = (int)study->n_feeds * study->options.rounds + (int)study->options.n_devices;
    const int rc = leat_rounds_run(&rounds, err);
    study->out->cores_taken = rounds.taken;
    return rc;
}

int leat_whatif_check_cache(const leat_plan *plan, leat_error *err)
{
    return !leat_arm_has_cache(plan)
               ? LEAT_OK
               : leat_fail(err, LEAT_E_UNSUPPORTED,
                           "the pipeline has a `cache`, which fills while whatif measures, so its "
                           "rates would be of no epoch; leave it out for those of a first one "
                           "(--set pipeline.cache-)");
}

/* A rate of the input says how long a device waits only if batches are made while it computes. */
static int check_plan(const leat_plan *plan, leat_error *err)
{
    return leat_plan_get_info(plan)->prefetch > 0
               ? leat_whatif_check_cache(plan, err)
               : leat_fail(err, LEAT_E_UNSUPPORTED,
                           "the pipeline has no prefetch, so a device waits for each batch, "
                           "whatever the threads; predict it with one (--set %s)",
                           leat_arm_has_stage(plan, "prefetch") ? "pipeline.prefetch.batches=2"
                                                                : "pipeline+=prefetch");
}

/* Adds feeds of 1, 2, 4, … threads up to the number of cores, and the given numbers up to that; if one thread
 * waits most of the time, up to MOST_WAITING. */
static int choose_feeds(struct study *study, leat_error *err)
{
    leat_whatif_result *out = study->out;
    leat_usage now;
    int32_t most;
    int rc;
    leat_other_processes_look("", &now);
    out->cores = most = now.n_cpus;
    if ((rc = add_threads(study, 1, err)) < 0 ||
        (rc = check_plan(study->feeds[0].arm.plan, err)) < 0 ||
        (rc = measure_feed(&study->feeds[0], 0, err)) < 0)
        return rc;
    out->waits = on_cpu(&study->feeds[0]) < WAITS;
    if (out->waits && most < MOST_WAITING)
        most = MOST_WAITING;
    for (int32_t t = 2; t < out->cores && study->n_feeds < 8; t *= 2)
        if ((rc = add_threads(study, t, err)) < 0)
            return rc;
    if ((rc = add_threads(study, out->cores, err)) < 0)
        return rc;
    out->threads = out->cores;
    for (size_t i = 0; i < study->options.n_threads; i++) {
        const int32_t threads = study->options.threads[i];
        if (threads <= most && (rc = add_threads(study, threads, err)) < 0)
            return rc;
        if (threads <= most && threads > out->threads)
            out->threads = threads;
    }
    return add_ways(study, err);
}

/* --- devices --------------------------------------------------------------------------------- */

static int measure_arm(leat_arm *arm, leat_whatif_row *row, leat_error *err)
{
    int64_t ns[STEP_ROUNDS];
    int rc = leat_arm_warm_step(arm, err);
    leat_arm_whole_updates(arm);
    for (int32_t r = 0; r < STEP_ROUNDS && rc == LEAT_OK; r++) {
        rc = leat_arm_run_step(arm, r, err);
        ns[r] = (int64_t)leat_arm_step_ns(arm, r);
    }
    if (rc < 0 || (rc = leat_arm_run_loader(arm, 0, err)) < 0)
        return rc;
    const leat_meter *any =
        &arm->step[0]; /* all steps are on one batch, which may be a short one */
    const double rows = any->samples_per_s * (double)any->wall_ns * 1e-9 / (double)any->n_steps;
    row->step = rows * 1e9 / fmax(leat_median_of(ns, STEP_ROUNDS), 1);
    row->copy = arm->loader[0].exposed_copy > 0
                    ? arm->loader[0].samples_per_s / arm->loader[0].exposed_copy
                    : (double)INFINITY;
    return LEAT_OK;
}

/* Fills what all rows of a device have in common. */
static int measure_device(struct study *study, const char *name, leat_whatif_row *row,
                          leat_error *err)
{
    leat_compare_arm *const out = &study->device;
    leat_arm arm = { .n_times = 0 };
    int rc;
    *out = (leat_compare_arm){ .steps = MOST_STEPS };
    if ((rc = leat_arm_configure(&arm, out, STEP_ROUNDS, study->config, name, err)) == LEAT_OK &&
        (rc = leat_arm_open(&arm, err)) == LEAT_OK)
        rc = out->on_host
                 ? leat_fail(err, LEAT_E_ARGUMENT,
                             "its steps take the cores of the workers, so that these rates "
                             "say nothing; `leat compare` measures both together")
                 : measure_arm(&arm, row, err);
    snprintf(row->device, sizeof row->device, "%s", name);
    row->simulated = out->simulated;
    leat_arm_close(&arm);
    report(study);
    return rc < 0 ? leat_fail_in(err, rc, "%s: ", name) : LEAT_OK;
}

static int fill_rows(struct study *study, const leat_whatif_rates *rates, leat_error *err)
{
    leat_whatif_result *out = study->out;
    for (size_t d = 0; d < study->options.n_devices; d++) {
        leat_whatif_row row = { .step = 0 };
        const int rc = measure_device(study, study->options.devices[d], &row, err);
        if (rc < 0)
            return rc;
        for (size_t t = 0; t < study->options.n_threads; t++) {
            row.threads = study->options.threads[t];
            leat_whatif_fill(rates, out->bytes_per_sample, &row);
            out->rows[out->n_rows++] = row;
        }
    }
    return LEAT_OK;
}

/* --- results --------------------------------------------------------------------------------- */

/* The median over all rounds, with its interval. */
static leat_estimate median_of(const struct study *study, const double *rates)
{
    return leat_bootstrap_median(rates, (size_t)study->options.rounds);
}

/* Rates of the unchanged config. */
static void collect(const struct study *study, leat_whatif_rates *rates)
{
    for (size_t i = 0; i < study->n_feeds; i++) {
        const struct feed *feed = &study->feeds[i];
        if (feed->trial >= 0)
            continue;
        rates->threads[rates->n] = feed->threads;
        rates->rates[rates->n++] = median_of(study, feed->rates);
    }
}

/* Divides fused ops as they take their time without fusing. */
static void split_fused(struct study *study, leat_facts *facts)
{
    struct feed *apart;
    if (add_feed(study, 1, -1, &apart, NULL) == LEAT_OK &&
        leat_config_set(apart->arm.config, "engine.fuse=false", NULL) == LEAT_OK &&
        leat_arm_open(&apart->arm, NULL) == LEAT_OK && measure_feed(apart, 0, NULL) == LEAT_OK)
        leat_facts_split(facts, &apart->arm.input);
    drop_last_feed(study);
}

/* Part of the stages' time that decoding takes. NAN: the ops behind a decoder are one with it, and a loader in which they
 * are not cannot be made. */
static double decoding(struct study *study)
{
    const leat_arm *const arm = &study->feeds[0].arm;
    leat_facts facts;
    leat_facts_of(arm, &facts);
    if (isnan(leat_facts_decoding(&facts)))
        split_fused(study, &facts);
    return leat_facts_decoding(&facts);
}

/* Predicts records of decoded pixels: the time of all stages except decoding. */
static void predict_raw(struct study *study, leat_estimate now)
{
    leat_whatif_result *out = study->out;
    const double decode = decoding(study);
    if (!(decode > 0 && decode < 0.99) || out->n_trials == LEAT_WHATIF_TRIALS)
        return;
    const double gain = 1 / (1 - decode);
    leat_whatif_trial *trial = &out->trials[out->n_trials++];
    *trial = (leat_whatif_trial){ .predicted = 1,
                                  .loader = { now.value * gain, now.low * gain, now.high * gain },
                                  .speedup = gain };
    leat_text(trial->text, sizeof trial->text,
              "store decoded pixels (raw records): without the %.0f %% of the time that decoding "
              "takes; files become several times as large",
              100 * decode);
}

static void conclude_trials(struct study *study, leat_estimate now)
{
    for (size_t i = 0; i < study->n_feeds; i++) {
        const struct feed *feed = &study->feeds[i];
        if (feed->trial < 0)
            continue;
        leat_whatif_trial *trial = &study->out->trials[feed->trial];
        trial->loader = median_of(study, feed->rates);
        trial->speedup = trial->loader.value / now.value;
    }
    predict_raw(study, now);
}

static const struct feed *feed_of(const struct study *study, int32_t threads)
{
    const struct feed *feed = study->feeds;
    while (feed->threads != threads || feed->trial >= 0)
        feed++;
    return feed;
}

static leat_estimate divided(leat_estimate rate, double by)
{
    return (leat_estimate){ rate.value / by, rate.low / by, rate.high / by };
}

/* The rate of one thread, alone and with all cores busy. Threads that wait do not take each other's core. */
static void conclude_threads(struct study *study, leat_whatif_rates *rates)
{
    leat_whatif_result *out = study->out;
    const struct feed *one = feed_of(study, 1), *all = feed_of(study, out->cores);
    out->cpu_bound = !out->waits && all->cores + out->cores_taken >= SATURATED * out->cores;
    out->per_thread = median_of(study, out->cpu_bound ? one->per_cpu : one->rates);
    rates->per_thread = out->cpu_bound ? median_of(study, all->per_cpu)
                                       : divided(median_of(study, all->rates), out->cores);
    rates->per_core = out->waits ? median_of(study, all->per_cpu).value : rates->per_thread.value;
    out->efficiency = rates->per_thread.value / out->per_thread.value;
}

/* Before anything is measured. */
static int check_devices(const struct study *study, leat_error *err)
{
    int rc = LEAT_OK;
    for (size_t d = 0; d < study->options.n_devices && rc == LEAT_OK; d++) {
        leat_config *config;
        if ((rc = leat_config_copy(study->config, &config, err)) == LEAT_OK)
            rc = leat_arm_set_device(config, study->options.devices[d], err);
        leat_config_close(&config);
    }
    return rc;
}

static int measure(struct study *study, leat_error *err)
{
    leat_whatif_result *out = study->out;
    leat_whatif_rates rates = { .n = 0 };
    const leat_arm_input *const input = &study->feeds[0].arm.input;
    leat_source_info source;
    int32_t predicted;
    int rc;
    if ((rc = check_devices(study, err)) < 0 || (rc = choose_feeds(study, err)) < 0 ||
        (rc = run_rounds(study, err)) < 0)
        return rc;
    collect(study, &rates);
    leat_plan_source(study->feeds[0].arm.plan, &source);
    out->bytes_per_sample = source.sample_bytes;
    out->bytes_out_per_sample = (double)input->bytes_out / fmax((double)input->samples, 1);
    conclude_threads(study, &rates);
    conclude_trials(study, leat_whatif_rate(&rates, out->threads, &predicted));
    if ((rc = fill_rows(study, &rates, err)) < 0)
        return rc;
    leat_whatif_say(out);
    return LEAT_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int check(leat_whatif_options *o, leat_error *err)
{
    static const char *const devices[] = { "sim:h200" };
    static const int32_t threads[] = { 2, 4, 8, 16, 32 };
    if (!o->devices || !o->n_devices) {
        o->devices = devices;
        o->n_devices = 1;
    }
    if (!o->threads || !o->n_threads) {
        o->threads = threads;
        o->n_threads = sizeof threads / sizeof *threads;
    }
    if (!o->rounds)
        o->rounds = DEFAULT_ROUNDS;
    if (o->rounds < MIN_ROUNDS || o->rounds > LEAT_BOOTSTRAP_MAX)
        return leat_fail(err, LEAT_E_ARGUMENT, "rounds must be within %d … %d", MIN_ROUNDS,
                         LEAT_BOOTSTRAP_MAX);
    if (o->n_devices > LEAT_WHATIF_DEVICES || o->n_threads > LEAT_WHATIF_THREADS)
        return leat_fail(err, LEAT_E_ARGUMENT, "at most %d devices and %d numbers of threads",
                         LEAT_WHATIF_DEVICES, LEAT_WHATIF_THREADS);
    for (size_t i = 0; i < o->n_threads; i++)
        if (o->threads[i] < 1 || o->threads[i] > LEAT_WHATIF_MAX_THREADS)
            return leat_fail(err, LEAT_E_ARGUMENT, "%d threads: must be within 1 … %d",
                             o->threads[i], LEAT_WHATIF_MAX_THREADS);
    return LEAT_OK;
}

int leat_whatif(const leat_config *config, const leat_whatif_options *options,
                leat_whatif_result *out, leat_error *err)
{
    if (!config || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_whatif: config and out must be given");
    memset(out, 0, sizeof *out);
    struct study *study = calloc(1, sizeof *study);
    if (!study)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes", sizeof *study);
    study->config = config;
    study->out = out;
    if (options)
        study->options = *options;
    int rc;
    if ((rc = check(&study->options, err)) == LEAT_OK)
        rc = measure(study, err);
    while (study->n_feeds)
        drop_last_feed(study);
    free(study);
    return rc;
}
