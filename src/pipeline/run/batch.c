/* SPDX-License-Identifier: MIT
 *
 * batch.c: the handles of batches, and the public calls on a batch that the consumer holds.
 * Invariant: a held handle is never reused, and stays valid when plan and loader are closed.
 *
 * DESIGN. The number of a batch finds its handle in a ring. When the ring comes round to a
 * handle that is still held, the handle leaves the ring and a spare one takes its place. There
 * are `hold` spare handles, so there is always one. All that can be asked of a batch is written
 * into its handle when it is handed out. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* --- handles ---------------------------------------------------------------------------------- */

static void spare_locked(leat_batch *batch)
{
    batch->is_out = false;
    batch->next_spare = batch->loader->spare;
    batch->loader->spare = batch;
}

int leat_batch_open_all(leat_loader *loader, leat_error *err)
{
    const size_t n = (size_t)loader->n_handles, n_tensors = (size_t)loader->plan->n_tensors;
    loader->ring = calloc((size_t)loader->n_batches, sizeof *loader->ring);
    loader->batches = calloc(n, sizeof *loader->batches);
    loader->views = calloc(n * n_tensors, sizeof *loader->views);
    if (!loader->ring || !loader->batches || !loader->views)
        return leat_fail(err, LEAT_E_NOMEM, "loader: %zu batches of %zu tensors", n, n_tensors);
    for (size_t i = 0; i < n; i++) {
        leat_batch *const batch = &loader->batches[i];
        batch->loader = loader;
        batch->views = loader->views + i * n_tensors;
        batch->n_tensors = (int32_t)n_tensors;
        if (i < (size_t)loader->n_batches)
            loader->ring[i] = batch;
        else
            spare_locked(batch);
    }
    return LEAT_OK;
}

void leat_batch_close_all(leat_loader *loader)
{
    free(loader->ring);
    free(loader->batches);
    free(loader->views);
}

leat_batch *leat_batch_renew_locked(leat_loader *loader, int64_t batch)
{
    leat_batch **const place = &loader->ring[batch % loader->n_batches];
    if ((*place)->state == LEAT_BATCH_HELD) {
        leat_check(loader->spare);
        (*place)->is_out = true;
        *place = loader->spare;
        loader->spare = loader->spare->next_spare;
    }
    return *place;
}

/* --- contents --------------------------------------------------------------------------------- */

void leat_batch_fill_info(leat_batch *batch, const leat_slot *slot)
{
    batch->bucket = slot->place.bucket;
    batch->info = (leat_batch_info){
        .number = slot->batch,
        .epoch = (int64_t)slot->place.epoch,
        .in_epoch = (int64_t)slot->place.number,
        .rows = (int64_t)slot->place.rows,
        .global_rows = (int64_t)slot->place.global_rows,
        .first_row = (int64_t)slot->place.first_row,
        .digest = slot->digest,
        .ready_ns = slot->ready_ns,
        .device = batch->loader->device,
    };
}

static leat_view view_of(const leat_batch *batch, const leat_plan *plan, int32_t i)
{
    const bool lengths = i >= plan->n_chains;
    const leat_chain *const chain = &plan->chains[lengths ? plan->lengths_of[i] : i];
    const leat_shape shape =
        lengths ? plan->tensors[i].shape : leat_chain_shape(chain, &plan->order, batch->bucket);
    leat_view view = { .data = batch->memory + (lengths ? chain->pad.lengths_at : chain->offset) };
    view.shape.dtype = shape.dtype;
    view.shape.rank = shape.rank + 1;
    view.shape.dims[0] = batch->info.rows;
    memcpy(&view.shape.dims[1], shape.dims, (size_t)shape.rank * sizeof view.shape.dims[0]);
    return view;
}

void leat_batch_fill_views(leat_batch *batch)
{
    const leat_plan *const plan = batch->loader->plan;
    for (int32_t i = 0; i < plan->n_tensors; i++)
        batch->views[i] = view_of(batch, plan, i);
    batch->valid = batch->info.n_masked ? batch->memory + plan->valid_offset : NULL;
}

/* --- public ----------------------------------------------------------------------------------- */

const leat_batch_info *leat_batch_get_info(leat_batch *batch)
{
    if (!batch)
        return NULL;
    const leat_device *const device = batch->loader->device;
    if (device && !batch->info.copy_end_ns && !leat_loader_is_forked(batch->loader) &&
        device->table->event_query(batch->copied) == LEAT_OK) {
        batch->info.copy_start_ns = device->table->event_ns(batch->copy_start);
        batch->info.copy_end_ns = device->table->event_ns(batch->copied);
    }
    return &batch->info;
}

