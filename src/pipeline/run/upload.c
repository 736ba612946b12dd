/* SPDX-License-Identifier: MIT
 *
 * upload.c: copies full batches to a device, and frees their slots when the copies have ended. sched.c and wake.c call
 * it. Invariant: batches are copied in batch order, each in one piece, by one thread at a time, and slots are freed in
 * that order. A batch whose slot is not free keeps its handle, since there are more handles than slots.
 *
 * DESIGN. A batch takes the device buffer that has been free longest. Events order the streams:
 *
 *   copy stream:     wait(consumed[buffer]) · copy slot → buffer · record(copied[b])
 *   compute stream:  wait(copied[b]) · step · record(consumed[buffer])     by leat_batch_wait_on and
 *                                                                          leat_batch_release_on
 * If the device runs ops, a third stream does them, so that the next copy does not wait:
 *
 *   ops stream:      wait(copied[b]) · kernels · record(ops_done[j])
 *
 * The consumer's stream then waits for ops_done instead of copied. No host thread waits for any of
 * these. With prefetch 0 leat_loader_next waits for the copy: nothing overlaps.
 *
 * A slot is free when its copy has ended; if the device decodes files, which it reads from the slot, when the
 * kernels have ended. Whoever copies the next batch, or needs a slot, asks the events of copies. If slots are short and
 * there is nothing else to do, one thread asks again and again, and sleeps for a 16th of the copy's age in between. A
 * call-back of the device (cudaLaunchHostFunc) held up the stream for 35 µs, ten times as long as a small copy takes. */
#include <stdio.h>

#include "base/clock.h"
#include "engine.h"

#define POLL_NS        50000 /* how often to ask the device for an event */
#define LEAST_SLEEP_NS 5000  /* between two questions about the oldest copy, at least */
#define MOST_SLEEP_NS  500000

static const leat_device_table *table_of(const leat_loader *loader)
{
    return loader->device->table;
}

/* --- open and close --------------------------------------------------------------------------- */

static int open_events(leat_loader *loader, leat_error *err)
{
    const leat_device_table *const t = table_of(loader);
    for (int64_t i = 0; i < loader->n_handles; i++) {
        leat_batch *const batch = &loader->batches[i];
        int rc;
        if ((rc = t->event_open(loader->device, &batch->copy_start, err)) < 0 ||
            (rc = t->event_open(loader->device, &batch->copied, err)) < 0)
            return rc;
    }
    return LEAT_OK;
}

static void close_events(leat_loader *loader)
{
    for (int64_t i = 0; loader->batches && i < loader->n_handles; i++) {
        if (loader->batches[i].copy_start)
            table_of(loader)->event_close(loader->batches[i].copy_start);
        if (loader->batches[i].copied)
            table_of(loader)->event_close(loader->batches[i].copied);
    }
}

int leat_upload_open(leat_loader *loader, leat_error *err)
{
    loader->upload_batch = loader->in_flight_batch = loader->first_batch;
    if (!loader->device)
        return LEAT_OK;
    const leat_device_table *const t = table_of(loader);
    int rc;
    if ((rc = open_events(loader, err)) < 0 || (rc = leat_device_ops_open(loader, err)) < 0 ||
        (rc = leat_buffer_open_all(loader, err)) < 0 ||
        (rc = t->stream_open(loader->device, &loader->copy_stream, err)) < 0)
        return rc;
    return loader->copies_beyond ? t->stream_open(loader->device, &loader->beyond_stream, err)
                                 : LEAT_OK;
}

void leat_upload_close(leat_loader *loader)
{
    if (!loader->device)
        return;
    const leat_device_table *const t = table_of(loader);
    if (loader->ops_stream) /* it waits for copies and they wait for it, but both end */
        t->stream_sync(loader->ops_stream, NULL);
    if (loader->beyond_stream)
        t->stream_close(loader->beyond_stream);
    if (loader->copy_stream)
        t->stream_close(loader->copy_stream);
    leat_device_ops_close(loader);
    leat_buffer_close_all(loader);
    close_events(loader);
}

/* --- copies ----------------------------------------------------------------------------------- */

bool leat_upload_is_full_locked(const leat_loader *loader)
{
    if (!loader->device || loader->uploading || loader->stop)
        return false;
    const leat_slot *const slot = leat_loader_slot(loader, loader->upload_batch);
    return slot && slot->state == LEAT_SLOT_FULL && slot->error.code >= 0;
}

bool leat_upload_can_locked(const leat_loader *loader)
{
    return loader->free_buffers && leat_upload_is_full_locked(loader);
}

int leat_upload_wait_locked(leat_loader *loader, leat_event *event, int64_t until_ns)
{
    const leat_device_table *const t = table_of(loader);
    int rc;
    pthread_mutex_unlock(&loader->lock);
    if (!until_ns)
        rc = t->event_sync(event);
    else /* devices cannot wait until a given time */
        while ((rc = t->event_query(event)) == LEAT_E_AGAIN && leat_clock_ns() < until_ns)
            nanosleep(&(struct timespec){ .tv_nsec = POLL_NS }, NULL);
    pthread_mutex_lock(&loader->lock);
    return rc;
}

