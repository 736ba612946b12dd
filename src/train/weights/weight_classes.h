/* SPDX-License-Identifier: MIT
 *
 * weight_classes.h: the names of classes of the data that weights were trained on, as the note `classes` of their file. The
 * trainer and weights.c use it. */
#ifndef LEAT_WEIGHT_CLASSES_H
#define LEAT_WEIGHT_CLASSES_H

#include <stdint.h>

#include "leat/error.h"
#include "leat/plan.h"

/* The note: a line per name, as it is shown (visible.h); of more than 64 KiB a digest and their number.
 *
 * *out     owned by the caller
 * returns  LEAT_OK or LEAT_E_NOMEM */
int leat_weight_classes_text(const char *const *names, int64_t n, char **out, leat_error *err);
/* The same of the names that a plan has of the target's n classes. */
int leat_weight_classes_of(const leat_plan *plan, const char *target, int32_t n, char **out,
                           leat_error *err);
/* LEAT_E_CONFIG: a name is another one than in the note. Names that only one of them has are not compared. */
int leat_weight_classes_same(const char *note, const char *const *names, int64_t n,
                             leat_error *err);

#endif
