/* SPDX-License-Identifier: MIT
 *
 * compare_words.c: turns the figures of arms into verdicts and sentences. compare.c calls it after all rounds. It
 * measures nothing: the same figures give the same text. */
#include "compare_words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "diagnose.h"
#include "formats/figure.h"

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

/* --- one arm --------------------------------------------------------------------------------- */

void leat_compare_words_arm(leat_compare_arm *arm, const leat_facts *facts)
{
    const leat_meter *m = &arm->meter;
    char details[LEAT_VERDICT_DETAILS];
    leat_diagnosis d;
    leat_diagnose(facts, &d);
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

/* --- all arms -------------------------------------------------------------------------------- */

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
    if (result->rounds < LEAT_COMPARE_WORDS_MIN_ROUNDS)
        snprintf(result->summary, sizeof result->summary,
                 "fewer than %d rounds: too few to claim a difference; speed against %.160s is "
                 "within %s–%s×",
                 LEAT_COMPARE_WORDS_MIN_ROUNDS, base, ratio_of(low).text, ratio_of(high).text);
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

void leat_compare_words_all(leat_compare_result *result)
{
    const leat_compare_arm *arm =
        result->rounds >= LEAT_COMPARE_WORDS_MIN_ROUNDS ? notable(result) : NULL;
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
