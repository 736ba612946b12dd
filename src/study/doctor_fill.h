/* SPDX-License-Identifier: MIT
 *
 * doctor_fill.h: facts into the fields of a doctor's result. Pure functions. */
#ifndef LEAT_DOCTOR_FILL_H
#define LEAT_DOCTOR_FILL_H

#include "diagnose.h"
#include "leat/doctor.h"

/* The loader with the other kind of prefetch: alone = one batch at a time (prefetch 0). samples/s; value 0:
 * not measured. */
typedef struct leat_doctor_loaders {
    leat_estimate ahead, alone;
} leat_doctor_loaders;

void leat_doctor_fill(const leat_facts *facts, const leat_diagnosis *diagnosis,
                      const leat_doctor_loaders *loaders, leat_doctor_result *out);
/* A first step or batch costs what it takes longer than the later ones. */
void leat_doctor_fill_costs(const leat_facts *facts, const leat_arm_once *once,
                            int32_t warmup_steps, leat_doctor_result *out);

#endif
