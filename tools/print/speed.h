/* SPDX-License-Identifier: MIT
 *
 * speed.h: what measured steps did per second, and what launching them cost the host, for `leat train` and
 * `leat compare`. Operations are those that the model's layers count (`leat train --summary`), so work that a
 * device does besides is not in them. */
#ifndef LEAT_SPEED_H
#define LEAT_SPEED_H

#include <jansson.h>

#include "json.h"
#include "leat/experiment.h"
#include "leat/meter.h"
#include "leat/study.h"

/* Adds the figures to an object. meter  NULL: nothing was measured, they are null */
void leat_speed_add(json_t *object, const leat_meter *meter, double flops_per_sample);
/* Adds `ceiling` and `recorded`, null where nothing is known of them. */
void leat_speed_add_device(json_t *object, const leat_ceiling *ceiling,
                           const leat_recorded *recorded);

/* Adds `largest`, a list of kernels. */
void leat_speed_json_kernels(json_t *object, const leat_kernel_time *kernels, int32_t n);

/* Prints a sentence that begins with `name`. */
void leat_speed_print(const char *name, const leat_meter *meter, double flops_per_sample,
                      const leat_ceiling *ceiling, bool simulated);
/* Prints idle time by records beside that by events, and the kernels that took most, or why there are no records. */
void leat_speed_print_recorded(const char *name, const leat_recorded *recorded,
                               const leat_meter *meter);

/* Prints what layers on other devices cost, if there are such. */
void leat_speed_print_crossings(const leat_meter *meter);

/* What is paid once, beside the steady step, ms. NaN: not measured. */
typedef struct leat_speed_start {
    double creation;    /* opening device and trainer */
    double first_step;  /* from its call to its end on the device */
    double steady_step; /* median time between ends of steps, of the last epoch that was measured */
} leat_speed_start;
void leat_speed_add_start(json_t *object, const leat_speed_start *start);
void leat_speed_print_start(const leat_speed_start *start);

/* Adds an arm of a comparison to a list; keys: docs/json.md. */
void leat_speed_add_arm(json_t *list, const leat_compare_arm *arm);

#endif
