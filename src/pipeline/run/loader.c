/* SPDX-License-Identifier: MIT
 *
 * loader.c: leat_loader_next(): hands out the batches of a running plan. The consumer calls it.
 * Invariant: batches come in batch order, and one thread at a time takes one. */
#include <errno.h>

#include "base/clock.h"
#include "base/float_mode.h"
#include "engine.h"

/* --- next ------------------------------------------------------------------------------------- */

/* True when the next batch, or an error in its place, can be handed out; or nothing will come any more. */
static bool next_is_there(const leat_loader *loader)
{
    const leat_slot *const slot = leat_loader_slot(loader, loader->next_batch);
    if (loader->device_failure.code < 0 || loader->canceled)
        return true;
    const bool full = slot && slot->state == LEAT_SLOT_FULL;
    if (full && slot->error.code < 0)
        return true;
    return loader->device
               ? leat_loader_batch(loader, loader->next_batch)->state == LEAT_BATCH_UPLOADED
               : full;
}

/* Gives the next batch to the consumer. Without a device it gets the slot itself. */
static leat_batch *hand_out_locked(leat_loader *loader)
{
    leat_batch *const batch = leat_loader_batch(loader, loader->next_batch);
    if (!loader->device) {
        leat_slot *const slot = batch->slot;
        leat_check(slot->state == LEAT_SLOT_FULL && slot->batch == loader->next_batch);
        slot->state = LEAT_SLOT_HELD;
        batch->memory = slot->memory;
        leat_batch_fill_info(batch, slot);
        leat_bad_rows_move_locked(slot, batch);
    }
    leat_check(batch->state != LEAT_BATCH_HELD && loader->held < loader->hold);
    batch->state = LEAT_BATCH_HELD;
    leat_bad_rows_count_locked(loader, batch);
    loader->next_batch++;
    loader->held++;
    loader->n_batches_out++;
    loader->n_samples_out += (uint64_t)batch->info.rows;
    for (int32_t c = 0; c < loader->plan->n_chains; c++)
        loader->n_bytes_out +=
            (uint64_t)batch->info.rows *
            (leat_chain_row_bytes(&loader->plan->chains[c], &loader->plan->order, batch->bucket) +
             (size_t)loader->plan->chains[c].pad.n_lengths * sizeof(int64_t));
    return batch;
}

/* The error, if leat_loader_next() cannot be called now. */
static int refuse_locked(const leat_loader *loader, leat_error *err)
{
    if (loader->canceled)
        return leat_fail(err, LEAT_E_CANCELED, "the loader was canceled: nothing comes any more");
    if (loader->failure.code < 0)
        return leat_fail_as(err, &loader->failure);
    if (loader->next_batch >= loader->end_batch)
        return leat_fail(err, LEAT_E_END, "no more batches: %lld were asked for",
                         (long long)loader->end_batch);
    if (loader->held >= loader->hold && !loader->copies_beyond)
        return leat_fail(err, LEAT_E_BUSY,
                         "%lld batches are held: release one, or open the loader with a larger "
                         "hold",
                         (long long)loader->held);
    return LEAT_OK;
}

/* With prefetch 0 nothing overlaps: waits until the device has finished with the last batch; then the next one begins. */
static int wait_for_last_locked(leat_loader *loader, int64_t until_ns)
{
    if (!loader->device || loader->plan->prefetch || loader->next_batch == loader->first_batch)
        return LEAT_OK;
    const leat_buffer *const last = leat_loader_batch(loader, loader->next_batch - 1)->buffer;
    return last && last->consumed_recorded
               ? leat_upload_wait_locked(loader, last->consumed, until_ns)
               : LEAT_OK;
}

/* Works and waits until the next batch is there; with prefetch 0, until it is on the device. */
static int make_next_locked(leat_loader *loader, int64_t until_ns)
{
    int rc = LEAT_OK;
    loader->asked = loader->next_batch + 1;
    leat_wake_balance_locked(loader);
    if (!leat_sched_help_locked(loader, next_is_there, until_ns))
        return LEAT_E_AGAIN;
    if (loader->canceled)
        return LEAT_E_CANCELED;
    leat_slot *const slot = leat_loader_slot(loader, loader->next_batch);
    const bool full = slot && slot->state == LEAT_SLOT_FULL;
    if (full && !loader->device)
        leat_bad_rows_limit_locked(loader, slot);
    if (full && slot->error.code < 0) {
        loader->failure = slot->error;
    } else if (loader->device_failure.code < 0) {
        loader->failure = loader->device_failure;
    } else if (loader->device && loader->plan->prefetch == 0) {
        leat_event *const arrived =
            leat_upload_arrived(leat_loader_batch(loader, loader->next_batch));
        rc = leat_upload_wait_locked(loader, arrived, until_ns);
        if (rc < 0 && rc != LEAT_E_AGAIN)
            leat_upload_fail(loader, rc, "the copy of a batch failed", &loader->failure);
    }
    return loader->failure.code < 0 ? loader->failure.code : rc;
}

