/* SPDX-License-Identifier: MIT
 *
 * land.c: finds out which copies to a device have landed, and frees their slots. sched.c, wake.c and ship.c call it.
 * Invariant: slots are freed in batch order. A batch whose slot is not free keeps its handle, since there are more
 * handles than slots.
 *
 * DESIGN. A slot is free when its copy has landed; if the device decodes files, which it reads from the slot, when the
 * kernels have ended. Whoever ships the next batch, or needs a slot, asks the events of copies. If slots are short and
 * there is nothing else to do, one thread asks again and again, and sleeps for a 16th of the copy's age in between. It was a call-back of the device
 * (cudaLaunchHostFunc) before, which held up the stream for 35 µs, ten times as long as a small copy takes. */
#include "base/clock.h"
#include "engine.h"

#define LEAST_SLEEP_NS 5000
#define MOST_SLEEP_NS  500000

/* LEAT_OK: the device needs the slot of this batch no longer. */
static int ask_landed(const leat_loader *loader, const leat_batch *batch)
{
    const bool reads_it = loader->plan->decodes_on_device;
    return loader->device->table->event_query(reads_it ? batch->buffer->ops_done : batch->copied);
}

int64_t leat_land_ask(leat_loader *loader)
{
    int64_t b = loader->landed_batch;
    for (; b < loader->ship_batch; b++) {
        const leat_batch *const batch = leat_loader_batch(loader, b);
        if (ask_landed(loader, batch) != LEAT_OK)
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

void leat_land_free_locked(leat_loader *loader, int64_t end)
{
    while (loader->landed_batch < end)
        leat_slot_free_locked(leat_loader_batch(loader, loader->landed_batch++)->slot);
}

void leat_land_now_locked(leat_loader *loader)
{
    if (loader->shipping || loader->landed_batch == loader->ship_batch)
        return; /* the thread that ships does it, or there is none */
    loader->shipping = true;
    pthread_mutex_unlock(&loader->lock);
    const int64_t end = leat_land_ask(loader);
    pthread_mutex_lock(&loader->lock);
    leat_land_free_locked(loader, end);
    loader->shipping = false;
    leat_wake_consumer_locked(loader);
}

bool leat_land_can_await_locked(const leat_loader *loader)
{
    return loader->landed_batch < loader->ship_batch && !loader->awaiting && !loader->shipping &&
           leat_slot_is_short_locked(loader) && loader->device_failure.code >= 0;
}

void leat_land_await_locked(leat_loader *loader)
{
    const leat_batch *const batch = leat_loader_batch(loader, loader->landed_batch);
    const int64_t sent_ns = batch->info.sent_ns;
    loader->awaiting = true;
    pthread_mutex_unlock(&loader->lock);
    const int rc = ask_landed(loader, batch);
    const int64_t age_ns = leat_clock_ns() - sent_ns;
    if (rc == LEAT_E_AGAIN)
        leat_clock_nap(age_ns < 16 * LEAST_SLEEP_NS  ? LEAST_SLEEP_NS
                       : age_ns < 16 * MOST_SLEEP_NS ? age_ns / 16
                                                     : MOST_SLEEP_NS);
    pthread_mutex_lock(&loader->lock);
    loader->awaiting = false;
    if (rc < 0 && rc != LEAT_E_AGAIN)
        leat_ship_fail_device_locked(loader, rc);
}
