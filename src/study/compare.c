/* SPDX-License-Identifier: MIT
 *
 * compare.c: leat_compare() runs a config in several arms and reports the differences.
 *
 * DESIGN: arms alternate (rounds.c). Before and after each run come two short ones, the loader alone and the step
 * alone; the verdict compares these rates. Each run reads the same batches from a new loader, so that every arm does the
 * same work from the same state. Its first steps only fill the pipeline. Plan, device, model and warm-up are paid before
 * the first round. It uses public headers only, so it measures what users get. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arm.h"
#include "base/text.h"
#include "formats/figure.h"
#include "median_bootstrap.h"
#include "rounds.h"
#include "vary.h"
#include "verdict_rules.h"

enum {
    CLAIM_ROUNDS = 5, /* with fewer, no difference between arms is claimed */
    LEAST_ROUNDS = 5, /* when the number of rounds is not given */
    MOST_ROUNDS = 10,
    RUNS_PER_ROUND = 3,  /* of an arm: as configured, the loader alone, the step alone */
    STEPS_LIMIT = 60000, /* steps whose times a trainer keeps, minus those for settling */
};

struct study {
    leat_compare_options options;
    leat_compare_result *result;
    leat_arm arms[LEAT_COMPARE_MAX_ARMS];
    /* A text with one value makes no arm, but is allowed. */
    leat_vary varies[LEAT_COMPARE_MAX_ARMS];
    size_t n_varies;
    double throttled; /* of leat_facts */
    int n_done;
};

/* --- words: the same figures give the same text ------------------------------------------------- */

/* A share as text: "41 %", "2.3 %". */
static leat_figure percent_of(double share)
{
    leat_figure p;
    leat_text(p.text, sizeof p.text, share < 0.0995 ? "%.1f %%" : "%.0f %%",
              100 * (share > 0 ? share : 0));
    return p;
}

/* A ratio with three digits: "0.951×", "1.20×", "34.1×". */
static leat_figure ratio_of(double value)
{
    leat_figure r;
    leat_text(r.text, sizeof r.text, value < 1 ? "%.3f" : value < 10 ? "%.2f" : "%.1f", value);
    return r;
}

/* Writes verdict and sentence of an arm whose figures are set. verdict_rules.h decides. */
static void say_arm(leat_compare_arm *arm, const leat_facts *facts)
{
    const leat_meter *m = &arm->meter;
    char details[LEAT_VERDICT_DETAILS];
    leat_verdict_found d;
    leat_verdict_decide(facts, &d);
    arm->verdict = d.verdict;
    snprintf(arm->why, sizeof arm->why,
             "%s; samples/s: %s, the loader alone %s, the step alone %s (busy %s, input wait %s, "
             "exposed copy %s, other %s)",
             d.why, leat_figure_rate(m->samples_per_s).text,
             leat_figure_rate(arm->loader.value).text, leat_figure_rate(arm->step.value).text,
             percent_of(m->busy).text, percent_of(m->input_wait).text,
             percent_of(m->exposed_copy).text, percent_of(m->other).text);
    snprintf(arm->sentence, sizeof arm->sentence, "%s%s%s: %s", arm->simulated ? "simulated, " : "",
             leat_verdict_about(d.verdict.kind)->name, leat_verdict_details(&d.verdict, details),
             arm->why);
}

static bool differs(const leat_compare_arm *arm)
{
    return arm->speedup.low > 1 || arm->speedup.high < 1;
}

/* ": device idle falls from 41 % to 2 %". It does not change if the intervals overlap or both read the same. */
static void say_idle(const leat_compare_arm *from, const leat_compare_arm *to, char *text,
                     size_t size)
{
    const bool falls = to->idle.high < from->idle.low;
    const bool rises = to->idle.low > from->idle.high;
    const leat_figure before = percent_of(from->idle.value), after = percent_of(to->idle.value);
    if (!strcmp(before.text, after.text))
        snprintf(text, size, ": device idle stays at %s", after.text);
    else if (falls || rises)
        snprintf(text, size, ": device idle %s from %s to %s", falls ? "falls" : "rises",
                 before.text, after.text);
    else
        snprintf(text, size, ": device idle does not change measurably");
}

