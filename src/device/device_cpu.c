/* SPDX-License-Identifier: MIT
 *
 * device_cpu.c: the host as a device. Work is done when the call that enqueues it returns. So streams
 * are empty, and an event is the time at which it was recorded. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device_table.h"
#include "onednn_calls.h"

struct cpu_event {
    leat_event base;
    int64_t at_ns; /* 0: never recorded [atomic: one thread records, others read] */
};

static size_t cpu_list(leat_device_info *out, size_t n)
{
    if (n)
        *out = (leat_device_info){ .name = "cpu",
                                   .text = "this machine's processor; batches stay in host memory",
                                   .available = 1 };
    return 1;
}

static int cpu_open(const char *spec, leat_device **out, leat_error *err)
{
    if (*spec)
        return leat_fail(err, LEAT_E_CONFIG, "'cpu' has no options; found ':%s'", spec);
    leat_device *device = calloc(1, sizeof *device);
    if (!device)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes", sizeof *device);
    device->table = &leat_device_cpu;
    cpu_list(&device->info, 1);
    *out = device;
    return LEAT_OK;
}

static void cpu_close(leat_device *device)
{
    free(device);
}

static int cpu_stream_open(leat_device *device, leat_stream **out, leat_error *err)
{
    *out = malloc(sizeof **out);
    if (!*out)
        return leat_fail(err, LEAT_E_NOMEM, "stream: %zu bytes", sizeof **out);
    (*out)->device = device;
    return LEAT_OK;
}

static void cpu_stream_close(leat_stream *stream)
{
    free(stream);
}

static int cpu_stream_sync(leat_stream *stream, leat_error *err)
{
    (void)stream;
    (void)err;
    return LEAT_OK;
}

static int cpu_event_open(leat_device *device, leat_event **out, leat_error *err)
{
    struct cpu_event *event = calloc(1, sizeof *event);
    *out = NULL;
    if (!event)
        return leat_fail(err, LEAT_E_NOMEM, "event: %zu bytes", sizeof *event);
    event->base.device = device;
    *out = &event->base;
    return LEAT_OK;
}

static void cpu_event_close(leat_event *event)
{
    free(event);
}

static int cpu_event_record(leat_event *event, leat_stream *stream)
{
    (void)stream;
    __atomic_store_n(&((struct cpu_event *)event)->at_ns, leat_clock_ns(), __ATOMIC_RELEASE);
    return LEAT_OK;
}

static int cpu_stream_wait(leat_stream *stream, leat_event *event)
{
    (void)stream;
    (void)event;
    return LEAT_OK;
}

/* The acquire pairs with the release in cpu_event_record: a thread that sees the event also sees the
 * bytes copied before it. */
static int64_t cpu_event_ns(leat_event *event)
{
    return __atomic_load_n(&((struct cpu_event *)event)->at_ns, __ATOMIC_ACQUIRE);
}

static int cpu_event_query(leat_event *event)
{
    (void)cpu_event_ns(event);
    return LEAT_OK;
}

static int cpu_copy_to_device(leat_stream *stream, void *to, const void *from, size_t bytes,
                              bool pinned)
{
    (void)stream;
    (void)pinned;
    memcpy(to, from, bytes);
    return LEAT_OK;
}

/* To the host and on the device. */
static int cpu_copy(leat_stream *stream, void *to, const void *from, size_t bytes)
{
    (void)stream;
    memcpy(to, from, bytes);
    return LEAT_OK;
}

const leat_device_table leat_device_cpu = {
    .kind = "cpu",
    .help = "this machine's processor",
    .host_memory = true,
    .open = cpu_open,
    .close = cpu_close,
    .list = cpu_list,
    .device_alloc = leat_device_host_alloc,
    .device_free = leat_device_host_free,
    .pinned_alloc = leat_device_host_alloc,
    .pinned_free = leat_device_host_free,
    .stream_open = cpu_stream_open,
    .stream_close = cpu_stream_close,
    .stream_sync = cpu_stream_sync,
    .stream_unwrap = cpu_stream_close,
    .event_open = cpu_event_open,
    .event_close = cpu_event_close,
    .event_record = cpu_event_record,
    .stream_wait = cpu_stream_wait,
    .event_query = cpu_event_query,
    .event_sync = cpu_event_query,
    .event_ns = cpu_event_ns,
    .copy_to_device = cpu_copy_to_device,
    .copy_to_host = cpu_copy,
    .copy_on_device = cpu_copy,
    .matmul = leat_device_cpu_matmul,
    .add = leat_device_cpu_add,
};

/* --- work for measuring ---------------------------------------------------------------------- */

int leat_device_cpu_matmul(leat_stream *stream, leat_precision precision, const float *a,
                           const float *b, float *c, int64_t rows, int64_t n)
{
    (void)stream;
    if (precision == LEAT_PRECISION_BF16 || leat_onednn_calls_open(NULL) < 0)
        return LEAT_E_UNSUPPORTED;
    return leat_onednn.sgemm('N', 'N', rows, n, n, 1.0f, a, n, b, n, 0.0f, c, n) == dnnl_success
               ? LEAT_OK
               : LEAT_E_DEVICE;
}

int leat_device_cpu_add(leat_stream *stream, const float *a, const float *b, float *c, int64_t n)
{
    (void)stream;
    for (int64_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
    return LEAT_OK;
}
