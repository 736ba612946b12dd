/* SPDX-License-Identifier: MIT
 *
 * doctor_report.h: what `leat doctor` prints: one screen for a beginner, and everything as JSON. */
#ifndef LEAT_DOCTOR_REPORT_H
#define LEAT_DOCTOR_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "leat/config.h"
#include "leat/doctor.h"
#include "print/json.h"

/* What changes are written into. */
typedef struct leat_doctor_job {
    const char *path;                 /* of the config, as the user wrote it */
    const char *text;                 /* of that file; NULL: a pipe, which can be read only once */
    const leat_config *file, *config; /* without and with the values of the command line */
} leat_doctor_job;

/* A change as a unified diff. */
typedef struct leat_doctor_diff {
    char *text;     /* free() it; NULL: there is nothing to write, or it cannot be written */
    char note[200]; /* what to know of it; "": nothing */
} leat_doctor_diff;

void leat_doctor_diff_make(const leat_doctor_job *job, const leat_doctor_suggestion *change,
                           leat_doctor_diff *out);

/* At most 40 lines of 80 columns, besides the lines of diffs; a longer --set counts as the lines that it takes. path: of the config, as the user wrote it; diffs: of
 * the suggestions. */
void leat_doctor_report_print(FILE *to, const leat_doctor_result *result, const char *path,
                              const leat_doctor_diff *diffs);
json_t *leat_doctor_report_json(const leat_doctor_result *result, const char *path,
                                const leat_doctor_diff *diffs);

/* In short: its title, the gain, and what to write if that is one value. */
void leat_doctor_change_print_short(FILE *to, const leat_doctor_result *result, int32_t number);
/* Prints a change as item `number` of a list; why: with the reason. doctor_print.c calls it. */
void leat_doctor_change_print(FILE *to, const leat_doctor_result *result, int32_t number, bool why,
                              const leat_doctor_diff *diff);

/* False if --verify measured a gain below LEAT_DOCTOR_LEAST_GAIN. */
bool leat_doctor_change_helps(const leat_doctor_suggestion *suggestion);

/* Three digits of a time: "0.0128", "2.84", "118". Returns `text`. */
const char *leat_doctor_ms_text(double ms, char text[32]);
/* Divides `total` by n shares that sum to 1 into whole numbers that sum to it. */
void leat_doctor_divide(const double *shares, int n, long total, long *out);

/* As measured; else as predicted. */
double leat_doctor_gain(const leat_doctor_suggestion *suggestion);

/* The loader of the job itself, whose workers' time and stages are known. */
leat_part leat_doctor_own_loader(const leat_doctor_result *result);

/* Room for a value of `size` bytes, each of which may be a quote. */
#define LEAT_DOCTOR_CHANGE_SHELL(size) (4 * (size) + sizeof " --set ''")

/* " --set engine.threads=8", quoted if a shell needs it. Appends to `text`. */
void leat_doctor_change_shell(const char *set, char *text, size_t size);

#endif
