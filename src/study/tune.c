/* SPDX-License-Identifier: MIT
 *
 * tune.c: leat_tune() looks for faster settings within a limit of time.
 *
 * DESIGN: options are tried one after the other (coordinate descent), because most of them matter alone,
 * and all combinations would take hours. The values of an option race against the best settings so far, see
 * race.c; so most of the time goes to values that are hard to tell apart. A second pass finds what the first
 * missed because a later option changed. The chance of a false winner grows with the number of values, so
 * each line of the winner must then gain something beside the others, and nothing is claimed before the last
 * comparison: the config against the winner, alone, in new rounds. */
#include "leat/tune.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arm.h"
#include "base/clock.h"
#include "base/text.h"
#include "other_processes.h"
#include "rounds.h"

enum {
    PASSES = 2,
    RUN_NS = 120000000,
    MIN_RUN_NS = 20000000,
    RUNS = 500, /* in the whole time, approximately: a short time has short runs */
    MIN_STEPS = 5,
    MOST_STEPS = 2000,
    OPTION_ROUNDS = 8,
    LAST_ROUNDS = 12,
    MIN_LAST_ROUNDS = 5,
};
static const double DEFAULT_SECONDS = 60;
static const double LAST_SHARE = 0.2; /* of the time, for dropping lines and the last comparison */

/* --- the options -------------------------------------------------------------------------------- */

enum { MOST_VALUES = 8 };

/* An option. Its values are texts, or numbers of threads. */
struct option {
    const char *path; /* "engine.threads" */
    /* "": always; "cpu": training on the CPU; "device": on others; "gpu": on a GPU. */
    const char *when;
    const char *values[MOST_VALUES];
    /* Numbers of threads as multiples of the cores, at least 1. */
    double of_cores[MOST_VALUES];
    const char *initial;   /* value if the config does not set it; "cores": their number */
    const char *needs;     /* what the config must have; NULL: nothing */
    const char *unless[2]; /* path and value under which the option means nothing; NULL: none */
    const char *stage; /* to add where the config has none: then the value is 0; NULL: it has it */
};

/* Most important first. */
static const struct option rows[] = {
    { "engine.threads", "", /* more than cores help if samples wait */
      .of_cores = { 0.01, 0.5, 1, 1.5, 2, 4, 8 }, .initial = "cores" },
    { "train.threads", "cpu", /* the step shares its cores with workers */
      .of_cores = { 0.01, 0.5, 0.75, 1 }, .initial = "" },
    { "pipeline.prefetch.batches", "", .values = { "0", "1", "2", "4", "8" }, .initial = "",
      .stage = "prefetch" },
    { "pipeline.map.device", "gpu", .values = { "cpu", "auto", "gpu" }, .initial = "" },
    { "pipeline.map.ops.decode_jpeg.device_share", "gpu", /* of nvJPEG */
      .values = { "0", "0.25", "0.5", "0.75", "1" }, .initial = "",
      .needs = "pipeline.map.ops.decode_jpeg" },
    { "pipeline.prefetch.pinned", "device", .values = { "true", "false" }, .initial = "true" },
    { "engine.jpeg_index", "", .values = { "auto", "off" }, .initial = "auto",
      .needs = "pipeline.map.ops.decode_jpeg" },
    { "engine.read_bytes", "", .values = { "4MiB", "16MiB", "64MiB" }, .initial = "" },
    { "engine.reader", "", .values = { "io_uring", "pread" }, .initial = "io_uring",
      .unless = { "engine.io", "direct" } }, /* with pread the page cache would be used again */
};
enum { N_OPTIONS = sizeof rows / sizeof *rows };

/* The i-th option has values[i]; "": as the config says. */
struct settings {
    char values[N_OPTIONS][32];
};

static size_t count_lines(const struct settings *s)
{
    size_t n = 0;
    for (size_t i = 0; i < N_OPTIONS; i++)
        n += s->values[i][0] != 0;
    return n;
}

static int set(leat_config *config, const char *text, leat_error *err)
{
    const int rc = leat_stage_name_value(config, text, err);
    return rc < 0 ? rc : leat_config_set(config, text, err);
}

