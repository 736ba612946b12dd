/* SPDX-License-Identifier: MIT
 *
 * scratch_room.h: a memory budget that scratches share for large samples. Few samples need it, so it
 * exists once and not once per thread. It only counts bytes: the memory is in each scratch.
 *
 * A claim larger than the free room waits until others give back. There is no deadlock: if there is no other
 * claim, a first claim always succeeds; and one owner at a time may exceed the limit. So at most one sample
 * at a time is beyond the budget. */
#ifndef LEAT_SCRATCH_ROOM_H
#define LEAT_SCRATCH_ROOM_H

#include <stddef.h>

#include "leat/error.h"

typedef struct leat_scratch_room leat_scratch_room;

/* bytes  of the shared budget
 * first  size of a first claim at least: the need of a large sample, so that it does not have to claim
 *        again half-way */
int leat_scratch_room_open(leat_scratch_room **out, size_t bytes, size_t first, leat_error *err);
void leat_scratch_room_close(leat_scratch_room **room);

/* Increases *claim (0: a first claim) by at least `bytes`. It can block, so the caller holds no lock. */
void leat_scratch_room_take(leat_scratch_room *room, size_t *claim, size_t bytes);
/* Gives the whole claim back. */
void leat_scratch_room_give(leat_scratch_room *room, size_t *claim);
/* Returns the largest sum of claims so far. Any thread. */
size_t leat_scratch_room_most(const leat_scratch_room *room);

#endif
