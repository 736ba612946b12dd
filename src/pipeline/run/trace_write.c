/* SPDX-License-Identifier: MIT
 *
 * trace_write.c: leat_loader_trace_write(): writes the spans of a loader as JSON of the Trace
 * Event Format. Users call it. Invariant: the loader runs on meanwhile; spans are copied from
 * rings that threads write without a lock.
 *
 * DESIGN. A row (tid) is a thread. Its spans are nested or follow each other: "X" events, sorted
 * by start, the outer one first. Reads overlap, so they are pairs of "b" and "e" events with an
 * id, beside a counter of tasks being read. Times are microseconds since the loader was opened. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine.h"
#include "formats/atomic_file.h"
#include "formats/output_kind.h"
#include "formats/visible.h"

static const char *const kind_names[LEAT_TRACE_STAGE] = {
    [LEAT_TRACE_ROWS] = "rows",
    [LEAT_TRACE_NEXT] = "next",
    [LEAT_TRACE_SLEEP] = "sleep",
    [LEAT_TRACE_WAIT] = "wait for reads",
    [LEAT_TRACE_READAHEAD] = "start reads",
    [LEAT_TRACE_UPLOAD] = "start copy",
    [LEAT_TRACE_BATCH_OPS] = "batch ops",
    [LEAT_TRACE_READ] = "read",
    [LEAT_TRACE_COPY] = "copy",
    [LEAT_TRACE_STEP] = "step",
};

/* One trace being written. */
typedef struct writer {
    leat_loader *loader;
    leat_atomic_file *file;
    int rc;
    leat_format_error failure;
    leat_stage_stats stages[LEAT_MAX_STAGES];
    leat_trace_span *spans; /* of the current row */
    uint64_t n_spans, n_lost;
    int n_events, tid;
    uint64_t n_reads; /* ids */
} writer;

static void put(writer *w, const char *text)
{
    if (w->rc >= 0)
        w->rc = leat_atomic_file_write(w->file, text, strlen(text), &w->failure);
}

/* Begins an event; the caller adds fields and closes the brace. name must be plain text. */
static void begin(writer *w, const char *phase, const char *name, int64_t at_ns)
{
    char text[512], shown[192];
    leat_visible(name, strlen(name), "", shown, sizeof shown);
    json_t *string = json_string(shown);
    char quoted[400] = "\"?\"";
    if (string) {
        const size_t n = json_dumpb(string, quoted, sizeof quoted - 1, JSON_ENCODE_ANY);
        quoted[n < sizeof quoted ? n : 0] = 0;
    }
    json_decref(string);
    leat_text(text, sizeof text, "%s{\"ph\":\"%s\",\"pid\":1,\"tid\":%d,\"name\":%s,\"ts\":%.3f",
              w->n_events++ ? ",\n" : "\n", phase, w->tid, quoted[0] ? quoted : "\"?\"",
              (double)at_ns * 1e-3);
    put(w, text);
}

static int64_t since_open(const writer *w, int64_t ns)
{
    return ns - w->loader->opened_ns;
}

/* Writes batch, rows, record and bytes, those that the span has. */
static void put_args(writer *w, const leat_trace_span *span)
{
    char text[240] = "";
    size_t n = 0;
    const bool stage = span->kind >= LEAT_TRACE_STAGE;
    if (span->batch >= 0)
        n += (size_t)snprintf(text + n, sizeof text - n, "\"batch\":%" PRId64, span->batch);
    if (span->n && !stage)
        n += (size_t)snprintf(text + n, sizeof text - n, ",\"row\":%u,\"rows\":%u", span->row,
                              span->n);
    if (span->n && span->kind != LEAT_TRACE_NEXT)
        n += (size_t)snprintf(text + n, sizeof text - n, ",\"record\":%" PRIu64, span->record);
    if (span->bytes)
        n += (size_t)snprintf(text + n, sizeof text - n, ",\"bytes\":%" PRIu64, span->bytes);
    put(w, ",\"args\":{");
    put(w, text);
    put(w, "}}");
}

