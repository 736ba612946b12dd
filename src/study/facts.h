/* SPDX-License-Identifier: MIT
 *
 * facts.h: all that a verdict is made of, as plain numbers: the capacities of a job's parts, the rate of the
 * whole, and what the host did meanwhile. facts.c fills it from an arm; forecast.c and verdict_rules.c read it. A
 * field that was not measured is 0. */
#ifndef LEAT_FACTS_H
#define LEAT_FACTS_H

#include <stdbool.h>

#include "arm.h"

/* A stage of the loader alone, per sample. */
typedef struct leat_stage_fact {
    char name[48];
    leat_stage_does does;
    bool is_random;         /* one of its ops is */
    double wall_ns, cpu_ns; /* wall time, CPU time */
} leat_stage_fact;

typedef struct leat_facts {
    bool on_host;  /* the device is the CPU that the workers use */
    bool overlaps; /* batches are made while the device computes */
    bool pageable; /* copies do not come from pinned memory */
    int32_t cores; /* CPUs of this process */
    int32_t threads;
    int32_t sync_every;
    double taken;      /* CPUs that other processes used */
    double throttled;  /* share of the time in which a CPU limit stopped this process */
    double rows;       /* samples per step */
    leat_estimate run; /* samples/s of the whole, of the loader alone, of the step alone */
    leat_estimate loader;
    leat_estimate step;
    leat_estimate of_loader, of_step, loader_of_step; /* ratios, paired by round */
    double step_free; /* samples/s of the step alone if the host never waits for it; 0: as step */
    double step_busy; /* share of its time in which the device computes, without such waits */
    double placement_ns;        /* of a step alone: layers on other devices, and what crosses */
    char placed[48];            /* these layers: "2.dense on cpu"; "": none */
    leat_meter meter;           /* of the whole */
    double copying;             /* share of the loader's time alone in which its copies run */
    double copy_ns, copy_bytes; /* of a batch */
    int64_t window;             /* batches that may be ready */
    const int64_t *gap_ns;      /* times between batches of the loader alone, of the arm */
    int32_t n_gaps;
    double run_cores, loader_cores; /* CPUs in use on average */
    double spans,
        span_ns; /* recorded for a trace in a step of the whole; what recording one takes */
    double loader_cpu_ns, step_cpu_ns; /* CPU time per sample */
    double
        work[LEAT_N_WORKS]; /* loader alone: shares of the workers' time, sum 1; all 0: not known */
    double one_time_ns, steps_of_job; /* all one-time costs; steps of the job as configured */
    int32_t n_stages;
    leat_stage_fact stages[LEAT_MAX_STAGES];
} leat_facts;

/* Time of a step at a rate in samples/s; 0: not known. */
static inline double leat_facts_ns(const leat_facts *facts, double rate)
{
    return rate > 0 ? facts->rows / rate * 1e9 : 0;
}

/* Whether this many CPUs in use leave none free; false: their number is not known. */
static inline bool leat_facts_fills(const leat_facts *facts, double cores)
{
    return facts->cores && cores >= 0.9 * facts->cores;
}

/* Moves at most `wanted` from a time or share. Returns how much. */
static inline double leat_facts_take(double *from, double wanted)
{
    const double taken = wanted < *from ? wanted : *from;
    *from -= taken > 0 ? taken : 0;
    return taken > 0 ? taken : 0;
}

/* The stage that takes longest; NULL: none is known. */
const leat_stage_fact *leat_facts_slowest(const leat_facts *facts);

/* Fills the rates and the meter from the figures of an arm. */
void leat_facts_rates(const leat_compare_arm *result, leat_facts *out);

/* Fills the facts from an arm after its rounds were concluded. */
void leat_facts_of(const leat_arm *arm, leat_facts *out);

/* Replaces each stage of fused ops by its ops. Its time is divided as that of `apart`, the same loader with
 * engine.fuse off. */
void leat_facts_split(leat_facts *facts, const leat_arm_input *apart);

/* Part of the stages' time that decoding takes. NAN: the ops behind a decoder are one stage with it. */
double leat_facts_decoding(const leat_facts *facts);

/* --- the forecast: the step of a job, predicted from the capacities of its parts --- */

/* Times per step, ns; 0: not known, or no such part. */
typedef struct leat_forecast {
    double step;   /* C: the step alone */
    double queued; /* Cq: part of `step` in which the device computes */
    double sync;   /* part in which it idles because the host waits for a result */
    double placed; /* part in which it idles because layers run on other devices */
    double loader; /* L (with prefetch 0: L0 and the copy) */
    double copy;   /* X */
    double shared; /* CPU time of loader and step over the CPUs that are free for them */
    double
        uneven; /* with batches that come as unevenly as those of the loader alone; 0: not known */
    double predicted;
} leat_forecast;

/* Overlapped: max(step, loader, copy, shared, uneven), on the CPU also the time of both while they slow each other; otherwise
 * step + loader, which holds the copy. */
leat_forecast leat_forecast_of(const leat_facts *facts);

/* Divides the meter's time further by means of the capacities. */
void leat_forecast_shares(const leat_facts *facts, double shares[LEAT_N_SHARES]);

/* CPUs that loader and step may use, given what other processes take. At least 1. */
double leat_forecast_cores(const leat_facts *facts);

#endif
