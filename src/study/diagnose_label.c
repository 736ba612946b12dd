/* SPDX-License-Identifier: MIT
 *
 * diagnose_label.c: the cause of a slow loader: which of its stages is the slowest, and whether workers compute or wait
 * there. diagnose.c calls it. */
#include <stdio.h>
#include <string.h>

#include "diagnose.h"

static const double SURELY_WAITS = 0.02; /* CPU time of a stage divided by its time */

/* CPUs that others leave to the workers. Competition may give them more, but when they use less than half of
 * this, they do not want more. */
static double worker_cores(const leat_facts *f)
{
    const double left = f->cores - f->taken, cores = left > 0.2 ? left : 0.2;
    return f->threads > 0 && f->threads < cores ? f->threads : cores;
}

static const leat_stage_fact *slowest_stage(const leat_facts *f)
{
    const leat_stage_fact *slowest = NULL;
    for (int32_t i = 0; i < f->n_stages; i++)
        if (!slowest || f->stages[i].wall_ns > slowest->wall_ns)
            slowest = &f->stages[i];
    return slowest;
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

/* On a busy machine waiting for a core does not count: with their share of the cores, workers that compute
 * would be on a CPU for at least half of that share. */
static bool waits_inside(const leat_facts *f, const leat_stage_fact *stage)
{
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
    if (f->threads < f->cores)
        return LEAT_CAUSE_SERIAL;
    return f->loader_cores >= 0.75 * worker_cores(f) || stage->cpu_ns >= 0.9 * stage->wall_ns
               ? LEAT_CAUSE_CPU_SATURATED
               : LEAT_CAUSE_NONE;
}

void leat_diagnose_stage(const leat_facts *f, leat_verdict *out)
{
    const leat_stage_fact *stage = slowest_stage(f);
    out->where[0] = 0;
    out->cause = LEAT_CAUSE_NONE;
    if (!stage)
        return;
    const bool idle = f->asleep >= 0.5 && f->loader_cores < 0.5 * worker_cores(f);
    const bool read = strcmp(stage->name, "read") == 0 && waits_inside(f, stage);
    if (read || (idle && f->reads_in_flight >= 0.5)) {
        out->cause = LEAT_CAUSE_STORAGE;
    } else if (idle && f->threads > 1) {
        out->cause = LEAT_CAUSE_ORDERING;
    } else { /* stages of ops have the name of their tensor before a colon; "read" and "parse" do not */
        out->cause = manner_of(f, stage);
        snprintf(out->where, sizeof out->where, "%.20s",
                 strstr(stage->name, "decode")        ? "decode"
                 : !strncmp(stage->name, "cache:", 6) ? "cache"
                 : strchr(stage->name, ':')           ? "augment"
                                                      : stage->name);
    }
}

bool leat_diagnose_waits(const leat_facts *f)
{
    const leat_stage_fact *stage = slowest_stage(f);
    return stage && waits_inside(f, stage);
}
