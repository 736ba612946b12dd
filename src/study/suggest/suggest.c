/* SPDX-License-Identifier: MIT
 *
 * suggest.c: the changes that leat doctor knows. A row says when a change may help and which values to set.
 * The changed job then runs, alternating with the job as it is.
 * So a row needs no formula, and a change that does not help here is not suggested. */
#include "suggest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "leat/budget.h"
#include "study/facts.h"

enum {
    MOST_WORKERS = 64,
    MOST_LAYERS = 10000,
    MOST_AHEAD = 64, /* batches: as many as `prefetch: auto` may choose */
    SMALL_BATCH = 32,
    LEAST_BATCHES = 16,     /* of an epoch, with a larger batch */
    READ_AHEAD = 256 << 20, /* bytes; the row that sets it says it, too */
};
static const double KNEE = 1.25; /* four times the batch gains less: enough */

struct row {
    const char *title, *why;
    bool (*applies)(const leat_suggest_about *about);
    /* Adds values to set; none: nothing can be tried. May replace title and why. */
    void (*set)(const leat_suggest_about *about, leat_doctor_suggestion *out);
    const char *set_to;  /* in place of set: "path=value" */
    int64_t ahead;       /* in place of set: keep so many times the batches ready */
    const char *differs; /* of leat_doctor_suggestion; NULL: nothing */
};

bool leat_suggest_get(const leat_config *config, const char *path, char *text, size_t size)
{
    text[0] = 0;
    return leat_config_get(config, path, text, size, NULL) == LEAT_OK;
}

const char *leat_suggest_default(const leat_plan *plan)
{
    const int32_t image = leat_plan_tensor_index(plan, "image");
    const leat_tensor_info *const first = leat_plan_tensor(plan, image < 0 ? 0 : image);
    return first ? first->name : "";
}

const char *leat_suggest_input(const leat_suggest_about *about, char name[64])
{
    const leat_plan *const plan = about->arm->plan;
    const leat_tensor_info *tensor;
    char target[256], weight[256];
    if (leat_suggest_get(about->config, "train.input", name, 64) && name[0])
        return name;
    if (!leat_suggest_get(about->config, "train.target", target, sizeof target))
        strcpy(target, "label");
    leat_suggest_get(about->config, "train.sample_weight", weight, sizeof weight);
    snprintf(name, 64, "%s", leat_suggest_default(plan));
    for (int32_t i = 0; strcmp(name, "image") != 0 && (tensor = leat_plan_tensor(plan, i)); i++)
        if (strcmp(tensor->name, target) != 0 && strcmp(tensor->name, weight) != 0) {
            snprintf(name, 64, "%s", tensor->name);
            break;
        }
    return name;
}

leat_plan *leat_suggest_plan(const leat_suggest_about *about, const leat_doctor_suggestion *change,
                             const char *part)
{
    leat_config *config = NULL;
    leat_plan *plan = NULL;
    if (leat_config_copy(about->config, &config, NULL) == LEAT_OK &&
        leat_doctor_apply(change, config, NULL) == LEAT_OK)
        leat_plan_open(config, part, &plan, NULL);
    leat_config_close(&config);
    return plan;
}

bool leat_suggest_add(leat_doctor_suggestion *change, const char *format, ...)
{
    const size_t size = sizeof change->set[0];
    va_list args;
    if (change->n_set == LEAT_DOCTOR_MAX_SET)
        return false;
    va_start(args, format);
    const int n = vsnprintf(change->set[change->n_set++], size, format, args);
    va_end(args);
    return (size_t)n < size;
}

static bool is(const leat_suggest_about *about, leat_verdict_kind kind)
{
    const leat_verdict *const v = &about->diagnosis->verdict;
    return v->kind == kind || v->also == kind;
}

static bool has_cause(const leat_suggest_about *about, leat_cause cause)
{
    return about->diagnosis->verdict.cause == cause;
}

/* --- input ------------------------------------------------------------------------------------- */

static bool no_prefetch(const leat_suggest_about *about)
{
    return about->prefetch == 0;
}

