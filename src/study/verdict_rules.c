/* SPDX-License-Identifier: MIT
 *
 * verdict_rules.c: derives a verdict from capacities. The doctor and `compare` call it. */
#include "verdict_rules.h"

#include <stdio.h>

#include "base/text.h"
#include "facts.h"

static const double REACHES = 0.95;    /* of a rate: counts as the same rate */
static const double NEVER_BELOW = 0.9; /* minimum ratio, even if the interval is wide */
static const double NEAR_ENOUGH = 0.75;
static const double SURE_LOW = 0.8, SURE_HIGH = 1.25;
static const double WAIT_COUNTS = 0.05;    /* input wait, as a share of the time */
static const double COPY_COUNTS = 0.03;    /* exposed copy */
static const double TAKEN_COUNTS = 0.10;   /* of our CPUs, by other processes */
static const double STOPPED_COUNTS = 0.05; /* of the time, by a CPU limit */
static const double TIE = 1.05;
static const double EXPLAINS = 1.15; /* a prediction is right if the time is not longer than this */
static const double CORES_WANTED =
    0.75;                             /* of the workers' time: less, and cores are not the limit */
static const double SMALL_STEP = 0.1; /* of the loader's CPU time */
static const double LEAST_STEPS = 5;  /* measured, of all rounds */
static const double ONE_TIME = 0.5;   /* of the whole job */
static const double RANKS_COUNT = 0.10; /* of the time, for other ranks or sums */
static const double SMALL_COPY = 65536; /* bytes; below, latency is most of a copy */

static const double SURELY_WAITS = 0.02; /* CPU time of a stage divided by its time */

struct severity {
    double moderate, high;
};
static const struct severity INPUT = { 0.05, 0.20 }, COPY = { 0.03, 0.15 }, HOST = { 0.03, 0.15 };

static bool reaches(leat_estimate of)
{
    return of.high >= REACHES && of.value >= NEVER_BELOW;
}

static leat_severity severity_of(double share, struct severity at)
{
    return share >= at.high       ? LEAT_SEVERITY_HIGH
           : share >= at.moderate ? LEAT_SEVERITY_MODERATE
                                  : LEAT_SEVERITY_LOW;
}

static void say(leat_verdict_found *d, leat_verdict_kind kind, leat_cause cause,
                leat_severity severity, const char *why)
{
    d->verdict = (leat_verdict){ .kind = kind, .cause = cause, .severity = severity };
    snprintf(d->why, sizeof d->why, "%s", why);
}

/* Share of the time that a job would save without its input. */
static double beyond_step(const leat_facts *f)
{
    return f->of_step.value < 1 ? 1 - f->of_step.value : 0;
}

/* Where nothing overlaps: share of the time that the job would save without its input at most. What a step alone does not
 * explain may be the step, which takes longer on batches that are new to the caches. */
static double input_takes(const leat_facts *f)
{
    const double waits = 1 - f->meter.busy;
    return f->of_loader.value < waits ? f->of_loader.value : waits;
}

static bool is_stopped(const leat_facts *f)
{
    return f->throttled >= STOPPED_COUNTS;
}

/* Other processes, or a CPU limit, took cores. */
static bool is_taken(const leat_facts *f)
{
    return is_stopped(f) || (f->cores && f->taken >= TAKEN_COUNTS * f->cores);
}

static void say_unclear(const leat_facts *f, const char *unused, leat_verdict_found *d)
{
    char why[160], share[32];
    const bool stopped = is_stopped(f);
    (void)unused;
    if (!is_taken(f)) {
        say(d, LEAT_VERDICT_INCONCLUSIVE, LEAT_CAUSE_NONE, LEAT_SEVERITY_NONE,
            "the rounds differ too much, or nothing measured explains the rate; run longer");
        return;
    }
    leat_text(share, sizeof share, "%.0f %%", 100 * (stopped ? f->throttled : f->taken / f->cores));
    snprintf(why, sizeof why,
             stopped ? "a CPU limit stopped the process for %s of the time; raise the limit"
                     : "other processes used %s of the CPUs; measure on a quiet machine",
             share);
    say(d, LEAT_VERDICT_ENVIRONMENT, stopped ? LEAT_CAUSE_CPU_LIMIT : LEAT_CAUSE_BUSY_NEIGHBOUR,
        LEAT_SEVERITY_MODERATE, why);
}

