/* SPDX-License-Identifier: MIT
 *
 * resume_state.h: makes and checks a leat_loader_state, from which a new loader continues.
 * loader.c and loader_open.c call it. Invariant: a state fits only the plan that it was made
 * for. */
#ifndef LEAT_RESUME_STATE_H
#define LEAT_RESUME_STATE_H

#include "leat/loader.h"

void leat_resume_state_make(const leat_plan *plan, int64_t next_batch, leat_loader_state *out);
/* LEAT_E_ARGUMENT if it is damaged, of another version or of another plan; the message says what
 * differs. */
int leat_resume_state_check(const leat_loader_state *state, const leat_plan *plan, leat_error *err);

#endif