static bool lacks_stage(const leat_config *config, size_t option)
{
    const char *const stage = rows[option].stage;
    char path[64], text[32];
    leat_text(path, sizeof path, "pipeline.%s", stage ? stage : "");
    return stage && leat_config_get(config, path, text, sizeof text, NULL) < 0;
}

/* "engine.threads=2", for leat_config_set(): how the config gets the value. */
static void write_line(const leat_config *config, size_t option, const char *value, char *text,
                       size_t size)
{
    const struct option *const row = &rows[option];
    if (lacks_stage(config, option))
        leat_text(text, size, "pipeline+={%s: {%s: %s}}", row->stage, strrchr(row->path, '.') + 1,
                  value);
    else
        leat_text(text, size, "%s=%s", row->path, value);
}

/* The current value, as far as it is known. */
static void value_now(const struct settings *s, const leat_config *config, size_t option,
                      int32_t cores, char text[32])
{
    const struct option *row = &rows[option];
    if (s->values[option][0])
        snprintf(text, 32, "%s", s->values[option]);
    else if (lacks_stage(config, option))
        strcpy(text, "0");
    else if (leat_config_get(config, row->path, text, 32, NULL) < 0 || !strcmp(text, "auto"))
        snprintf(text, 32, "%s", row->initial);
    if (!strcmp(text, "cores"))
        leat_text(text, 32, "%d", cores);
}

/* The values to try of an option, without the present one. cores: of this machine. Returns how many there are. */
static size_t other_values(const struct settings *s, const leat_config *config, size_t option,
                           int32_t cores, char values[MOST_VALUES][32])
{
    const struct option *row = &rows[option];
    char now[32];
    size_t n = 0;
    if (row->unless[0] && leat_arm_says(config, row->unless[0], row->unless[1], false))
        return 0;
    value_now(s, config, option, cores, now);
    for (size_t i = 0; i < MOST_VALUES; i++) {
        char text[32] = "";
        if (row->values[i])
            snprintf(text, sizeof text, "%s", row->values[i]);
        else if (row->of_cores[i] > 0)
            leat_text(text, sizeof text, "%.0f", fmax(1, floor(row->of_cores[i] * cores)));
        bool fresh = text[0] && strcmp(text, now) != 0;
        for (size_t k = 0; k < n; k++)
            fresh = fresh && strcmp(values[k], text) != 0;
        if (fresh)
            snprintf(values[n++], 32, "%s", text);
    }
    return n;
}

static int apply_settings(const struct settings *s, leat_config *config, leat_error *err)
{
    char text[160];
    int rc = LEAT_OK;
    for (size_t i = 0; i < N_OPTIONS && rc == LEAT_OK; i++)
        if (s->values[i][0]) {
            write_line(config, i, s->values[i], text, sizeof text);
            rc = set(config, text, err);
        }
    return rc;
}

/* Such lines with "; " between them. */
static void write_lines(const struct settings *s, const leat_config *config, char *text,
                        size_t size)
{
    text[0] = 0;
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (s->values[i][0]) {
            const size_t n = strlen(text);
            leat_text(text + n, size - n, "%s", n ? "; " : "");
            write_line(config, i, s->values[i], text + strlen(text), size - strlen(text));
        }
}

int leat_tune_apply(const leat_tune_result *result, leat_config *config, leat_error *err)
{
    int rc = LEAT_OK;
    if (!result || !config)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_tune_apply: result and config must be given");
    for (int32_t i = 0; i < result->n_set && rc == LEAT_OK; i++)
        rc = strchr(result->set[i], '=')
                 ? set(config, result->set[i], err)
                 : leat_fail(err, LEAT_E_ARGUMENT, "'%s' sets nothing", result->set[i]);
    return rc;
}

/* --- the study ---------------------------------------------------------------------------------- */

struct study {
    const leat_config *config;
    leat_tune_options options;
    leat_tune_result *out;
    int64_t start_ns;
    struct settings best;
    leat_arm arms[LEAT_RACE_ARMS];
    leat_compare_arm outs[LEAT_RACE_ARMS];
    struct settings of[LEAT_RACE_ARMS];
    leat_arm_total total; /* of the arms that are open */
    leat_race race;
    double until;        /* a round that is not over then does not count, */
    int32_t sure_rounds; /* but these take as long as they take */
    bool is_last;        /* the last race goes through all its rounds */
    bool is_late;        /* the time was over before the race */
};