/* --- the slowest stage ---------------------------------------------------------------------- */

/* CPUs that others leave to the workers. Competition may give them more, but when they use less than half of
 * this, they do not want more. */
static double worker_cores(const leat_facts *f)
{
    const double left = f->cores - f->taken, cores = left > 0.2 ? left : 0.2;
    return f->threads > 0 && f->threads < cores ? f->threads : cores;
}

/* Competition for cores slows all stages alike, so one that is on a CPU far less than the others waits for
 * something else. */
static bool waits_unlike_others(const leat_facts *f, const leat_stage_fact *stage)
{
    double wall = 0, cpu = 0;
    for (int32_t i = 0; i < f->n_stages; i++)
        if (&f->stages[i] != stage) {
            wall += f->stages[i].wall_ns;
            cpu += f->stages[i].cpu_ns;
        }
    return wall >= 0.1 * stage->wall_ns && stage->cpu_ns * wall < 0.2 * cpu * stage->wall_ns;
}

static bool is_divided(const leat_facts *f)
{
    return f->work[LEAT_WORK_COMPUTE] > 0;
}

/* Share of the workers' time in which they compute, or would if they had a core. */
static double wants_cores(const leat_facts *f)
{
    return f->work[LEAT_WORK_COMPUTE] + f->work[LEAT_WORK_CORE];
}

/* Where the workers' time is not known in parts (a loader of others): on a busy machine waiting for a core does not
 * count, since with their share of the cores, workers that compute would be on a CPU for at least half of that share. */
static bool waits_inside(const leat_facts *f, const leat_stage_fact *stage)
{
    if (is_divided(f))
        return f->work[stage->does == LEAT_DOES_READ ? LEAT_WORK_STORAGE : LEAT_WORK_STAGE] >
               wants_cores(f);
    const double cores = worker_cores(f), share = f->threads > cores ? cores / f->threads : 1;
    if (stage->cpu_ns < SURELY_WAITS * stage->wall_ns || waits_unlike_others(f, stage))
        return true; /* nobody waits so long for a core */
    return stage->cpu_ns < 0.5 * stage->wall_ns &&
           (f->loader_cores < 0.5 * cores ||
            (stage->cpu_ns < 0.5 * share * stage->wall_ns && f->loader_cores < 0.9 * cores));
}

static leat_cause manner_of(const leat_facts *f, const leat_stage_fact *stage)
{
    if (waits_inside(f, stage))
        return LEAT_CAUSE_LATENCY_BOUND;
    if (is_divided(f) && wants_cores(f) < CORES_WANTED)
        return LEAT_CAUSE_NONE;
    if (f->threads < f->cores)
        return LEAT_CAUSE_SERIAL;
    return is_divided(f) || f->loader_cores >= 0.75 * worker_cores(f) ||
                   stage->cpu_ns >= 0.9 * stage->wall_ns
               ? LEAT_CAUSE_CPU_SATURATED
               : LEAT_CAUSE_NONE;
}

/* How the workers spend most of the time in which they do not compute. LEAT_WORK_COMPUTE: cores are the limit, or their
 * time was not measured. */
static leat_worker_time limiting_wait(const leat_facts *f)
{
    if (!is_divided(f) || wants_cores(f) >= CORES_WANTED)
        return LEAT_WORK_COMPUTE;
    leat_worker_time most = LEAT_WORK_STORAGE; /* the first that is a wait */
    for (leat_worker_time i = most + 1; i < LEAT_N_WORKS; i++)
        if (f->work[i] > f->work[most])
            most = i;
    return most;
}