/* Lists the arms whose intervals overlap with that of the named arm. */
static void say_ties(const leat_compare_result *result, const leat_compare_arm *arm, char *text,
                     size_t size)
{
    const leat_compare_arm *other = NULL;
    int n = 0;
    text[0] = 0;
    for (int32_t i = 1; i < result->n_arms; i++) {
        const leat_compare_arm *each = &result->arms[i];
        if (each == arm || each->speedup.high < arm->speedup.low ||
            each->speedup.low > arm->speedup.high)
            continue;
        other = each;
        n++;
    }
    if (n == 1)
        snprintf(text, size, "; %.160s does not differ from it measurably", other->name);
    else if (n > 1)
        snprintf(text, size, "; %d others do not differ from it measurably", n);
}

static void say_difference(leat_compare_result *result, const leat_compare_arm *arm)
{
    char idle[112], ties[256];
    say_idle(&result->arms[0], arm, idle, sizeof idle);
    say_ties(result, arm, ties, sizeof ties);
    snprintf(result->summary, sizeof result->summary,
             "%.160s makes training %s× as fast as %.160s (95 %% interval %s–%s×)%s%s", arm->name,
             ratio_of(arm->speedup.value).text, result->arms[0].name,
             ratio_of(arm->speedup.low).text, ratio_of(arm->speedup.high).text, idle, ties);
}

static void say_no_difference(leat_compare_result *result)
{
    double low = result->arms[1].speedup.low, high = result->arms[1].speedup.high;
    for (int32_t i = 2; i < result->n_arms; i++) {
        low = result->arms[i].speedup.low < low ? result->arms[i].speedup.low : low;
        high = result->arms[i].speedup.high > high ? result->arms[i].speedup.high : high;
    }
    const char *base = result->arms[0].name;
    if (result->rounds < CLAIM_ROUNDS)
        snprintf(result->summary, sizeof result->summary,
                 "fewer than %d rounds: too few to claim a difference; speed against %.160s is "
                 "within %s–%s×",
                 CLAIM_ROUNDS, base, ratio_of(low).text, ratio_of(high).text);
    else
        snprintf(result->summary, sizeof result->summary,
                 "no arm is faster or slower than %.160s beyond noise (95 %% intervals within "
                 "%s–%s×)",
                 base, ratio_of(low).text, ratio_of(high).text);
}

/* The arm for the summary: the fastest that differs from arm 0, or the slowest if all of them are slower.
 * NULL: none differs. */
static const leat_compare_arm *notable(const leat_compare_result *result)
{
    const leat_compare_arm *fastest = NULL, *slowest = NULL;
    for (int32_t i = 1; i < result->n_arms; i++) {
        const leat_compare_arm *arm = &result->arms[i];
        if (!differs(arm))
            continue;
        if (!fastest || arm->speedup.value > fastest->speedup.value)
            fastest = arm;
        if (!slowest || arm->speedup.value < slowest->speedup.value)
            slowest = arm;
    }
    return fastest && fastest->speedup.low > 1 ? fastest : slowest;
}

/* Ending of the summary; "" if nothing is simulated. */
static const char *simulated_note(const leat_compare_result *result)
{
    int32_t n = 0;
    for (int32_t i = 0; i < result->n_arms; i++)
        n += result->arms[i].simulated != 0;
    return n == 0 ? "" : n == result->n_arms ? " (simulated)" : " (arms in part simulated)";
}

/* Writes the sentence over all arms. A difference is claimed only when its interval excludes "no
 * difference" and there were enough rounds. */
static void say_all(leat_compare_result *result)
{
    const leat_compare_arm *arm = result->rounds >= CLAIM_ROUNDS ? notable(result) : NULL;
    const char *note = simulated_note(result);
    if (result->n_arms == 1) { /* the sentence of an arm already says that it is simulated */
        snprintf(result->summary, sizeof result->summary, "%s", result->arms[0].sentence);
        return;
    }
    if (arm)
        say_difference(result, arm);
    else
        say_no_difference(result);
    const size_t n = strlen(result->summary), size = sizeof result->summary;
    snprintf(result->summary + n, size - n, "%s", note);
}

/* --- arms ------------------------------------------------------------------------------------ */

static int set(leat_arm *arm, leat_vary_slice path, leat_vary_slice value, leat_error *err)
{
    char text[2048], origin[sizeof text];
    if (path.length + value.length + 2 > sizeof text)
        return leat_fail(err, LEAT_E_ARGUMENT, "the value of %.*s is too long", (int)path.length,
                         path.text);
    snprintf(origin, sizeof origin, "%.*s", (int)path.length, path.text);
    snprintf(text, sizeof text, "%.*s=%.*s", (int)path.length, path.text, (int)value.length,
             value.text);
    return leat_config_set_as(arm->config, text, origin, err);
}