leat_view leat_batch_tensor(const leat_batch *batch, int32_t i)
{
    const bool there = batch && batch->state == LEAT_BATCH_HELD && i >= 0 && i < batch->n_tensors;
    return there ? batch->views[i] : (leat_view){ .data = NULL };
}

const uint8_t *leat_batch_valid(const leat_batch *batch)
{
    return batch && batch->state == LEAT_BATCH_HELD ? batch->valid : NULL;
}

/* The error, if the batch cannot be used on that stream. */
static int refuse_stream(const leat_batch *batch, const leat_stream *stream)
{
    if (!batch || batch->state != LEAT_BATCH_HELD || (batch->loader->device && !stream))
        return LEAT_E_ARGUMENT;
    return leat_loader_is_forked(batch->loader) ? LEAT_E_FORKED : LEAT_OK;
}

int leat_batch_wait_on(leat_batch *batch, leat_stream *stream)
{
    const int rc = refuse_stream(batch, stream);
    const leat_device *const device = rc < 0 ? NULL : batch->loader->device;
    if (!device)
        return rc;
    return device->table->stream_wait(stream, batch->info.is_copy ? batch->copied
                                                                  : leat_upload_arrived(batch));
}

static bool none_is_out(const leat_loader *loader)
{
    return loader->held == 0 && loader->n_copies == 0;
}

/* Nothing is locked or waited for here: the child has one thread, and no worker. */
static void give_back_forked(leat_batch *batch)
{
    leat_loader *const loader = batch->loader;
    if (batch->state != LEAT_BATCH_HELD)
        return;
    batch->state = LEAT_BATCH_RELEASED;
    if (batch->info.is_copy) {
        loader->n_copies--;
        leat_batch_copy_close(&batch);
    } else {
        loader->held--;
    }
    if (none_is_out(loader) && loader->closed)
        leat_loader_free_forked(loader);
}

void leat_batch_give_back_locked(leat_batch *batch, bool consumed)
{
    leat_loader *const loader = batch->loader;
    batch->state = LEAT_BATCH_RELEASED;
    leat_bad_rows_release_locked(loader, batch);
    if (loader->device) {
        batch->buffer->consumed_recorded = consumed;
        leat_buffer_free_locked(loader, batch->buffer);
    } else {
        leat_slot_free_locked(batch->slot);
    }
    if (batch->is_out)
        spare_locked(batch);
    leat_check(loader->held > 0);
    loader->held--;
    if (!loader->stop) /* else the threads are ending */
        leat_wake_balance_locked(loader);
}

/* consumed: the event of that name was recorded for its buffer. */
static void give_back(leat_batch *batch, bool consumed)
{
    leat_loader *const loader = batch->loader;
    if (leat_loader_is_forked(loader)) {
        give_back_forked(batch);
        return;
    }
    const bool is_copy = batch->info.is_copy;
    if (is_copy) /* it may not be touched after n_copies has gone down */
        leat_batch_copy_close(&batch);
    pthread_mutex_lock(&loader->lock);
    if (!is_copy && batch->state != LEAT_BATCH_HELD) { /* it was released before */
        pthread_mutex_unlock(&loader->lock);
        return;
    }
    if (is_copy)
        loader->n_copies--;
    else
        leat_batch_give_back_locked(batch, consumed);
    const bool last = loader->closed && none_is_out(loader);
    pthread_mutex_unlock(&loader->lock);
    if (last)
        leat_loader_free(loader);
}

int leat_batch_release_on(leat_batch *batch, leat_stream *stream)
{
    int rc = refuse_stream(batch, stream);
    const leat_device *const device = rc < 0 ? NULL : batch->loader->device;
    if (device && !batch->info.is_copy)
        rc = device->table->event_record(batch->buffer->consumed, stream);
    else if (rc >= 0 && stream) /* the memory of a copy is freed, not used again */
        rc = stream->device->table->stream_sync(stream, NULL);
    if (device && rc < 0 && !batch->info.is_copy) /* nothing marks the end of what reads it */
        device->table->stream_sync(stream, NULL);
    if (batch)
        give_back(batch, device && rc >= 0);
    return rc;
}

void leat_batch_release(leat_batch *batch)
{
    if (batch)
        give_back(batch, false);
}
