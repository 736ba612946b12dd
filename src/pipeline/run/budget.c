/* SPDX-License-Identifier: MIT
 *
 * budget.c: leat_plan_budget(): divides the memory of a loader. Users and loader_open.c call it.
 * Invariant: the sum of the table never exceeds the limit.
 *
 * DESIGN. A table of rows is made for the preferred prefetch and read memory,
 * with scratch for the largest sample in every thread. While its sum exceeds the limit, these
 * are lowered, in this order: scratch to a part of the limit (threads then share what large
 * samples need), prefetch if it is auto, read memory if it is auto, scratch to what a usual
 * sample needs. If it is still too much, the plan is refused, and the message says the least
 * that works. The automatic limit is a quarter of the available memory, or the plan's minimum if that
 * is more. */
#include "budget_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine.h"
#include "formats/figure.h"

#define AUTO_SHARE    4 /* the automatic limit is 1 / AUTO_SHARE of the free memory */
#define READ_LEAST    ((int64_t)64 << 10) /* it works with this much */
#define SCRATCH_SHARE 4                   /* all scratch is 1 / SCRATCH_SHARE of a short limit */
#define RESERVE_MOST  ((int64_t)4 << 30)  /* of address space, for a thread's scratch */

/* --- decisions -------------------------------------------------------------------------------- */

void leat_budget_decide(leat_budget *out, const char *name, int64_t to, const char *unit,
                        const char *format, ...)
{
    va_list args;
    if (out->n_decisions == LEAT_MAX_DECISIONS)
        return;
    leat_decision *const one = &out->decisions[out->n_decisions++];
    *one = (leat_decision){ .batch = -1, .from = -1, .to = to };
    snprintf(one->name, sizeof one->name, "%s", name);
    snprintf(one->unit, sizeof one->unit, "%s", unit);
    va_start(args, format);
    leat_text_v(one->reason, sizeof one->reason, format, args);
    va_end(args);
}

/* The most that prefetch may grow to, before memory counts. */
static int64_t depth_most(const leat_budget_division *d)
{
    const double rows = (double)leat_order_most_rows(&d->plan->order);
    return d->plan->prefetch_auto ? leat_budget_prefetch_for(LEAT_PREFETCH_TIMES, d->out->threads,
                                                             rows, LEAT_PREFETCH_MOST)
                                  : d->plan->prefetch;
}

static void decide_depth(const leat_budget_division *d)
{
    const leat_plan *const plan = d->plan;
    leat_budget *const b = d->out;
    if (!plan->prefetch_auto)
        leat_budget_decide(b, "prefetch", b->prefetch, "batches",
                           plan->has_prefetch ? "set by stage prefetch" : "no prefetch stage");
    else if (b->prefetch_most < depth_most(d))
        leat_budget_decide(b, "prefetch", b->prefetch, "batches",
                           "auto: initial value; grows up to %lld when slow samples need it; more "
                           "do not fit in the memory limit",
                           (long long)b->prefetch_most);
    else
        leat_budget_decide(b, "prefetch", b->prefetch, "batches",
                           "auto: initial value; grows up to %lld when slow samples need it (for "
                           "one of %d times the mean, at most %d)",
                           (long long)b->prefetch_most, LEAT_PREFETCH_TIMES, LEAT_PREFETCH_MOST);
}

static void decide_scratch(const leat_budget_division *d)
{
    leat_budget *const b = d->out;
    if (b->large_bytes)
        leat_budget_decide(
            b, "scratch", b->scratch_bytes, "bytes",
            "the largest sample does not fit in every thread's share of the memory limit: samples "
            "that need more wait for each other while together they need more than %s",
            leat_figure_bytes((double)b->room_bytes).text);
}

