/* SPDX-License-Identifier: MIT
 *
 * loader.c: the public calls of a running plan. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "engine.h"
#include "placed.h"
#include "state.h"

/* --- open ---------------------------------------------------------------------------------------- */

static void set_range(leat_loader *loader, const leat_loader_options *o)
{
    const uint64_t n = loader->whole->order.n_batches;
    const int64_t epochs = o->epochs ? o->epochs : 1;
    uint64_t end;
    if (n == LEAT_ENDLESS || epochs < 0 || __builtin_mul_overflow(n, (uint64_t)epochs, &end) ||
        end > INT64_MAX)
        end = INT64_MAX;
    loader->end = (int64_t)end;
    loader->began = loader->next = o->state ? o->state->next_batch : o->first_batch;
}

static int check(const leat_plan *plan, const leat_loader_options *o, leat_error *err)
{
    const int rc = o->state ? leat_state_check(o->state, plan, err) : LEAT_OK;
    if (rc < 0)
        return rc;
    if (plan->on_device && (!o->device || !o->device->table->map_open))
        return leat_fail(
            err, LEAT_E_UNSUPPORTED,
            "the pipeline has %s, but %s%s cannot run it: open the loader for a CUDA device, or "
            "write %s",
            plan->keeps ? "a cache on the device" : "a map with device: gpu",
            o->device ? "device " : "host memory", o->device ? o->device->info.name : "",
            plan->keeps ? "cache: memory" : "device: cpu");
    if (o->epochs < -1 || o->first_batch < 0 || o->hold < 0)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "loader: epochs is -1 or more, first_batch and hold 0 or more; got %lld, "
                         "%lld, %d",
                         (long long)o->epochs, (long long)o->first_batch, o->hold);
    return LEAT_OK;
}

static int open_spans(leat_loader *loader, leat_error *err)
{
    const uint64_t n = (uint64_t)loader->whole->engine.spans;
    int rc = leat_trace_ring_open(&loader->step_spans, n, err);
    if (rc >= 0)
        rc = leat_trace_ring_open(&loader->read_spans, n, err);
    if (rc >= 0 && loader->device)
        rc = leat_trace_ring_open(&loader->copy_spans, n, err);
    for (int i = 0; i <= loader->n_threads && rc >= 0; i++)
        rc = leat_trace_ring_open(&loader->workers[i].trace.spans, n, err);
    return rc;
}

/* What lasts as long as the loader: as large as its first opening needs it. */
static int open_lasting(leat_loader *loader, leat_error *err)
{
    loader->n_batches = loader->prefetch_most + loader->hold + LEAT_INFO_RING;
    loader->n_handles = loader->n_batches + loader->hold;
    loader->n_threads = loader->budget.threads;
    loader->workers = calloc((size_t)loader->n_threads + 1, sizeof *loader->workers);
    if (!loader->workers)
        return leat_fail(err, LEAT_E_NOMEM, "loader: %d workers", loader->n_threads);
    int rc = leat_batch_open_all(loader, err);
    if (rc >= 0)
        rc = open_spans(loader, err);
    if (rc >= 0)
        rc = leat_ship_open_batches(loader, err);
    if (rc >= 0 && loader->again.now)
        rc = leat_steps_open(loader, err);
    return rc;
}

/* Where ops run to begin with. What was chosen may change later, if there was anything to choose from. */
static int place(leat_loader *loader, leat_error *err)
{
    const int rc = leat_placed_find(loader->whole, &loader->options, &loader->plan, err);
    const leat_placed_entry *const entry = rc < 0 ? NULL : loader->plan->entry;
    if (entry && entry->known && !loader->whole->keeps)
        loader->again.now = entry;
    return rc;
}

static leat_loader *make(const leat_plan *plan, const leat_loader_options *o)
{
    leat_loader *const loader = calloc(1, sizeof *loader);
    if (!loader)
        return NULL;
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->work, NULL);
    pthread_cond_init(&loader->looked, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&loader->ready, &monotonic);
    pthread_condattr_destroy(&monotonic);
    loader->whole = loader->plan = plan;
    loader->options = *o;
    loader->options.state = NULL;
    loader->device = o->device && !o->device->table->host_memory ? o->device : NULL;
    if (loader->device)
        leat_device_use(loader->device);
    loader->hold = o->hold ? o->hold : 1;
    loader->opened_ns = leat_clock_ns();
    return loader;
}

