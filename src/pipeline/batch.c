/* SPDX-License-Identifier: MIT
 *
 * batch.c: what a consumer does with a batch that it holds. */
#include <string.h>

#include "engine.h"

const leat_batch_info *leat_batch_get_info(leat_batch *batch)
{
    const leat_device *const device = batch->loader->device;
    if (device && !batch->info.copy_end_ns &&
        device->table->event_query(batch->copied) == LEAT_OK) {
        batch->info.copy_start_ns = device->table->event_ns(batch->copy_start);
        batch->info.copy_end_ns = device->table->event_ns(batch->copied);
    }
    return &batch->info;
}

leat_view leat_batch_tensor(const leat_batch *batch, int32_t i)
{
    const leat_plan *const plan = batch->loader->plan;
    const bool lengths = i >= plan->n_chains;
    const leat_chain *const chain = &plan->chains[lengths ? plan->lengths_of[i] : i];
    const leat_shape made =
        lengths ? plan->tensors[i].shape : leat_chain_shape(chain, &plan->order, batch->bucket);
    const leat_shape *const shape = &made;
    const size_t offset = lengths ? chain->pad.lengths_at : chain->offset;
    leat_view view = { .data = batch->memory + offset };
    view.shape.dtype = shape->dtype;
    view.shape.rank = shape->rank + 1;
    view.shape.dims[0] = batch->info.rows;
    memcpy(&view.shape.dims[1], shape->dims, (size_t)shape->rank * sizeof view.shape.dims[0]);
    return view;
}

int leat_batch_wait_on(leat_batch *batch, leat_stream *stream)
{
    const leat_device *const device = batch->loader->device;
    return device ? device->table->stream_wait(stream, leat_ship_arrived(batch)) : LEAT_OK;
}

int leat_batch_release_on(leat_batch *batch, leat_stream *stream)
{
    const leat_device *const device = batch->loader->device;
    int rc = LEAT_OK;
    if (device) {
        rc = device->table->event_record(batch->buffer->consumed, stream);
        batch->buffer->consumed_recorded = rc >= 0;
    } else if (stream) {
        rc = stream->device->table->stream_sync(stream, NULL);
    }
    leat_batch_release(batch);
    return rc;
}

void leat_batch_release(leat_batch *batch)
{
    leat_loader *const loader = batch->loader;
    pthread_mutex_lock(&loader->lock);
    if (batch->state != LEAT_BATCH_HELD) { /* released before: nothing to give back */
        pthread_mutex_unlock(&loader->lock);
        return;
    }
    batch->state = LEAT_BATCH_RELEASED;
    leat_bad_release_locked(loader, batch);
    if (loader->device)
        leat_ship_free_locked(loader, batch->buffer);
    else
        leat_slot_free_locked(batch->slot);
    loader->held--;
    const bool last = loader->closed && loader->held == 0;
    if (!last && !loader->closed)
        leat_wake_balance_locked(loader);
    pthread_mutex_unlock(&loader->lock);
    if (last)
        leat_loader_free(loader);
}
