/* SPDX-License-Identifier: MIT
 *
 * ship.c: copies full batches to a device, in order, each in one piece.
 *
 * DESIGN. Buffer j of the device holds batch b with b mod n_buffers = j. Events both ways:
 *
 *   copy stream:     wait(consumed of batch b - n_buffers) · copy slot → buffer · record(copied[b])
 *   compute stream:  wait(copied[b]) · step · record(consumed[b])          by leat_batch_wait_on and
 *                                                                          leat_batch_release_on
 * No host thread waits for either. The slot comes free in a call-back after the copy. With prefetch 0
 * leat_loader_next waits for the copy: the baseline that everything is compared with. */
#include "clock.h"
#include "engine.h"

static const leat_device_table *table_of(const leat_loader *loader)
{
    return loader->device->table;
}

static int open_events(leat_loader *loader, leat_batch *batch, leat_error *err)
{
    leat_event **const events[] = { &batch->copy_start, &batch->copied, &batch->consumed };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        const int rc = table_of(loader)->event_open(loader->device, events[i], err);
        if (rc < 0)
            return rc;
    }
    return LEAT_OK;
}

int leat_ship_open(leat_loader *loader, leat_error *err)
{
    loader->ship = loader->first;
    if (!loader->device)
        return LEAT_OK;
    const size_t bytes = (loader->plan->slot_bytes + 255) / 256 * 256;
    const size_t total = bytes * (size_t)loader->n_buffers;
    loader->device_memory = table_of(loader)->device_alloc(loader->device, total);
    if (!loader->device_memory)
        return leat_fail(err, LEAT_E_NOMEM,
                         "%zu bytes on %s for %lld batches: lower batch.size or prefetch.batches",
                         total, loader->device->info.name, (long long)loader->n_buffers);
    int rc = table_of(loader)->stream_open(loader->device, &loader->copies, err);
    for (int64_t i = 0; i < loader->n_batches && rc >= 0; i++)
        rc = open_events(loader, &loader->batches[i], err);
    return rc;
}

void leat_ship_close(leat_loader *loader)
{
    if (!loader->device)
        return;
    if (loader->copies)
        table_of(loader)->stream_close(loader->copies);
    for (int64_t i = 0; loader->batches && i < loader->n_batches; i++) {
        leat_event *const events[] = { loader->batches[i].copy_start, loader->batches[i].copied,
                                       loader->batches[i].consumed };
        for (size_t k = 0; k < sizeof events / sizeof *events; k++)
            if (events[k])
                table_of(loader)->event_close(events[k]);
    }
    if (loader->device_memory)
        table_of(loader)->device_free(loader->device, loader->device_memory);
}

bool leat_ship_can_locked(const leat_loader *loader)
{
    if (!loader->device || loader->shipping || loader->stop)
        return false;
    const leat_slot *const slot = leat_loader_slot(loader, loader->ship);
    if (slot->state != LEAT_SLOT_FULL || slot->batch != loader->ship || slot->error.code < 0)
        return false;
    const int64_t before = loader->ship - loader->n_buffers;
    return before < loader->first ||
           leat_loader_batch(loader, before)->state == LEAT_BATCH_RELEASED;
}

/* The copy of a slot is done: on a thread of the device. */
static void copied(void *arg)
{
    leat_slot *const slot = arg;
    leat_loader *const loader = slot->loader;
    pthread_mutex_lock(&loader->lock);
    slot->state = LEAT_SLOT_FREE;
    leat_sched_balance_locked(loader);
    pthread_mutex_unlock(&loader->lock);
}

/* Enqueues wait, copy and call-back. */
static int enqueue(leat_loader *loader, leat_slot *slot, leat_batch *batch,
                   const leat_batch *before)
{
    const leat_device_table *const t = table_of(loader);
    int rc = LEAT_OK;
    if (before && before->consumed_recorded)
        rc = t->stream_wait(loader->copies, before->consumed);
    if (rc >= 0)
        rc = t->event_record(batch->copy_start, loader->copies);
    if (rc >= 0)
        rc = t->copy_to_device(loader->copies, batch->memory, slot->memory,
                               loader->plan->slot_bytes, true);
    if (rc >= 0)
        rc = t->event_record(batch->copied, loader->copies);
    if (rc >= 0)
        rc = t->host_call(loader->copies, copied, slot);
    return rc;
}

void leat_ship_next_locked(leat_loader *loader)
{
    const int64_t b = loader->ship;
    leat_slot *const slot = leat_loader_slot(loader, b);
    leat_batch *const batch = leat_loader_batch(loader, b);
    const leat_batch *const before = b - loader->n_buffers < loader->first
                                         ? NULL
                                         : leat_loader_batch(loader, b - loader->n_buffers);
    leat_bad_settle_locked(loader, slot);
    if (slot->error.code < 0) { /* stays where it is, for leat_loader_next to find */
        leat_sched_balance_locked(loader);
        return;
    }
    slot->state = LEAT_SLOT_SHIPPING;
    loader->shipping = true;
    batch->memory = loader->device_memory + (size_t)(b % loader->n_buffers) *
                                                ((loader->plan->slot_bytes + 255) / 256 * 256);
    batch->consumed_recorded = false;
    leat_loader_fill_info(batch, slot);
    leat_bad_move_locked(slot, batch);
    batch->info.sent_ns = leat_clock_ns();
    pthread_mutex_unlock(&loader->lock);
    const int rc = enqueue(loader, slot, batch, before);
    pthread_mutex_lock(&loader->lock);
    loader->shipping = false;
    if (rc < 0) {
        slot->state = LEAT_SLOT_FULL;
        leat_fail(&slot->error, rc, "%s: cannot copy batch %lld: %s", loader->device->info.name,
                  (long long)b, leat_code_text(rc));
    } else {
        batch->state = LEAT_BATCH_SHIPPED;
        loader->ship++;
    }
    leat_sched_balance_locked(loader);
}
