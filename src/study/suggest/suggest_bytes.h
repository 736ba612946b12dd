/* SPDX-License-Identifier: MIT
 *
 * suggest_bytes.h: copying bytes instead of floats. suggest.c calls it. */
#ifndef LEAT_SUGGEST_BYTES_H
#define LEAT_SUGGEST_BYTES_H

#include "suggest.h"

/* Whether the last that the host does to the model's input is `normalize`, or `cast` to float32, which the device can
 * do. */
bool leat_suggest_bytes_apply(const leat_suggest_about *about);
/* Takes the op away, also in `eval`, whose batches must be of the same type. */
void leat_suggest_bytes_set(const leat_suggest_about *about, leat_doctor_suggestion *out);

#endif
