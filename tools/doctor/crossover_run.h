/* SPDX-License-Identifier: MIT
 *
 * crossover_run.h: `leat doctor --devices A,B`: from which batch size on which device is faster. */
#ifndef LEAT_CROSSOVER_RUN_H
#define LEAT_CROSSOVER_RUN_H

#include "command.h"

typedef struct leat_crossover_run {
    const char *path;      /* of the config */
    const char *devices;   /* two names with a comma between */
    int64_t rounds, steps; /* 0 or less: as leat_crossover() chooses */
    int32_t progress;      /* LEAT_PROGRESS_* */
    const char *json;      /* file; NULL: none */
} leat_crossover_run;

/* Measures, prints, and writes JSON. Returns LEAT_OK or an error. */
int leat_crossover_run_devices(const leat_crossover_run *run, const leat_config *config,
                               leat_error *err);

#endif
