/* SPDX-License-Identifier: MIT
 *
 * buffer.c: memory of batches on a device. upload.c takes a buffer for each batch that it copies, batch.c gives it back.
 * Invariant: free buffers are a queue, so a batch takes the one that has been free longest. */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "formats/figure.h"

void leat_buffer_free_locked(leat_loader *loader, leat_buffer *buffer)
{
    buffer->next_free = NULL;
    *loader->last_buffer = buffer;
    loader->last_buffer = &buffer->next_free;
}

leat_buffer *leat_buffer_take_locked(leat_loader *loader)
{
    leat_buffer *const buffer = loader->free_buffers;
    leat_check(buffer);
    loader->free_buffers = buffer->next_free;
    if (!loader->free_buffers)
        loader->last_buffer = &loader->free_buffers;
    return buffer;
}

static int fail_memory(const leat_loader *loader, leat_error *err)
{
    const leat_device_table *const t = loader->device->table;
    size_t n_free = 0, total = 0;
    char there[96] = "";
    if (t->memory_info && t->memory_info(loader->device, &n_free, &total) == LEAT_OK)
        snprintf(there, sizeof there, " (%s of %s are free)",
                 leat_figure_bytes((double)n_free).text, leat_figure_bytes((double)total).text);
    return leat_fail(err, LEAT_E_NOMEM,
                     "buffer %lld of %lld: %s on %s%s: lower batch.size or prefetch.batches",
                     (long long)loader->n_buffers_made + 1, (long long)loader->n_buffers,
                     leat_figure_bytes((double)loader->plan->buffer_bytes).text,
                     loader->device->info.name, there);
}

static void empty_buffer(leat_loader *loader, leat_buffer *buffer)
{
    const leat_device_table *const t = loader->device->table;
    if (buffer->consumed_recorded) /* the consumer's stream may still read the buffer */
        t->event_sync(buffer->consumed);
    if (buffer->consumed)
        t->event_close(buffer->consumed);
    if (buffer->ops_done)
        t->event_close(buffer->ops_done);
    if (buffer->memory)
        t->device_free(loader->device, buffer->memory);
    *buffer = (leat_buffer){ .memory = NULL };
}

/* Gives memory and events to a buffer that no other thread knows yet. */
static int fill_buffer(leat_loader *loader, leat_buffer *buffer, leat_error *err)
{
    const leat_device_table *const t = loader->device->table;
    buffer->memory = t->device_alloc(loader->device, loader->plan->buffer_bytes);
    if (!buffer->memory)
        return fail_memory(loader, err);
    int rc = t->event_open(loader->device, &buffer->consumed, err);
    if (rc < 0)
        goto fail;
    if (loader->ops &&
        ((rc = t->event_open(loader->device, &buffer->ops_done, err)) < 0 ||
         (rc = t->ops_add(loader->ops, buffer - loader->buffers, buffer->memory, err)) < 0))
        goto fail;
    return LEAT_OK;
fail:
    empty_buffer(loader, buffer);
    return rc;
}

int leat_buffer_open_all(leat_loader *loader, leat_error *err)
{
    const int64_t n = loader->prefetch + loader->hold;
    loader->last_buffer = &loader->free_buffers;
    loader->buffers = calloc((size_t)loader->n_buffers, sizeof *loader->buffers);
    if (!loader->buffers)
        return leat_fail(err, LEAT_E_NOMEM, "%lld buffers", (long long)loader->n_buffers);
    for (int64_t i = 0; i < n && i < leat_loader_n_at_open(loader); i++) {
        const int rc = fill_buffer(loader, &loader->buffers[i], err);
        if (rc < 0)
            return rc;
        leat_buffer_free_locked(loader, &loader->buffers[i]);
        loader->n_buffers_made++;
    }
    return LEAT_OK;
}

bool leat_buffer_can_make_locked(const leat_loader *loader)
{
    return !loader->making && !loader->short_of_memory && !loader->free_buffers &&
           loader->n_buffers_made < loader->prefetch + loader->hold &&
           leat_upload_is_full_locked(loader);
}

void leat_buffer_make_locked(leat_loader *loader)
{
    leat_buffer *const buffer = &loader->buffers[loader->n_buffers_made];
    loader->making = true;
    leat_wake_balance_locked(loader); /* allocating is slow: others go on */
    pthread_mutex_unlock(&loader->lock);
    const int rc = fill_buffer(loader, buffer, NULL);
    pthread_mutex_lock(&loader->lock);
    loader->making = false;
    if (rc >= 0) {
        loader->n_buffers_made++;
        leat_buffer_free_locked(loader, buffer);
    } else {
        loader->short_of_memory = true;
    }
    leat_wake_balance_locked(loader);
}

void leat_buffer_close_all(leat_loader *loader)
{
    for (int64_t i = 0; i < loader->n_buffers_made; i++)
        empty_buffer(loader, &loader->buffers[i]);
    free(loader->buffers);
}
