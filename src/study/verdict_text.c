/* SPDX-License-Identifier: MIT
 *
 * verdict_text.c: the rows of leat/verdict.h, and what their words say together. */
#include "leat/verdict.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const leat_part_row parts[LEAT_N_PARTS] = { [LEAT_PART_NONE] = { "", "", "", "" },
#define PART_ROW(id, word, name, limit, text) [LEAT_PART_##id] = { word, name, limit, text },
                                                   LEAT_PART_LIST(PART_ROW) };

static const leat_share_row shares[LEAT_N_SHARES] = {
#define SHARE_ROW(id, word, text, name) [LEAT_SHARE_##id] = { word, text, name },
    LEAT_SHARE_LIST(SHARE_ROW)
};

static const leat_work_row works[LEAT_N_WORKS] = {
#define WORK_ROW(id, word, text) [LEAT_WORK_##id] = { word, text },
    LEAT_WORK_LIST(WORK_ROW)
};

static const leat_verdict_row verdicts[LEAT_N_VERDICTS] = {
    [LEAT_VERDICT_NONE] = { "", 22, LEAT_PART_NONE, LEAT_TONE_PLAIN, "", "", "" },
#define VERDICT_ROW(id, name, code, part, tone, words, meaning, when)                              \
    [LEAT_VERDICT_##id] = { name, code, LEAT_PART_##part, LEAT_TONE_##tone, words, meaning, when },
    LEAT_VERDICT_LIST(VERDICT_ROW)
};

static const struct {
    const char *name, *adds, *meaning;
} causes[] = { [LEAT_CAUSE_NONE] = { "", "", NULL },
#define CAUSE_ROW(id, name, adds, meaning, when) [LEAT_CAUSE_##id] = { name, adds, meaning },
               LEAT_CAUSE_LIST(CAUSE_ROW) };

static const char *const severities[] = {
#define SEVERITY_ROW(id, name) [LEAT_SEVERITY_##id] = name,
    LEAT_SEVERITY_LIST(SEVERITY_ROW)
};
enum { N_SEVERITIES = sizeof severities / sizeof *severities };

const leat_verdict_row *leat_verdict_about(leat_verdict_kind kind)
{
    return &verdicts[(unsigned)kind < LEAT_N_VERDICTS ? kind : LEAT_VERDICT_NONE];
}

const leat_part_row *leat_verdict_part(leat_part part)
{
    return &parts[(unsigned)part < LEAT_N_PARTS ? part : LEAT_PART_NONE];
}

const leat_share_row *leat_verdict_share(leat_share share)
{
    static const leat_share_row none = { "", "", "" };
    return (unsigned)share < LEAT_N_SHARES ? &shares[share] : &none;
}

const leat_work_row *leat_verdict_work(leat_worker_time work)
{
    static const leat_work_row none = { "", "" };
    return (unsigned)work < LEAT_N_WORKS ? &works[work] : &none;
}

const char *leat_verdict_severity(leat_severity severity)
{
    return (unsigned)severity < N_SEVERITIES ? severities[severity] : "";
}

int32_t leat_verdict_blames_host(leat_verdict_kind kind)
{
    return leat_verdict_about(kind)->part == LEAT_PART_STEP && kind != LEAT_VERDICT_COMPUTE_BOUND;
}

leat_verdict_kind leat_verdict_find(const char *name)
{
    int i = name ? LEAT_N_VERDICTS - 1 : LEAT_VERDICT_NONE;
    while (i > LEAT_VERDICT_NONE && strcmp(verdicts[i].name, name) != 0)
        i--;
    return (leat_verdict_kind)i;
}

leat_part leat_verdict_find_part(const char *word)
{
    int i = word ? LEAT_N_PARTS - 1 : LEAT_PART_NONE;
    while (i > LEAT_PART_NONE && strcmp(parts[i].word, word) != 0)
        i--;
    return (leat_part)i;
}

leat_share leat_verdict_find_share(const char *word)
{
    int i = word ? 0 : LEAT_N_SHARES;
    while (i < LEAT_N_SHARES && strcmp(shares[i].word, word) != 0)
        i++;
    return (leat_share)i;
}

leat_severity leat_verdict_find_severity(const char *name)
{
    int i = name ? N_SEVERITIES - 1 : LEAT_SEVERITY_NONE;
    while (i > LEAT_SEVERITY_NONE && strcmp(severities[i], name) != 0)
        i--;
    return (leat_severity)i;
}

const char *leat_verdict_label(const leat_verdict *v, char text[LEAT_VERDICT_LABEL])
{
    if (text)
        text[0] = 0;
    if (!v || !text)
        return text;
    const char *const cause = causes[v->cause].name;
    snprintf(text, LEAT_VERDICT_LABEL, "%s%s%s", v->where, v->where[0] && *cause ? ": " : "",
             cause);
    return text;
}

const char *leat_verdict_details(const leat_verdict *v, char text[LEAT_VERDICT_DETAILS])
{
    char label[LEAT_VERDICT_LABEL];
    if (!text)
        return text;
    const bool labelled = leat_verdict_label(v, label)[0], also = v && v->also;
    snprintf(text, LEAT_VERDICT_DETAILS, "%s%s%s%s%s%s", labelled ? " (" : "", label,
             labelled ? ")" : "", also ? ", and " : "",
             also ? leat_verdict_about(v->also)->name : "",
             also && v->kind != LEAT_VERDICT_WARM_UP ? " within 5 %" : "");
    return text;
}

/* What is true besides: of a job that is too short, what limits its steps. */
static void say_also(const leat_verdict *v, char *text, size_t size)
{
    const bool short_job = v->kind == LEAT_VERDICT_WARM_UP;
    const leat_verdict_row *const also = leat_verdict_about(v->also);
    if (also->tone == LEAT_TONE_OPEN)
        snprintf(text, size, " %s is not clear%s.",
                 short_job ? "What limits its steps" : "Whether the input is as slow",
                 v->also == LEAT_VERDICT_ENVIRONMENT ? ": other programs used the CPU" : "");
    else if (v->also == LEAT_VERDICT_SHARED_CORES)
        snprintf(text, size, " In its steps, input and training need the same cores.");
    else if (v->also != LEAT_VERDICT_NONE)
        snprintf(text, size, short_job ? " Its steps alone are %s." : " It is %s as well.",
                 also->name);
}

static bool has_two_limits(const leat_verdict *v)
{
    return v->kind != LEAT_VERDICT_WARM_UP && v->also &&
           leat_verdict_about(v->also)->tone != LEAT_TONE_OPEN;
}

/* Of copies, too, "not-overlapped" says when they happen. */
static const char *meaning_of(const leat_verdict *v)
{
    if (v->kind == LEAT_VERDICT_TRANSFER_BOUND && v->cause == LEAT_CAUSE_NOT_OVERLAPPED)
        return "Each batch is copied after a step, not during it.";
    if (has_two_limits(v))
        return "Two parts are as slow as each other: to make one faster alone gains nothing.";
    const char *const own = causes[v->cause].meaning;
    return own ? own : leat_verdict_about(v->kind)->meaning;
}

const char *leat_verdict_sentence(const leat_verdict *v, char *text, size_t size)
{
    char also[80] = "";
    if (!v) {
        if (size)
            text[0] = 0;
        return text;
    }
    say_also(v, also, sizeof also);
    snprintf(text, size, "%s%s%s", meaning_of(v), causes[v->cause].adds, also);
    return text;
}
