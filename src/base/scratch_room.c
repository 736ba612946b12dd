/* SPDX-License-Identifier: MIT */
#include "scratch_room.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "check.h"

struct leat_scratch_room {
    size_t bytes, first; /* [const] */
    pthread_mutex_t lock;
    pthread_cond_t given;    /* a claim was given back */
    size_t used;             /* sum of claims; can exceed `bytes` [lock] */
    _Atomic size_t most;     /* largest `used` [lock to write, any thread reads] */
    int n_claims;            /* [lock] */
    const size_t *boundless; /* the claim that can exceed the room; NULL: none [lock] */
};

int leat_scratch_room_open(leat_scratch_room **out, size_t bytes, size_t first, leat_error *err)
{
    leat_scratch_room *const room = calloc(1, sizeof *room);
    *out = room;
    if (!room)
        return leat_fail(err, LEAT_E_NOMEM, "scratch: %zu bytes", sizeof *room);
    pthread_mutex_init(&room->lock, NULL);
    pthread_cond_init(&room->given, NULL);
    room->bytes = bytes;
    room->first = first < bytes ? first : bytes;
    return LEAT_OK;
}

void leat_scratch_room_close(leat_scratch_room **out)
{
    leat_scratch_room *const room = *out;
    if (!room)
        return;
    pthread_cond_destroy(&room->given);
    pthread_mutex_destroy(&room->lock);
    free(room);
    *out = NULL;
}

static bool is_free_locked(const leat_scratch_room *room, size_t bytes)
{
    return room->used <= room->bytes && bytes <= room->bytes - room->used;
}

static bool may_take_locked(const leat_scratch_room *room, const size_t *claim, size_t bytes)
{
    if (is_free_locked(room, bytes) || room->boundless == claim)
        return true;
    return *claim ? !room->boundless : !room->n_claims;
}

void leat_scratch_room_take(leat_scratch_room *room, size_t *claim, size_t bytes)
{
    if (!*claim && bytes < room->first)
        bytes = room->first;
    pthread_mutex_lock(&room->lock);
    while (!may_take_locked(room, claim, bytes))
        pthread_cond_wait(&room->given, &room->lock);
    if (!is_free_locked(room, bytes))
        room->boundless = claim;
    room->n_claims += *claim == 0;
    *claim += bytes;
    room->used += bytes;
    if (room->used > atomic_load_explicit(&room->most, memory_order_relaxed))
        atomic_store_explicit(&room->most, room->used, memory_order_relaxed);
    pthread_mutex_unlock(&room->lock);
}

void leat_scratch_room_give(leat_scratch_room *room, size_t *claim)
{
    pthread_mutex_lock(&room->lock);
    leat_check(*claim <= room->used);
    room->used -= *claim;
    room->n_claims -= *claim != 0;
    if (room->boundless == claim)
        room->boundless = NULL;
    *claim = 0;
    pthread_cond_broadcast(&room->given);
    pthread_mutex_unlock(&room->lock);
}

size_t leat_scratch_room_most(const leat_scratch_room *room)
{
    return atomic_load_explicit(&room->most, memory_order_relaxed);
}
