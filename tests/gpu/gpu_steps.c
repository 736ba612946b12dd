/* SPDX-License-Identifier: MIT
 *
 * gpu_steps.c: runs a loader against a planted consumer and says where the time went: by events, and
 * by the device's own records where they can be had. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "gpu_cases.h"
#include "leat/leat.h"
#include "study/median_bootstrap.h"

enum { WARM = 10, LAG = 2 };

/* One run's objects. */
typedef struct session {
    const gpu_steps *what;
    const leat_device_table *t;
    uint8_t *row;
    leat_plan *plan;
    leat_loader *loader;
    leat_stream *stream;
    leat_event **begins, **ends;
    leat_step_times *times;
    leat_batch **batches; /* given back, but their infos stay readable for a while */
} session;

static int open_plan(session *s, leat_error *err)
{
    const gpu_steps *const what = s->what;
    const int64_t n = 4 * (int64_t)what->batch;
    char text[128];
    s->row = malloc((size_t)n * (size_t)what->row_bytes);
    if (!s->row)
        return leat_fail(err, LEAT_E_NOMEM, "rows");
    /* Pages that were never written are one page of zeros, which is faster to read than any memory. */
    memset(s->row, 1, (size_t)n * (size_t)what->row_bytes);
    const leat_rows rows = { "x", leat_shape_make(LEAT_U8, 1, &what->row_bytes), s->row };
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, (uint64_t)n, &rows, 1);
    leat_builder_engine(b, "{threads: 4}");
    snprintf(text, sizeof text, "[{sleep: %g}]", what->sleep_ms);
    if (what->sleep_ms > 0)
        leat_builder_stage(b, "map", text);
    snprintf(text, sizeof text, "%d", what->batch);
    leat_builder_stage(b, "batch", text);
    snprintf(text, sizeof text, "{batches: %d, pinned: %s}", what->prefetch,
             what->pageable ? "false" : "true");
    leat_builder_stage(b, "prefetch", text);
    const int rc = leat_builder_plan(b, &s->plan, err);
    leat_builder_close(&b);
    return rc;
}

static int open_session(session *s, leat_device *device, leat_error *err)
{
    const size_t n = (size_t)s->what->steps;
    const leat_loader_options o = { .device = device, .epochs = -1 };
    s->t = device->table;
    s->begins = calloc(n, sizeof *s->begins);
    s->ends = calloc(n, sizeof *s->ends);
    s->times = calloc(n, sizeof *s->times);
    s->batches = calloc(n, sizeof *s->batches);
    if (!s->batches || !s->begins || !s->ends || !s->times)
        return leat_fail(err, LEAT_E_NOMEM, "%zu steps", n);
    int rc = open_plan(s, err);
    if (rc >= 0)
        rc = s->t->stream_open(device, &s->stream, err);
    for (size_t i = 0; i < n && rc >= 0; i++) {
        rc = s->t->event_open(device, &s->begins[i], err);
        if (rc >= 0)
            rc = s->t->event_open(device, &s->ends[i], err);
    }
    return rc < 0 ? rc : leat_loader_open(s->plan, &o, &s->loader, err);
}

static void close_session(session *s)
{
    if (s->stream)
        s->t->stream_sync(s->stream, NULL);
    leat_loader_close(&s->loader);
    for (int i = 0; i < s->what->steps; i++) {
        if (s->begins && s->begins[i])
            s->t->event_close(s->begins[i]);
        if (s->ends && s->ends[i])
            s->t->event_close(s->ends[i]);
    }
    if (s->stream)
        s->t->stream_close(s->stream);
    leat_plan_close(&s->plan);
    free(s->begins);
    free(s->ends);
    free(s->times);
    free(s->batches);
    free(s->row);
}

/* The copy of step i's batch is done: takes its times. */
static void note_copy(session *s, int i)
{
    const leat_batch_info *const info = leat_batch_get_info(s->batches[i]);
    s->times[i].copy_start_ns = info->copy_start_ns;
    s->times[i].copy_end_ns = info->copy_end_ns;
}

