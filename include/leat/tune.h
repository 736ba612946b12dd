/* SPDX-License-Identifier: MIT
 *
 * tune.h: measures which settings of a config are fastest on this machine. */
#ifndef LEAT_TUNE_H
#define LEAT_TUNE_H

#include "leat/study.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LEAT_TUNE_TRIED = 96, LEAT_TUNE_SET = 16 };

/* All zero is the default. */
typedef struct leat_tune_options {
    double seconds; /* time limit; 0: 60. A started run is finished, and so is filling a cache */
    const char *device; /* overrides train.device; NULL: as the config says */
    /* Called after every run with the seconds so far and the limit; may be NULL. */
    void (*progress)(void *user, double seconds, double limit);
    void *user;
} leat_tune_options;

/* One combination of settings that was measured. */
typedef struct leat_tune_try {
    char set[256]; /* changed settings, separated by "; "; "": none */
    leat_estimate samples_per_s;
    leat_estimate speedup; /* against the best combination so far, paired by round */
    int32_t rounds;
} leat_tune_try;

typedef struct leat_tune_result {
    char device[64];
    int32_t simulated;
    int32_t cores;
    double cores_taken;     /* average number used by other processes meanwhile */
    double seconds;         /* that it took */
    int32_t complete;       /* 0: the time was over before all options were tried */
    leat_estimate baseline; /* samples/s of the config as it is, in the last comparison */
    double uncached;        /* as in leat_compare_arm, of the config in the last comparison */
    /* The winner. With n_set = 0 nothing was faster than the config beyond noise. */
    int32_t n_set;
    char set[LEAT_TUNE_SET][128]; /* "engine.threads=2", as leat_config_set() takes it */
    leat_estimate samples_per_s;
    leat_estimate speedup; /* against the config, in a last comparison of the two alone */
    int32_t n_tried;
    leat_tune_try tried[LEAT_TUNE_TRIED];
    char sentence[400];
} leat_tune_result;

/* Tries the options of its table one after the other, each with several values, and keeps what is faster
 * beyond noise; then once more if something changed. Values of one option race: they alternate in
 * rounds, and a value is out when its interval lies below that of the fastest. Then lines that gain nothing
 * beside the others are dropped. A `cache` is filled before each race, in 5 s at most per value; a value with which it
 * is not full then is left out, unless that of the best so far is not full either. Last, the config and the winner are compared alone. None of these options
 * changes the contents of a batch.
 * options  NULL for defaults
 * returns  LEAT_OK, also if nothing was faster; LEAT_E_ARGUMENT; or the first error of the config as it is
 * threads  one study at a time, because they would disturb each other */
LEAT_API int leat_tune(const leat_config *config, const leat_tune_options *options,
                       leat_tune_result *out, leat_error *err);

/* Sets the lines of the winner in a config. */
LEAT_API int leat_tune_apply(const leat_tune_result *result, leat_config *config, leat_error *err);

#ifdef __cplusplus
}
#endif
#endif
