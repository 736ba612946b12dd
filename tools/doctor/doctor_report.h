/* SPDX-License-Identifier: MIT
 *
 * doctor_report.h: what `leat doctor` prints: one screen for a beginner, and everything as JSON. */
#ifndef LEAT_DOCTOR_REPORT_H
#define LEAT_DOCTOR_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "leat/config.h"
#include "leat/crossover.h"
#include "leat/doctor.h"
#include "print/json.h"

/* At most 40 lines of 80 columns. path: of the config, as the user wrote it; config: as the
 * file is, without values of the command line. */
void leat_doctor_report_print(FILE *to, const leat_doctor_result *result, const char *path,
                              const leat_config *config);
json_t *leat_doctor_report_json(const leat_doctor_result *result, const char *path,
                                const leat_config *config);

/* The same of two devices (--devices). */
void leat_crossover_print(const leat_crossover_result *result);
json_t *leat_crossover_json(const leat_crossover_result *result, const char *path);

/* Prints the time of a step, where it goes, and what each part takes; explained: with the rule of the
 * prediction. doctor_print.c calls it. */
void leat_doctor_tables_print(FILE *to, const leat_doctor_result *result, bool explained);
/* The sentence of a figure; "": there is none of this name. */
const char *leat_doctor_evidence_text(const leat_doctor_result *result, const char *name);
/* In short: its title, the gain, and what to write if that is one value or line. */
void leat_doctor_change_print_short(FILE *to, const leat_doctor_result *result, int32_t number);
/* Prints a change as item `number` of a list; why: with the reason. doctor_print.c calls it. */
void leat_doctor_change_print(FILE *to, const leat_doctor_result *result, int32_t number, bool why,
                              const char *path, const leat_config *config);

/* Adds to the places of lines that were made of others that the command line may have changed these: their text is not
 * that of the file. */
void leat_doctor_tell_of_set(const leat_config *file, const leat_config *config,
                             leat_doctor_result *result);

/* False if --verify measured a gain below 3 %. */
bool leat_doctor_change_helps(const leat_doctor_suggestion *suggestion);

/* Whether the list `pipeline` of a file is written in brackets: "pipeline: [shuffle, ...]". */
bool leat_doctor_brackets(const char *path);
/* Writes the first of some lines "- STAGE" as that list has it: in brackets "cache," and "{map: {...}},". Returns the
 * next line. */
const char *leat_doctor_line(const char *lines, bool brackets, char *text, size_t size);
/* Three digits of a time: "0.0128", "2.84", "118". Returns `text`. */
const char *leat_doctor_ms_text(double ms, char text[32]);
/* Divides `total` by n shares that sum to 1 into whole numbers that sum to it. */
void leat_doctor_divide(const double *shares, int n, long total, long *out);

/* --- a changed value of a config, "engine.threads=8", as a person writes it --- */

/* " --set engine.threads=8", quoted if a shell needs it. Appends to `text`. */
void leat_setting_shell(const char *set, char *text, size_t size);

/* True of "pipeline.prefetch.batches=2": the value is written at that stage, in the list `pipeline`. */
bool leat_setting_is_of_stage(const char *set);

/* "engine: {threads: 8}"; of a stage "prefetch: {batches: 2}". Returns `text`. */
const char *leat_setting_yaml(const char *set, char *text, size_t size);

/* What to write where: "under `engine:`, change `threads: 2` to `threads: 8`". config: as the file is. Returns `text`. */
const char *leat_setting_write(const leat_config *config, const char *set, char *text, size_t size);

#endif