static int step(session *s, int i, leat_error *err)
{
    leat_batch *batch;
    int rc = leat_loader_next(s->loader, &batch, err);
    if (rc < 0)
        return rc;
    s->batches[i] = batch;
    const leat_batch_info *const info = leat_batch_get_info(batch);
    if (s->what->host_ns)
        nanosleep(&(struct timespec){ .tv_nsec = s->what->host_ns }, NULL);
    if ((rc = leat_batch_wait_on(batch, s->stream)) < 0 ||
        (rc = s->t->event_record(s->begins[i], s->stream)) < 0 ||
        (rc = s->t->synthetic_work(s->stream, s->what->compute_ns,
                                   s->what->launches ? s->what->launches : 1, NULL, 0)) < 0 ||
        (rc = s->t->event_record(s->ends[i], s->stream)) < 0)
        return leat_fail(err, rc, "a step could not be enqueued");
    rc = leat_batch_release_on(batch, s->stream);
    if (rc >= 0 && i >= LAG) { /* no more than LAG steps ahead of the device */
        rc = s->t->event_sync(s->ends[i - LAG]);
        note_copy(s, i - LAG);
    }
    s->times[i].asked_ns = info->asked_ns;
    s->times[i].ready_ns = info->ready_ns;
    s->times[i].rows = info->rows;
    return rc;
}

enum { COPIES = 32 }; /* of the last steps: their median */

static void account(session *s, gpu_steps_result *out)
{
    const int n = s->what->steps;
    leat_meter meter;
    double copy_ns[COPIES];
    int n_copies = 0;
    for (int i = 0; i < n; i++) {
        leat_step_times *const t = &s->times[i];
        if (i + LAG >= n)
            note_copy(s, i);
        t->compute_start_ns = s->t->event_ns(s->begins[i]);
        t->compute_end_ns = s->t->event_ns(s->ends[i]);
        t->busy_ns = t->compute_end_ns - t->compute_start_ns;
        if (i + COPIES >= n && t->copy_end_ns)
            copy_ns[n_copies++] = (double)(t->copy_end_ns - t->copy_start_ns);
    }
    if (leat_meter_account(s->times, WARM, (size_t)n, &meter) < 0)
        return;
    out->step_ms = (double)meter.wall_ns / (double)meter.n_steps / 1e6;
    out->idle = 1 - meter.busy;
    out->input_wait = meter.input_wait;
    out->exposed_copy = meter.exposed_copy;
    leat_median_sort_real(copy_ns, (size_t)n_copies);
    out->copy_ms = n_copies ? copy_ns[n_copies / 2] / 1e6 : 0;
}

/* Right behind the steps, as it is of a period that ends now. */
static int utilisation(leat_device *device)
{
    int percent;
    return device->table->utilisation &&
                   device->table->utilisation(device, &percent, NULL) == LEAT_OK
               ? percent
               : -1;
}

int gpu_steps_run(leat_device *device, const gpu_steps *what, gpu_steps_result *out,
                  leat_error *err)
{
    session s = { .what = what };
    leat_device_record record = { 0 };
    *out = (gpu_steps_result){ .utilisation = -1 };
    int rc = open_session(&s, device, err);
    if (rc >= 0 && what->record) {
        leat_error why;
        utilisation(device); /* the first question takes longer */
        out->recorded =
            device->table->record_start && device->table->record_start(device, &why) == LEAT_OK;
        if (!out->recorded)
            snprintf(out->no_record, sizeof out->no_record, "%.199s",
                     device->table->record_start ? why.message : "the device keeps no records");
    }
    for (int i = 0; i < what->steps && rc >= 0; i++)
        rc = step(&s, i, err);
    if (rc >= 0)
        rc = s.t->stream_sync(s.stream, err);
    if (rc >= 0 && what->record)
        out->utilisation = utilisation(device);
    if (rc >= 0)
        account(&s, out);
    if (out->recorded &&
        device->table->record_stop(device, &record, rc < 0 ? NULL : err) == LEAT_OK) {
        const int64_t from = s.times[WARM - 1].compute_end_ns;
        const int64_t to = s.times[what->steps - 1].compute_end_ns;
        out->shares = leat_device_shares_of(&record, from, to);
        out->window_ms = (double)(to - from) / 1e6;
        out->recorded_idle = to > from ? 1 - (double)out->shares.busy_ns / (double)(to - from) : 0;
        out->dropped = record.dropped;
        leat_device_record_fini(&record);
    }
    close_session(&s);
    return rc;
}
