/* SPDX-License-Identifier: MIT
 *
 * digest.h: 64-bit digests that say whether two runs made the same batches. A batch's digest is the
 * sum of its rows' digests, so rows may be finished in any order by any thread; a run's digest
 * chains its batches' digests in order. Not against forgery. */
#ifndef LEAT_DIGEST_H
#define LEAT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* Digest of n bytes as row `row`: the same bytes in another row give another digest. Add them up. */
uint64_t leat_digest_row(const void *bytes, size_t n, uint64_t row);
/* The digest of all that `run` stands for (0: nothing yet) followed by `next`. */
uint64_t leat_digest_chain(uint64_t run, uint64_t next);

#endif
