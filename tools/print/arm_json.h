/* SPDX-License-Identifier: MIT
 *
 * arm_json.h: an arm of a comparison as JSON, for the commands that compare. */
#ifndef LEAT_ARM_JSON_H
#define LEAT_ARM_JSON_H

#include <jansson.h>

#include "leat/study.h"

/* A new object; keys: docs/json.md. */
json_t *leat_arm_json(const leat_compare_arm *arm);

#endif
