/* SPDX-License-Identifier: MIT
 *
 * steps.c: see steps.h. */
#include "steps.h"

#include <stdlib.h>

#include "engine.h"

int leat_steps_open(leat_loader *loader, leat_error *err)
{
    int rc = LEAT_OK;
    for (int64_t i = 0; i < loader->n_handles && rc >= 0; i++) {
        leat_step *const step = &loader->batches[i].step;
        rc = loader->device->table->event_open(loader->device, &step->begun, err);
        if (rc >= 0)
            rc = loader->device->table->event_open(loader->device, &step->ended, err);
    }
    return rc;
}

/* The consumer's stream may not have come to it yet. */
static void close_event(leat_loader *loader, leat_event *event, bool recorded)
{
    if (event && recorded)
        loader->device->table->event_sync(event);
    if (event)
        loader->device->table->event_close(event);
}

void leat_steps_close(leat_loader *loader)
{
    for (int64_t i = 0; loader->batches && i < loader->n_handles; i++) {
        const leat_step *const step = &loader->batches[i].step;
        close_event(loader, step->begun, step->begun_at);
        close_event(loader, step->ended, step->ended_at);
    }
}

/* --- what is noted ----------------------------------------------------------------------------------- */

/* Of several streams that wait for a batch the last one counts. */
int leat_steps_begin(leat_batch *batch, leat_stream *stream)
{
    leat_step *const step = &batch->step;
    if (!step->begun)
        return LEAT_OK;
    step->on = stream;
    step->begun_at = batch->info.number + 1;
    return stream->device->table->event_record(step->begun, stream);
}

int leat_steps_end(leat_batch *batch, leat_stream *stream)
{
    leat_step *const step = &batch->step;
    if (!step->ended || step->on != stream || step->begun_at != batch->info.number + 1)
        return LEAT_OK;
    step->ended_at = batch->info.number + 1;
    return stream->device->table->event_record(step->ended, stream);
}

void leat_steps_tell(leat_loader *loader, int64_t number, int64_t ns)
{
    pthread_mutex_lock(&loader->lock);
    if (number >= loader->began && number < loader->next && ns >= 0) {
        leat_step *const step = &leat_loader_batch(loader, number)->step;
        step->told = number + 1;
        step->told_ns = ns;
    }
    pthread_mutex_unlock(&loader->lock);
}

/* --- what it comes to -------------------------------------------------------------------------------- */

static double told_ns(const leat_batch *batch)
{
    const int64_t number = batch->info.number;
    return batch->info.rows && batch->step.told == number + 1
               ? (double)batch->step.told_ns / (double)batch->info.rows
               : -1;
}

/* By its events, if they are done. */
static double seen_ns(const leat_batch *batch)
{
    const leat_device_table *const t = batch->loader->device->table;
    const leat_step *const step = &batch->step;
    const int64_t at = batch->info.number + 1;
    if (!batch->info.rows || step->ended_at != at || step->begun_at != at ||
        t->event_query(step->ended) != LEAT_OK)
        return -1;
    const int64_t begun = t->event_ns(step->begun), ended = t->event_ns(step->ended);
    return begun && ended > begun ? (double)(ended - begun) / (double)batch->info.rows : -1;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What is known of these batches; returns of how many. */
static size_t collect(const leat_loader *loader, int64_t from, double (*of)(const leat_batch *),
                      double ns[LEAT_STEPS_KEPT])
{
    size_t n = 0;
    for (int64_t b = from; b < loader->next; b++) {
        const leat_batch *const batch = leat_loader_batch(loader, b);
        const double one = batch->info.number == b ? of(batch) : -1;
        if (one >= 0)
            ns[n++] = one;
    }
    return n;
}

double leat_steps_learn(leat_loader *loader, int64_t from)
{
    double ns[LEAT_STEPS_KEPT];
    if (from < loader->first + LEAT_STEPS_SKIPPED)
        from = loader->first + LEAT_STEPS_SKIPPED;
    if (from < loader->next - LEAT_STEPS_KEPT)
        from = loader->next - LEAT_STEPS_KEPT;
    pthread_mutex_lock(&loader->lock);
    size_t n = collect(loader, from, told_ns, ns);
    pthread_mutex_unlock(&loader->lock);
    if (n == 0)
        n = collect(loader, from, seen_ns, ns);
    qsort(ns, n, sizeof *ns, by_size);
    return n < LEAT_STEPS_LEAST ? -1 : ns[(n - 1) / 2];
}