static void name_value(leat_compare_arm *out, const leat_vary *vary, leat_vary_slice value)
{
    const size_t n = strlen(out->name);
    snprintf(out->name + n, sizeof out->name - n, "%s%.*s=%.*s", n ? ", " : "",
             (int)vary->path.length, vary->path.text, (int)value.length, value.text);
}

static int configure(struct study *study, size_t i, const leat_config *config, leat_error *err)
{
    leat_arm *arm = &study->arms[i];
    int rc = leat_arm_configure(arm, &study->result->arms[i], study->result->rounds, config,
                                study->options.device, err);
    for (size_t v = 0; v < study->n_varies && rc == LEAT_OK; v++) {
        const leat_vary *vary = &study->varies[v];
        const leat_vary_slice value = leat_vary_value(study->varies, study->n_varies, i, v);
        name_value(arm->out, vary, value);
        rc = set(arm, vary->path, value, err);
    }
    if (!study->n_varies)
        snprintf(arm->out->name, sizeof arm->out->name, "as configured");
    return rc;
}

/* --- runs ------------------------------------------------------------------------------------ */

static void report(struct study *study)
{
    const leat_compare_result *result = study->result;
    study->n_done++;
    if (study->options.progress)
        study->options.progress(study->options.user, study->n_done,
                                result->n_arms * (RUNS_PER_ROUND * result->rounds + 1));
}

static int warm_up(struct study *study, leat_arm *arm, leat_error *err)
{
    arm->warmup_ns = (int64_t)study->options.warmup_ms * 1000000;
    int rc = leat_arm_fill(arm, LEAT_ARM_FILL_NS, err);
    if (rc == LEAT_OK)
        rc = leat_arm_warm_up(arm, study->options.steps, err);
    if (rc == LEAT_OK)
        report(study);
    return rc;
}

