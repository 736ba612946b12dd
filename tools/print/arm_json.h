/* SPDX-License-Identifier: MIT
 *
 * arm_json.h: an arm of a comparison as JSON, for the commands that compare. */
#ifndef LEAT_ARM_JSON_H
#define LEAT_ARM_JSON_H

#include <jansson.h>

#include "leat/study.h"

/* Adds an object to a list; keys: docs/json.md. */
void leat_arm_add(json_t *list, const leat_compare_arm *arm);

#endif
