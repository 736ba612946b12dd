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

/* Diffs of r's suggestions, of a config's text; NULL: none. `set`: a value of the command line; NULL: none. */
void make_diffs(const char *path, const char *text, const char *set,
                leat_doctor_diff diffs[LEAT_DOCTOR_MAX_SUGGESTIONS]);
void free_diffs(leat_doctor_diff diffs[LEAT_DOCTOR_MAX_SUGGESTIONS]);

/* The result as a screen, with the text of its config (NULL: it has no diffs); until the next call. */
const char *screen_of(const char *path, const char *text);
const char *screen_with_set(const char *path, const char *text, const char *set);
/* Bytes of the diff that a text begins with; 0: it does not. */
size_t diff_length(const char *text);
/* Fails if it has more than 40 lines or 80 columns, besides diffs. */
void expect_a_screen(const char *text);

/* A config called x.yaml; close it. */
leat_config *parse(const char *text);

#endif
