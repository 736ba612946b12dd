/* SPDX-License-Identifier: MIT
 *
 * slot.c: memory of batches and their states. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

int leat_slot_open_all(leat_loader *loader, leat_error *err)
{
    const size_t bytes = loader->plan->slot_bytes;
    loader->slots = calloc((size_t)loader->n_slots, sizeof *loader->slots);
    if (!loader->slots)
        return leat_fail(err, LEAT_E_NOMEM, "%lld slots", (long long)loader->n_slots);
    for (int64_t i = 0; i < loader->n_slots; i++) {
        void *memory = NULL;
        if (loader->device)
            memory = loader->device->table->pinned_alloc(loader->device, bytes);
        else if (posix_memalign(&memory, 4096, bytes))
            memory = NULL;
        if (!memory)
            return leat_fail(err, LEAT_E_NOMEM,
                             "slot %lld of %lld: %zu bytes of %smemory: lower batch.size or "
                             "prefetch.batches",
                             (long long)i + 1, (long long)loader->n_slots, bytes,
                             loader->device ? "pinned " : "");
        /* Touched now, so that no step pays for it; and a batch never shows old memory. */
        memset(memory, 0, bytes);
        loader->slots[i].loader = loader;
        loader->slots[i].memory = memory;
        loader->slots[i].batch = -1;
        loader->memory_bytes += (int64_t)bytes;
    }
    return LEAT_OK;
}

void leat_slot_close_all(leat_loader *loader)
{
    for (int64_t i = 0; loader->slots && i < loader->n_slots; i++) {
        if (loader->device && loader->slots[i].memory)
            loader->device->table->pinned_free(loader->device, loader->slots[i].memory);
        else
            free(loader->slots[i].memory);
    }
    free(loader->slots);
    loader->slots = NULL;
}

bool leat_slot_can_claim_locked(const leat_loader *loader, int64_t batch)
{
    const leat_slot *const slot = leat_loader_slot(loader, batch);
    return batch < leat_loader_limit(loader) &&
           (slot->state == LEAT_SLOT_FREE ||
            (slot->state == LEAT_SLOT_FILLING && slot->batch == batch));
}

leat_slot *leat_slot_claim_locked(leat_loader *loader, int64_t batch, const leat_order_place *place)
{
    leat_slot *const slot = leat_loader_slot(loader, batch);
    if (!leat_slot_can_claim_locked(loader, batch))
        return NULL;
    if (slot->state == LEAT_SLOT_FREE) {
        slot->state = LEAT_SLOT_FILLING;
        slot->batch = batch;
        slot->place = *place;
        slot->left = place->rows;
        slot->digest = 0;
        slot->error.code = LEAT_OK;
        leat_bad_begin_locked(loader, slot);
    }
    return slot;
}
