/* SPDX-License-Identifier: MIT
 *
 * verdict.c: turns the figures of arms into verdicts and sentences. compare.c calls it after all rounds. It
 * computes nothing new: the same figures give the same text. */
#include "verdict.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* A share as text: "41 %", "2.3 %". */
typedef struct {
    char text[16];
} percent;

static percent percent_of(double share)
{
    percent p;
    leat_text(p.text, sizeof p.text, share < 0.0995 ? "%.1f %%" : "%.0f %%",
              100 * (share > 0 ? share : 0));
    return p;
}

/* A ratio with three digits: "0.951×", "1.20×", "34.1×". */
typedef struct {
    char text[24];
} ratio;

static ratio ratio_of(double value)
{
    ratio r;
    leat_text(r.text, sizeof r.text, value < 1 ? "%.3f" : value < 10 ? "%.2f" : "%.1f", value);
    return r;
}

/* Samples per second as text: "34,100". */
typedef struct {
    char text[32];
} rate;

static rate rate_of(double per_s)
{
    rate r;
    char digits[24];
    const int n = snprintf(digits, sizeof digits, "%.0f", per_s < 1e15 ? per_s : 1e15);
    int at = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            r.text[at++] = ',';
        r.text[at++] = digits[i];
    }
    r.text[at] = 0;
    return r;
}

/* --- one arm --------------------------------------------------------------------------------- */

static const double REACHES = 0.95;    /* of a rate: counts as the same rate */
static const double NEVER_BELOW = 0.9; /* the least, even if the interval is wide */
static const double NEAR_ENOUGH = 0.75;
static const double SURE_LOW = 0.8, SURE_HIGH = 1.25;
static const double BUSY_ENOUGH = 0.90;  /* of the device, or of the copy engine */
static const double WAIT_COUNTS = 0.05;  /* input wait, as a share of the time */
static const double COPY_COUNTS = 0.03;  /* exposed copy */
static const double TAKEN_COUNTS = 0.10; /* of our CPUs, by other processes */

static bool reaches(leat_estimate of)
{
    return of.high >= REACHES && of.value >= NEVER_BELOW;
}

static void say(leat_compare_arm *arm, const char *verdict, const char *what)
{
    const leat_meter *m = &arm->meter;
    snprintf(arm->verdict, sizeof arm->verdict, "%s", verdict);
    snprintf(arm->sentence, sizeof arm->sentence,
             "%s%s: %s (busy %s, input wait %s, exposed copy %s, other %s)",
             arm->simulated ? "simulated, " : "", verdict, what, percent_of(m->busy).text,
             percent_of(m->input_wait).text, percent_of(m->exposed_copy).text,
             percent_of(m->other).text);
}

/* Writes the reason, then the rates of the arm, the loader alone and the step alone. */
static void conclude(leat_compare_arm *arm, const char *verdict, const char *why)
{
    char what[280];
    snprintf(what, sizeof what, "%s; samples/s: %s, the loader alone %s, the step alone %s", why,
             rate_of(arm->meter.samples_per_s).text, rate_of(arm->loader.value).text,
             rate_of(arm->step.value).text);
    say(arm, verdict, what);
}

static void say_unclear(leat_compare_arm *arm, double taken)
{
    char why[128];
    if (taken >= TAKEN_COUNTS) {
        snprintf(why, sizeof why, "other processes used %s of the CPUs; measure on a quiet machine",
                 percent_of(taken).text);
        conclude(arm, "environment", why);
    } else
        conclude(arm, "inconclusive",
                 "the rounds differ too much, or nothing measured explains "
                 "the rate; run longer");
}

/* The loader limits the arm. copies_bind: share of its time from which on copies are the reason. */
static void say_input(leat_compare_arm *arm, double copies_bind, const char *why)
{
    if (arm->copying >= copies_bind)
        conclude(arm, "transfer-bound", "the device waits for copies of batches");
    else
        conclude(arm, "input-bound", why);
}

/* With prefetch 0 each batch starts after the step, so both take their part of the time. */
static void say_alternating(leat_compare_arm *arm)
{
    if (reaches(arm->of_step))
        conclude(arm, "compute-bound",
                 "nothing overlaps (prefetch 0), but batches take little time");
    else
        say_input(arm, 0.5, "nothing overlaps (prefetch 0): each step waits for its batch");
}

static void say_step(leat_compare_arm *arm)
{
    char why[128];
    if (arm->on_host || arm->step_busy >= BUSY_ENOUGH) {
        conclude(arm, "compute-bound", "nothing to fix in the input");
        return;
    }
    snprintf(why, sizeof why, "launch, host work and synchronisation take %s of the step itself",
             percent_of(1 - arm->step_busy).text);
    conclude(arm, "host-bound", why);
}

