/* SPDX-License-Identifier: MIT
 *
 * stage_lines.h: lines of YAML that belong into the list `pipeline` of a config. What `leat doctor` tells a person to
 * write is what it tries. */
#ifndef LEAT_STAGE_LINES_H
#define LEAT_STAGE_LINES_H

#include "leat/config.h"
#include "leat/doctor.h"

/* Cuts "[a, {b: 1}]" at the commas of the outer list. Returns the number of parts, 0 if there are more than `most`. */
int leat_stage_lines_split(char *list, char **parts, int most);

/* Writes change->lines into the list. LEAT_OK; LEAT_E_UNSUPPORTED: it has no such place; errors of leat_config_set(). */
int leat_stage_lines_insert(leat_config *config, const leat_doctor_suggestion *change,
                            leat_error *err);

#endif
