/* SPDX-License-Identifier: MIT
 *
 * slot.c: memory of batches and their states.
 *
 * DESIGN. Free slots are a stack. Batches get slots strictly in their order, so a late batch can never
 * hold the slot that an earlier one needs, and the batch that the consumer waits for always comes to
 * one. The first slots are made at open; a window that is deeper, or deepens while the loader runs,
 * gets the rest when it first needs them, made by a thread that lets the lock go meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* Host memory of a batch: pinned where copies start from it. */
static uint8_t *take_memory(const leat_loader *loader)
{
    const size_t bytes = loader->plan->slot_bytes;
    void *memory = NULL;
    if (loader->pinned)
        memory = loader->device->table->pinned_alloc(loader->device, bytes);
    else if (posix_memalign(&memory, 4096, bytes))
        memory = NULL;
    if (memory) /* touched now, so that no row pays for it; and a batch never shows old memory */
        memset(memory, 0, bytes);
    return memory;
}

void leat_slot_free_locked(leat_slot *slot)
{
    leat_loader *const loader = slot->loader;
    slot->state = LEAT_SLOT_FREE;
    slot->batch = -1;
    slot->next_free = loader->free_slots;
    loader->free_slots = slot;
    loader->n_slots_free++;
}

static void add_locked(leat_loader *loader, uint8_t *memory)
{
    leat_slot *const slot = &loader->slots[loader->n_slots_made++];
    slot->loader = loader;
    slot->memory = memory;
    leat_slot_free_locked(slot);
}

int leat_slot_open_all(leat_loader *loader, leat_error *err)
{
    const int64_t n = loader->prefetch + loader->n_slots - loader->prefetch_most;
    loader->pinned = loader->device && !loader->plan->pageable;
    loader->slots = calloc((size_t)loader->n_slots, sizeof *loader->slots);
    if (!loader->slots)
        return leat_fail(err, LEAT_E_NOMEM, "%lld slots", (long long)loader->n_slots);
    for (int64_t i = 0; i < n && i < leat_loader_made_early(loader); i++) {
        uint8_t *const memory = take_memory(loader);
        if (!memory)
            return leat_fail(err, LEAT_E_NOMEM,
                             "slot %lld of %lld: %zu bytes of %smemory: lower batch.size or "
                             "prefetch.batches",
                             (long long)i + 1, (long long)n, loader->plan->slot_bytes,
                             loader->pinned ? "pinned " : "");
        add_locked(loader, memory);
    }
    return LEAT_OK;
}

void leat_slot_close_all(leat_loader *loader)
{
    for (int64_t i = 0; i < loader->n_slots_made; i++) {
        if (loader->pinned)
            loader->device->table->pinned_free(loader->device, loader->slots[i].memory);
        else
            free(loader->slots[i].memory);
    }
    free(loader->slots);
    loader->slots = NULL;
}

bool leat_slot_can_make_locked(const leat_loader *loader)
{
    const int64_t besides = loader->n_slots - loader->prefetch_most; /* held, or being copied */
    return !loader->n_slots_free && loader->n_slots_made < loader->prefetch + besides &&
           loader->opened < leat_loader_limit(loader) && !loader->making &&
           !loader->short_of_memory && !loader->stop;
}

void leat_slot_make_locked(leat_loader *loader)
{
    loader->making = true;
    leat_wake_balance_locked(loader); /* pinned memory takes its time */
    pthread_mutex_unlock(&loader->lock);
    uint8_t *const memory = take_memory(loader);
    pthread_mutex_lock(&loader->lock);
    loader->making = false;
    if (memory)
        add_locked(loader, memory);
    else
        loader->short_of_memory = true;
    leat_wake_balance_locked(loader);
}

bool leat_slot_can_claim_locked(const leat_loader *loader, int64_t batch)
{
    if (batch < loader->opened) {
        const leat_slot *const slot = leat_loader_slot(loader, batch);
        return slot && (slot->state == LEAT_SLOT_RESERVED || slot->state == LEAT_SLOT_FILLING);
    }
    return batch < leat_loader_limit(loader) && batch - loader->opened < loader->n_slots_free;
}

/* Gives the next batch without a slot the one that was freed last. */
static void reserve_locked(leat_loader *loader)
{
    leat_slot *const slot = loader->free_slots;
    loader->free_slots = slot->next_free;
    loader->n_slots_free--;
    slot->state = LEAT_SLOT_RESERVED;
    slot->batch = loader->opened++;
    leat_batch_renew_locked(loader, slot->batch)->slot = slot;
}

leat_slot *leat_slot_claim_locked(leat_loader *loader, int64_t batch, const leat_order_place *place)
{
    if (!leat_slot_can_claim_locked(loader, batch))
        return NULL;
    while (loader->opened <= batch)
        reserve_locked(loader);
    leat_slot *const slot = leat_loader_slot(loader, batch);
    if (slot->state == LEAT_SLOT_RESERVED) {
        slot->state = LEAT_SLOT_FILLING;
        slot->place = *place;
        slot->left = place->rows;
        slot->digest = 0;
        slot->error.code = LEAT_OK;
        leat_bad_rows_begin_locked(loader, slot);
    }
    return slot;
}