static void note_next_locked(leat_loader *loader, leat_batch *batch, int64_t asked_ns)
{
    batch->info.asked_ns = asked_ns;
    batch->info.got_ns = loader->got_ns = leat_clock_ns();
    loader->wait_ns += batch->info.got_ns - asked_ns;
    leat_trace_put(&loader->workers[loader->n_threads].trace.spans,
                   &(leat_trace_span){ .start_ns = asked_ns,
                                       .end_ns = batch->info.got_ns,
                                       .batch = batch->info.number,
                                       .n = (uint32_t)batch->info.rows,
                                       .kind = LEAT_TRACE_NEXT });
}

static int next_locked(leat_loader *loader, int64_t until_ns, leat_batch **out, leat_error *err)
{
    int rc = wait_for_last_locked(loader, until_ns);
    if (rc < 0 && rc != LEAT_E_AGAIN)
        return leat_upload_fail(loader, rc, "waiting for the last step failed", err);
    const int64_t asked_ns = leat_clock_ns();
    leat_wake_note_request_locked(loader, asked_ns, until_ns);
    if (rc >= 0)
        rc = refuse_locked(loader, err);
    if (rc == LEAT_OK)
        rc = make_next_locked(loader, until_ns);
    if (loader->failure.code < 0 || rc == LEAT_E_CANCELED)
        return refuse_locked(loader, err);
    if (rc == LEAT_E_AGAIN)
        loader->wait_ns += leat_clock_ns() - asked_ns;
    if (rc == LEAT_E_AGAIN)
        return leat_fail(err, rc, "batch %lld is not ready yet", (long long)loader->next_batch);
    if (rc < 0)
        return rc;
    leat_batch *copy = NULL;
    if (leat_batch_copy_is_due_locked(loader) &&
        (rc = leat_batch_copy_open_locked(loader, &copy, err)) < 0)
        return rc; /* the batch stays for the next call */
    leat_batch *const batch = hand_out_locked(loader);
    note_next_locked(loader, batch, asked_ns);
    *out = copy ? copy : batch;
    if (copy && (rc = leat_batch_copy_fill_locked(copy, batch, &loader->failure)) < 0) {
        *out = NULL;
        return refuse_locked(loader, err);
    }
    return LEAT_OK;
}

int leat_loader_fail_forked(leat_error *err)
{
    return leat_fail(
        err, LEAT_E_FORKED,
        "the loader belongs to the process that was forked: open a new one here, with the "
        "state of the old one (leat_loader_get_state) to continue there");
}

/* Waits until no other thread takes a batch; until_ns 0: as long as it takes. */
static int wait_for_turn_locked(leat_loader *loader, int64_t until_ns, leat_error *err)
{
    while ((loader->taking || loader->copying) && !loader->canceled) {
        if (!loader->copies_beyond)
            return leat_fail(
                err, LEAT_E_BUSY,
                "another thread is taking a batch of this loader: only one may at a time");
        if (leat_wake_sleep_on_locked(loader, &loader->turn, until_ns) == ETIMEDOUT)
            return leat_fail(err, LEAT_E_AGAIN, "another thread is taking a batch");
    }
    return loader->canceled ? refuse_locked(loader, err) : LEAT_OK;
}

void leat_loader_cancel(leat_loader *loader)
{
    if (!loader || leat_loader_is_forked(loader))
        return;
    pthread_mutex_lock(&loader->lock);
    loader->canceled = true;
    leat_wake_consumer_locked(loader);
    pthread_cond_broadcast(&loader->turn);
    pthread_mutex_unlock(&loader->lock);
}

/* until_ns 0: waits as long as it takes. */
static int next_until(leat_loader *loader, int64_t until_ns, leat_batch **out, leat_error *err)
{
    if (out)
        *out = NULL;
    if (!loader || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_loader_next: loader and out must be given");
    if (leat_loader_is_forked(loader))
        return leat_loader_fail_forked(err);
    LEAT_FLOAT_MODE; /* the consumer helps */
    pthread_mutex_lock(&loader->lock);
    int rc = wait_for_turn_locked(loader, until_ns, err);
    if (rc >= 0) {
        loader->taking = true;
        rc = next_locked(loader, until_ns, out, err);
        loader->taking = false;
    }
    if (loader->copies_beyond) /* a thread whose time is over may have taken the last signal */
        pthread_cond_signal(&loader->turn);
    pthread_mutex_unlock(&loader->lock);
    if (rc >= 0 && !(*out)->info.is_copy)
        leat_batch_fill_views(*out);
    return leat_loader_check_epoch(loader, rc, out, err);
}

int leat_loader_next(leat_loader *loader, leat_batch **out, leat_error *err)
{
    return next_until(loader, 0, out, err);
}

int leat_loader_next_within(leat_loader *loader, int64_t ns, leat_batch **out, leat_error *err)
{
    int64_t until_ns;
    if (out)
        *out = NULL;
    if (ns < 0)
        return leat_fail(err, LEAT_E_ARGUMENT, "within %lld ns: 0 or more", (long long)ns);
    if (__builtin_add_overflow(leat_clock_ns(), ns, &until_ns))
        until_ns = INT64_MAX;
    return next_until(loader, until_ns, out, err);
}