void leat_suggest_prefetch(const leat_plan *plan, int64_t n, leat_doctor_suggestion *out)
{
    leat_suggest_add(out,
                     leat_arm_has_stage(plan, "prefetch") ? "pipeline.prefetch.batches=%lld"
                                                          : "pipeline+={prefetch: {batches: %lld}}",
                     (long long)n);
}

static void set_prefetch(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    leat_suggest_prefetch(about->arm->plan, 2, out);
}

/* Workers compute, and a part of that is decoding, or stands behind a cache. */
static bool decodes(const leat_suggest_about *about)
{
    return (is(about, LEAT_VERDICT_INPUT_BOUND) ||
            about->diagnosis->verdict.kind == LEAT_VERDICT_SHARED_CORES) &&
           (!leat_verdict_waits(about->facts) || has_cause(about, LEAT_CAUSE_STORAGE)) &&
           (leat_suggest_without_decoding(about->facts, 1) > 0 ||
            leat_arm_has_cache(about->arm->plan));
}

/* Workers that wait have time for that op. */
static bool makes_floats(const leat_suggest_about *about)
{
    const bool computes =
        (is(about, LEAT_VERDICT_INPUT_BOUND) || is(about, LEAT_VERDICT_SHARED_CORES)) &&
        !leat_verdict_waits(about->facts) && !has_cause(about, LEAT_CAUSE_STORAGE);
    return (computes || is(about, LEAT_VERDICT_TRANSFER_BOUND)) && leat_suggest_bytes_apply(about);
}

/* The loader is slower than the step, or (prefetch 0) its time is added to each step. */
static bool is_input(const leat_suggest_about *about)
{
    const leat_facts *f = about->facts;
    return !f->overlaps || f->loader.value < 1.05 * f->step.value;
}

static bool cache_is_small(const leat_suggest_about *about)
{
    return is_input(about) && leat_suggest_cache_reused(about) &&
           leat_arm_has_cache(about->arm->plan) &&
           leat_arm_says(about->config, "pipeline.cache.file", "memory", true) &&
           about->arm->out->uncached > 0;
}

/* Without limits of the config's own; the trial shows whether that is enough. */
static void set_cache_size(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    static const char *const limits[] = { "pipeline.cache.bytes", "engine.memory" };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (!leat_arm_says(about->config, limits[i], "auto", true))
            leat_suggest_add(out, "%s=auto", limits[i]);
    leat_suggest_cache_grow(about, out);
}

static void set_cache(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    leat_suggest_place place;
    if (leat_suggest_cache_place(about, &place) && leat_suggest_cache_fills(about->facts, &place))
        leat_suggest_cache_say(about->facts, &place, out);
}

static bool uneven(const leat_suggest_about *about)
{
    const leat_facts *f = about->facts;
    const bool slower_than_both = f->of_loader.value < 0.97 && f->of_step.value < 0.97;
    return about->prefetch > 0 && about->prefetch < MOST_AHEAD &&
           (has_cause(about, LEAT_CAUSE_ORDERING) || has_cause(about, LEAT_CAUSE_NOT_OVERLAPPED) ||
            (f->meter.input_wait >= 0.05 && slower_than_both));
}

/* Where both share the cores, a reserve covers the time in which workers have none. */
static bool uneven_or_shared(const leat_suggest_about *about)
{
    return uneven(about) || (about->prefetch > 0 && about->prefetch < MOST_AHEAD &&
                             is(about, LEAT_VERDICT_SHARED_CORES));
}

static bool idle_cores(const leat_suggest_about *about)
{
    const leat_facts *f = about->facts;
    return is_input(about) && f->threads < f->cores;
}

static void set_all_cores(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    leat_suggest_add(out, "engine.threads=%d", (int)about->facts->cores);
}

/* Workers that sleep need no core. */
static bool waiting_workers(const leat_suggest_about *about)
{
    const leat_facts *f = about->facts;
    return is_input(about) && (leat_verdict_waits(f) || has_cause(about, LEAT_CAUSE_STORAGE)) &&
           f->threads < MOST_WORKERS;
}

