/* SPDX-License-Identifier: MIT
 *
 * arm.h: one arm of a comparison and its three kinds of runs: as configured, the loader alone, and the step
 * alone on one batch that stays on the device. compare.c decides when each run happens. */
#ifndef LEAT_ARM_H
#define LEAT_ARM_H

#include "leat/loader.h"
#include "leat/study.h"
#include "leat/train.h"

typedef struct leat_arm {
    leat_compare_arm *out;
    leat_config *config;
    leat_plan *plan;
    leat_device *device;
    leat_trainer *trainer;
    int32_t settle;         /* steps before the measured ones of a run */
    int32_t steps_alone;    /* measured steps of a run of the step alone */
    leat_meter *runs;       /* as configured, one per round */
    leat_meter *loader;     /* the loader alone, see rounds.h */
    leat_meter *step;       /* the step alone */
    leat_step_times *times; /* of the last run */
    size_t n_times;
} leat_arm;

/* Allocates the meters of n rounds. LEAT_OK, LEAT_E_NOMEM */
int leat_arm_init(leat_arm *arm, leat_compare_arm *out, int32_t n, leat_error *err);
/* Opens plan, device and trainer of arm->config, which the caller has set. */
int leat_arm_open(leat_arm *arm, leat_error *err);
/* Frees everything; accepts half-opened arms. */
void leat_arm_close(leat_arm *arm);

/* Runs until step times are steady and sets the number of steps of a run.
 * steps     that number; 0: as many as last about 0.3 s
 * limit_ms  longest warm-up; 0: 3000 */
int leat_arm_warm_up(leat_arm *arm, int32_t steps, int32_t limit_ms, leat_error *err);

/* Each function opens a new loader, settles, measures, and fills the meter of this round. The runs of loader
 * and step alone are shorter: about 0.1 s. */
int leat_arm_run(leat_arm *arm, int32_t round, leat_error *err);
int leat_arm_run_loader(leat_arm *arm, int32_t round, leat_error *err);
int leat_arm_run_step(leat_arm *arm, int32_t round, leat_error *err);

#endif