/* Sets the stage that limits the loader, and how. */
static void name_stage(const leat_facts *f, leat_verdict *out)
{
    static const char *const names[] = {
        [LEAT_DOES_READ] = "read",
        [LEAT_DOES_PARSE] = "parse",
        [LEAT_DOES_OPS] = "map",
        [LEAT_DOES_DECODE] = "decode",
        [LEAT_DOES_DECODE_AND_OPS] = "decode",
        [LEAT_DOES_CACHE] = "cache",
        [LEAT_DOES_UNKNOWN] = "loader",
    };
    const leat_stage_fact *stage = leat_facts_slowest(f);
    out->where[0] = 0;
    out->cause = LEAT_CAUSE_NONE;
    if (!stage)
        return;
    const leat_worker_time wait = limiting_wait(f);
    if (wait == LEAT_WORK_STORAGE ||
        (!is_divided(f) && stage->does == LEAT_DOES_READ && waits_inside(f, stage))) {
        out->cause = LEAT_CAUSE_STORAGE;
    } else if (wait == LEAT_WORK_ORDER && f->threads > 1) {
        out->cause = LEAT_CAUSE_ORDERING;
    } else {
        out->cause = manner_of(f, stage);
        snprintf(out->where, sizeof out->where, "%s",
                 stage->does == LEAT_DOES_OPS && stage->is_random ? "augment" : names[stage->does]);
    }
}

bool leat_verdict_waits(const leat_facts *f)
{
    const leat_stage_fact *stage = leat_facts_slowest(f);
    return stage && waits_inside(f, stage);
}

/* --- input ----------------------------------------------------------------------------------- */

/* Workers sleep because the memory of batches is still being copied. A copy from pageable memory takes a
 * worker's time, so it comes on top of its other work. */
static bool copies_hold_workers(const leat_facts *f)
{
    const double waits = f->work[LEAT_WORK_HAND_OVER];
    return f->copying >= 0.4 && f->work[LEAT_WORK_STORAGE] < 0.25 &&
           (f->pageable || waits + f->work[LEAT_WORK_ORDER] >= 0.25);
}

static leat_cause transfer_cause(const leat_facts *f)
{
    return f->pageable                                       ? LEAT_CAUSE_PAGEABLE
           : !f->overlaps                                    ? LEAT_CAUSE_NOT_OVERLAPPED
           : f->copy_bytes < SMALL_COPY && f->copy_bytes > 0 ? LEAT_CAUSE_SMALL_COPIES
                                                             : LEAT_CAUSE_BUS_SATURATED;
}

/* What a sample of the loader takes on a quiet machine at least, ns: waits inside of stages stay, and so does CPU work,
 * for which there are more cores. */
static double least_loader(const leat_facts *f)
{
    const double workers = f->threads > 0 && f->threads < f->cores ? f->threads : f->cores;
    const double waits = f->work[LEAT_WORK_STORAGE] + f->work[LEAT_WORK_STAGE];
    const double wait_ns = f->loader.value > 0 ? waits * 1e9 / f->loader.value : 0;
    const double cpu_ns = workers > 0 ? f->loader_cpu_ns / workers : 0;
    return wait_ns > cpu_ns ? wait_ns : cpu_ns;
}

/* The workers compute, other processes take their cores, and with these cores the loader would keep up with the
 * step: then the input is not the reason. On the CPU other processes slow the step, too. */
static bool others_bind(const leat_facts *f)
{
    const double step = f->step.value > 0 ? 1e9 / f->step.value : 0;
    return !f->on_host && f->overlaps && f->n_stages > 0 && is_taken(f) &&
           (!is_divided(f) || wants_cores(f) >= 0.5) && !leat_verdict_waits(f) &&
           f->loader_cpu_ns > 0 && least_loader(f) <= NEVER_BELOW * step;
}