int leat_loader_open(const leat_plan *plan, const leat_loader_options *options, leat_loader **out,
                     leat_error *err)
{
    static const leat_loader_options defaults;
    const leat_loader_options *const o = options ? options : &defaults;
    *out = NULL;
    int rc = check(plan, o, err);
    if (rc < 0)
        return rc;
    leat_loader *loader = make(plan, o);
    if (!loader)
        return leat_fail(err, LEAT_E_NOMEM, "loader: %zu bytes", sizeof *loader);
    set_range(loader, o);
    rc = place(loader, err);
    if (rc >= 0)
        rc = leat_opening_size(loader, err);
    if (rc >= 0)
        rc = open_lasting(loader, err);
    if (rc >= 0)
        rc = leat_opening_open(loader, err);
    if (rc < 0) {
        leat_loader_close(&loader);
        return rc;
    }
    *out = loader;
    return LEAT_OK;
}

/* --- close --------------------------------------------------------------------------------------- */

void leat_loader_free(leat_loader *loader)
{
    leat_opening_free(loader);
    leat_steps_close(loader);
    leat_ship_close_batches(loader);
    leat_batch_close_all(loader);
    free(loader->errors);
    if (loader->device)
        leat_device_leave(loader->device);
    pthread_cond_destroy(&loader->looked);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->work);
    pthread_mutex_destroy(&loader->lock);
    free(loader);
}

static void close_spans(leat_loader *loader)
{
    for (int i = 0; loader->workers && i <= loader->n_threads; i++)
        leat_trace_ring_close(&loader->workers[i].trace.spans);
    leat_trace_ring_close(&loader->copy_spans);
    leat_trace_ring_close(&loader->read_spans);
    leat_trace_ring_close(&loader->step_spans);
}

void leat_loader_close(leat_loader **out)
{
    leat_loader *const loader = *out;
    *out = NULL;
    if (!loader)
        return;
    leat_opening_stop(loader);
    leat_again_close(loader); /* nothing of a plan is used from here on */
    close_spans(loader);
    free(loader->workers);
    loader->workers = NULL;
    pthread_mutex_lock(&loader->lock);
    loader->closed = true;
    const bool last = loader->held == 0;
    pthread_mutex_unlock(&loader->lock);
    if (last)
        leat_loader_free(loader);
}

/* --- next ---------------------------------------------------------------------------------------- */

void leat_loader_fill_info(leat_batch *batch, const leat_slot *slot)
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
    };
}

/* The next batch can be handed out, or the error in its place. */
static bool next_is_there(const leat_loader *loader)
{
    const leat_slot *const slot = leat_loader_slot(loader, loader->next);
    if (loader->lost.code < 0)
        return true;
    const bool full = slot && slot->state == LEAT_SLOT_FULL;
    if (full && slot->error.code < 0)
        return true;
    return loader->device ? leat_loader_batch(loader, loader->next)->state == LEAT_BATCH_SHIPPED
                          : full;
}

