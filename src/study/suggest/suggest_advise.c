/* SPDX-License-Identifier: MIT
 *
 * suggest_advise.c: changes that cannot be tried: what the parts would take without decoding, and with an input that
 * keeps up. doctor.c calls it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/figure.h"
#include "study/facts.h"
#include "suggest.h"

enum { MOST_CORES = 256 };
static const double LEAST = 0.02, NONE = 1e-6; /* of the loader's time, that remains */

/* Times of a step with a change that is not tried, ns. */
struct range {
    double value, least, most;
};

/* The ends of an interval; one that is not known has none. */
static double least_of(const leat_estimate *e)
{
    return e->low > 0 ? e->low : e->value;
}

static double most_of(const leat_estimate *e)
{
    return e->high > e->value ? e->high : e->value;
}

/* How far such a time is known. No fitted figure is in it: a step is never shorter than its slowest part, and not longer
 * than its parts one after another; each part is known as well as it was measured; and what the forecast leaves unexplained
 * of the job as it is, it may leave unexplained then. Two runs of one job differ, too: both ends get what is counted as no
 * gain. `fast`, `slow`: facts with the least and the most work that the change may leave. */
static struct range range_of(const leat_facts *f, double value_ns, const leat_facts *fast,
                             const leat_facts *slow)
{
    const leat_forecast short_one = leat_forecast_of(fast), long_one = leat_forecast_of(slow);
    const double now = leat_forecast_of(f).predicted, run = leat_facts_ns(f, f->run.value);
    const double missing = now > 0 && run > now ? run / now : 1;
    const double loader = short_one.loader * f->loader.value / most_of(&f->loader);
    const double parts = fmax(fmax(leat_facts_ns(f, most_of(&f->step)), loader), short_one.copy);
    const double row = leat_facts_ns(f, least_of(&f->step)) + (f->overlaps ? long_one.copy : 0) +
                       long_one.loader * f->loader.value / least_of(&f->loader);
    return (struct range){ value_ns, fmin(parts, value_ns), fmax(row * missing, value_ns) };
}

/* Predicts a change, and says why it is not tried. False: it gains too little. */
static bool advise(const leat_facts *f, struct range step, const char *not_tried,
                   leat_doctor_suggestion *s)
{
    const double now = leat_facts_ns(f, f->run.value), step_ns = step.value;
    if (step_ns <= 0 || now / step_ns < 1 + LEAT_DOCTOR_LEAST_GAIN)
        return false;
    s->predicted_step_ms = step_ns * 1e-6;
    s->predicted_samples_per_s = f->rows / step_ns * 1e9;
    s->gain = now / step_ns - 1;
    s->gain_low = leat_facts_ns(f, most_of(&f->run)) / step.most / (1 + LEAT_DOCTOR_LEAST_GAIN) - 1;
    s->gain_high =
        leat_facts_ns(f, least_of(&f->run)) / step.least * (1 + LEAT_DOCTOR_LEAST_GAIN) - 1;
    snprintf(s->not_tried, sizeof s->not_tried, "%s", not_tried);
    return true;
}

static bool decodes(const leat_stage_fact *stage)
{
    return stage->does == LEAT_DOES_DECODE || stage->does == LEAT_DOES_DECODE_AND_OPS;
}

/* Samples that need no decoding any more. */
struct cut {
    double share;  /* of the samples */
    double least;  /* of the loader's time, that remains for what no stage shows */
    double stays;  /* of the stages that are left out */
    bool ops;      /* all of the decoded tensor are left out, too */
    bool is_cache; /* these samples are not read and parsed either, nor waited for */
};

/* A reader's wait for storage is no part of its stage then, as it is one of the workers' time. */
static double time_of(const leat_stage_fact *stage, bool is_cache)
{
    return is_cache && stage->does == LEAT_DOES_READ ? stage->cpu_ns : stage->wall_ns;
}

static const leat_stage_fact *last_decoder(const leat_facts *f)
{
    const leat_stage_fact *last = NULL;
    for (int32_t i = 0; i < f->n_stages; i++)
        last = decodes(&f->stages[i]) ? &f->stages[i] : last;
    return last;
}