/* The loader limits the job. If copies take most of its time, they are the reason. */
static void say_input(const leat_facts *f, const char *why, leat_verdict_found *d)
{
    const bool copies = f->copying >= (f->overlaps ? LEAT_BUSY_ENOUGH : 0.5);
    const bool holds = f->overlaps && !copies && copies_hold_workers(f);
    if (holds || copies) {
        say(d, LEAT_VERDICT_TRANSFER_BOUND,
            holds && !f->pageable ? LEAT_CAUSE_NOT_OVERLAPPED : transfer_cause(f),
            severity_of(beyond_step(f), COPY),
            holds ? "copies and the workers wait for each other"
                  : "the device waits for copies of batches");
        return;
    }
    if (others_bind(f)) {
        say_unclear(f, NULL, d);
        return;
    }
    say(d, LEAT_VERDICT_INPUT_BOUND, LEAT_CAUSE_NOT_OVERLAPPED,
        severity_of(f->overlaps ? beyond_step(f) : input_takes(f), INPUT), why);
    if (f->overlaps)
        name_stage(f, &d->verdict);
}

/* --- the others ------------------------------------------------------------------------------ */

/* share: of the time that `of` names, in which layers run on other devices, or their values cross. */
static void say_placement(const leat_facts *f, double share, const char *of, leat_verdict_found *d)
{
    char why[160];
    leat_text(why, sizeof why,
              "layers on other devices, and %.3g copies between devices, take %.0f %% of the %s",
              f->meter.crossings, 100 * share, of);
    say(d, LEAT_VERDICT_PLACEMENT, LEAT_CAUSE_NONE, severity_of(share, HOST), why);
    snprintf(d->verdict.where, sizeof d->verdict.where, "%s", f->placed);
}

static void say_step(const leat_facts *f, const char *unused, leat_verdict_found *d)
{
    char why[160], text[16];
    (void)unused;
    const leat_forecast m = leat_forecast_of(f);
    const double sync = m.step > 0 ? m.sync / m.step : 0;
    const double placed = m.step > 0 ? m.placed / m.step : 0;
    const double idle = m.step > 0 ? 1 - m.queued / m.step : f->on_host ? 0 : 1 - f->step_busy;
    if (idle <= 1 - LEAT_BUSY_ENOUGH) {
        say(d, LEAT_VERDICT_COMPUTE_BOUND, LEAT_CAUSE_NONE, LEAT_SEVERITY_NONE,
            f->overlaps  ? "nothing to fix in the input"
            : f->threads ? "nothing overlaps (prefetch 0), but batches take little time"
                         : "nothing overlaps (engine.threads 0), but batches take little time");
        return;
    }
    if (placed >= sync && placed >= idle - sync - placed && placed > 0) {
        say_placement(f, placed, "step", d);
        return;
    }
    const double rest = idle - placed;
    const bool waits = f->step_free > 0 ? sync >= rest - sync : f->sync_every == 1;
    const double share = f->step_free > 0 ? (waits ? sync : rest - sync) : rest;
    leat_text(text, sizeof text, "%.0f %%", 100 * share);
    if (waits)
        snprintf(why, sizeof why,
                 "the device idles %s of the step while the host waits for a result", text);
    else
        snprintf(why, sizeof why, "launching kernels takes %s of the step itself", text);
    say(d, waits ? LEAT_VERDICT_SYNC_BOUND : LEAT_VERDICT_LAUNCH_BOUND, LEAT_CAUSE_NONE,
        severity_of(share, HOST), why);
}

/* Whatever others take: the CPU work of both fills all cores for longer than the step takes, or the loader alone. */
static bool cores_bind(const leat_facts *f)
{
    const double work = f->cores ? (f->loader_cpu_ns + f->step_cpu_ns) / f->cores : 0;
    return f->step.value > 0 && (!is_divided(f) || wants_cores(f) >= CORES_WANTED) &&
           leat_facts_fills(f, f->run_cores + f->taken) && work >= TIE * 1e9 / f->step.value &&
           work >= TIE * least_loader(f);
}

