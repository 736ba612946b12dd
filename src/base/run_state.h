/* SPDX-License-Identifier: MIT
 *
 * run_state.h: what a leat_loader_state says of itself, whichever plan it is of: loaders make and take states,
 * checkpoints keep them. */
#ifndef LEAT_RUN_STATE_H
#define LEAT_RUN_STATE_H

#include "leat/loader.h"

/* The largest number of a batch that a run begins with: sums of numbers of batches do not overflow. */
#define LEAT_RUN_STATE_MOST ((int64_t)1 << 62)

/* Fills magic, version, size and checksum. Padding must be zero: its bytes are hashed. */
void leat_run_state_seal(leat_loader_state *state);
/* LEAT_E_ARGUMENT if it is none, damaged, of another version, or its next batch is out of range. */
int leat_run_state_check(const leat_loader_state *state, leat_error *err);

#endif
