/* SPDX-License-Identifier: MIT
 *
 * suggest_unread.h: leaving out tensors that the model does not read. suggest.c calls it. */
#ifndef LEAT_SUGGEST_UNREAD_H
#define LEAT_SUGGEST_UNREAD_H

#include "suggest.h"

/* Whether the config asks the source for such tensors. */
bool leat_suggest_unread_any(const leat_suggest_about *about);
/* Takes away their entries, and the maps of these tensors. */
void leat_suggest_unread_set(const leat_suggest_about *about, leat_doctor_suggestion *out);

#endif