/* Whether it is an op of the same tensor: "image: resize" and "image: decode_jpeg". */
static bool is_op_of(const leat_stage_fact *stage, const leat_stage_fact *decoder)
{
    return decoder && stage->does == LEAT_DOES_OPS &&
           !strncmp(stage->name, decoder->name, strcspn(decoder->name, ":") + 1);
}

/* The facts of the loader after a cut; without prefetch its time has the copy, which stays. False: nothing decodes. */
static bool leave_out_decoding(const leat_facts *f, struct cut cut, leat_facts *after)
{
    const double waits = cut.is_cache ? f->work[LEAT_WORK_STORAGE] : 0;
    double all = 0, decoding = 0, left_out = 0;
    const leat_stage_fact *const decoder = last_decoder(f);
    *after = *f;
    for (int32_t i = 0; i < f->n_stages; i++) {
        const leat_stage_fact *stage = &f->stages[i];
        const bool is_op = cut.ops && is_op_of(stage, decoder);
        const double ns = time_of(stage, cut.is_cache);
        const bool reads = stage->does == LEAT_DOES_READ || stage->does == LEAT_DOES_PARSE;
        all += ns;
        decoding += decodes(stage) ? ns : 0;
        left_out += decodes(stage)                     ? (1 - cut.stays) * ns
                    : is_op || (cut.is_cache && reads) ? ns
                                                       : 0;
    }
    const double rest = decoding > 0 ? 1 - left_out / all : 1;
    const double copy = f->overlaps ? 0 : f->copy_ns / leat_facts_ns(f, f->loader.value);
    const double left = fmax(1 - cut.share + cut.share * (1 - waits) * rest, cut.least);
    after->loader.value = f->loader.value / (copy + (1 - copy) * left);
    after->loader_cpu_ns = f->loader_cpu_ns * (1 - cut.share + cut.share * rest);
    return decoding > 0;
}

static double without_decoding(const leat_facts *f, const leat_facts *after)
{
    const double before = leat_forecast_of(f).predicted;
    const leat_forecast m = leat_forecast_of(after);
    /* Another input makes no step faster than alone. */
    return before > 0 ? fmax(leat_facts_ns(f, f->run.value) * m.predicted / before, m.step) : 0;
}

double leat_suggest_without_decoding(const leat_facts *f, double share)
{
    const struct cut cut = { share, LEAST, 0, false, false };
    leat_facts *const after = malloc(sizeof *after);
    const double ns = after && leave_out_decoding(f, cut, after) ? without_decoding(f, after) : 0;
    free(after);
    return ns;
}

/* Whether ops behind the decoder are part of its stage, so that their time is not known apart. */
static bool runs_with_others(const leat_facts *f)
{
    for (int32_t i = 0; i < f->n_stages; i++)
        if (f->stages[i].does == LEAT_DOES_DECODE_AND_OPS)
            return true;
    return false;
}

/* parted: of the stage that decodes, half may stay. n_ops: ops between decoder and cache; which they are is known where the
 * tensor has no others. */
static struct range range_without_decoding(const leat_facts *f, double share, bool parted,
                                           int32_t n_ops, bool is_cache)
{
    const leat_stage_fact *const decoder = last_decoder(f);
    struct range range = { 0, 0, 0 };
    int32_t n = 0;
    for (int32_t i = 0; i < f->n_stages; i++)
        n += is_op_of(&f->stages[i], decoder);
    const bool known = n > 0 && n == n_ops && !runs_with_others(f);
    leat_facts *const after = calloc(3, sizeof *after);
    if (after &&
        leave_out_decoding(f, (struct cut){ share, LEAST, 0, known, is_cache }, &after[0])) {
        leave_out_decoding(f, (struct cut){ share, NONE, 0, n_ops > 0, is_cache }, &after[1]);
        leave_out_decoding(f, (struct cut){ share, LEAST, parted ? 0.5 : 0, known, is_cache },
                           &after[2]);
        range = range_of(f, without_decoding(f, &after[0]), &after[1], &after[2]);
    }
    free(after);
    return range;
}