/* --- settings -------------------------------------------------------------------------------- */

static double seconds(const struct study *study)
{
    return (double)(leat_clock_ns() - study->start_ns) * 1e-9;
}

/* Whether the option means something for this device. */
static bool applies(const struct study *study, size_t option)
{
    const char *when = rows[option].when, *device = study->out->device;
    char text[32];
    if (rows[option].needs &&
        leat_config_get(study->config, rows[option].needs, text, sizeof text, NULL) < 0)
        return false;
    const bool cpu = !strcmp(device, "cpu");
    return !when[0] || (!strcmp(when, "cpu") && cpu) || (!strcmp(when, "device") && !cpu) ||
           (!strcmp(when, "gpu") && !cpu && !study->out->simulated);
}

/* --- a race ---------------------------------------------------------------------------------- */

static int open_arm(struct study *study, size_t i, const struct settings *s, leat_error *err)
{
    leat_arm *const arm = &study->arms[i];
    leat_compare_arm *const out = &study->outs[i];
    int rc;
    memset(out, 0, sizeof *out);
    out->steps = MIN_STEPS;
    if ((rc = leat_arm_configure(arm, out, LEAT_RACE_ROUNDS, study->config, study->options.device,
                                 err)) < 0 ||
        (rc = apply_settings(s, arm->config, err)) < 0)
        return rc;
    return leat_arm_total_open(&study->total, arm, err);
}

/* A run tells how many steps fill the next one. */
static int run_arm(const struct study *study, leat_arm *arm, size_t round, leat_error *err)
{
    const int rc = leat_arm_run(arm, (int32_t)round, err);
    if (rc < 0)
        return rc;
    const int64_t step_ns = arm->runs[round].step_p50_ns > 0 ? arm->runs[round].step_p50_ns : 1;
    const double run_ns = fmin(fmax(study->options.seconds * 1e9 / RUNS, MIN_RUN_NS), RUN_NS);
    const int64_t n = (int64_t)run_ns / step_ns;
    arm->out->steps = (int32_t)(n < MIN_STEPS ? MIN_STEPS : n > MOST_STEPS ? MOST_STEPS : n);
    return LEAT_OK;
}

static void close_race(struct study *study)
{
    for (size_t i = 0; i < LEAT_RACE_ARMS; i++)
        leat_arm_close(&study->arms[i]);
    study->total = (leat_arm_total){ .n = 0 };
    study->race = (leat_race){ .n_arms = 0 };
}

/* Adds an arm. Settings that cannot be set are left out, and those that leave the cache less full than that of arm 0
 * is, as they would race against later epochs with a first one; for arm 0 they are an error. */
static int enter(struct study *study, const struct settings *s, leat_error *err)
{
    leat_race *race = &study->race;
    const size_t i = race->n_arms;
    const leat_arm_total before = study->total;
    leat_error *const why = i ? NULL : err;
    int rc = open_arm(study, i, s, why);
    if (rc == LEAT_OK)
        rc = leat_arm_fill(&study->arms[i], LEAT_ARM_REFILL_NS, why);
    if (rc < 0 || (study->outs[i].uncached > 0 && !(study->outs[0].uncached > 0))) {
        study->total = before;
        leat_arm_close(&study->arms[i]);
        return i ? LEAT_OK : rc;
    }
    study->of[i] = *s;
    race->n_arms++;
    return LEAT_OK;
}

/* An arm that is out does not run. */
static int run_cell(void *user, int32_t i, int32_t round, leat_error *err)
{
    struct study *const study = user;
    leat_race *const race = &study->race;
    study->is_late = round >= study->sure_rounds && seconds(study) >= study->until;
    if (study->is_late)
        return LEAT_E_END;
    if (race->out[i])
        return LEAT_OK;
    const int rc = run_arm(study, &study->arms[i], (size_t)round, err);
    if (rc < 0)
        return rc;
    race->rates[i][round] = study->arms[i].runs[round].samples_per_s;
    if (study->options.progress)
        study->options.progress(study->options.user, seconds(study), study->options.seconds);
    return LEAT_OK;
}

static bool end_round(void *user, int32_t n_rounds)
{
    struct study *const study = user;
    leat_race *const race = &study->race;
    for (size_t i = 0; i < race->n_arms; i++)
        race->done[i] += !race->out[i];
    race->n_rounds = (size_t)n_rounds;
    return !study->is_last && leat_race_settle(race);
}