static const char *name_of(const writer *w, const leat_trace_span *span)
{
    return span->kind < LEAT_TRACE_STAGE ? kind_names[span->kind]
                                         : w->stages[span->kind - LEAT_TRACE_STAGE].name;
}

static void put_span(writer *w, const leat_trace_span *span)
{
    char text[64];
    begin(w, "X", name_of(w, span), since_open(w, span->start_ns));
    leat_text(text, sizeof text, ",\"dur\":%.3f,\"cat\":\"%s\"",
              (double)(span->end_ns - span->start_ns) * 1e-3,
              span->kind < LEAT_TRACE_STAGE ? "engine" : "stage");
    put(w, text);
    put_args(w, span);
}

static void put_read(writer *w, const leat_trace_span *span)
{
    char id[64];
    snprintf(id, sizeof id, ",\"cat\":\"read\",\"id\":%" PRIu64, ++w->n_reads);
    begin(w, "b", "read", since_open(w, span->start_ns));
    put(w, id);
    put_args(w, span);
    begin(w, "e", "read", since_open(w, span->end_ns));
    put(w, id);
    put(w, "}");
}

/* --- rows ------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const leat_trace_span *const x = a, *const y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) /* the outer one first */
        return x->end_ns > y->end_ns ? -1 : 1;
    /* Same times: kinds that contain others come first in leat_trace_kind. */
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static int by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a >> 1, y = *(const int64_t *)b >> 1;
    return (x > y) - (x < y);
}

/* Writes how many tasks are being read, whenever that changes. */
static void put_depth(writer *w)
{
    int64_t *const times = malloc((size_t)(2 * w->n_spans + 1) * sizeof *times);
    int64_t depth = 0;
    if (!times) {
        w->rc = LEAT_FORMAT_NOMEM;
        return;
    }
    for (uint64_t i = 0; i < w->n_spans; i++) { /* the lowest bit is set at a start */
        times[2 * i] = since_open(w, w->spans[i].start_ns) * 2 + 1;
        times[2 * i + 1] = since_open(w, w->spans[i].end_ns) * 2;
    }
    qsort(times, (size_t)(2 * w->n_spans), sizeof *times, by_time);
    for (uint64_t i = 0; i < 2 * w->n_spans; i++) {
        char text[64];
        depth += times[i] & 1 ? 1 : -1;
        if (i + 1 < 2 * w->n_spans && times[i] >> 1 == times[i + 1] >> 1)
            continue;
        begin(w, "C", "tasks being read", times[i] >> 1);
        snprintf(text, sizeof text, ",\"args\":{\"tasks\":%" PRId64 "}}", depth);
        put(w, text);
    }
    free(times);
}

/* Begins the next row and names it. Viewers show rows in the order of their numbers. */
static void begin_row(writer *w, const char *name)
{
    w->tid++;
    begin(w, "M", "thread_name", 0);
    put(w, ",\"args\":{\"name\":\"");
    put(w, name);
    put(w, "\"}}");
    begin(w, "M", "thread_sort_index", 0);
    char text[64];
    snprintf(text, sizeof text, ",\"args\":{\"sort_index\":%d}}", w->tid);
    put(w, text);
}

static void put_row(writer *w, const char *name, const leat_trace_ring *ring)
{
    const uint64_t room = leat_trace_ring_most(ring);
    uint64_t n_lost = 0;
    begin_row(w, name);
    w->spans = malloc((size_t)(room ? room : 1) * sizeof *w->spans);
    if (!w->spans) {
        w->rc = LEAT_FORMAT_NOMEM;
        return;
    }
    w->n_spans = leat_trace_ring_copy(ring, w->spans, room, &n_lost);
    w->n_lost += n_lost;
    qsort(w->spans, (size_t)w->n_spans, sizeof *w->spans, by_start);
    for (uint64_t i = 0; i < w->n_spans && w->rc >= 0; i++)
        if (w->spans[i].kind == LEAT_TRACE_READ)
            put_read(w, &w->spans[i]);
        else
            put_span(w, &w->spans[i]);
    if (ring == &w->loader->read_spans)
        put_depth(w);
    free(w->spans);
    w->spans = NULL;
}