static void decide_all(const leat_budget_division *d, int64_t wanted)
{
    const leat_plan *const plan = d->plan;
    leat_budget *const b = d->out;
    leat_budget_decide(b, "threads", b->threads, "threads", "%s",
                       plan->engine.threads < 0 ? d->facts->machine.cores_why
                                                : "set by engine.threads");
    decide_depth(d);
    leat_budget_decide_reading(d, wanted);
    decide_scratch(d);
    leat_budget_decide(b, "run", plan->engine.run ? plan->engine.run : 1, "rows", "%s",
                       plan->engine.run ? "set by engine.run"
                                        : "auto: initial value; then enough for a task of 50 us");
    int32_t n_device = 0;
    for (int32_t c = 0; c < plan->n_chains; c++)
        n_device += plan->chains[c].n_ops - plan->chains[c].n_host;
    if (!d->facts->device[0])
        leat_budget_decide(b, "placement", 0, "",
                           "all ops on the CPU; the consumer reads the slots, without a copy");
    else if (n_device)
        leat_budget_decide(b, "placement", 0, "",
                           "ops on the CPU, except %d on %s (%s); batches are copied from %s slots",
                           n_device, d->facts->device,
                           plan->whole ? "auto: the last ones, which all have kernels"
                                       : "set by the map stages",
                           plan->pageable ? "pageable" : "pinned");
    else
        leat_budget_decide(b, "placement", 0, "",
                           "ops on the CPU; batches are copied from %s slots to %s",
                           plan->pageable ? "pageable" : "pinned", d->facts->device);
}

/* --- dividing --------------------------------------------------------------------------------- */

/* Scratch for samples, of which one that was tried took that many bytes. Others may take more. */
static int64_t scratch_for(const leat_plan *plan, uint64_t tried)
{
    const int64_t bytes = (int64_t)tried;
    return leat_budget_round_up((plan->probe.n_tried ? bytes * 5 / 2 : bytes) + 65536);
}

/* Gives each thread `bytes` of scratch, but at least what a usual sample needs and at most what
 * a large one needs. What a large one needs beyond that exists once, for all threads. */
static void share_scratch(const leat_budget_division *d, int64_t bytes)
{
    const leat_probe *const probe = &d->plan->probe;
    const int64_t least = scratch_for(d->plan, probe->usual_bytes);
    const int64_t most = scratch_for(d->plan, probe->scratch_bytes);
    const int64_t large = leat_budget_round_up((int64_t)probe->scratch_bytes + 65536);
    bytes = bytes / 4096 * 4096;
    bytes = bytes < least ? least : bytes > most ? most : bytes;
    d->out->scratch_bytes = bytes;
    d->out->large_bytes = bytes < large ? large - bytes : 0;
}

/* Lowers what may be lowered until the sum is within the limit. */
static void fit(const leat_budget_division *d, int64_t limit, int64_t wanted)
{
    const leat_plan *const plan = d->plan;
    leat_budget *const b = d->out;
    int64_t prefetch = depth_most(d), read = wanted;
    share_scratch(d, INT64_MAX);
    leat_budget_fill(d, prefetch, read, limit);
    if (b->total_bytes > limit) {
        share_scratch(d, limit / SCRATCH_SHARE / (b->threads + 1));
        leat_budget_fill(d, prefetch, read, limit);
    }
    while (b->total_bytes > limit && plan->prefetch_auto && prefetch > LEAT_PREFETCH_FIRST)
        leat_budget_fill(d, --prefetch, read, limit);
    if (b->total_bytes > limit && read > READ_LEAST && !plan->engine.read_bytes) {
        const int64_t rest = limit - (b->total_bytes - read);
        read = rest > READ_LEAST ? rest / 4096 * 4096 : READ_LEAST;
        leat_budget_fill(d, prefetch, read, limit);
    }
    if (b->total_bytes > limit) {
        share_scratch(d, 0);
        leat_budget_fill(d, prefetch, read, limit);
    }
    b->room_bytes = b->large_bytes + (b->total_bytes < limit ? limit - b->total_bytes : 0);
}

/* Finds the least that works: reading ahead, or with files in memory, if these are small. Returns the bytes of files that
 * are kept then; 0: none. */
static int64_t fit_least(const leat_budget_division *d, int64_t wanted)
{
    leat_budget *const b = d->out;
    const int64_t all = leat_budget_round_up((int64_t)d->plan->source->keep_bytes);
    const int64_t parts = leat_budget_parts_bytes(d->plan),
                  kept = parts && parts < all ? parts : all;
    fit(d, 0, wanted);
    b->least_bytes = b->total_bytes;
    if (!leat_budget_would_keep(d->plan))
        return 0;
    b->kept_bytes = kept;
    fit(d, 0, 0);
    b->kept_bytes = 0;
    if (b->total_bytes >= b->least_bytes) {
        fit(d, 0, wanted); /* a refusal reads the rows */
        return 0;
    }
    b->least_bytes = b->total_bytes;
    return kept;
}