/* The cores suffice for the loader or the step alone, but not for both together. */
static void say_shared(const leat_facts *f, leat_verdict_found *d)
{
    const leat_forecast m = leat_forecast_of(f);
    const double run = leat_facts_ns(f, f->run.value);
    const bool bind = cores_bind(f), full = bind || (m.shared > 0 && run <= EXPLAINS * m.shared);
    const double quiet = m.shared * leat_forecast_cores(f) / (f->cores ? f->cores : 1);
    if (is_taken(f) && !bind && m.shared > 0 && run > EXPLAINS * quiet) /* nor without the others */
        say_unclear(f, NULL, d);
    else
        say(d, LEAT_VERDICT_SHARED_CORES, full ? LEAT_CAUSE_CORES_FULL : LEAT_CAUSE_TRAINER_STARVED,
            severity_of(beyond_step(f), INPUT),
            full ? "workers and trainer share the cores, and together they need all of them"
                 : "workers and trainer share the cores: workers took the trainer's core");
}

/* Share of exposed copies, at most the time of the copies themselves; the rest is the host's delay. */
static double exposed_copies(const leat_facts *f)
{
    const double longest = f->copying * f->of_loader.value;
    return f->meter.exposed_copy < longest ? f->meter.exposed_copy : longest;
}

/* The step mostly waits for the host, which also has to hand over batches. */
static bool waits_for_host(const leat_facts *f)
{
    return f->of_step.value >= NEAR_ENOUGH && f->step_busy < 0.5;
}

/* Share of the time of the whole in which layers run on other devices, if that is most of what the device idles. */
static double mostly_placed(const leat_facts *f)
{
    double shares[LEAT_N_SHARES];
    leat_forecast_shares(f, shares);
    const double placed = shares[LEAT_SHARE_PLACEMENT];
    return placed >= HOST.moderate && placed >= 0.5 * (1 - f->meter.busy) ? placed : 0;
}

static const char UNEVEN[] = "batches come unevenly: slow samples hold up those behind them";

/* Storage that stalls, and stages that wait for all samples at times, leave the same gaps between batches as single slow
 * samples: what the workers wait for tells. */
static void say_uneven(const leat_facts *f, const char *why, leat_verdict_found *d)
{
    const leat_worker_time wait = limiting_wait(f);
    const bool stalls = wait == LEAT_WORK_STORAGE || wait == LEAT_WORK_STAGE;
    say(d, LEAT_VERDICT_INPUT_BOUND, LEAT_CAUSE_ORDERING, severity_of(f->meter.input_wait, INPUT),
        stalls ? "batches come unevenly, as what the workers wait for stalls" : why);
    if (stalls)
        name_stage(f, &d->verdict);
}

static const char DRIVER_STARVED[] = "workers took the core of the thread that feeds the device";

static void say_driver_starved(const leat_facts *f, const char *why, leat_verdict_found *d)
{
    say(d, LEAT_VERDICT_SHARED_CORES, LEAT_CAUSE_DRIVER_STARVED, severity_of(beyond_step(f), INPUT),
        why);
}

/* The step is slower in the loop than alone, although the loader is fast enough. */
static void say_slower_step(const leat_facts *f, const char *unused, leat_verdict_found *d)
{
    const double copy = exposed_copies(f), wait = f->meter.input_wait, placed = mostly_placed(f);
    (void)unused;
    if (is_taken(f)) /* copies, too, begin late where the host is late */
        say_unclear(f, NULL, d);
    else if (placed > 0) /* on the CPU they are slower beside the workers */
        say_placement(f, placed, "time", d);
    else if (copy >= COPY_COUNTS && f->of_step.value >= REACHES * (1 - copy))
        say(d, LEAT_VERDICT_TRANSFER_BOUND,
            f->pageable ? LEAT_CAUSE_PAGEABLE : LEAT_CAUSE_NOT_OVERLAPPED, severity_of(copy, COPY),
            "each step waits for the copy of its batch");
    else if (leat_facts_fills(f, f->run_cores))
        say_driver_starved(f, DRIVER_STARVED, d);
    else if (wait >= WAIT_COUNTS && f->of_step.value >= REACHES * (1 - wait))
        say_uneven(f, UNEVEN, d);
    else if (waits_for_host(f))
        say_step(f, NULL, d);
    else
        say_unclear(f, NULL, d);
}