static int run_rounds(struct study *study, int32_t n_rounds, leat_error *err)
{
    leat_alternate rounds = { .n_cells = (int32_t)study->race.n_arms,
                              .n_rounds = n_rounds,
                              .run = run_cell,
                              .enough = end_round,
                              .user = study };
    return leat_rounds_run(&rounds, err);
}

static void note(struct study *study)
{
    leat_tune_result *out = study->out;
    for (size_t i = 0; i < study->race.n_arms && out->n_tried < LEAT_TUNE_TRIED; i++) {
        if (!study->race.done[i])
            continue;
        leat_tune_try *try = &out->tried[out->n_tried++];
        write_lines(&study->of[i], study->config, try->set, sizeof try->set);
        try->samples_per_s = leat_race_rate(&study->race, i);
        try->speedup = leat_race_ratio(&study->race, i, 0);
        try->rounds = (int32_t)study->race.done[i];
    }
}

/* Runs rounds until one arm has won, or the time is over. */
static int run_race(struct study *study, double until, leat_error *err)
{
    study->until = until;
    study->is_late = false;
    const int rc = study->race.n_arms < 2 ? LEAT_OK : run_rounds(study, OPTION_ROUNDS, err);
    note(study);
    return rc;
}

/* Races the values of one option against the best settings so far. *tried: the time was enough for that. */
static int try_option(struct study *study, size_t option, double until, bool *changed, bool *tried,
                      leat_error *err)
{
    char values[MOST_VALUES][32];
    const size_t n = other_values(&study->best, study->config, option, study->out->cores, values);
    int rc = enter(study, &study->best, err);
    for (size_t i = 0; i < n && study->race.n_arms < LEAT_RACE_ARMS && rc == LEAT_OK; i++) {
        struct settings s = study->best;
        snprintf(s.values[option], sizeof s.values[option], "%s", values[i]);
        if (seconds(study) < until)
            rc = enter(study, &s, err);
    }
    if (rc == LEAT_OK)
        rc = run_race(study, until, err);
    *tried = n == 0 || study->race.n_rounds > 0 || seconds(study) < until;
    if (rc == LEAT_OK) {
        const size_t winner = leat_race_winner(&study->race);
        *changed |= winner > 0;
        study->best = study->of[winner];
    }
    close_race(study);
    return rc;
}

/* --- the search ------------------------------------------------------------------------------ */

static int learn_device(struct study *study, leat_error *err)
{
    leat_tune_result *out = study->out;
    const int rc = open_arm(study, 0, &study->best, err);
    snprintf(out->device, sizeof out->device, "%s", study->outs[0].device);
    out->simulated = study->outs[0].simulated;
    close_race(study);
    return rc;
}

static int search(struct study *study, leat_error *err)
{
    const double end = study->options.seconds * (1 - LAST_SHARE);
    bool changed = true;
    int rc = LEAT_OK;
    study->out->complete = 1;
    for (int pass = 0; pass < PASSES && changed && rc == LEAT_OK; pass++) {
        changed = false;
        for (size_t i = 0; i < N_OPTIONS && rc == LEAT_OK; i++) {
            const double now = seconds(study);
            /* The first pass leaves time for the options after this one, the second does not. */
            const double share = pass ? 1 : fmax(i ? 0.35 : 0.5, 1. / (double)(N_OPTIONS - i));
            bool tried = false;
            if (!applies(study, i))
                continue;
            if (now < end)
                rc = try_option(study, i, now + (end - now) * share, &changed, &tried, err);
            study->out->complete &= tried || pass > 0; /* all were tried at least once */
        }
    }
    return rc;
}

/* Races the best settings against those without one of their lines. A line that gains nothing beyond noise won
 * by chance, or before another line made it idle. */
static int drop_idle_line(struct study *study, size_t option, leat_error *err)
{
    struct settings without = study->best;
    int rc;
    if (seconds(study) >= study->options.seconds)
        return LEAT_OK; /* a cache is not filled for nothing */
    without.values[option][0] = 0;
    if ((rc = enter(study, &study->best, err)) == LEAT_OK &&
        (rc = enter(study, &without, err)) == LEAT_OK &&
        (rc = run_race(study, study->options.seconds, err)) == LEAT_OK && study->race.n_arms == 2 &&
        !study->is_late && leat_race_ratio(&study->race, 0, 1).low <= 1)
        study->best = without;
    close_race(study);
    return rc;
}

