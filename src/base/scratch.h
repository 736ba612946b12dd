/* SPDX-License-Identifier: MIT
 *
 * scratch.h: functions of a scratch for the engine; ops see those in include/leat/op.h. One thread uses
 * a scratch at a time. */
#ifndef LEAT_SCRATCH_H
#define LEAT_SCRATCH_H

#include "leat/op.h"
#include "scratch_quota.h"

/* Opens a scratch of `most` bytes. If the limits of the process do not allow it, halves the size, down
 * to `least`. LEAT_E_NOMEM: not even that; the message says what to do. */
int leat_scratch_open_within(leat_scratch **out, size_t least, size_t most, leat_error *err);
/* Returns a mark; rewinding to it frees everything taken since. */
size_t leat_scratch_mark(const leat_scratch *scratch);
void leat_scratch_rewind(leat_scratch *scratch, size_t mark);
/* From now on, only the first `own` bytes belong to the scratch. It claims more from `quota`, which can
 * block. quota: stays open until the scratch is closed. */
void leat_scratch_share(leat_scratch *scratch, size_t own, leat_scratch_quota *quota);
/* If nothing beyond the first `bytes` is in use, returns that memory to the system and its claim to the
 * quota. */
void leat_scratch_trim(leat_scratch *scratch, size_t bytes);
/* Returns the most bytes ever in use. Any thread. */
size_t leat_scratch_most(const leat_scratch *scratch);
/* Returns the most bytes asked for since the last call, including requests that failed. */
size_t leat_scratch_asked(leat_scratch *scratch);

#endif
