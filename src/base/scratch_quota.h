/* SPDX-License-Identifier: MIT
 *
 * scratch_quota.h: a memory budget that scratches share for large samples. Few samples need it, so it
 * exists once and not once per thread. It only counts bytes: the memory is in each scratch.
 *
 * A claim larger than the free quota waits until others give back. There is no deadlock: if there is no other
 * claim, a first claim always succeeds; and one owner at a time may exceed the limit. So at most one sample
 * at a time is beyond the budget. */
#ifndef LEAT_SCRATCH_QUOTA_H
#define LEAT_SCRATCH_QUOTA_H

#include <stddef.h>

#include "leat/error.h"

typedef struct leat_scratch_quota leat_scratch_quota;

/* bytes  of the shared budget
 * first  size of a first claim at least: the need of a large sample, so that it does not have to claim
 *        again half-way */
int leat_scratch_quota_open(leat_scratch_quota **out, size_t bytes, size_t first, leat_error *err);
void leat_scratch_quota_close(leat_scratch_quota **quota);

/* Increases *claim (0: a first claim) by at least `bytes`. It can block, so the caller holds no lock. */
void leat_scratch_quota_take(leat_scratch_quota *quota, size_t *claim, size_t bytes);
/* Gives the whole claim back. */
void leat_scratch_quota_give(leat_scratch_quota *quota, size_t *claim);
/* Returns the largest sum of claims so far. Any thread. */
size_t leat_scratch_quota_most(const leat_scratch_quota *quota);

#endif