/* Enough workers to keep up with the step, and some more. */
static void set_many_workers(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    const leat_facts *f = about->facts;
    const double short_by = f->loader.value > 0 ? f->step.value / f->loader.value : 1;
    double n = 1.25 * f->threads * short_by + 1;
    n = n < 2 * f->cores ? 2 * f->cores : n > MOST_WORKERS ? MOST_WORKERS : n;
    leat_suggest_add(out, "engine.threads=%d", (int)n);
}

static bool direct_reads(const leat_suggest_about *about)
{
    return is_input(about) && leat_arm_says(about->config, "engine.io", "direct", false);
}

static bool slow_reads(const leat_suggest_about *about)
{
    return is_input(about) && has_cause(about, LEAT_CAUSE_STORAGE);
}

static bool reads_little_ahead(const leat_suggest_about *about)
{
    leat_budget budget;
    return slow_reads(about) &&
           leat_plan_budget(about->arm->plan, NULL, &budget, NULL) == LEAT_OK &&
           budget.read_bytes < READ_AHEAD;
}

/* With `auto` more reads wait at a time, and small files may be kept. */
static bool names_reader(const leat_suggest_about *about)
{
    return slow_reads(about) && !leat_arm_says(about->config, "engine.reader", "auto", true);
}

static bool shuffles_small_records(const leat_suggest_about *about)
{
    return slow_reads(about) && leat_suggest_blocks_apply(about);
}

static bool pageable(const leat_suggest_about *about)
{
    return about->facts->pageable && !about->facts->on_host;
}

/* --- the step ---------------------------------------------------------------------------------- */

static bool waits_often(const leat_suggest_about *about)
{
    const int32_t every = about->facts->sync_every;
    return every > 0 && every < 100 && !about->facts->on_host;
}

static bool is_placed(const leat_suggest_about *about)
{
    return about->facts->meter.crossings > 0; /* whatever the verdict: it is tried */
}

/* Layers in the list `train.model` that name a device. */
static void set_own_device(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    char path[64], text[256];
    for (int i = 0; i < MOST_LAYERS; i++) {
        snprintf(path, sizeof path, "train.model[%d]", i);
        if (leat_config_get(about->config, path, text, sizeof text, NULL) < 0)
            break;
        snprintf(path, sizeof path, "train.model[%d].device", i);
        if (leat_suggest_get(about->config, path, text, sizeof text) && text[0])
            leat_suggest_add(out, "%s-", path);
    }
}

/* At least SMALL_BATCH; 0: the data has too few samples. */
static int64_t larger_batch(const leat_suggest_about *about)
{
    const int64_t more = 4 * about->batch_size, size = more < SMALL_BATCH ? SMALL_BATCH : more;
    return (double)size * LEAST_BATCHES <= (double)leat_arm_samples(about->arm->plan) ? size : 0;
}

/* Of few samples, what a step costs besides its arithmetic is much of it, whatever the device. */
static bool small_batches(const leat_suggest_about *about)
{
    return (is(about, LEAT_VERDICT_LAUNCH_BOUND) ||
            (about->batch_size < SMALL_BATCH && !is(about, LEAT_VERDICT_INPUT_BOUND))) &&
           larger_batch(about) > 0;
}

static bool launches_on_cuda(const leat_suggest_about *about)
{
    return about->is_cuda && leat_arm_says(about->config, "train.graph", "false", false);
}

static void set_larger_batch(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    leat_suggest_add(out, "pipeline.batch.size=%lld", (long long)larger_batch(about));
}

static bool computes(const leat_suggest_about *about)
{
    return is(about, LEAT_VERDICT_COMPUTE_BOUND) &&
           leat_arm_says(about->config, "train.precision", "fp32", true);
}

/* --- shared cores ------------------------------------------------------------------------------ */

