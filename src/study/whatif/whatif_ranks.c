/* SPDX-License-Identifier: MIT
 *
 * whatif_ranks.c: leat_whatif_ranks(), as whatif.h describes it.
 *
 * DESIGN: a model of time (compute / ranks + exchanges × latency + bytes / rate) would have to know which exchanges a step
 * has and what of them the loader uses to get ahead. The step of one rank has all that, so it is run: the loop is that of
 * `leat train`, in alternating rounds, with a learning rate of 0, so that no loss diverges. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "leat/ranks.h"
#include "leat/train.h"
#include "leat/whatif.h"
#include "study/median_bootstrap.h"
#include "study/rounds.h"
#include "whatif_model.h"

enum { ROUNDS = 3, RUN_NS = 500 * 1000 * 1000, MIN_STEPS = 5, SETTLE_STEPS = 64 };
static const int64_t SETTLE_NS = 2000000000;

typedef struct group {
    int32_t n;
    leat_config *config;
    leat_plan *plan;
    double *rates, *input, *communication; /* by round */
} group;

typedef struct training {
    leat_device *device;
    leat_ranks *ranks;
    leat_loader *loader;
    leat_trainer *trainer;
    int64_t rows, input_ns; /* since steps() began; of all ranks, of this one */
} training;

typedef struct study {
    leat_whatif_ranks_options options;
    leat_whatif_ranks_result *out;
    group groups[LEAT_WHATIF_RANKS + 1];
    int32_t n_groups;
    int n_done;
} study;

/* --- a run ----------------------------------------------------------------------------------- */

static int open_training(training *t, const group *g, const leat_whatif_ranks_options *o,
                         leat_error *err)
{
    const leat_loader_options options = { .epochs = -1 };
    const double rate = o->bytes_per_s > 0 ? o->bytes_per_s : (double)INFINITY;
    int rc = leat_trainer_open_device(g->config, &t->device, err);
    if (rc == LEAT_OK && g->n > 1)
        rc = leat_ranks_open_simulated(g->n, &t->ranks, err);
    if (rc == LEAT_OK && g->n > 1)
        rc = leat_ranks_network(t->ranks, o->latency_s, rate, err);
    if (rc < 0 || (rc = leat_trainer_open_ranks(g->config, g->plan, t->device, t->ranks,
                                                &t->trainer, err)) < 0)
        return rc;
    return leat_loader_open(g->plan, &options, &t->loader, err);
}

static void close_training(training *t)
{
    leat_trainer_close(&t->trainer);
    leat_loader_close(&t->loader);
    leat_ranks_close(&t->ranks);
    leat_device_close(&t->device);
}

static int step(training *t, leat_error *err)
{
    leat_batch *batch;
    int32_t stops = 0;
    int rc = leat_ranks_agree(t->ranks, LEAT_OK, &stops, err);
    if (rc < 0 ||
        (rc = leat_ranks_agree(t->ranks, leat_loader_next(t->loader, &batch, err), NULL, err)) < 0)
        return rc == LEAT_E_END ? leat_fail(err, LEAT_E_DATA, "the pipeline has no batch") : rc;
    const leat_batch_info *const info = leat_batch_get_info(batch);
    t->rows += info->global_rows;
    t->input_ns += info->got_ns - info->asked_ns;
    return leat_trainer_repeat(t->trainer, batch, 1, err);
}

/* At least `least` steps; then until the time is over, but at most `most` steps. Returns the time in *ns. */
static int steps(training *t, int64_t least, int64_t most, int64_t until_ns, int64_t *ns,
                 leat_error *err)
{
    const int64_t from_ns = leat_clock_ns();
    int rc = LEAT_OK;
    t->rows = t->input_ns = *ns = 0;
    for (int64_t i = 0; rc == LEAT_OK && (i < least || (i < most && *ns < until_ns)); i++) {
        rc = step(t, err);
        *ns = leat_clock_ns() - from_ns;
    }
    return rc;
}

/* The loader first has to find how much to prefetch. The share of communication is of all steps, and in proportion of those
 * that are measured, which wait less for input. */
static int measure(const group *g, training *t, int32_t round, leat_error *err)
{
    const int64_t prefetch = leat_plan_get_info(g->plan)->prefetch;
    leat_ranks_time time = { 0 };
    int64_t ns;
    int rc = steps(t, (prefetch < SETTLE_STEPS ? prefetch : SETTLE_STEPS) + 3, SETTLE_STEPS,
                   SETTLE_NS, &ns, err);
    if (rc < 0 || (rc = steps(t, MIN_STEPS, INT64_MAX, RUN_NS, &ns, err)) < 0)
        return rc;
    leat_ranks_times(t->ranks, &time, 1);
    const double busy = t->ranks ? time.compute + time.exchange + time.others : 1;
    g->rates[round] = (double)t->rows * 1e9 / (double)ns;
    g->input[round] = (double)t->input_ns / (double)ns;
    g->communication[round] =
        (1 - g->input[round]) * (time.exchange + time.others) / fmax(busy, 1e-9);
    return LEAT_OK;
}