/* Keeps files in memory if they fit in 1/LEAT_BUDGET_KEEP_SHARE of the limit and in what the other rows leave. */
static void fit_files(const leat_budget_division *d)
{
    leat_budget *const b = d->out;
    const int64_t all = leat_budget_round_up((int64_t)d->plan->source->keep_bytes);
    const int64_t rest = b->limit_bytes - (b->total_bytes - b->read_bytes);
    const int64_t share = b->limit_bytes / LEAT_BUDGET_KEEP_SHARE,
                  most = share < rest ? share : rest;
    const int64_t bytes = all <= most ? all : leat_budget_parts_bytes(d->plan);
    if (!leat_budget_would_keep(d->plan) || bytes > most || !bytes)
        return;
    b->kept_bytes = bytes;
    fit(d, b->limit_bytes, 0);
}

/* All but files, in bytes, where no limit makes them less; 0: out of memory. */
static int64_t others_at_most(const leat_budget_division *d)
{
    leat_budget *const free_of_limit = malloc(sizeof *free_of_limit);
    leat_budget_division at = *d;
    if (!free_of_limit)
        return 0;
    *free_of_limit = *d->out;
    at.out = free_of_limit;
    fit(&at, INT64_MAX, d->out->read_bytes);
    const int64_t bytes = free_of_limit->total_bytes - free_of_limit->read_bytes;
    free(free_of_limit);
    return bytes;
}

static void set_limit(const leat_budget_division *d)
{
    leat_budget *const b = d->out;
    const leat_machine *const m = &d->facts->machine;
    b->limit_is_auto = d->plan->engine.memory < 0;
    if (!b->limit_is_auto) {
        b->limit_bytes = d->plan->engine.memory;
        snprintf(b->limit_reason, sizeof b->limit_reason, "set by engine.memory");
        return;
    }
    b->limit_bytes = m->memory_bytes / AUTO_SHARE;
    snprintf(b->limit_reason, sizeof b->limit_reason, "auto: 1/%d of %s", AUTO_SHARE,
             m->memory_why);
    if (b->least_bytes > b->limit_bytes && b->least_bytes <= m->memory_bytes) {
        b->limit_bytes = b->least_bytes;
        snprintf(b->limit_reason, sizeof b->limit_reason,
                 "auto: the minimum for this pipeline, more than 1/%d of %s", AUTO_SHARE,
                 m->memory_why);
    }
}

/* The row with the most bytes. */
static const leat_budget_row *most_of(const leat_budget *b)
{
    const leat_budget_row *most = &b->rows[0];
    for (int32_t i = 1; i < b->n_rows; i++)
        if (b->rows[i].kind != LEAT_MEMORY_MAPPED && b->rows[i].bytes > most->bytes)
            most = &b->rows[i];
    return most;
}

/* The name of the op that can refuse large pictures; NULL: there is none. */
static const char *decoder_of(const leat_plan *plan)
{
    for (int32_t c = 0; c < plan->n_chains; c++)
        for (int32_t i = 0; i < plan->chains[c].n_ops; i++) {
            const leat_op *const op = plan->chains[c].ops[i].op;
            for (const leat_option *o = op->options; o->name; o++)
                if (!strcmp(o->name, "max_pixels"))
                    return op->name;
        }
    return NULL;
}

/* "; RECORD needs 192 MB or more", if large samples are what the memory is for; or "". */
static const char *record_text(const leat_plan *plan, bool is_large, char *text, size_t size)
{
    char where[400];
    text[0] = 0;
    if (!is_large)
        return text;
    plan->source->table->describe(plan->source, plan->probe.most_record, where, sizeof where);
    snprintf(text, size, "; %s needs %s or more", where,
             leat_figure_bytes((double)plan->probe.scratch_bytes).text);
    return text;
}