static bool shares_cores(const leat_suggest_about *about)
{
    const leat_facts *f = about->facts;
    return f->on_host && f->overlaps && f->cores > 1 && !is(about, LEAT_VERDICT_COMPUTE_BOUND);
}

/* Cores for the step in proportion to its work; the loader gets the others. */
static void set_split(const leat_suggest_about *about, leat_doctor_suggestion *out)
{
    const leat_facts *f = about->facts;
    const double all = f->loader_cpu_ns + f->step_cpu_ns;
    int step = all > 0 ? (int)(f->cores * f->step_cpu_ns / all + 0.5) : 1;
    step = step < 1 ? 1 : step > f->cores - 1 ? f->cores - 1 : step;
    leat_suggest_add(out, "engine.threads=%d", f->cores - step);
    leat_suggest_add(out, "train.threads=%d", step);
}

static bool many_workers(const leat_suggest_about *about)
{
    return shares_cores(about) && about->facts->threads > 1;
}

/* Those that may gain most come first, for when the time ends. */
static const struct row rows[] = {
    { "Leave out what the model does not read", "", leat_suggest_unread_any,
      .set = leat_suggest_unread_set },
    { "Make batches while the device computes",
      "with prefetch 0 each step waits until its batch is read, mapped and copied", no_prefetch,
      .set = set_prefetch },
    { "Copy from pinned memory",
      "copies from ordinary (pageable) memory are slow, and run while nothing else does", pageable,
      .set_to = "pipeline.prefetch.pinned=true" },
    { "Make the cache larger",
      "it holds a part of the samples; the others are made again in each epoch", cache_is_small,
      .set = set_cache_size },
    { "Keep many batches ready", "some samples take as long as several batches of others", uneven,
      .ahead = 12 },
    { "Decode once", "", decodes, .set = set_cache },
    { "Copy bytes, and let the device make floats of them",
      "the model converts bytes itself, to the same numbers; a batch is a quarter as large",
      makes_floats, .set = leat_suggest_bytes_set },
    { "Let leat choose which ops run on the device",
      "the config says where maps run; with `auto` the last ops run where they take less",
      leat_suggest_maps_apply, .set = leat_suggest_maps_set },
    { "Let all cores make batches", "there are fewer workers than cores", idle_cores,
      .set = set_all_cores },
    { "Let leat choose the reader",
      "with `auto` many reads are in flight, and small files stay in memory if they fit",
      names_reader, .set_to = "engine.reader=auto" },
    { "Shuffle in blocks",
      "few large reads take the place of many small ones: blocks of neighbours come in random "
      "order, and 16 of them are mixed at a time; files whose order means something (sorted by "
      "class, say) should be shuffled once when they are written (leat convert --shuffle)",
      shuffles_small_records, .set = leat_suggest_blocks_set,
      .differs = "the order is less random" },
    { "Run more workers than cores",
      "workers wait inside a stage and use little CPU time, so more of them can wait at a time",
      waiting_workers, .set = set_many_workers },
    { "Keep more batches ready", "a reserve covers batches that come late", uneven_or_shared,
      .ahead = 4 },
    { "Read through the page cache",
      "direct reads go to the disk in every epoch; Linux keeps files in memory that is free",
      direct_reads, .set_to = "engine.io=buffered" },
    { "Read further ahead", "the workers wait for storage; more reads can wait at a time",
      reads_little_ahead, .set_to = "engine.read_bytes=256MiB" },
    { "Wait for the device less often",
      "after each sync_every steps the host reads the loss, and then the device waits for the host",
      waits_often, .set_to = "train.sync_every=100" },
    { "Compute these layers on the run's own device",
      "layers on other devices make it wait for them, and for the copies between them", is_placed,
      .set = set_own_device },
    { "Record the step as a CUDA graph", "one launch takes the place of many", launches_on_cuda,
      .set_to = "train.graph=true" },
    { "Use larger batches",
      "what a step costs besides its arithmetic is the same for more samples; larger batches "
      "usually need another learning rate",
      small_batches, .set = set_larger_batch, .differs = "the model learns otherwise" },
    { "Divide the cores between input and training",
      "workers and threads of the training step together are more than the cores", shares_cores,
      .set = set_split },
    { "Use one worker", "workers take the cores of the training step", many_workers,
      .set_to = "engine.threads=1" },
    { "Compute in bfloat16", "activations take half the memory traffic", computes,
      .set_to = "train.precision=bf16", .differs = "results differ slightly" },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

int32_t leat_suggest_most(void)
{
    return N_ROWS;
}

/* --- trials ------------------------------------------------------------------------------------ */

/* What likely gains comes first, of that what was tried, and of that what gains most. */
static bool precedes(const leat_doctor_suggestion *s, const leat_doctor_suggestion *other)
{
    const bool sure = leat_doctor_is_sure(s), tried = !s->not_tried[0];
    if (sure != leat_doctor_is_sure(other))
        return sure;
    return tried && (other->not_tried[0] || s->gain > other->gain);
}

void leat_suggest_insert(const leat_doctor_suggestion *s, leat_doctor_result *out)
{
    int32_t at = out->n_suggestions;
    while (at > 0 && precedes(s, &out->suggestions[at - 1]))
        at--;
    const int32_t last = out->n_suggestions < LEAT_DOCTOR_MAX_SUGGESTIONS
                             ? out->n_suggestions++
                             : LEAT_DOCTOR_MAX_SUGGESTIONS - 1;
    if (at > last)
        return;
    memmove(&out->suggestions[at + 1], &out->suggestions[at],
            (size_t)(last - at) * sizeof *out->suggestions);
    out->suggestions[at] = *s;
}

/* "path=value path=value" */
static void settings_of(const leat_doctor_suggestion *s, char text[LEAT_DOCTOR_MAX_VALUES])
{
    const size_t size = LEAT_DOCTOR_MAX_VALUES;
    text[0] = 0;
    for (int32_t i = 0; i < s->n_set; i++)
        leat_text(text + strlen(text), size - strlen(text), "%s%s", i ? " " : "", s->set[i]);
}

bool leat_suggest_is_listed(const leat_doctor_suggestion *s, const leat_doctor_result *out)
{
    char text[sizeof out->without_gain[0]], other[sizeof text];
    settings_of(s, text);
    for (int32_t i = 0; i < out->n_without_gain; i++)
        if (!strcmp(out->without_gain[i], text))
            return true;
    for (int32_t i = 0; i < out->n_suggestions; i++) {
        settings_of(&out->suggestions[i], other);
        if (!strcmp(other, text))
            return true;
    }
    return false;
}

static void note_no_gain(const leat_doctor_suggestion *s, leat_doctor_result *out)
{
    if (out->n_without_gain < LEAT_DOCTOR_MAX_SUGGESTIONS)
        settings_of(s, out->without_gain[out->n_without_gain++]);
}

/* Whether the step would take another time: that of a program of others is not known then. */
static bool changes_step(const leat_doctor_suggestion *s)
{
    for (int32_t i = 0; i < s->n_set; i++)
        if (!strncmp(s->set[i], "train.", 6) || !strncmp(s->set[i], "pipeline.batch.", 15))
            return true;
    return false;
}

/* Whether the config has all these values. */
static bool is_set(const leat_suggest_about *about, const leat_doctor_suggestion *s)
{
    for (int32_t i = 0; i < s->n_set; i++) {
        char path[128], now[128];
        const char *const equals = strchr(s->set[i], '=');
        snprintf(path, sizeof path, "%.*s", equals ? (int)(equals - s->set[i]) : 0, s->set[i]);
        if (!equals || !leat_suggest_get(about->config, path, now, sizeof now) ||
            strcmp(now, equals + 1) != 0)
            return false;
    }
    return true;
}

/* Such a value cannot be set in this config, on this device or machine. */
static bool is_impossible(int rc)
{
    return rc == LEAT_E_CONFIG || rc == LEAT_E_UNSUPPORTED || rc == LEAT_E_ARGUMENT ||
           rc == LEAT_E_NOMEM;
}

/* Beyond the first size, if it gains a quarter: four times as large as long as that gains another. */
static int go_to_knee(const leat_suggest_about *about, leat_doctor_suggestion *s, leat_error *err)
{
    leat_suggest_about larger = *about;
    leat_doctor_suggestion next;
    leat_error why = { 0 };
    for (double gain = 1 + s->gain; gain >= KNEE;) {
        larger.batch_size = strtoll(strchr(s->set[0], '=') + 1, NULL, 10);
        if (!larger_batch(&larger) || leat_suggest_time_left(about, LEAT_SUGGEST_RUNS) < 0)
            break;
        next = *s;
        next.n_set = 0;
        set_larger_batch(&larger, &next);
        const int rc = leat_suggest_try(about, &next, &why);
        if (is_impossible(rc))
            return LEAT_OK; /* what was tried before it gains */
        if (rc < 0)
            return leat_fail(err, rc, "%s", why.message);
        gain = (1 + next.gain) / (1 + s->gain);
        if (gain >= KNEE)
            *s = next;
        else
            leat_text(s->why + strlen(s->why), sizeof s->why - strlen(s->why),
                      "; four times as many gain %s",
                      gain < 1 + LEAT_DOCTOR_LEAST_GAIN ? "nothing more"
                                                        : "less than a quarter more");
    }
    return LEAT_OK;
}

static int try_row(const leat_suggest_about *about, const struct row *row, leat_doctor_result *out,
                   leat_error *err)
{
    leat_doctor_suggestion s = { .n_set = 0 };
    leat_error why = { 0 };
    const int64_t n_ahead = row->ahead * about->prefetch;
    snprintf(s.title, sizeof s.title, "%s", row->title);
    snprintf(s.why, sizeof s.why, "%s", row->why);
    snprintf(s.differs, sizeof s.differs, "%s", row->differs ? row->differs : "");
    if (row->set)
        row->set(about, &s);
    else if (row->ahead)
        leat_suggest_add(&s, "pipeline.prefetch.batches=%lld",
                         (long long)(n_ahead < MOST_AHEAD ? n_ahead : MOST_AHEAD));
    else
        leat_suggest_add(&s, "%s", row->set_to);
    if (is_set(about, &s) || (about->arm->step_ns && changes_step(&s)) ||
        leat_suggest_is_listed(&s, out))
        return LEAT_OK; /* two rows may set the same values */
    const bool hurried = leat_suggest_time_left(about, LEAT_SUGGEST_RUNS) < LEAT_ARM_REFILL_NS;
    int rc = leat_suggest_try(about, &s, &why);
    if (rc == LEAT_OK && row->set == set_larger_batch)
        rc = go_to_knee(about, &s, &why);
    out->n_no_memory += rc == LEAT_E_NOMEM;
    out->n_no_time += rc == LEAT_E_BUSY;
    if (s.not_tried[0]) /* its cache was not filled in the time that was left, or in 5 s */
        ++*(hurried ? &out->n_no_time : &out->n_not_filled);
    if (is_impossible(rc) || rc == LEAT_E_BUSY)
        return LEAT_OK;
    if (rc < 0)
        return leat_fail(err, rc, "%s: %s", s.set[0], why.message);
    out->n_tried++;
    if (s.gain >= LEAT_DOCTOR_LEAST_GAIN)
        leat_suggest_insert(&s, out);
    else
        note_no_gain(&s, out);
    return LEAT_OK;
}

int leat_suggest(const leat_suggest_about *about, leat_doctor_result *out, leat_error *err)
{
    int rc = LEAT_OK;
    for (size_t i = 0; i < N_ROWS && rc == LEAT_OK; i++) {
        if (!rows[i].applies(about))
            ;
        else if (leat_suggest_time_left(about, LEAT_SUGGEST_HURRIED) > 0)
            rc = try_row(about, &rows[i], out, err);
        else
            out->n_no_time++;
        if (about->progress)
            about->progress(about->user);
    }
    return rc;
}
