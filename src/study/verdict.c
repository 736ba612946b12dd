/* SPDX-License-Identifier: MIT */
#include "verdict.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

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

/* --- one arm --------------------------------------------------------------------------------- */

enum { INPUT, TRANSFER, OTHER, N_CLASSES };

/* A class counts from `moderate` on and is high from `high` on. */
static const struct {
    const char *verdict, *means;
    double moderate, high;
} classes[N_CLASSES] = {
    { "input-bound", "the device waits for batches", 0.05, 0.20 },
    { "transfer-bound", "copies to the device that no compute covers take", 0.03, 0.15 },
    { "other", "launch, host work and synchronisation take", 0.10, 1.01 },
};
static const double BUSY_ENOUGH = 0.90;

/* The largest share that counts; N_CLASSES if none does. */
static int largest(const double shares[N_CLASSES])
{
    int best = N_CLASSES;
    for (int i = 0; i < N_CLASSES; i++)
        if (shares[i] >= classes[i].moderate && (best == N_CLASSES || shares[i] > shares[best]))
            best = i;
    return best;
}

static void say(leat_compare_arm *arm, const char *verdict, const char *grade, const char *what)
{
    const leat_meter *m = &arm->meter;
    snprintf(arm->verdict, sizeof arm->verdict, "%s", verdict);
    snprintf(arm->sentence, sizeof arm->sentence,
             "%s%s%s: %s (busy %s, input wait %s, exposed copy %s, other %s)",
             arm->simulated ? "simulated, " : "", verdict, grade, what, percent_of(m->busy).text,
             percent_of(m->input_wait).text, percent_of(m->exposed_copy).text,
             percent_of(m->other).text);
}

static void say_class(leat_compare_arm *arm, int class, double share)
{
    char what[128];
    const char *grade = class == OTHER                 ? ""
                        : share >= classes[class].high ? " (high)"
                                                       : " (moderate)";
    snprintf(what, sizeof what, "%s %s of the time", classes[class].means, percent_of(share).text);
    say(arm, classes[class].verdict, grade, what);
}

static void say_inconclusive(leat_compare_arm *arm)
{
    char what[160];
    snprintf(what, sizeof what, "device idle is %s to %s; run longer or on a quieter machine",
             percent_of(arm->idle_low).text, percent_of(arm->idle_high).text);
    say(arm, "inconclusive", "", what);
}

void leat_verdict_arm(leat_compare_arm *arm)
{
    const double shares[N_CLASSES] = { arm->meter.input_wait, arm->meter.exposed_copy,
                                       arm->meter.other };
    const double width = arm->idle_high - arm->idle_low;
    const int class = largest(shares);
    if (class < N_CLASSES ? width > shares[class] : width > 1 - BUSY_ENOUGH)
        say_inconclusive(arm);
    else if (class < N_CLASSES)
        say_class(arm, class, shares[class]);
    else if (arm->meter.busy >= BUSY_ENOUGH)
        say(arm, "compute-bound", "", "nothing to fix in the input");
    else
        say(arm, "other", "", "no single thing holds the device up");
}

/* --- all arms -------------------------------------------------------------------------------- */

static bool differs(const leat_compare_arm *arm)
{
    return arm->speedup_low > 1 || arm->speedup_high < 1;
}

/* ": device idle falls from 41 % to 2 %", or nothing where the intervals overlap. */
static void say_idle(const leat_compare_arm *from, const leat_compare_arm *to, char *text,
                     size_t size)
{
    const bool falls = to->idle_high<from->idle_low, rises = to->idle_low> from->idle_high;
    text[0] = 0;
    if (falls || rises)
        snprintf(text, size, ": device idle %s from %s to %s", falls ? "falls" : "rises",
                 percent_of(from->idle).text, percent_of(to->idle).text);
}

static void say_difference(leat_compare_result *result, const leat_compare_arm *arm)
{
    char idle[96];
    say_idle(&result->arms[0], arm, idle, sizeof idle);
    snprintf(result->summary, sizeof result->summary,
             "%.160s makes training %s× as fast as %.160s (95 %% interval %s–%s)%s", arm->name,
             ratio_of(arm->speedup).text, result->arms[0].name, ratio_of(arm->speedup_low).text,
             ratio_of(arm->speedup_high).text, idle);
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
                 "no difference is claimed from fewer than %d rounds: speed against %.160s lies "
                 "within %s–%s×",
                 LEAT_VERDICT_MIN_ROUNDS, base, ratio_of(low).text, ratio_of(high).text);
    else
        snprintf(result->summary, sizeof result->summary,
                 "no arm is faster or slower than %.160s beyond noise (95 %% intervals within "
                 "%s–%s×)",
                 base, ratio_of(low).text, ratio_of(high).text);
}

/* The arm to speak of: the fastest that differs from arm 0; if all that differ are slower, the
 * slowest. NULL: none differs. */
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
    return fastest && fastest->speedup > 1 ? fastest : slowest;
}

/* Text for what stands behind the sentence; "" where nothing is simulated. */
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
    if (result->n_arms == 1) { /* its sentence says by itself that it is simulated */
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