static void conclude(struct study *study, const leat_arm *arm)
{
    leat_compare_result *result = study->result;
    leat_facts facts;
    const leat_rounds rounds = { arm->runs, arm->loader, arm->step };
    leat_rounds_conclude(&rounds, study->arms[0].runs, (size_t)result->rounds, arm->out);
    leat_facts_of(arm, &facts);
    facts.cores = result->cores;
    facts.taken = result->cores_taken;
    facts.throttled = study->throttled;
    say_arm(arm->out, &facts);
    if (arm->out->steps > result->steps)
        result->steps = arm->out->steps;
    if (arm->out->warmup_steps > result->warmup_steps)
        result->warmup_steps = arm->out->warmup_steps;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int check(const leat_compare_options *options, leat_error *err)
{
    if (options->rounds < 0 || options->rounds > LEAT_BOOTSTRAP_MAX)
        return leat_fail(err, LEAT_E_ARGUMENT, "rounds must be within 1 … %d", LEAT_BOOTSTRAP_MAX);
    if (options->warmup_ms < 0)
        return leat_fail(err, LEAT_E_ARGUMENT, "warmup_ms must be 0 or more");
    if (options->steps < 0 || options->steps > STEPS_LIMIT)
        return leat_fail(err, LEAT_E_ARGUMENT, "steps must be within 1 … %d", STEPS_LIMIT);
    return LEAT_OK;
}

static int plan_arms(struct study *study, const char *const *vary, size_t n_vary, leat_error *err)
{
    size_t n_arms;
    int rc;
    if (n_vary > LEAT_COMPARE_MAX_ARMS)
        return leat_fail(err, LEAT_E_ARGUMENT, "at most %d options can be varied",
                         LEAT_COMPARE_MAX_ARMS);
    study->n_varies = n_vary;
    for (size_t v = 0; v < n_vary; v++)
        if ((rc = leat_vary_parse(vary[v], &study->varies[v], err)) < 0)
            return rc;
    if ((rc = leat_vary_count(study->varies, n_vary, LEAT_COMPARE_MAX_ARMS, &n_arms, err)) < 0)
        return rc;
    study->result->n_arms = (int32_t)n_arms;
    study->result->rounds = study->options.rounds ? study->options.rounds : MOST_ROUNDS;
    return LEAT_OK;
}

/* Puts the arm's name before the message if there are several arms. */
static int in_arm(const struct study *study, size_t i, int rc, leat_error *err)
{
    return rc < 0 && study->n_varies
               ? leat_fail_in(err, rc, "arm '%s': ", study->result->arms[i].name)
               : rc;
}

static int prepare(struct study *study, const leat_config *config, leat_error *err)
{
    const size_t n = (size_t)study->result->n_arms;
    leat_arm_total total = { .n = 0 };
    int rc = LEAT_OK;
    for (size_t i = 0; i < n && rc == LEAT_OK; i++) { /* errors show before anything runs */
        if ((rc = configure(study, i, config, err)) == LEAT_OK)
            rc = leat_arm_total_open(&total, &study->arms[i], err);
        rc = in_arm(study, i, rc, err);
    }
    for (size_t i = 0; i < n && rc == LEAT_OK; i++)
        rc = in_arm(study, i, warm_up(study, &study->arms[i], err), err);
    return rc;
}

/* Whether more rounds would hardly change the result. The base counts only if it is the only arm. */
static bool is_settled(void *user, int32_t n_rounds)
{
    const struct study *const study = user;
    const int32_t n = study->result->n_arms;
    if (study->options.rounds || n_rounds < LEAST_ROUNDS)
        return false;
    for (int32_t i = n > 1; i < n; i++)
        if (!leat_rounds_settled(study->arms[i].runs, study->arms[0].runs, (size_t)n_rounds))
            return false;
    return true;
}

/* A cell is an arm in one of its kinds of runs. */
static int run_cell(void *user, int32_t cell, int32_t round, leat_error *err)
{
    static int (*const runs[RUNS_PER_ROUND])(leat_arm *, int32_t,
                                             leat_error *) = { leat_arm_run_loader, leat_arm_run,
                                                               leat_arm_run_step };
    struct study *const study = user;
    const size_t arm = (size_t)cell / RUNS_PER_ROUND;
    const int rc = runs[cell % RUNS_PER_ROUND](&study->arms[arm], round, err);
    if (rc == LEAT_OK)
        report(study);
    return in_arm(study, arm, rc, err);
}

static int run_rounds(struct study *study, leat_error *err)
{
    leat_compare_result *const result = study->result;
    leat_alternate rounds = { .n_cells = result->n_arms * RUNS_PER_ROUND,
                              .n_rounds = result->rounds,
                              .run = run_cell,
                              .enough = is_settled,
                              .user = study };
    const int rc = leat_rounds_run(&rounds, err);
    result->rounds = rounds.n_done;
    result->cores = rounds.cores;
    result->cores_taken = rounds.taken;
    study->throttled = rounds.throttled / rounds.cores;
    return rc;
}

/* Not part of the rounds, because records take time, and a product takes all cores. */
static int ask_devices(struct study *study, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < study->result->n_arms && rc == LEAT_OK; i++)
        rc = in_arm(study, (size_t)i, leat_arm_run_recorded(&study->arms[i], err), err);
    for (int32_t i = 0; i < study->result->n_arms && rc == LEAT_OK; i++)
        leat_arm_measure_ceiling(&study->arms[i], i ? &study->arms[i - 1] : NULL);
    return rc;
}

int leat_compare(const leat_config *config, const char *const *vary, size_t n_vary,
                 const leat_compare_options *options, leat_compare_result *out, leat_error *err)
{
    if (!config || !out || (n_vary && !vary))
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_compare: config and out must be given");
    memset(out, 0, sizeof *out);
    struct study *study = calloc(1, sizeof *study);
    if (!study)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes", sizeof *study);
    study->result = out;
    if (options)
        study->options = *options;
    int rc;
    if ((rc = check(&study->options, err)) < 0 || (rc = plan_arms(study, vary, n_vary, err)) < 0 ||
        (rc = prepare(study, config, err)) < 0 || (rc = run_rounds(study, err)) < 0 ||
        (rc = ask_devices(study, err)) < 0)
        goto done;
    for (int32_t i = 0; i < out->n_arms; i++)
        conclude(study, &study->arms[i]);
    say_all(out);
done:
    for (size_t i = 0; i < LEAT_COMPARE_MAX_ARMS; i++)
        leat_arm_close(&study->arms[i]);
    free(study);
    return rc;
}
