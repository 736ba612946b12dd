/* SPDX-License-Identifier: MIT
 *
 * doctor_screen.h: a result of `leat doctor` that tests fill in, and its screen. */
#ifndef LEAT_TEST_DOCTOR_SCREEN_H
#define LEAT_TEST_DOCTOR_SCREEN_H

#include "doctor/doctor_report.h"

/* What the screen shows. */
extern leat_doctor_result r;

/* Clears r: an input-bound job on the CPU whose step takes `ms`. */
void set_step(double ms);
/* Sets all shares of that time, in the order of their names in leat/doctor.h. */
void set_shares(const double *shares);
/* Adds a text of evidence. */
void explain(const char *name, const char *text);

/* The result as a screen; until the next call. */
const char *screen_of(const char *path, const leat_config *config);
/* Fails if it has more than 40 lines or 80 columns. */
void expect_a_screen(const char *text);

/* A config called x.yaml; close it. */
leat_config *parse(const char *text);

#endif