/* Takes the batch that is there; the host's slot itself where there is no copy. */
static leat_batch *hand_out_locked(leat_loader *loader)
{
    leat_batch *const batch = leat_loader_batch(loader, loader->next);
    if (!loader->device) {
        leat_slot *const slot = batch->slot;
        slot->state = LEAT_SLOT_HELD;
        batch->memory = slot->memory;
        leat_loader_fill_info(batch, slot);
        leat_bad_move_locked(slot, batch);
    }
    batch->state = LEAT_BATCH_HELD;
    leat_bad_count_locked(loader, batch);
    loader->next++;
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

static int refuse_locked(const leat_loader *loader, leat_error *err)
{
    if (loader->failure.code < 0)
        return leat_fail(err, loader->failure.code, "%s", loader->failure.message);
    if (loader->next >= loader->end)
        return leat_fail(err, LEAT_E_END, "no more batches: %lld were asked for",
                         (long long)loader->end);
    if (loader->held >= loader->hold)
        return leat_fail(err, LEAT_E_BUSY,
                         "%lld batches are held: release one, or open the loader with a larger "
                         "hold",
                         (long long)loader->held);
    return LEAT_OK;
}

/* With prefetch 0 nothing overlaps: the device has finished with the batch before, and only then is
 * the next one begun. */
static int wait_for_last_locked(leat_loader *loader, int64_t until_ns)
{
    if (!loader->device || loader->plan->prefetch || loader->next == loader->first)
        return LEAT_OK;
    const leat_buffer *const last = leat_loader_batch(loader, loader->next - 1)->buffer;
    return last && last->consumed_recorded ? leat_ship_wait_locked(loader, last->consumed, until_ns)
                                           : LEAT_OK;
}

/* Until the next batch is there, with prefetch 0 also on the device. */
static int make_next_locked(leat_loader *loader, int64_t until_ns)
{
    int rc = LEAT_OK;
    loader->asked = loader->next + 1;
    leat_wake_balance_locked(loader);
    if (!leat_sched_help_locked(loader, next_is_there, until_ns))
        return LEAT_E_AGAIN;
    leat_slot *const slot = leat_loader_slot(loader, loader->next);
    const bool full = slot && slot->state == LEAT_SLOT_FULL;
    if (full && !loader->device)
        leat_bad_settle_locked(loader, slot);
    if (full && slot->error.code < 0) {
        loader->failure = slot->error;
    } else if (loader->lost.code < 0) {
        loader->failure = loader->lost;
    } else if (loader->device && loader->plan->prefetch == 0) {
        leat_event *const arrived = leat_ship_arrived(leat_loader_batch(loader, loader->next));
        rc = leat_ship_wait_locked(loader, arrived, until_ns);
        if (rc < 0 && rc != LEAT_E_AGAIN)
            leat_ship_fail(loader, rc, "the copy of a batch failed", &loader->failure);
    }
    return loader->failure.code < 0 ? loader->failure.code : rc;
}

static void note_next_locked(leat_loader *loader, leat_batch *batch, int64_t asked_ns)
{
    batch->info.asked_ns = asked_ns;
    batch->info.got_ns = leat_clock_ns();
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
        return leat_ship_fail(loader, rc, "waiting for the last step failed", err);
    const int64_t asked_ns = leat_clock_ns();
    if (rc >= 0)
        rc = refuse_locked(loader, err);
    if (rc == LEAT_OK)
        rc = make_next_locked(loader, until_ns);
    if (loader->failure.code < 0)
        return refuse_locked(loader, err);
    if (rc == LEAT_E_AGAIN)
        return leat_fail(err, rc, "batch %lld is not there yet", (long long)loader->next);
    if (rc < 0)
        return rc;
    *out = hand_out_locked(loader);
    note_next_locked(loader, *out, asked_ns);
    return LEAT_OK;
}

/* One consumer at a time. */
static int begin_next(leat_loader *loader, leat_error *err)
{
    pthread_mutex_lock(&loader->lock);
    const bool taking = loader->taking;
    loader->taking = true;
    pthread_mutex_unlock(&loader->lock);
    return taking ? leat_fail(err, LEAT_E_BUSY,
                              "another thread is taking a batch of this loader: "
                              "one at a time may")
                  : LEAT_OK;
}

/* until_ns: 0: for as long as it takes. */
static int next_until(leat_loader *loader, int64_t until_ns, leat_batch **out, leat_error *err)
{
    *out = NULL;
    int rc = begin_next(loader, err);
    if (rc < 0)
        return rc;
    leat_again_at_next(loader);
    pthread_mutex_lock(&loader->lock);
    rc = next_locked(loader, until_ns, out, err);
    loader->taking = false;
    pthread_mutex_unlock(&loader->lock);
    if (rc >= 0)
        leat_batch_settle(*out);
    return rc;
}

int leat_loader_next(leat_loader *loader, leat_batch **out, leat_error *err)
{
    return next_until(loader, 0, out, err);
}

int leat_loader_next_within(leat_loader *loader, int64_t ns, leat_batch **out, leat_error *err)
{
    int64_t until_ns;
    *out = NULL;
    if (ns < 0)
        return leat_fail(err, LEAT_E_ARGUMENT, "within %lld ns: 0 or more", (long long)ns);
    if (__builtin_add_overflow(leat_clock_ns(), ns, &until_ns))
        until_ns = INT64_MAX;
    return next_until(loader, until_ns, out, err);
}

void leat_loader_get_state(leat_loader *loader, leat_loader_state *out)
{
    pthread_mutex_lock(&loader->lock);
    const int64_t next = loader->next;
    pthread_mutex_unlock(&loader->lock);
    leat_state_make(loader->whole, next, out);
}