/* The loader takes far longer than the CPU work of both, divided by the cores: cores are not the reason. */
static bool cores_suffice(const leat_facts *f)
{
    const leat_forecast m = leat_forecast_of(f);
    return m.shared > 0 && m.shared < NEAR_ENOUGH * m.loader && f->of_loader.value >= NEAR_ENOUGH;
}

/* On the CPU both use the cores, but the step hardly any of them. */
static bool step_is_small(const leat_facts *f)
{
    return f->of_loader.value >= NEAR_ENOUGH && f->step.value >= 2 * f->loader.value &&
           f->loader_cpu_ns > 0 && f->step_cpu_ns <= SMALL_STEP * f->loader_cpu_ns;
}

/* The workers' CPU time explains at least half of what the step takes longer beside them, or is not known. */
static bool workers_hinder(const leat_facts *f)
{
    const double longer =
        f->run.value > 0 && f->step.value > 0 ? 1e9 / f->run.value - 1e9 / f->step.value : 0;
    return f->loader_cpu_ns <= 0 || f->loader_cpu_ns >= 0.5 * longer;
}

/* On the CPU the step takes longer in the loop than alone, or input and step do not reach their own rates. */
static void say_on_host(const leat_facts *f, const char *unused, leat_verdict_found *d)
{
    (void)unused;
    if (f->loader_of_step.value < 1 || workers_hinder(f))
        say_shared(f, d);
    else if (f->of_step.value >= NEVER_BELOW ||
             (1 - f->meter.busy < WAIT_COUNTS && !is_taken(f))) /* the step alone is faster */
        say_step(f, NULL, d);
    else
        say_unclear(f, NULL, d);
}

/* The device waits for the thread that feeds it, not for batches, and all cores are busy. */
static bool hardly_waits(const leat_facts *f)
{
    double shares[LEAT_N_SHARES];
    leat_forecast_shares(f, shares);
    return shares[LEAT_SHARE_INPUT_WAIT] + shares[LEAT_SHARE_EXPOSED_COPY] < WAIT_COUNTS &&
           !is_taken(f) && leat_facts_fills(f, f->run_cores);
}

/* Batches of a few kB and a short step, each of which is faster alone: most likely the host's calls of the driver wait for
 * each other. Seen on an H200: 92 and 49 us alone, 131 us together. */
static bool calls_take_turns(const leat_facts *f)
{
    return !f->on_host && !is_taken(f) && f->copy_bytes > 0 && f->copy_bytes < SMALL_COPY &&
           !reaches(f->of_loader) && !reaches(f->of_step) && f->meter.busy < LEAT_BUSY_ENOUGH &&
           f->meter.input_wait < WAIT_COUNTS && mostly_placed(f) == 0 &&
           !leat_facts_fills(f, f->run_cores) &&
           EXPLAINS * (f->of_loader.value + f->of_step.value) >= 1;
}

static void say_turns(const leat_facts *f, const char *why, leat_verdict_found *d)
{
    const leat_forecast m = leat_forecast_of(f);
    const bool waits = f->step_free > 0 ? m.sync >= 0.5 * m.step : f->sync_every == 1;
    say(d, waits ? LEAT_VERDICT_SYNC_BOUND : LEAT_VERDICT_LAUNCH_BOUND, LEAT_CAUSE_NONE,
        severity_of(1 - f->meter.busy, HOST), why);
}

/* --- several processes ------------------------------------------------------------------------ */

/* input: what the late one waits for its input more than the others. */
static void say_straggler(const leat_ranks_time *late, double input, double share,
                          leat_verdict_found *d)
{
    char why[200];
    leat_text(why, sizeof why, "the others waited %.0f %% of the time for %s, which %s",
              100 * late->late, late->name,
              input >= 0.5 * late->late ? "waited for its input" : "is slower itself");
    say(d, LEAT_VERDICT_STRAGGLER, LEAT_CAUSE_NONE, severity_of(share, INPUT), why);
}

