/* SPDX-License-Identifier: MIT
 *
 * whatif.h: would this pipeline keep another device busy, and what would it need for that? */
#ifndef LEAT_WHATIF_H
#define LEAT_WHATIF_H

#include "leat/study.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LEAT_WHATIF_DEVICES = 8,
    LEAT_WHATIF_THREADS = 16,
    LEAT_WHATIF_ROWS = LEAT_WHATIF_DEVICES * LEAT_WHATIF_THREADS,
    LEAT_WHATIF_TRIALS = 4,
    LEAT_WHATIF_MAX_THREADS = 1024
};

/* All zero is the default. */
typedef struct leat_whatif_options {
    const char *const *devices; /* with memory of their own; NULL: "sim:h200" */
    size_t n_devices;
    const int32_t *threads; /* 1 … LEAT_WHATIF_MAX_THREADS; NULL: 2, 4, 8, 16, 32 */
    size_t n_threads;
    int32_t rounds; /* 0 = 6 */
    /* Called after every run with the number of runs done and in all; may be NULL. */
    void (*progress)(void *user, int done, int total);
    void *user;
} leat_whatif_options;

/* One device fed by one number of threads. Rates are samples per second. */
typedef struct leat_whatif_row {
    char device[64];
    int32_t simulated;
    int32_t threads;
    /* 1: more threads than could be measured here; the loader's rate is predicted. */
    int32_t predicted;
    leat_estimate loader; /* the loader alone */
    double step;          /* the step alone, on a batch that stays on the device */
    double copy;          /* copies of batches alone; infinite: none */
    double idle;          /* 1 - loader / the slower of step and copy; 0 if the loader is faster */
    char bound[16];       /* "input", "step", "copy", or "even": loader and consumer within 5 % */
    /* To keep the device busy: threads, cores (fewer than threads if threads wait), and bytes of stored
     * records per second (0: not known). */
    int32_t threads_needed, cores_needed;
    double bytes_per_s_needed;
} leat_whatif_row;

/* Another way to store or decode the records. */
typedef struct leat_whatif_trial {
    char set[160];        /* config lines, "; " between them; "": not by the config */
    char text[160];       /* what it is, and what it costs */
    int32_t predicted;    /* 1: from the time of stages; 0: measured */
    leat_estimate loader; /* samples per second with as many threads as result.threads */
    double speedup;       /* against the config as it is */
} leat_whatif_trial;

typedef struct leat_whatif_result {
    int32_t cores; /* CPUs that this process may use */
    double cores_taken;
    int32_t threads; /* largest measured number; larger ones are predicted */
    /* 1: the loader used all cores that it could get, so that predictions are from its CPU time, which other
     * processes hardly change; 0: from its rates */
    int32_t cpu_bound;
    leat_estimate per_thread; /* samples per second of one thread (cpu_bound: of its CPU time) */
    double efficiency;        /* the same while all cores work, over per_thread */
    /* 1: threads wait (sleep, storage) most of the time, so that more threads than cores can be measured. */
    int32_t waits;
    double bytes_per_sample, bytes_out_per_sample; /* as stored (0: not known); as delivered */
    int32_t n_rows;
    leat_whatif_row rows[LEAT_WHATIF_ROWS]; /* by device, then threads, as given */
    int32_t n_trials;
    leat_whatif_trial trials[LEAT_WHATIF_TRIALS];
    char sentence[400];
} leat_whatif_result;

/* Measures the pipeline of a config on this machine, with 1 thread to as many as it has cores, and the step
 * of its model on each device. More threads are predicted in proportion: the rate of one thread while all
 * cores work, times the threads. So it is assumed that more cores scale as well as these do, and that memory
 * and storage keep up.
 * options  NULL for defaults
 * returns  LEAT_OK; LEAT_E_ARGUMENT, also for the device "cpu", whose steps take the workers' cores;
 *          LEAT_E_UNSUPPORTED: the pipeline has a `cache`, or no prefetch; or the first error
 * threads  one study at a time, because they would disturb each other */
LEAT_API int leat_whatif(const leat_config *config, const leat_whatif_options *options,
                         leat_whatif_result *out, leat_error *err);

enum { LEAT_WHATIF_RANKS = 16 };

/* Of leat_whatif_ranks(); all zero is the default. */
typedef struct leat_whatif_ranks_options {
    const int32_t *ranks; /* each divides train.micro_batches; NULL: 2, 4 */
    size_t n_ranks;
    double latency_s;   /* of an exchange */
    double bytes_per_s; /* of each process's link; 0: any */
    int32_t rounds;     /* 0 = 3, which is the least */
    void (*progress)(void *user, int done, int total);
    void *user;
} leat_whatif_ranks_options;

/* A number of processes that train together. Shares are of the time of one of them, and add up to 1. */
typedef struct leat_whatif_ranks_row {
    int32_t ranks;
    leat_estimate rate; /* samples per second of all */
    double speedup;     /* against one process; ideal: ranks */
    double compute, input, communication;
} leat_whatif_ranks_row;

typedef struct leat_whatif_ranks_result {
    int32_t cores; /* CPUs that this process may use, which each machine has */
    double cores_taken;
    int32_t n_rows;
    leat_whatif_ranks_row rows[LEAT_WHATIF_RANKS + 1]; /* one process, then as given */
} leat_whatif_ranks_result;

/* Predicts how fast several processes would train together (leat/ranks.h), each on a machine like this one. Measures the
 * steps of one of them here: it has its own rows of every batch, and its own exchanges on a simulated network; the others
 * are simulated, and as fast as it is (leat_ranks_open_simulated()). So nobody is late, and how long a switch, a slower
 * machine or shared storage holds them up is not in it.
 * options  NULL for defaults
 * returns  LEAT_OK; LEAT_E_UNSUPPORTED: the pipeline has a `cache`; or the first error, as leat_trainer_open_ranks() has
 *          it
 * threads  one study at a time */
LEAT_API int leat_whatif_ranks(const leat_config *config, const leat_whatif_ranks_options *options,
                               leat_whatif_ranks_result *out, leat_error *err);

#ifdef __cplusplus
}
#endif
#endif
