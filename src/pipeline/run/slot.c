/* SPDX-License-Identifier: MIT
 *
 * slot.c: host memory of batches, and its states. sched.c claims slots, batch_ops.c finds them FULL, loader.c and upload.c
 * take them, batch.c and upload.c free them. Invariant: batches get slots strictly in batch order. So a late batch
 * never holds the slot that an earlier one needs, and the batch that the consumer waits for
 * always gets one.
 *
 * DESIGN. Free slots are a stack. The first slots are made at open. A deeper window gets more
 * when it first needs them. */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "engine.h"
#include "formats/figure.h"

#define SMALL_SLOT ((int64_t)1 << 20) /* bytes: two more of them do not matter */

int64_t leat_slot_count(int64_t prefetch, int64_t hold, bool uploads, int64_t slot_bytes)
{
    const int64_t copied = prefetch && slot_bytes <= SMALL_SLOT ? 3 : 1;
    return prefetch + (uploads ? copied : hold);
}

/* Pinned memory if copies start from it. */
static uint8_t *take_memory(const leat_loader *loader)
{
    const size_t bytes = loader->plan->slot_bytes;
    void *memory = NULL;
    if (loader->pinned)
        memory = loader->device->table->pinned_alloc(loader->device, bytes);
    else if (posix_memalign(&memory, 4096, bytes))
        memory = NULL;
    if (memory) /* fault the pages in now; and never expose old memory */
        memset(memory, 0, bytes);
    return memory;
}

void leat_slot_free_locked(leat_slot *slot)
{
    leat_loader *const loader = slot->loader;
    leat_check(slot->state == LEAT_SLOT_FREE || slot->state == LEAT_SLOT_UPLOADING ||
               slot->state == LEAT_SLOT_HELD);
    slot->state = LEAT_SLOT_FREE;
    slot->batch = -1;
    slot->next_free = loader->free_slots;
    loader->free_slots = slot;
    loader->n_slots_free++;
}

static void add_locked(leat_loader *loader, uint8_t *memory)
{
    leat_check(loader->n_slots_made < loader->n_slots);
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
    for (int64_t i = 0; i < n && i < leat_loader_n_at_open(loader); i++) {
        uint8_t *const memory = take_memory(loader);
        if (!memory)
            return leat_fail(err, LEAT_E_NOMEM,
                             "slot %lld of %lld: %s of %smemory: lower batch.size or "
                             "prefetch.batches",
                             (long long)i + 1, (long long)n,
                             leat_figure_bytes((double)loader->plan->slot_bytes).text,
                             loader->pinned ? "pinned " : "");
        add_locked(loader, memory);
    }
    return LEAT_OK;
}

void leat_slot_close_all(leat_loader *loader)
{
    for (int64_t i = 0; i < loader->n_slots_made; i++)
        if (!loader->pinned)
            free(loader->slots[i].memory);
        else if (!leat_loader_is_forked(loader)) /* pinned memory is the parent's */
            loader->device->table->pinned_free(loader->device, loader->slots[i].memory);
    free(loader->slots);
    loader->slots = NULL;
}

bool leat_slot_is_short_locked(const leat_loader *loader)
{
    return !loader->n_slots_free && !loader->stop &&
           loader->reserve_batch < leat_loader_window_end(loader);
}

bool leat_slot_can_make_locked(const leat_loader *loader)
{
    const int64_t extra = loader->n_slots - loader->prefetch_most; /* held, or being copied */
    return leat_slot_is_short_locked(loader) && !loader->making && !loader->short_of_memory &&
           loader->n_slots_made < loader->prefetch + extra;
}

void leat_slot_make_locked(leat_loader *loader)
{
    loader->making = true;
    leat_wake_balance_locked(loader); /* allocating pinned memory is slow: others go on */
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
    if (batch < loader->reserve_batch) {
        const leat_slot *const slot = leat_loader_slot(loader, batch);
        return slot && (slot->state == LEAT_SLOT_RESERVED || slot->state == LEAT_SLOT_FILLING);
    }
    return batch < leat_loader_window_end(loader) &&
           batch - loader->reserve_batch < loader->n_slots_free;
}

/* Gives the next batch without a slot the slot that was freed last. */
static void reserve_locked(leat_loader *loader)
{
    leat_slot *const slot = loader->free_slots;
    leat_check(slot && slot->state == LEAT_SLOT_FREE && slot->batch < 0);
    loader->free_slots = slot->next_free;
    loader->n_slots_free--;
    slot->state = LEAT_SLOT_RESERVED;
    slot->batch = loader->reserve_batch++;
    leat_batch_renew_locked(loader, slot->batch)->slot = slot;
}

leat_slot *leat_slot_claim_locked(leat_loader *loader, int64_t batch, const leat_order_place *place)
{
    if (!leat_slot_can_claim_locked(loader, batch))
        return NULL;
    while (loader->reserve_batch <= batch)
        reserve_locked(loader);
    leat_slot *const slot = leat_loader_slot(loader, batch);
    leat_check(slot->state == LEAT_SLOT_RESERVED || slot->state == LEAT_SLOT_FILLING);
    if (slot->state == LEAT_SLOT_RESERVED) {
        slot->state = LEAT_SLOT_FILLING;
        slot->place = *place;
        slot->n_left = place->rows;
        slot->digest = 0;
        slot->error.code = LEAT_OK;
        leat_bad_rows_begin_locked(loader, slot);
    }
    return slot;
}

uint64_t leat_slot_digest_row(const leat_plan *plan, const leat_order_place *place, uint8_t *slot,
                              uint64_t row)
{
    const uint64_t at = place->first_row + row;
    uint64_t digest = 0;
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_chain *const chain = &plan->chains[c];
        const size_t bytes = leat_chain_host_bytes(chain, &plan->order, place->bucket);
        digest += leat_digest_row(slot + chain->host_offset + row * bytes, bytes,
                                  at * LEAT_MAX_FEATURES + (uint64_t)c);
        if (chain->pad.on)
            digest += leat_digest_row(leat_chain_lengths(chain, slot, row),
                                      (size_t)chain->pad.n_lengths * sizeof(int64_t),
                                      ~(at * LEAT_MAX_FEATURES + (uint64_t)c));
    }
    if (plan->on_error == LEAT_ON_ERROR_MASK && !slot[plan->valid_offset + row])
        digest += leat_digest_row("masked", 6, at);
    return digest;
}