/* A rank is late by chance, too: what counts is what it is late beyond the mean of the others. */
void leat_verdict_of_ranks(const leat_ranks_time *times, int32_t n, leat_verdict_found *d)
{
    double late = 0, input = 0, others = 0, exchange = 0;
    int32_t worst = 0;
    char why[160];
    for (int32_t r = 0; r < n; r++) {
        late += times[r].late;
        input += times[r].input;
        others += times[r].others / n;
        exchange += times[r].exchange / n;
        worst = times[r].late > times[worst].late ? r : worst;
    }
    const leat_ranks_time *const w = &times[worst];
    const double beyond = n > 1 ? w->late - (late - w->late) / (n - 1) : 0;
    leat_text(why, sizeof why,
              "the ranks waited %.0f %% of the time for sums on their way, and %.0f %% for each "
              "other",
              100 * exchange, 100 * others);
    if (beyond >= RANKS_COUNT && beyond >= exchange) {
        say_straggler(w, w->input - (input - w->input) / (n - 1), beyond, d);
        snprintf(d->verdict.where, sizeof d->verdict.where, "rank %d", worst);
    } else if (n > 1 && exchange >= RANKS_COUNT) {
        say(d, LEAT_VERDICT_COMMUNICATION_BOUND, LEAT_CAUSE_NONE, severity_of(exchange, INPUT),
            why);
    } else {
        say(d, LEAT_VERDICT_NONE, LEAT_CAUSE_NONE, LEAT_SEVERITY_NONE, why);
    }
}

/* --- the rules ------------------------------------------------------------------------------- */

/* Other processes make the rounds differ, and still one part is slower: the input even with all cores, or the step of a
 * device though the loader had few. */
static bool is_plain(const leat_facts *f)
{
    const double step = f->step.value > 0 ? 1e9 / f->step.value : 0;
    return is_taken(f) && step > 0 &&
           (least_loader(f) >= SURE_HIGH * step ||
            (!f->on_host && reaches(f->of_step) && f->loader_of_step.value >= SURE_HIGH));
}

static bool is_unsure(const leat_facts *f)
{
    const leat_estimate slack = f->loader_of_step;
    return !is_plain(f) &&
           !(slack.high < 1 || slack.low > 1 || (slack.low >= SURE_LOW && slack.high <= SURE_HIGH));
}

/* The job is slower than each part, as the wait for late batches explains: whether the others come faster than steps does
 * not matter then. */
static bool comes_unevenly(const leat_facts *f)
{
    const leat_forecast m = leat_forecast_of(f);
    const double slower = m.loader > m.step ? m.loader : m.step;
    return !f->on_host && !is_taken(f) && !reaches(f->of_step) && !reaches(f->of_loader) &&
           f->meter.input_wait >= WAIT_COUNTS && m.uneven >= EXPLAINS * slower &&
           leat_facts_ns(f, f->run.value) <= EXPLAINS * m.uneven;
}

static bool reaches_step(const leat_facts *f)
{
    return reaches(f->of_step);
}

static bool input_is_slower(const leat_facts *f)
{
    return f->loader_of_step.value < 1;
}

static bool input_takes_little(const leat_facts *f)
{
    return input_takes(f) < WAIT_COUNTS;
}

static bool reaches_slower_loader(const leat_facts *f)
{
    return input_is_slower(f) && reaches(f->of_loader);
}

static bool nears_slower_loader(const leat_facts *f)
{
    return input_is_slower(f) && f->of_loader.value >= NEAR_ENOUGH;
}

static bool step_is_placed(const leat_facts *f)
{
    return !input_is_slower(f) && mostly_placed(f) > 0;
}

static bool host_has_cores(const leat_facts *f)
{
    return f->on_host && input_is_slower(f) && cores_suffice(f);
}

static bool host_step_is_small(const leat_facts *f)
{
    return f->on_host && input_is_slower(f) && step_is_small(f);
}

static bool is_on_host(const leat_facts *f)
{
    return f->on_host;
}

static bool driver_is_late(const leat_facts *f)
{
    return nears_slower_loader(f) && hardly_waits(f);
}