leat_event *leat_upload_arrived(const leat_batch *batch)
{
    return batch->loader->ops ? batch->buffer->ops_done : batch->copied;
}

/* --- when the device fails -------------------------------------------------------------------- */

int leat_upload_fail(const leat_loader *loader, int rc, const char *what, leat_error *err)
{
    char why[256] = "";
    if (table_of(loader)->explain)
        table_of(loader)->explain(loader->device, why, sizeof why);
    return leat_fail(err, rc, "%s: %s: %s", loader->device->info.name, what,
                     why[0] ? why : leat_code_text(rc));
}

/* The device has failed with rc: the consumer will hear of it. */
static void fail_device_locked(leat_loader *loader, int rc)
{
    leat_upload_fail(loader, rc, "copies do not end", &loader->device_failure);
    leat_wake_consumer_locked(loader);
}

/* On a failed device no copy ends: slots would stay UPLOADING and the consumer would wait for
 * ever. So the waiting consumer calls this from time to time. */
void leat_upload_check_locked(leat_loader *loader)
{
    if (!loader->device || loader->uploading || loader->upload_batch == loader->first_batch)
        return;
    leat_event *const event = leat_loader_batch(loader, loader->upload_batch - 1)->copied;
    pthread_mutex_unlock(&loader->lock);
    const int rc = table_of(loader)->event_query(event);
    pthread_mutex_lock(&loader->lock);
    if (rc < 0 && rc != LEAT_E_AGAIN)
        fail_device_locked(loader, rc);
}

/* --- copies that have ended --------------------------------------------------------------------- */

/* LEAT_OK: the device needs the slot of this batch no longer. */
static int ask_ended(const leat_loader *loader, const leat_batch *batch)
{
    const bool reads_it = loader->plan->decodes_on_device;
    return loader->device->table->event_query(reads_it ? batch->buffer->ops_done : batch->copied);
}

/* Puts copies that have ended into the trace, in batch order. Returns the first batch behind them. [who uploads] */
static int64_t find_ended(leat_loader *loader)
{
    int64_t b = loader->in_flight_batch;
    for (; b < loader->upload_batch; b++) {
        const leat_batch *const batch = leat_loader_batch(loader, b);
        if (ask_ended(loader, batch) != LEAT_OK)
            break;
        const leat_trace_span span = { .start_ns =
                                           loader->device->table->event_ns(batch->copy_start),
                                       .end_ns = loader->device->table->event_ns(batch->copied),
                                       .batch = b,
                                       .bytes = (uint64_t)batch->info.copied_bytes,
                                       .kind = LEAT_TRACE_COPY };
        leat_trace_put(&loader->copy_spans, &span);
    }
    return b;
}

static void free_slots_locked(leat_loader *loader, int64_t end)
{
    while (loader->in_flight_batch < end)
        leat_slot_free_locked(leat_loader_batch(loader, loader->in_flight_batch++)->slot);
}

void leat_upload_reap_locked(leat_loader *loader)
{
    if (loader->uploading || loader->in_flight_batch == loader->upload_batch)
        return; /* the thread that uploads does it, or there is none */
    loader->uploading = true;
    pthread_mutex_unlock(&loader->lock);
    const int64_t end = find_ended(loader);
    pthread_mutex_lock(&loader->lock);
    free_slots_locked(loader, end);
    loader->uploading = false;
    leat_wake_consumer_locked(loader);
}

bool leat_upload_can_await_locked(const leat_loader *loader)
{
    return loader->in_flight_batch < loader->upload_batch && !loader->awaiting &&
           !loader->uploading && leat_slot_is_short_locked(loader) &&
           loader->device_failure.code >= 0;
}

void leat_upload_await_locked(leat_loader *loader)
{
    const leat_batch *const batch = leat_loader_batch(loader, loader->in_flight_batch);
    const int64_t sent_ns = batch->info.sent_ns;
    loader->awaiting = true;
    pthread_mutex_unlock(&loader->lock);
    const int rc = ask_ended(loader, batch);
    const int64_t age_ns = leat_clock_ns() - sent_ns;
    if (rc == LEAT_E_AGAIN)
        leat_clock_nap(age_ns < 16 * LEAST_SLEEP_NS  ? LEAST_SLEEP_NS
                       : age_ns < 16 * MOST_SLEEP_NS ? age_ns / 16
                                                     : MOST_SLEEP_NS);
    pthread_mutex_lock(&loader->lock);
    loader->awaiting = false;
    if (rc < 0 && rc != LEAT_E_AGAIN)
        fail_device_locked(loader, rc);
}

/* --- copying a batch ---------------------------------------------------------------------------- */