static void put_rows(writer *w)
{
    const leat_loader *const loader = w->loader;
    char name[64];
    put_row(w, "consumer", &loader->workers[loader->n_threads].trace.spans);
    for (int i = 0; i < loader->n_threads; i++) {
        snprintf(name, sizeof name, "worker %d", i);
        put_row(w, name, &loader->workers[i].trace.spans);
    }
    if (loader->readahead.reader)
        put_row(w, "reader", &loader->read_spans);
    if (loader->device)
        put_row(w, "copy engine", &loader->copy_spans);
    put_row(w, "device", &loader->step_spans);
}

/* Extra data: how many spans were lost, and on which device copies and steps ran. */
static void put_rest(writer *w)
{
    const leat_device_info *const device = leat_device_get_info(w->loader->device);
    json_t *const rest = json_object();
    json_object_set_new(rest, "spans_lost", json_integer((json_int_t)w->n_lost));
    if (device) {
        json_object_set_new(rest, "device", json_string(device->name));
        json_object_set_new(rest, "simulated", json_boolean(device->simulated));
    }
    char *const text = json_dumps(rest, JSON_COMPACT);
    json_decref(rest);
    put(w, "\n],\"otherData\":");
    put(w, text ? text : "{}");
    put(w, "}\n");
    free(text);
}

static int write_all(writer *w)
{
    put(w, leat_output_kind_trace.begins); /* with the first event */
    w->n_events = 1;
    put_rows(w);
    put_rest(w);
    return w->rc < 0 ? w->rc : leat_atomic_file_commit(w->file, &w->failure);
}

int leat_loader_trace_write(leat_loader *loader, const char *path, leat_error *err)
{
    writer w = { .loader = loader };
    if (!loader || !path)
        return leat_fail(err, LEAT_E_ARGUMENT, "trace: loader and path must be given");
    if (leat_loader_is_forked(loader))
        return leat_loader_fail_forked(err);
    pthread_mutex_lock(&loader->lock);
    leat_upload_reap_locked(loader);
    leat_wake_balance_locked(loader);
    pthread_mutex_unlock(&loader->lock);
    leat_timing_stages(loader->plan, w.stages);
    w.rc = leat_atomic_file_open(&w.file, path, LEAT_ATOMIC_FILE_NO_SYNC, &w.failure);
    const bool is_other = w.rc >= 0 && !leat_output_kind_may_replace(path, &leat_output_kind_trace);
    if (w.rc >= 0 && !is_other)
        w.rc = write_all(&w);
    leat_atomic_file_close(&w.file);
    if (is_other)
        return leat_fail(
            err, LEAT_E_ARGUMENT,
            "trace: %s: exists and is not a trace of leat; choose another name, or remove it",
            path);
    if (w.rc == LEAT_FORMAT_NOMEM)
        return leat_fail(err, LEAT_E_NOMEM, "trace %s: out of memory", path);
    return w.rc < 0 ? leat_fail(err, LEAT_E_IO, "trace: %s", w.failure.text) : LEAT_OK;
}

void leat_loader_trace_step(leat_loader *loader, int64_t number, int64_t start_ns, int64_t end_ns)
{
    if (!loader || leat_loader_is_forked(loader))
        return;
    leat_trace_put(&loader->step_spans, &(leat_trace_span){ .start_ns = start_ns,
                                                            .end_ns = end_ns,
                                                            .batch = number,
                                                            .kind = LEAT_TRACE_STEP });
}
