/* SPDX-License-Identifier: MIT
 *
 * scratch.h: what the engine needs of a scratch beyond include/leat/op.h. */
#ifndef LEAT_SCRATCH_H
#define LEAT_SCRATCH_H

#include "leat/op.h"

/* Take marks and go back to them: everything taken since is forgotten. */
size_t leat_scratch_mark(const leat_scratch *scratch);
void leat_scratch_rewind(leat_scratch *scratch, size_t mark);
/* Gives memory beyond the first `bytes` back to the system, if more was used and none of it is now. */
void leat_scratch_trim(leat_scratch *scratch, size_t bytes);
/* Most bytes ever in use; any thread. */
size_t leat_scratch_most(const leat_scratch *scratch);

#endif
