/* SPDX-License-Identifier: MIT
 *
 * arm.h: one arm of a comparison and its three kinds of runs: as configured, the loader alone, and the step
 * alone on one batch that stays on the device. compare.c decides when each run happens. */
#ifndef LEAT_ARM_H
#define LEAT_ARM_H

#include <stdbool.h>

#include "leat/loader.h"
#include "leat/study.h"
#include "leat/train.h"

enum { LEAT_ARM_GAPS = 1024 };

/* Sums over runs of one kind. */
typedef struct leat_arm_use {
    int64_t cpu_ns, wall_ns; /* of this process, and elapsed */
    int64_t rows;
} leat_arm_use;

/* What the loader alone did, summed over its runs. */
typedef struct leat_arm_input {
    int64_t sleep_ns, sleep_read_ns, sleep_order_ns, wall_ns; /* of all workers */
    int64_t busy_ns, help_ns;
    int64_t core_wait_ns; /* of workers and consumer; -1: not known */
    uint64_t samples, bytes_out, batches;
    uint64_t n_bad; /* of the samples: masked or replaced */
    int32_t threads;
    double copy_ns; /* median of a batch's copy, of the latest run; 0: none */
    int32_t n_gaps;
    int64_t gap_ns[LEAT_ARM_GAPS]; /* between batches, of the latest run */
    int32_t n_stages;
    leat_stage_stats stages[LEAT_MAX_STAGES];
} leat_arm_input;

/* What is paid once, ns. */
typedef struct leat_arm_once {
    int64_t plan_ns, device_ns, trainer_ns; /* opening each */
    int64_t loader_ns, batch_ns, step_ns;   /* the first loader, batch and step */
    int64_t warm_ns;                        /* the steps up to the first steady one */
    int64_t fill_ns; /* a pass that fills a cache; 0: there is none, or on a device */
} leat_arm_once;

/* Bytes in host memory of the arm's trainer (0: it has the memory of a device), of a loader of its plan, and of the cache
 * that all these loaders share (0: none, or one that becomes smaller where memory is short: it counts as the loader's). */
typedef struct leat_arm_memory {
    int64_t trainer, loader, cache;
    int64_t limit; /* what could be used when the arm was opened; 0: no limit counts */
    char limit_reason[200];
} leat_arm_memory;

typedef struct leat_arm {
    int64_t warmup_ns; /* longest warm-up, set by the caller; 0: 3 s */
    int64_t loader_ns; /* longest run of the loader alone, set by the caller; 0: 1 s */
    int64_t step_ns; /* set by the caller: how long a step takes, without a trainer; 0: with one */
    leat_compare_arm *out;
    leat_config *config;
    leat_plan *plan;
    leat_device *device;
    leat_trainer *trainer;
    int64_t prefetch;     /* batches ahead; of `auto`: as many as a loader has found to be enough */
    bool is_auto;         /* the config has `prefetch: auto` */
    int32_t settle;       /* steps before the measured ones of a run */
    int64_t warm_step_ns; /* mean of a step in the warm-up; 0: not known */
    int32_t steps_alone;  /* measured steps of a run of the step alone */
    leat_meter *runs;     /* as configured, one per round */
    leat_meter *loader;   /* the loader alone, see rounds.h */
    leat_meter *step;     /* the step alone */
    leat_step_times *times; /* of the last run */
    size_t n_times;
    int64_t repeat_every; /* in runs as configured, every n-th batch is computed twice; 0: never */
    leat_arm_use use_run, use_loader, use_step;
    uint64_t spans;     /* recorded for a trace in the measured steps of runs as configured */
    int64_t span_steps; /* these steps */
    leat_arm_input input;
    leat_arm_once once;
    leat_arm_memory memory;
    bool is_cut;        /* the pass that fills the cache did not reach its end in time */
    bool input_only;    /* set by the caller: there is no trainer, only the loader runs */
    int32_t sync_every; /* train.sync_every */
    int32_t accumulate; /* train.accumulate */
    bool pageable;      /* pipeline.prefetch.pinned is off */
    bool no_threads;    /* engine.threads is 0: the consumer makes the batches */
} leat_arm;

#define LEAT_ARM_FILL_NS   30000000000 /* longest pass that fills the cache of a config */
#define LEAT_ARM_REFILL_NS 5000000000  /* the same for each change that is tried */
#define LEAT_ARM_WARM_NS   3000000000  /* longest warm-up */

enum {
    LEAT_ARM_ALONE_NS = 100000000, /* a run of the step alone */
    LEAT_ARM_ALONE_MIN = 3,        /* batches or steps of a run of the loader or the step alone */
};

/* leat_arm_use_now: use so far. leat_arm_use_add: adds the use since `from`. */
leat_arm_use leat_arm_use_now(void);
void leat_arm_use_add(leat_arm_use *sum, leat_arm_use from, int64_t rows);

/* leat_arm_loader_open: an endless loader of the arm's plan. leat_arm_next: its next batch. leat_arm_loader_close: of
 * `prefetch: auto`, later loaders begin with the batches ahead that it ended with, if these are more; *loader may be NULL. */