static bool input_is_no_reason(const leat_facts *f)
{
    return input_is_slower(f) && mostly_placed(f) == 0;
}

static bool has_workers(const leat_facts *f)
{
    return f->threads > 0;
}

static bool always(const leat_facts *f)
{
    (void)f;
    return true;
}

/* The first that holds says the verdict. */
struct rule {
    bool (*holds)(const leat_facts *f);
    void (*say)(const leat_facts *f, const char *why, leat_verdict_found *d);
    const char *why; /* NULL: the figures say it */
};

/* Both rates may match; the step is tested first. */
static const struct rule overlapped[] = {
    { calls_take_turns, say_turns,
      "small batches and the step are faster alone: the host's calls for both take turns" },
    { comes_unevenly, say_uneven, UNEVEN },
    { is_unsure, say_unclear, NULL },
    { reaches_step, say_step, NULL },
    { reaches_slower_loader, say_input, "the device waits for batches" },
    { step_is_placed, say_slower_step, NULL },
    { host_has_cores, say_input, "the step waits for batches, and cores are not the reason" },
    { host_step_is_small, say_input, "the step waits for batches, and uses few of the cores" },
    { is_on_host, say_on_host, NULL },
    { driver_is_late, say_driver_starved, DRIVER_STARVED },
    { nears_slower_loader, say_input,
      "the device waits for batches, and the training loop uses some of the workers' cores" },
    { input_is_no_reason, say_unclear, NULL },
    { always, say_slower_step, NULL },
};

/* With prefetch 0, or without workers, each batch starts after the step, so the times of both add up. */
static const struct rule alternating[] = {
    { reaches_step, say_step, NULL },
    { input_takes_little, say_step, NULL },
    { has_workers, say_input, "nothing overlaps (prefetch 0): each step waits for its batch" },
    { always, say_input, "nothing overlaps (engine.threads 0): each step waits for its batch" },
};

/* A part that is about as slow as the slowest is named, too. Not where batches come unevenly: then the job is slower than
 * both, and more batches in advance gain. */
static void name_second(const leat_facts *f, leat_verdict_found *d)
{
    const leat_forecast m = leat_forecast_of(f);
    const leat_part part = leat_verdict_about(d->verdict.kind)->part;
    leat_verdict_found other = { .why = "" };
    if (d->verdict.cause == LEAT_CAUSE_ORDERING || m.loader * TIE < m.step ||
        m.step * TIE < m.loader)
        return;
    if (part == LEAT_PART_STEP)
        say_input(f, "", &other);
    else if (part == LEAT_PART_LOADER || part == LEAT_PART_COPY)
        say_step(f, NULL, &other);
    d->verdict.also = other.verdict.kind;
}

/* Whether the job ends before it is worth looking at its steps. */
static bool ends_early(const leat_facts *f)
{
    const double step = leat_facts_ns(f, f->run.value);
    return f->steps_of_job > 0 && step > 0 &&
           f->one_time_ns >= ONE_TIME * (f->one_time_ns + f->steps_of_job * step);
}

void leat_verdict_decide(const leat_facts *f, leat_verdict_found *d)
{
    const struct rule *rule = f->overlaps ? overlapped : alternating;
    if (f->meter.n_steps > 0 && (double)f->meter.n_steps < LEAST_STEPS) {
        say(d, LEAT_VERDICT_INCONCLUSIVE, LEAT_CAUSE_TOO_FEW_STEPS, LEAT_SEVERITY_NONE,
            "fewer than 5 steps were measured; give more --steps or --rounds");
        return;
    }
    while (!rule->holds(f))
        rule++;
    rule->say(f, rule->why, d);
    if (f->overlaps)
        name_second(f, d);
    if (ends_early(f)) {
        const leat_verdict_kind also = d->verdict.kind;
        say(d, LEAT_VERDICT_WARM_UP, LEAT_CAUSE_NONE, LEAT_SEVERITY_MODERATE,
            "one-time costs are half of the job or more; a longer run divides them");
        d->verdict.also = also;
    }
}