/* "it takes 7.03 MB (143 samples of 49.2 kB); the limit is 5.9 GB (engine.memory, auto: a quarter of what is free)". */
static void say_memory(const leat_suggest_place *place, char *text, size_t size)
{
    char takes[128], why[96];
    const double bytes = (double)place->sample_bytes * (double)place->n_samples;
    snprintf(why, sizeof why, "%s (engine.memory%s)",
             leat_figure_bytes((double)place->limit_bytes).text,
             place->is_auto ? ", auto: a quarter of what is free" : "");
    if (bytes < 0 || bytes > 1e18)
        snprintf(takes, sizeof takes, "how much memory it takes is not known");
    else
        snprintf(takes, sizeof takes, "it takes %s%s of memory (%llu samples of %s%s)",
                 place->varies ? "about " : "", leat_figure_bytes((double)bytes).text,
                 (unsigned long long)place->n_samples,
                 leat_figure_bytes((double)place->sample_bytes).text,
                 place->varies ? " on average" : "");
    if (place->share < 1)
        snprintf(text, size,
                 "%.96s, but gets %s of the limit of %.72s: a part is cached; for more set "
                 "engine.memory higher",
                 takes, leat_figure_bytes((double)place->left_bytes).text, why);
    else
        snprintf(text, size, "%s; the limit is %s", takes, why);
}

void leat_suggest_cache_grow(const leat_suggest_about *about, leat_doctor_suggestion *s)
{
    leat_suggest_place place = { .sample_bytes = -1, .share = 1 };
    const size_t n = strlen(s->why);
    char memory[320];
    if (!leat_suggest_cache_memory(about, s, &place))
        return;
    say_memory(&place, memory, sizeof memory);
    leat_text(s->why + n, sizeof s->why - n, "; %s", memory);
}

void leat_suggest_cache_say(const leat_facts *f, const leat_suggest_place *place,
                            leat_doctor_suggestion *s)
{
    char memory[320];
    say_memory(place, memory, sizeof memory);
    snprintf(s->title, sizeof s->title, "%s",
             place->moves ? "Cache later, behind what each epoch does again"
                          : "Decode once: keep the decoded pictures in a cache");
    if (place->moves)
        snprintf(s->why, sizeof s->why,
                 "what is behind the cache runs in each epoch, and up to a random op it gives "
                 "the same; %.300s",
                 memory);
    else
        leat_text(s->why, sizeof s->why,
                  "each epoch decodes anew; with a cache only the first one does%s; %s",
                  place->divides && runs_with_others(f)
                      ? " (the ops after it still run, so less is gained)"
                      : "",
                  memory);
    s->n_set = place->change.n_set;
    memcpy(s->set, place->change.set, sizeof s->set);
}

static const char *why_not_tried(const leat_doctor_result *out)
{
    return out->no_trials   ? "--quick tries no changes"
           : out->n_no_time ? "no time (--seconds)"
                            : "it cannot be tried here";
}

/* Workers on all cores that nobody else uses, where that was not tried. */
static void advise_workers(const leat_suggest_about *about, leat_doctor_result *out)
{
    const leat_facts *const f = about->facts;
    const double times = f->threads > 0 ? leat_forecast_cores(f) / f->threads : 1;
    leat_doctor_suggestion s = { .title = "Let all cores make batches" };
    leat_suggest_add(&s, "engine.threads=%d", (int)f->cores);
    leat_facts *const after = calloc(2, sizeof *after);
    if (after && times > 1 && !out->n_no_memory && !leat_suggest_is_listed(&s, out)) {
        after[0] = after[1] = *f;
        after[0].loader.value *= times;
        after[1].loader.value *= (1 + times) / 2; /* cores may share caches and units */
        const double now = leat_forecast_of(f).predicted;
        const double value =
            leat_facts_ns(f, f->run.value) * leat_forecast_of(after).predicted / now;
        snprintf(s.why, sizeof s.why, "there are fewer workers than cores, and they compute");
        if (now > 0 && advise(f, range_of(f, value, &after[0], &after[1]), why_not_tried(out), &s))
            leat_suggest_insert(&s, out);
    }
    free(after);
}

