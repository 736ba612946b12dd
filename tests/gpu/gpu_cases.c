/* SPDX-License-Identifier: MIT
 *
 * gpu_cases.c: the list of cases, and those on the device table alone. */
#include "gpu_cases.h"
#include "gpu_train.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

gpu_verdict gpu_say(gpu_run *run, gpu_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(run->text, sizeof run->text, format, args);
    va_end(args);
    return verdict;
}

void gpu_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("    ", stdout);
    vprintf(format, args);
    putchar('\n');
    fflush(stdout);
    va_end(args);
}

void gpu_keep(gpu_run *run, const char *name, double value, const char *unit)
{
    if (run->n_figures == GPU_FIGURES)
        return;
    gpu_figure *const figure = &run->figures[run->n_figures++];
    snprintf(figure->name, sizeof figure->name, "%s", name);
    snprintf(figure->unit, sizeof figure->unit, "%s", unit);
    figure->value = value;
}

static gpu_verdict fail_device(gpu_run *run, const char *what)
{
    char why[256] = "";
    run->device->table->explain(run->device, why, sizeof why);
    return gpu_say(run, GPU_FAILED, "%s: %s", what, why);
}

/* --- copies ------------------------------------------------------------------------------------ */

/* There and back; pinned or not on the host side. */
static int round_trip(gpu_run *run, leat_stream *stream, uint8_t *device_memory, uint8_t *host,
                      uint8_t *back, size_t bytes, bool pinned)
{
    const leat_device_table *const t = run->device->table;
    for (size_t i = 0; i < bytes; i++)
        host[i] = (uint8_t)(i * 31 + i / 251 + bytes);
    memset(back, 0, bytes);
    int rc = t->copy_to_device(stream, device_memory, host, bytes, pinned);
    if (rc >= 0)
        rc = t->copy_to_host(stream, back, device_memory, bytes);
    return rc < 0 ? rc : t->stream_sync(stream, NULL);
}

gpu_verdict gpu_case_copies(gpu_run *run)
{
    const leat_device_table *const t = run->device->table;
    const size_t most = run->effort >= 100 ? (size_t)256 << 20 : (size_t)1 << 20;
    leat_stream *stream;
    leat_error err;
    gpu_verdict verdict = GPU_PASSED;
    int n = 0;
    if (t->stream_open(run->device, &stream, &err) < 0)
        return gpu_say(run, GPU_FAILED, "%s", err.message);
    uint8_t *const pinned = t->pinned_alloc(run->device, most);
    uint8_t *const memory = t->device_alloc(run->device, most);
    uint8_t *const plain = malloc(most), *const back = malloc(most);
    if (!pinned || !memory)
        verdict = fail_device(run, "memory");
    for (size_t bytes = 1; bytes <= most && verdict == GPU_PASSED; bytes = bytes * 5 + 3)
        for (int k = 0; k < 2 && verdict == GPU_PASSED; k++, n++) {
            uint8_t *const host = k ? plain : pinned;
            if (round_trip(run, stream, memory, host, back, bytes, !k) < 0)
                verdict = fail_device(run, "copy");
            else if (memcmp(host, back, bytes))
                verdict = gpu_say(run, GPU_FAILED, "%zu bytes came back changed", bytes);
        }
    t->stream_close(stream);
    t->pinned_free(run->device, pinned);
    t->device_free(run->device, memory);
    free(plain);
    free(back);
    return verdict == GPU_PASSED
               ? gpu_say(run, verdict, "%d copies there and back, pinned and not, up to %zu bytes",
                         n, most)
               : verdict;
}

/* --- order: a copy waits for an event of another stream ------------------------------------------- */

typedef struct ring {
    leat_stream *copies, *compute;
    leat_event *copied, *consumed;
    uint8_t *slot, *back, *buffer;
} ring;
enum { RING_BYTES = 1 << 16 };