static int run_group(void *user, int32_t i, int32_t round, leat_error *err)
{
    study *const s = user;
    training t = { 0 };
    int rc = open_training(&t, &s->groups[i], &s->options, err);
    if (rc == LEAT_OK)
        rc = measure(&s->groups[i], &t, round, err);
    close_training(&t);
    s->n_done++;
    if (s->options.progress)
        s->options.progress(s->options.user, s->n_done, s->n_groups * s->options.rounds);
    return rc;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int add_group(study *s, const leat_config *config, int32_t n, leat_error *err)
{
    group *const g = &s->groups[s->n_groups++];
    const size_t rounds = (size_t)s->options.rounds;
    char text[48];
    int rc;
    g->n = n;
    g->rates = calloc(3 * rounds, sizeof *g->rates);
    if (!g->rates)
        return leat_fail(err, LEAT_E_NOMEM, "rates of %zu rounds", rounds);
    g->input = g->rates + rounds;
    g->communication = g->input + rounds;
    leat_text(text, sizeof text, "engine.ranks=%d", n);
    if ((rc = leat_config_copy(config, &g->config, err)) < 0 ||
        (rc = leat_config_set(g->config, "engine.rank=0", err)) < 0 ||
        (rc = leat_config_set(g->config, text, err)) < 0)
        return rc;
    rc = leat_plan_open(g->config, NULL, &g->plan, err);
    return rc < 0 ? rc : leat_whatif_check_cache(g->plan, err);
}

static void close_groups(study *s)
{
    for (group *g = s->groups; g < s->groups + s->n_groups; g++) {
        leat_plan_close(&g->plan);
        leat_config_close(&g->config);
        free(g->rates);
    }
}

static void conclude(study *s)
{
    const size_t n = (size_t)s->options.rounds;
    leat_whatif_ranks_row *const rows = s->out->rows;
    s->out->n_rows = s->n_groups;
    for (int32_t i = 0; i < s->n_groups; i++) {
        const group *const g = &s->groups[i];
        rows[i] = (leat_whatif_ranks_row){ .ranks = g->n,
                                           .rate = leat_bootstrap_median(g->rates, n),
                                           .input = leat_bootstrap_median(g->input, n).value,
                                           .communication =
                                               leat_bootstrap_median(g->communication, n).value };
        rows[i].compute = fmax(1 - rows[i].input - rows[i].communication, 0);
        rows[i].speedup = rows[i].rate.value / rows[0].rate.value;
    }
}

static int run(study *s, const leat_config *config, leat_error *err)
{
    leat_alternate rounds = { .n_rounds = s->options.rounds, .run = run_group, .user = s };
    int rc = add_group(s, config, 1, err);
    for (size_t i = 0; i < s->options.n_ranks && rc == LEAT_OK; i++)
        if (s->options.ranks[i] != 1)
            rc = add_group(s, config, s->options.ranks[i], err);
    rounds.n_cells = s->n_groups;
    if (rc < 0 || (rc = leat_rounds_run(&rounds, err)) < 0)
        return rc;
    s->out->cores = rounds.cores;
    s->out->cores_taken = rounds.taken;
    conclude(s);
    return LEAT_OK;
}

static int check(leat_whatif_ranks_options *o, leat_error *err)
{
    static const int32_t ranks[] = { 2, 4 };
    if (!o->ranks || !o->n_ranks) {
        o->ranks = ranks;
        o->n_ranks = sizeof ranks / sizeof *ranks;
    }
    if (!o->rounds)
        o->rounds = ROUNDS;
    if (o->rounds < ROUNDS || o->rounds > LEAT_BOOTSTRAP_MAX)
        return leat_fail(err, LEAT_E_ARGUMENT, "rounds must be within %d … %d", ROUNDS,
                         LEAT_BOOTSTRAP_MAX);
    if (o->n_ranks > LEAT_WHATIF_RANKS)
        return leat_fail(err, LEAT_E_ARGUMENT, "at most %d numbers of ranks", LEAT_WHATIF_RANKS);
    for (size_t i = 0; i < o->n_ranks; i++)
        if (o->ranks[i] < 1)
            return leat_fail(err, LEAT_E_ARGUMENT, "%d ranks: must be 1 or more", o->ranks[i]);
    return LEAT_OK;
}

int leat_whatif_ranks(const leat_config *config, const leat_whatif_ranks_options *options,
                      leat_whatif_ranks_result *out, leat_error *err)
{
    if (!config || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_whatif_ranks: config and out must be given");
    study s = { .out = out };
    memset(out, 0, sizeof *out);
    if (options)
        s.options = *options;
    int rc = check(&s.options, err);
    if (rc == LEAT_OK)
        rc = run(&s, config, err);
    close_groups(&s);
    return rc;
}
