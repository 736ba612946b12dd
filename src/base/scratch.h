/* SPDX-License-Identifier: MIT
 *
 * scratch.h: what the engine needs of a scratch beyond include/leat/op.h. */
#ifndef LEAT_SCRATCH_H
#define LEAT_SCRATCH_H

#include "leat/op.h"
#include "scratch_room.h"

/* Opens one of `most` bytes, or half of it and so on where the limits of this process leave less, but
 * not of fewer than `least`: then LEAT_E_NOMEM says what to do. */
int leat_scratch_open_within(leat_scratch **out, size_t least, size_t most, leat_error *err);
/* Take marks and go back to them: everything taken since is forgotten. */
size_t leat_scratch_mark(const leat_scratch *scratch);
void leat_scratch_rewind(leat_scratch *scratch, size_t mark);
/* From now on the first `own` bytes are its own, and more are claimed from `room`, which may wait; room is
 * open until the scratch is closed. */
void leat_scratch_share(leat_scratch *scratch, size_t own, leat_scratch_room *room);
/* Gives memory beyond the first `bytes` back to the system, and what was claimed for it to the room, if more
 * was used and none of it is now. */
void leat_scratch_trim(leat_scratch *scratch, size_t bytes);
/* Most bytes ever in use; any thread. */
size_t leat_scratch_most(const leat_scratch *scratch);
/* Most bytes that were asked for since the last call, whether there were so many or not. */
size_t leat_scratch_asked(leat_scratch *scratch);

#endif