static int open_ring(leat_device *device, ring *r)
{
    const leat_device_table *const t = device->table;
    int rc = t->stream_open(device, &r->copies, NULL);
    if (rc >= 0)
        rc = t->stream_open(device, &r->compute, NULL);
    if (rc >= 0)
        rc = t->event_open(device, &r->copied, NULL);
    if (rc >= 0)
        rc = t->event_open(device, &r->consumed, NULL);
    r->slot = t->pinned_alloc(device, RING_BYTES);
    r->back = t->pinned_alloc(device, RING_BYTES);
    r->buffer = t->device_alloc(device, RING_BYTES);
    return rc < 0 || (r->slot && r->back && r->buffer) ? rc : LEAT_E_NOMEM;
}

static void close_ring(leat_device *device, ring *r)
{
    const leat_device_table *const t = device->table;
    if (r->compute)
        t->stream_close(r->compute);
    if (r->copies)
        t->stream_close(r->copies);
    if (r->copied)
        t->event_close(r->copied);
    if (r->consumed)
        t->event_close(r->consumed);
    t->pinned_free(device, r->slot);
    t->pinned_free(device, r->back);
    t->device_free(device, r->buffer);
}

/* A slow consumer of one buffer: what it reads back must be what was sent for it, though the next
 * copy into the buffer is enqueued long before. */
static int step_ring(const leat_device_table *t, ring *r, int i)
{
    int rc = t->event_sync(r->copied); /* the slot may be written again */
    if (rc < 0)
        return rc;
    memset(r->slot, i, RING_BYTES);
    if ((rc = t->stream_wait(r->copies, r->consumed)) < 0 ||
        (rc = t->copy_to_device(r->copies, r->buffer, r->slot, RING_BYTES, true)) < 0 ||
        (rc = t->event_record(r->copied, r->copies)) < 0 ||
        (rc = t->stream_wait(r->compute, r->copied)) < 0 ||
        (rc = t->synthetic_work(r->compute, 200000, 1, NULL, 0)) < 0 ||
        (rc = t->copy_to_host(r->compute, r->back + i % 2 * (RING_BYTES / 2), r->buffer,
                              RING_BYTES / 2)) < 0)
        return rc;
    return t->event_record(r->consumed, r->compute);
}

gpu_verdict gpu_case_order(gpu_run *run)
{
    const leat_device_table *const t = run->device->table;
    const int steps = run->effort * 10;
    ring r = { 0 };
    gpu_verdict verdict = GPU_PASSED;
    int rc = open_ring(run->device, &r);
    for (int i = 0; i < steps && rc >= 0 && verdict == GPU_PASSED; i++) {
        rc = step_ring(t, &r, i);
        if (i % 7 == 6 && rc >= 0) { /* now and then: look at both of the last steps */
            rc = t->event_sync(r.consumed);
            for (int k = 0; k < 2; k++)
                if (r.back[(i - k) % 2 * (RING_BYTES / 2)] != (uint8_t)(i - k))
                    verdict = gpu_say(run, GPU_FAILED, "step %d read another step's data", i - k);
        }
    }
    if (rc < 0)
        verdict = fail_device(run, "ring");
    close_ring(run->device, &r);
    return verdict == GPU_PASSED
               ? gpu_say(run, verdict, "%d steps through one buffer, copies ahead of compute",
                         steps)
               : verdict;
}

/* --- clock ------------------------------------------------------------------------------------- */

#define CLOCK_PLANT_NS 1000000

/* Events lie between the moments at which the work before them can have ended at the earliest and at
 * which the host saw them done, and in order; over seconds, in which the two clocks drift apart. */
