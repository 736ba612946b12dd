/* SPDX-License-Identifier: MIT
 *
 * suggest_cast.h: copying bytes instead of floats. suggest.c calls it. */
#ifndef LEAT_SUGGEST_CAST_H
#define LEAT_SUGGEST_CAST_H

#include "suggest.h"

/* Whether the last that the host does to the model's input is `cast` to float32, which the device can do. */
bool leat_suggest_cast_is_last(const leat_suggest_about *about);
/* Takes the op away, also in `eval`, whose batches must be of the same type. */
void leat_suggest_cast_take(const leat_suggest_about *about, leat_doctor_suggestion *out);

#endif
