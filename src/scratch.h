/* SPDX-License-Identifier: MIT
 *
 * scratch.h: what the engine needs of a scratch beyond include/leat/op.h. */
#ifndef LEAT_SCRATCH_H
#define LEAT_SCRATCH_H

#include "leat/op.h"

/* Opens one of `most` bytes, or half of it and so on where the limits of this process leave less, but
 * not of fewer than `least`: then LEAT_E_NOMEM says what to do. */
int leat_scratch_open_within(leat_scratch **out, size_t least, size_t most, leat_error *err);
/* Take marks and go back to them: everything taken since is forgotten. */
size_t leat_scratch_mark(const leat_scratch *scratch);
void leat_scratch_rewind(leat_scratch *scratch, size_t mark);
/* Gives memory beyond the first `bytes` back to the system, if more was used and none of it is now. */
void leat_scratch_trim(leat_scratch *scratch, size_t bytes);
/* Most bytes ever in use; any thread. */
size_t leat_scratch_most(const leat_scratch *scratch);

#endif