gpu_verdict gpu_case_clock(gpu_run *run)
{
    const leat_device_table *const t = run->device->table;
    const int n = run->effort * 20;
    leat_stream *stream = NULL;
    leat_event *event = NULL;
    int64_t early = 0, late = 0, back = 0, last = 0;
    int rc = t->stream_open(run->device, &stream, NULL);
    if (rc >= 0)
        rc = t->event_open(run->device, &event, NULL);
    for (int i = 0; i < n && rc >= 0; i++) {
        const int64_t before = leat_clock_ns();
        if ((rc = t->synthetic_work(stream, CLOCK_PLANT_NS, 1, NULL, 0)) < 0 ||
            (rc = t->event_record(event, stream)) < 0 || (rc = t->event_sync(event)) < 0)
            break;
        const int64_t after = leat_clock_ns(), ns = t->event_ns(event);
        /* planted work takes no time on a GPU that is none */
        const int64_t least = before + (after - before > CLOCK_PLANT_NS ? CLOCK_PLANT_NS : 0);
        early = least - ns > early ? least - ns : early;
        late = ns - after > late ? ns - after : late;
        back = last - ns > back ? last - ns : back;
        last = ns;
    }
    if (stream)
        t->stream_close(stream);
    if (event)
        t->event_close(event);
    if (rc < 0)
        return fail_device(run, "events");
    gpu_keep(run, "early", (double)early / 1e3, "us");
    gpu_keep(run, "late", (double)late / 1e3, "us");
    gpu_keep(run, "backwards", (double)back / 1e3, "us");
    const bool good = early <= 50000 && late <= 50000 && back <= 50000;
    return gpu_say(
        run, good ? GPU_PASSED : GPU_FAILED,
        "%d events: at most %lld us before they can have been done, %lld us after the host saw "
        "them done, %lld us backwards (50 us are allowed)",
        n, (long long)early / 1000, (long long)late / 1000, (long long)back / 1000);
}

/* --- memory ------------------------------------------------------------------------------------ */

gpu_verdict gpu_case_memory(gpu_run *run)
{
    const leat_device_table *const t = run->device->table;
    size_t n_free, total;
    char why[256];
    if (t->memory_info(run->device, &n_free, &total) < 0)
        return fail_device(run, "memory_info");
    void *const memory = t->device_alloc(run->device, total + total / 2);
    if (memory) {
        t->device_free(run->device, memory);
        return gpu_say(run, GPU_FAILED, "more memory was given than there is");
    }
    t->explain(run->device, why, sizeof why);
    if (!strstr(why, "bytes on the device") || !strstr(why, "memory"))
        return gpu_say(run, GPU_FAILED, "the refusal says '%s'", why);
    void *const little = t->device_alloc(run->device, 1 << 20);
    if (!little)
        return fail_device(run, "1 MiB after a refusal");
    t->device_free(run->device, little);
    return gpu_say(run, GPU_PASSED, "%.1f of %.1f GiB free; too much is refused with the size",
                   (double)n_free / 0x1p30, (double)total / 0x1p30);
}

const gpu_case gpu_cases[] = {
    { "memory", "an allocation that is too large is refused and said", gpu_case_memory },
    { "copies", "bytes come back as they went", gpu_case_copies },
    { "order", "events keep copies and compute apart", gpu_case_order },
    { "clock", "times of events on the host's clock", gpu_case_clock },
    { "ops", "kernels give what the C gives", gpu_case_ops },
    { "loader", "whole pipelines, mapped on the GPU and on the CPU", gpu_case_loader },
    { "decode", "JPEG records decoded by nvJPEG and on the CPU", gpu_case_decode },
    { "damage", "JPEG records that are cut short, decoded by nvJPEG", gpu_case_damage },
    { "cache", "rows that stay on the GPU", gpu_case_device_cache },
    { "leaks", "many batches, the same memory", gpu_case_leaks },
    { "train layers", "every layer, loss and optimiser in strict float32", gpu_case_train_layers },
    { "train bf16", "the same in bfloat16", gpu_case_train_bf16 },
    { "train curves", "whole models beside the CPU", gpu_case_train_curves },
    { "train graph", "a graph changes no bit, nor does a second run", gpu_case_train_graph },
    { "train leaks", "many steps and nets, the same memory", gpu_case_train_leaks },
    { 0 },
};
