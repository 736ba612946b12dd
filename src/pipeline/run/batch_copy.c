/* SPDX-License-Identifier: MIT
 *
 * batch_copy.c: copies of batches, for a consumer that holds more than `hold` of them. loader.c makes them,
 * batch.c closes them. Invariant: one thread at a time makes one, and a copy refers to no slot or buffer.
 *
 * DESIGN. A loader that copies has one slot (or device buffer) more than `hold`. A batch that would be one too
 * many is handed out in it, copied, and given back. All that may fail for want of memory comes before the batch is
 * handed out, so that no batch is lost. On a device the copy is made by a stream of its own, which waits for the
 * batch; the host does not wait. The next user of the buffer waits for the copy as for any other consumer. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static size_t memory_bytes(const leat_loader *loader)
{
    return loader->device ? loader->plan->buffer_bytes : loader->plan->slot_bytes;
}

bool leat_batch_copy_is_due_locked(const leat_loader *loader)
{
    return loader->copies_beyond && loader->held >= loader->hold - 1;
}

/* Others wait for their turn, and workers do not count on the consumer's help. */
static void begin_locked(leat_loader *loader)
{
    loader->taking = false;
    loader->copying = true;
    pthread_mutex_unlock(&loader->lock);
}

static void end_locked(leat_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->copying = false;
    loader->taking = true;
}

static void *allocate(const leat_loader *loader)
{
    void *memory = NULL;
    if (loader->device)
        memory = loader->device->table->device_alloc(loader->device, memory_bytes(loader));
    else if (posix_memalign(&memory, 4096, memory_bytes(loader)))
        memory = NULL;
    return memory;
}

static int open_copy(leat_loader *loader, leat_batch **out, leat_error *err)
{
    leat_batch *copy = calloc(1, sizeof *copy);
    *out = copy;
    if (!copy)
        return leat_fail(err, LEAT_E_NOMEM, "copy of a batch: %zu bytes", sizeof *copy);
    copy->loader = loader;
    copy->n_tensors = loader->plan->n_tensors;
    copy->views = calloc((size_t)copy->n_tensors, sizeof *copy->views);
    copy->memory = allocate(loader);
    if (loader->plan->on_error != LEAT_ON_ERROR_FAIL)
        copy->log = malloc(sizeof *copy->log);
    if (!copy->views || !copy->memory ||
        (loader->plan->on_error != LEAT_ON_ERROR_FAIL && !copy->log))
        return leat_fail(
            err, LEAT_E_NOMEM,
            "batch %lld would be one more than `hold`, and there is no memory for a copy "
            "(%zu bytes): release batches, or open the loader with a larger hold",
            (long long)loader->next_batch, memory_bytes(loader));
    if (!loader->device)
        return LEAT_OK;
    const leat_device_table *const t = loader->device->table;
    const int rc = t->event_open(loader->device, &copy->copy_start, err);
    return rc < 0 ? rc : t->event_open(loader->device, &copy->copied, err);
}

int leat_batch_copy_open_locked(leat_loader *loader, leat_batch **out, leat_error *err)
{
    begin_locked(loader);
    const int rc = open_copy(loader, out, err);
    if (rc < 0)
        leat_batch_copy_close(out);
    end_locked(loader);
    return rc;
}

void leat_batch_copy_close(leat_batch **out)
{
    leat_batch *const copy = *out;
    *out = NULL;
    if (!copy)
        return;
    leat_device *const device = copy->loader->device;
    const bool forked = leat_loader_is_forked(copy->loader);
    if (!device)
        free(copy->memory);
    if (device && !forked) {
        if (copy->copied) /* never recorded: it counts as done */
            device->table->event_sync(copy->copied);
        if (copy->memory)
            device->table->device_free(device, copy->memory);
        if (copy->copied)
            device->table->event_close(copy->copied);
        if (copy->copy_start)
            device->table->event_close(copy->copy_start);
    }
    free(copy->views);
    free(copy->log);
    free(copy);
}

/* Enqueues the copy on the device. The buffer is free for its next batch when it has ended. */
static int enqueue(const leat_loader *loader, leat_batch *copy, const leat_batch *batch)
{
    const leat_device_table *const t = loader->device->table;
    leat_stream *const stream = loader->beyond_stream;
    int rc = t->stream_wait(stream, leat_upload_arrived(batch));
    if (rc >= 0)
        rc = t->event_record(copy->copy_start, stream);
    if (rc >= 0)
        rc = t->copy_on_device(stream, copy->memory, batch->memory, memory_bytes(loader));
    if (rc >= 0)
        rc = t->event_record(batch->buffer->consumed, stream);
    return rc < 0 ? rc : t->event_record(copy->copied, stream);
}

static void move_views(leat_batch *copy, const leat_batch *batch)
{
    for (int32_t i = 0; i < copy->n_tensors; i++) {
        copy->views[i] = batch->views[i];
        copy->views[i].data = copy->memory + ((uint8_t *)batch->views[i].data - batch->memory);
    }
    copy->valid = batch->valid ? copy->memory + (batch->valid - batch->memory) : NULL;
}

int leat_batch_copy_fill_locked(leat_batch *copy, leat_batch *batch, leat_error *err)
{
    leat_loader *const loader = copy->loader;
    int rc = LEAT_OK;
    begin_locked(loader);
    leat_batch_fill_views(batch);
    copy->info = *leat_batch_get_info(batch);
    copy->info.is_copy = 1;
    copy->info.copy_start_ns = copy->info.copy_end_ns = 0;
    copy->bucket = batch->bucket;
    if (copy->log && batch->log)
        *copy->log = *batch->log;
    else if (copy->log)
        copy->log->n = 0;
    if (loader->device)
        rc = enqueue(loader, copy, batch);
    else
        memcpy(copy->memory, batch->memory, memory_bytes(loader));
    move_views(copy, batch);
    if (rc < 0) { /* the device has failed: the stop of its stream says when memory is free */
        leat_upload_fail(loader, rc, "cannot copy a batch beyond hold", err);
        leat_batch_copy_close(&copy);
    }
    end_locked(loader);
    leat_batch_give_back_locked(batch, loader->device && rc >= 0);
    if (rc < 0)
        return rc;
    copy->state = LEAT_BATCH_HELD;
    loader->n_copies++;
    loader->n_copied++;
    return LEAT_OK;
}