/* Share of exposed copies, at most what the copies themselves take; the rest is the host's delay. */
static double exposed_copies(const leat_compare_arm *arm)
{
    const double longest = arm->copying * arm->of_loader.value;
    return arm->meter.exposed_copy < longest ? arm->meter.exposed_copy : longest;
}

/* The step is slower in the loop than alone, although the loader is fast enough. */
static void say_slower_step(leat_compare_arm *arm, double taken)
{
    const double copy = exposed_copies(arm), wait = arm->meter.input_wait;
    if (taken >= TAKEN_COUNTS)
        say_unclear(arm, taken);
    else if (copy >= COPY_COUNTS && arm->of_step.value >= REACHES * (1 - copy))
        conclude(arm, "transfer-bound", "each step waits for the copy of its batch");
    else if (wait >= WAIT_COUNTS && arm->of_step.value >= REACHES * (1 - wait))
        conclude(arm, "input-bound", "the loader keeps up on average, but batches come unevenly");
    else
        say_unclear(arm, taken);
}

static void say_overlapped(leat_compare_arm *arm, double taken)
{
    const leat_estimate slack = arm->loader_of_step;
    const bool sure =
        slack.high < 1 || slack.low > 1 || (slack.low >= SURE_LOW && slack.high <= SURE_HIGH);
    const bool input = slack.value < 1;
    if (!sure)
        say_unclear(arm, taken);
    else if (reaches(arm->of_step)) /* both rates may match; the step is tested first */
        say_step(arm);
    else if (input && reaches(arm->of_loader))
        say_input(arm, BUSY_ENOUGH, "the device waits for batches");
    else if (arm->on_host)
        conclude(arm, "shared-cores", "workers and trainer share the cores");
    else if (input && arm->of_loader.value >= NEAR_ENOUGH)
        say_input(
            arm, BUSY_ENOUGH,
            "the device waits for batches, and the training loop uses some of the workers' cores");
    else if (input)
        say_unclear(arm, taken);
    else
        say_slower_step(arm, taken);
}

void leat_verdict_arm(leat_compare_arm *arm, double taken)
{
    if (arm->overlaps)
        say_overlapped(arm, taken);
    else
        say_alternating(arm);
}

/* --- all arms -------------------------------------------------------------------------------- */

static bool differs(const leat_compare_arm *arm)
{
    return arm->speedup_low > 1 || arm->speedup_high < 1;
}

/* ": device idle falls from 41 % to 2 %". It does not change if the intervals overlap or both read the same. */
static void say_idle(const leat_compare_arm *from, const leat_compare_arm *to, char *text,
                     size_t size)
{
    const bool falls = to->idle_high<from->idle_low, rises = to->idle_low> from->idle_high;
    const percent before = percent_of(from->idle), after = percent_of(to->idle);
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
        if (each == arm || each->speedup_high < arm->speedup_low ||
            each->speedup_low > arm->speedup_high)
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
    char idle[96], ties[256];
    say_idle(&result->arms[0], arm, idle, sizeof idle);
    say_ties(result, arm, ties, sizeof ties);
    snprintf(result->summary, sizeof result->summary,
             "%.160s makes training %s× as fast as %.160s (95 %% interval %s–%s)%s%s", arm->name,
             ratio_of(arm->speedup).text, result->arms[0].name, ratio_of(arm->speedup_low).text,
             ratio_of(arm->speedup_high).text, idle, ties);
}

static void say_no_difference(leat_compare_result *result)
{
    double low = 1, high = 1;
    for (int32_t i = 1; i < result->n_arms; i++) {
        low = result->arms[i].speedup_low < low ? result->arms[i].speedup_low : low;
        high = result->arms[i].speedup_high > high ? result->arms[i].speedup_high : high;
    }
    const char *base = result->arms[0].name;
    if (result->rounds < LEAT_VERDICT_MIN_ROUNDS)
        snprintf(result->summary, sizeof result->summary,
                 "fewer than %d rounds: too few to claim a difference; speed against %.160s is "
                 "within %s–%s×",
                 LEAT_VERDICT_MIN_ROUNDS, base, ratio_of(low).text, ratio_of(high).text);
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
        if (!fastest || arm->speedup > fastest->speedup)
            fastest = arm;
        if (!slowest || arm->speedup < slowest->speedup)
            slowest = arm;
    }
    return fastest && fastest->speedup_low > 1 ? fastest : slowest;
}

/* Ending of the summary; "" if nothing is simulated. */
static const char *simulated_note(const leat_compare_result *result)
{
    int32_t n = 0;
    for (int32_t i = 0; i < result->n_arms; i++)
        n += result->arms[i].simulated != 0;
    return n == 0 ? "" : n == result->n_arms ? " (simulated)" : " (arms in part simulated)";
}

void leat_verdict_summary(leat_compare_result *result)
{
    const leat_compare_arm *arm =
        result->rounds >= LEAT_VERDICT_MIN_ROUNDS ? notable(result) : NULL;
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