static void advise_cache(const leat_suggest_about *about, leat_doctor_result *out)
{
    leat_suggest_place place;
    leat_doctor_suggestion cache = { .n_set = 0 };
    const bool placed = leat_suggest_cache_place(about, &place);
    const leat_facts *const f = about->facts;
    if (placed)
        leat_suggest_cache_say(f, &place, &cache);
    if (placed && leat_suggest_is_listed(&cache, out))
        return; /* it was tried */
    if (!placed && (about->diagnosis->verdict.cause == LEAT_CAUSE_STORAGE ||
                    !leat_suggest_cache_reused(about)))
        return; /* pixels are more bytes to wait for, and to make them decodes all once */
    const char *const why = !placed ? "it needs other files"
                            : leat_suggest_cache_fills(f, &place)
                                ? why_not_tried(out)
                                : "a pass over the data takes long";
    const double share = placed ? place.share : 1;
    const bool parted =
        (!placed || place.divides) && runs_with_others(f); /* half of that may stay */
    const int32_t ops = placed ? place.n_ops : 0;
    /* Of a moved cache that was not tried nothing is known, nor of one behind a part of the decoders: which ops it saves
     * is not timed apart. */
    if ((placed && (place.moves || place.leaves)) ||
        !advise(f, range_without_decoding(f, share, parted, ops, placed), why, &cache))
        return;
    if (!placed) {
        snprintf(cache.title, sizeof cache.title, "Store decoded pixels instead of pictures");
        snprintf(cache.why, sizeof cache.why,
                 "each epoch decodes anew; records of raw pixels need no decoding, but more disk");
    }
    leat_suggest_insert(&cache, out);
}

/* Predicts an input that keeps up. */
static void advise_cores(const leat_facts *f, leat_doctor_result *out)
{
    const leat_forecast m = leat_forecast_of(f);
    const double goal = m.step > m.copy ? m.step : m.copy;
    const double now = f->rows / f->run.value * 1e9;
    const double times = goal > 0 ? (now > m.loader ? now : m.loader) / goal : 0;
    const double missing = m.predicted > 0 ? fmax(1, now / m.predicted) : 1;
    const struct range range = { goal,
                                 fmin(goal, fmax(leat_facts_ns(f, most_of(&f->step)), m.copy)),
                                 fmax(goal, leat_facts_ns(f, least_of(&f->step))) * missing };
    leat_doctor_suggestion s = { .n_set = 0 };
    if (!advise(f, range, "it needs another machine", &s))
        return;
    if (times * f->cores <= MOST_CORES)
        leat_text(s.title, sizeof s.title,
                  "Give the input about %.0f cores, or leave out %.0f %% of its work",
                  times * f->cores + 0.5, 100 * (1 - 1 / times));
    else
        leat_text(s.title, sizeof s.title, "Without the input a step would take %s ms",
                  leat_figure_ms(goal * 1e-6).text);
    snprintf(s.why, sizeof s.why,
             "all cores make batches already: only a machine with more cores helps, or work that "
             "is left out, such as smaller pictures; `leat whatif` tells what other machines do");
    leat_suggest_insert(&s, out);
}

void leat_suggest_advise(const leat_suggest_about *about, leat_doctor_result *out)
{
    const leat_facts *const f = about->facts;
    const leat_verdict *const v = &about->diagnosis->verdict;
    const bool input = v->kind == LEAT_VERDICT_INPUT_BOUND || v->also == LEAT_VERDICT_INPUT_BOUND;
    if (f->run.value <= 0 || !(input || v->kind == LEAT_VERDICT_SHARED_CORES))
        return;
    if (input && f->overlaps && v->cause == LEAT_CAUSE_SERIAL)
        advise_workers(about, out);
    if (!leat_verdict_waits(f) || v->cause == LEAT_CAUSE_STORAGE)
        advise_cache(about, out);
    if (input && v->cause == LEAT_CAUSE_CPU_SATURATED)
        advise_cores(f, out);
}