/* What to lower instead of raising the limit. */
static const char *lower_text(const leat_plan *plan, bool is_large, char *text, size_t size)
{
    const char *const decoder = decoder_of(plan);
    if (!is_large)
        return ", or lower batch.size, prefetch.batches, engine.read_bytes or engine.threads";
    if (!decoder)
        return "";
    snprintf(text, size, ", or lower max_pixels of %s, which makes it a bad record (see on_error)",
             decoder);
    return text;
}

static int refuse(const leat_budget_division *d, leat_error *err)
{
    const leat_budget *const b = d->out;
    const leat_budget_row *const most = most_of(b);
    const bool is_large = d->plan->probe.n_tried && !strcmp(most->name, "large samples");
    const int64_t enough =
        b->least_bytes + leat_budget_round_up((int64_t)d->plan->source->spared_bytes);
    char record[500], lower[160];
    return leat_fail(err, LEAT_E_CONFIG,
                     "this pipeline needs at least %s of memory; the limit is %s (%s); the largest "
                     "part, %s, is for %s (%s)%s; raise engine.memory to %lld or more%s",
                     leat_figure_bytes((double)b->least_bytes).text,
                     leat_figure_bytes((double)b->limit_bytes).text, b->limit_reason,
                     leat_figure_bytes((double)most->bytes).text, most->name, most->text,
                     record_text(d->plan, is_large, record, sizeof record), (long long)enough,
                     lower_text(d->plan, is_large, lower, sizeof lower));
}

static void set_numbers(const leat_budget_division *d)
{
    const leat_plan *const plan = d->plan;
    leat_budget *const b = d->out;
    b->threads =
        (int32_t)(plan->engine.threads < 0 ? d->facts->machine.cores : plan->engine.threads);
    b->prefetch = plan->prefetch;
    b->slot_bytes = leat_budget_round_up((int64_t)plan->slot_bytes);
    b->buffer_bytes = leat_budget_round_up((int64_t)plan->buffer_bytes);
}

/* If address space is limited, scratch gets half of what batches and stacks leave. */
static void set_reserve(const leat_budget_division *d)
{
    const leat_machine *const m = &d->facts->machine;
    leat_budget *const b = d->out;
    const int64_t left = m->address_bytes == INT64_MAX
                             ? RESERVE_MOST
                             : (m->address_bytes - b->total_bytes - b->threads * m->stack_bytes) /
                                   2 / (b->threads + 1);
    const int64_t least = b->scratch_bytes + b->large_bytes;
    b->scratch_reserve = left > RESERVE_MOST ? RESERVE_MOST
                         : left < least      ? least
                                             : left / 4096 * 4096;
}

int leat_budget_make(const leat_plan *plan, const leat_budget_facts *facts, leat_budget *out,
                     leat_error *err)
{
    const leat_budget_division d = { plan, facts, out };
    const int64_t wanted = leat_budget_read_bytes(plan);
    memset(out, 0, sizeof *out);
    set_numbers(&d);
    const int64_t kept = fit_least(&d, wanted);
    set_limit(&d);
    if (out->least_bytes > out->limit_bytes)
        return refuse(&d, err);
    fit(&d, out->limit_bytes, wanted);
    fit_files(&d);
    if (out->total_bytes > out->limit_bytes) {
        out->kept_bytes = kept;
        fit(&d, out->limit_bytes, 0);
    }
    set_reserve(&d);
    decide_all(&d, wanted);
    if (leat_budget_would_keep(plan) && !out->kept_bytes)
        leat_budget_decide_shuffle(&d, others_at_most(&d));
    return LEAT_OK;
}

/* --- public ----------------------------------------------------------------------------------- */

int leat_plan_budget(const leat_plan *plan, const leat_loader_options *options, leat_budget *out,
                     leat_error *err)
{
    if (!plan || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_plan_budget: plan and out must be given");
    const leat_device *const device = options ? options->device : NULL;
    leat_budget_facts facts = { .hold = leat_budget_hold(options) };
    if (device && !device->table->host_memory)
        snprintf(facts.device, sizeof facts.device, "%.63s", device->info.name);
    leat_machine_read("", &facts.machine);
    return leat_budget_make(leat_plan_on(plan, device), &facts, out, err);
}