/* Of several lines; a single one is judged by the last race. The least important options go first. */
static int drop_idle_lines(struct study *study, leat_error *err)
{
    int rc = LEAT_OK;
    for (size_t i = N_OPTIONS; i-- > 0 && count_lines(&study->best) > 1 && rc == LEAT_OK;)
        if (study->best.values[i][0])
            rc = drop_idle_line(study, i, err);
    return rc;
}

/* The config against the winner. */
static int last_race(struct study *study, leat_error *err)
{
    const struct settings none = { { "" } };
    leat_tune_result *out = study->out;
    int rc;
    if ((rc = enter(study, &none, err)) < 0)
        goto done;
    out->uncached = study->outs[0].uncached;
    if (count_lines(&study->best) && (rc = enter(study, &study->best, err)) < 0)
        goto done;
    study->is_last = true;
    study->until = study->options.seconds;
    study->sure_rounds =
        MIN_LAST_ROUNDS; /* the claim needs some, even if they take longer than asked for */
    rc = run_rounds(study, LAST_ROUNDS, err);
    out->baseline = out->samples_per_s = leat_race_rate(&study->race, 0);
    out->speedup = (leat_estimate){ 1, 1, 1 };
    if (rc < 0 || study->race.n_arms < 2)
        goto done;
    const leat_estimate gain = leat_race_ratio(&study->race, 1, 0);
    if (gain.low <= 1)
        goto done;
    out->speedup = gain;
    out->samples_per_s = leat_race_rate(&study->race, 1);
    for (size_t i = 0; i < N_OPTIONS && out->n_set < LEAT_TUNE_SET; i++)
        if (study->best.values[i][0])
            write_line(study->config, i, study->best.values[i], out->set[out->n_set++],
                       sizeof out->set[0]);
done:
    close_race(study);
    return rc;
}

static void say(leat_tune_result *out)
{
    const char *simulated = out->simulated ? " (simulated)" : "";
    const char *rest = out->complete ? "" : "; the time was over before all options were tried";
    const char *none = out->n_tried ? "nothing that was tried is faster than the config beyond "
                                      "noise; leave it as it is"
                                    : "no settings were tried";
    if (out->n_set)
        leat_text(out->sentence, sizeof out->sentence,
                  "these settings make training %.2f times as fast as the config (95 %% interval "
                  "%.2f to %.2f)%s%s",
                  out->speedup.value, out->speedup.low, out->speedup.high, simulated, rest);
    else
        leat_text(out->sentence, sizeof out->sentence, "%s%s%s", none, simulated, rest);
}

static int tune(struct study *study, leat_error *err)
{
    leat_usage before, after;
    int rc;
    leat_other_processes_look("", &before);
    study->out->cores = before.n_cpus;
    if ((rc = learn_device(study, err)) < 0 || (rc = search(study, err)) < 0 ||
        (rc = drop_idle_lines(study, err)) < 0 || (rc = last_race(study, err)) < 0)
        return rc;
    leat_other_processes_look("", &after);
    study->out->cores_taken = leat_other_processes_taken(&before, &after);
    study->out->seconds = seconds(study);
    say(study->out);
    return LEAT_OK;
}

int leat_tune(const leat_config *config, const leat_tune_options *options, leat_tune_result *out,
              leat_error *err)
{
    if (!config || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_tune: config and out must be given");
    if (options && !(options->seconds >= 0 && options->seconds <= 86400))
        return leat_fail(err, LEAT_E_ARGUMENT, "seconds must be within 0 … 86400");
    memset(out, 0, sizeof *out);
    struct study *study = calloc(1, sizeof *study);
    if (!study)
        return leat_fail(err, LEAT_E_NOMEM, "a study");
    study->config = config;
    study->out = out;
    study->start_ns = leat_clock_ns();
    if (options)
        study->options = *options;
    if (study->options.seconds <= 0)
        study->options.seconds = DEFAULT_SECONDS;
    const int rc = tune(study, err);
    close_race(study);
    free(study);
    return rc;
}
