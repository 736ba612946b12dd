/* SPDX-License-Identifier: MIT
 *
 * scratch_room.h: memory that several scratches share beyond what each has to itself: few samples need it, so
 * it is there once and not once per thread. It is a count of bytes, not an address: the memory is that of
 * the scratch which has a claim.
 *
 * Who asks for more than is free waits until others give back. Nobody waits for ever: who has nothing yet
 * goes on when nobody has anything, and of those who have something and need more one at a time goes on
 * whether there is room or not. So no more than one sample at a time goes beyond the room. */
#ifndef LEAT_SCRATCH_ROOM_H
#define LEAT_SCRATCH_ROOM_H

#include <stddef.h>

#include "leat/error.h"

typedef struct leat_scratch_room leat_scratch_room;

/* bytes  that are shared
 * first  what a first claim takes at least: as much as a large sample is known to need, so that it need
 *        not ask again half-way */
int leat_scratch_room_open(leat_scratch_room **out, size_t bytes, size_t first, leat_error *err);
void leat_scratch_room_close(leat_scratch_room **room);

/* `bytes` more for who has *claim (0: nothing yet), which grows by that or more. May wait for others: the
 * caller holds no lock. */
void leat_scratch_room_take(leat_scratch_room *room, size_t *claim, size_t bytes);
/* All of it back. */
void leat_scratch_room_give(leat_scratch_room *room, size_t *claim);
/* The most that was claimed at once. Any thread. */
size_t leat_scratch_room_most(const leat_scratch_room *room);

#endif