int leat_arm_loader_open(const leat_arm *arm, leat_loader **out, leat_error *err);
void leat_arm_loader_close(leat_arm *arm, leat_loader **loader);
/* Sets the batches ahead, and how many steps settle a run. */
void leat_arm_set_prefetch(leat_arm *arm, int64_t prefetch);
int leat_arm_next(leat_loader *loader, leat_batch **out, leat_error *err);

/* Whether the config has this text at a path; if_absent: where it has none. */
bool leat_arm_says(const leat_config *config, const char *path, const char *value, bool if_absent);
/* Sets train.device. LEAT_OK; LEAT_E_CONFIG: there is no such device, or the config trains nothing */
int leat_arm_set_device(leat_config *config, const char *device, leat_error *err);
/* Allocates the meters of n rounds. LEAT_OK, LEAT_E_NOMEM */
int leat_arm_init(leat_arm *arm, leat_compare_arm *out, int32_t n, leat_error *err);
/* The same, and sets arm->config to a copy, with this device; NULL: with its own. The errors of both, LEAT_E_NOMEM */
int leat_arm_configure(leat_arm *arm, leat_compare_arm *out, int32_t n, const leat_config *config,
                       const char *device, leat_error *err);
/* Opens plan, device and trainer of arm->config, which the caller has set. With arm->step_ns no trainer and, in the
 * device's place, host memory. */
int leat_arm_open(leat_arm *arm, leat_error *err);
/* Sets arm->memory of an arm whose parts are open. leat_arm_open() calls it. */
int leat_arm_count_memory(leat_arm *arm, leat_error *err);
/* What arms that are open at a time take: all their trainers and caches, and the largest of their loaders, of which one is
 * open. Zeroed at first. The limit is that of the first arm that has one (others train in the memory of a device and
 * have no cache), from before the others were opened. */
typedef struct leat_arm_total {
    leat_arm_memory all;
    int32_t n; /* arms that have a limit */
} leat_arm_total;
/* Adds an arm that was opened and has not run yet. LEAT_OK, LEAT_E_NOMEM: all do not fit */
int leat_arm_total_add(leat_arm_total *total, const leat_arm *arm, leat_error *err);
/* Opens an arm, then adds it. LEAT_E_NOMEM tells what the others take. */
int leat_arm_total_open(leat_arm_total *total, leat_arm *arm, leat_error *err);

/* Frees everything and zeroes the arm; accepts half-opened ones. */
void leat_arm_close(leat_arm *arm);

/* Samples of the source that the stages let pass: each of them is cached at most once. */
uint64_t leat_arm_samples(const leat_plan *plan);
bool leat_arm_has_stage(const leat_plan *plan, const char *name);
bool leat_arm_has_cache(const leat_plan *plan);
/* If the pipeline has a `cache`, one pass over the data, but for most_ns at most, and sets out->uncached. All loaders of a
 * plan share its cache, so it is filled for all runs. Without it, runs would show what a first epoch takes. One on a device belongs to one loader: it is not filled. */
int leat_arm_fill(leat_arm *arm, int64_t most_ns, leat_error *err);

/* Takes the first batch of a loader and makes the first step; waits for each. Sets once.batch_ns and once.step_ns. */
int leat_arm_first_step(leat_arm *arm, leat_loader *loader, leat_error *err);

/* Runs until step times are steady and sets the number of steps of a run.
 * steps  that number; 0: as many as last about 0.3 s */
int leat_arm_warm_up(leat_arm *arm, int32_t steps, leat_error *err);

/* Measures the step alone once and sets how many steps fill a run of it, at most out->steps. The first leat_arm_run_step()
 * calls it if nobody has. */
int leat_arm_warm_step(leat_arm *arm, leat_error *err);

/* Each function opens a new loader, settles, measures, and fills the meter of this round. The runs of loader
 * and step alone are shorter: about 0.1 s. */
int leat_arm_run(leat_arm *arm, int32_t round, leat_error *err);
int leat_arm_run_loader(leat_arm *arm, int32_t round, leat_error *err);
int leat_arm_run_step(leat_arm *arm, int32_t round, leat_error *err);

/* What a step alone took in a round, ns: the median, which a delay of the host does not change; the mean where steps differ
 * (an update after each train.accumulate of them, a wait after each train.sync_every). */
double leat_arm_step_ns(const leat_arm *arm, int32_t round);
/* Makes these runs as long as whole updates, so that each has its share of them; of updates so rare that a run would be more
 * than four times as long, none is counted. After leat_arm_warm_step(). */
void leat_arm_whole_updates(leat_arm *arm);

/* Fills out->recorded from one more run, or says there why not: the device keeps no records, or the run failed.
 * Returns LEAT_OK; LEAT_E_DEVICE: the device is lost. */
int leat_arm_run_recorded(leat_arm *arm, leat_error *err);
/* Fills out->ceiling: that of `like` (NULL: none), if both have the same precision and are on the same device alone; else
 * measures it. */
void leat_arm_measure_ceiling(leat_arm *arm, const leat_arm *like);

#endif
