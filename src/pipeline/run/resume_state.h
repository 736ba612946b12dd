/* SPDX-License-Identifier: MIT
 *
 * resume_state.h: makes and checks the state of a run (leat_loader_state). */
#ifndef LEAT_RESUME_STATE_H
#define LEAT_RESUME_STATE_H

#include "leat/loader.h"

void leat_resume_state_make(const leat_plan *plan, int64_t next_batch, leat_loader_state *out);
/* LEAT_E_ARGUMENT if it is damaged, of another version, or of another plan: says what differs. */
int leat_resume_state_check(const leat_loader_state *state, const leat_plan *plan, leat_error *err);

#endif