/* The device cannot decode a file: says which record it is. */
static int fail_file(const leat_loader *loader, const leat_slot *slot, int64_t row, leat_error *err)
{
    const leat_plan *const plan = loader->plan;
    char why[256] = "";
    int32_t c = 0;
    while (!plan->chains[c].decodes_on_device)
        c++;
    const leat_device_file *const heads =
        (const leat_device_file *)(const void *)(slot->memory + plan->chains[c].files.heads);
    if (table_of(loader)->explain)
        table_of(loader)->explain(loader->device, why, sizeof why);
    leat_fail(err, LEAT_E_DATA,
              "'%s': decode_jpeg: %s: use a map with device: cpu, which decodes it or says what is "
              "wrong",
              plan->tensors[c].name, why);
    snprintf(err->op, sizeof err->op, "decode_jpeg");
    return leat_source_fail_in(plan->source, heads[row].record, err, LEAT_E_DATA);
}

/* Enqueues the ops that the device runs. If it refuses a file, fills the slot's error. */
static int enqueue_ops(leat_loader *loader, leat_slot *slot, leat_batch *batch)
{
    const leat_device_table *const t = table_of(loader);
    int64_t bad_row = 0;
    int rc = t->stream_wait(loader->ops_stream, batch->copied);
    if (rc < 0)
        return rc;
    rc = t->ops_run(loader->ops, loader->ops_stream, batch->buffer - loader->buffers, slot->memory,
                    batch->info.rows, &bad_row);
    if (rc == LEAT_E_DATA)
        return fail_file(loader, slot, bad_row, &slot->error);
    return rc < 0 ? rc : t->event_record(batch->buffer->ops_done, loader->ops_stream);
}

/* Enqueues wait, copy and ops. */
static int enqueue(leat_loader *loader, leat_slot *slot, leat_batch *batch, bool in_use)
{
    const leat_device_table *const t = table_of(loader);
    const leat_plan *const plan = loader->plan;
    leat_stream *const stream = loader->copy_stream;
    const size_t skip =
        plan->caches_on_device ? leat_device_cache_skip(plan, slot->memory, batch->info.rows) : 0;
    int rc;
    const size_t bytes = plan->copy_bytes - skip;
    batch->info.copied_bytes = (int64_t)bytes;
    if (in_use && (rc = t->stream_wait(stream, batch->buffer->consumed)) < 0)
        return rc;
    /* The buffer's last batch may have been released before its ops had ended. */
    if (loader->ops && (rc = t->stream_wait(stream, batch->buffer->ops_done)) < 0)
        return rc;
    if ((rc = t->event_record(batch->copy_start, stream)) < 0 ||
        (rc = t->copy_to_device(stream, batch->memory + skip, slot->memory + skip, bytes,
                                !plan->pageable)) < 0 ||
        (rc = t->event_record(batch->copied, stream)) < 0)
        return rc;
    if (loader->ops && (rc = enqueue_ops(loader, slot, batch)) < 0)
        return rc;
    if (plan->caches_on_device)
        leat_device_cache_note(loader->device_cache, plan, slot->memory, batch->info.rows);
    return LEAT_OK;
}

void leat_upload_next_locked(leat_loader *loader)
{
    const int64_t b = loader->upload_batch;
    leat_slot *const slot = leat_loader_slot(loader, b);
    leat_batch *const batch = leat_loader_batch(loader, b);
    leat_bad_rows_limit_locked(loader, slot);
    if (slot->error.code < 0) { /* stays where it is, for leat_loader_next to find */
        leat_wake_balance_locked(loader);
        return;
    }
    leat_buffer *const buffer = leat_buffer_take_locked(loader);
    const bool in_use = buffer->consumed_recorded; /* the consumer's stream may still read it */
    leat_check(slot->state == LEAT_SLOT_FULL && batch->state != LEAT_BATCH_HELD);
    slot->state = LEAT_SLOT_UPLOADING;
    loader->uploading = true;
    buffer->consumed_recorded = false;
    batch->buffer = buffer;
    batch->memory = buffer->memory;
    leat_batch_fill_info(batch, slot);
    leat_bad_rows_move_locked(slot, batch);
    batch->info.sent_ns = leat_clock_ns();
    leat_wake_balance_locked(loader); /* this takes a while: others may compute */
    pthread_mutex_unlock(&loader->lock);
    const int64_t end = find_ended(loader);
    const int rc = enqueue(loader, slot, batch, in_use);
    pthread_mutex_lock(&loader->lock);
    free_slots_locked(loader, end);
    loader->uploading = false;
    if (rc < 0) {
        slot->state = LEAT_SLOT_FULL;
        char what[64];
        snprintf(what, sizeof what, "cannot copy batch %lld", (long long)b);
        if (rc != LEAT_E_DATA)
            leat_upload_fail(loader, rc, what, &slot->error);
    } else {
        batch->state = LEAT_BATCH_UPLOADED;
        loader->upload_batch++;
    }
    leat_wake_balance_locked(loader);
}
