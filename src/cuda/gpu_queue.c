/* SPDX-License-Identifier: MIT
 *
 * gpu_queue.c: memory, streams, events and copies of a GPU, as functions of the device table.
 *
 * Streams do not wait for the legacy stream (cudaStreamNonBlocking). Events record their time. A thread that waits for
 * one asks for it for SPIN_NS, and from then on sleeps for a 16th of what it has waited. With cudaEventBlockingSync,
 * recording an event behind a graph took 9.5 instead of 2.3 µs on an H200, and waking up 50 µs. CUDA has one current device per thread,
 * and threads of the pipeline change between devices. So every function sets the device first, even if
 * an event implies it: otherwise the runtime would make a context on the first GPU. */
#include <stdlib.h>

#include "base/clock.h"
#include "gpu.h"

#define SPIN_NS  30000
#define SLEEP_NS 500000

enum cudaStreamCaptureMode leat_gpu_capture_mode(enum cudaStreamCaptureMode mode)
{
    cudaThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

/* --- memory ------------------------------------------------------------------------------------ */

void *leat_gpu_device_alloc(leat_device *device, size_t bytes)
{
    leat_gpu *const gpu = leat_gpu_of(device);
    void *memory = NULL; /* CUDA aligns to 256 bytes */
    char what[64];
    snprintf(what, sizeof what, "allocating %zu bytes on the device", bytes);
    if (leat_gpu_use(gpu) < 0)
        return NULL;
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    const int rc = leat_gpu_code(gpu, cudaMalloc(&memory, bytes ? bytes : 1), what);
    leat_gpu_capture_mode(mode);
    return rc < 0 ? NULL : memory;
}

static void free_by(cudaError_t (*release)(void *), leat_gpu *gpu, void *memory, const char *what)
{
    if (!memory)
        return;
    leat_gpu_use(gpu); /* the thread may use another device */
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    leat_gpu_code(gpu, release(memory), what);
    leat_gpu_capture_mode(mode);
}

void leat_gpu_device_free(leat_device *device, void *memory)
{
    free_by(cudaFree, leat_gpu_of(device), memory, "freeing device memory");
}

void *leat_gpu_pinned_alloc(leat_device *device, size_t bytes)
{
    leat_gpu *const gpu = leat_gpu_of(device);
    void *memory = NULL;
    char what[64];
    snprintf(what, sizeof what, "allocating %zu bytes of pinned memory", bytes);
    /* Not write-combined, because workers also read rows (digests, in-place ops). */
    if (leat_gpu_use(gpu) < 0)
        return NULL;
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    const int rc =
        leat_gpu_code(gpu, cudaHostAlloc(&memory, bytes ? bytes : 1, cudaHostAllocDefault), what);
    leat_gpu_capture_mode(mode);
    return rc < 0 ? NULL : memory;
}

void leat_gpu_pinned_free(leat_device *device, void *memory)
{
    free_by(cudaFreeHost, leat_gpu_of(device), memory, "freeing pinned memory");
}

int leat_gpu_memory_info(leat_device *device, size_t *free_bytes, size_t *total_bytes)
{
    leat_gpu *const gpu = leat_gpu_of(device);
    const int rc = leat_gpu_use(gpu);
    *free_bytes = *total_bytes = 0;
    return rc < 0 ? rc : leat_gpu_code(gpu, cudaMemGetInfo(free_bytes, total_bytes), "memory info");
}

/* --- streams ----------------------------------------------------------------------------------- */

int leat_gpu_stream_open(leat_device *device, leat_stream **out, leat_error *err)
{
    leat_gpu *const gpu = leat_gpu_of(device);
    leat_gpu_stream *stream = calloc(1, sizeof *stream);
    *out = NULL;
    if (!stream)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "stream: %zu bytes", sizeof *stream);
    cudaError_t cuda = cudaSetDevice(gpu->number);
    if (cuda == cudaSuccess)
        cuda = cudaStreamCreateWithFlags(&stream->cuda, cudaStreamNonBlocking);
    const int rc = leat_gpu_check(gpu, cuda, "opening a stream", err);
    if (rc < 0) {
        free(stream);
        return rc;
    }
    stream->base.device = device;
    *out = &stream->base;
    return LEAT_OK;
}

void leat_gpu_stream_close(leat_stream *stream)
{
    if (!stream)
        return;
    leat_gpu *const gpu = leat_gpu_of(stream->device);
    leat_gpu_stream_sync(stream, NULL);
    leat_gpu_code(gpu, cudaStreamDestroy(leat_gpu_stream_cuda(stream)), "closing a stream");
    free(stream);
}

int leat_gpu_stream_wrap(leat_device *device, void *native, leat_stream **out, leat_error *err)
{
    leat_gpu_stream *const stream = calloc(1, sizeof *stream);
    *out = NULL;
    if (!stream)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "stream: %zu bytes", sizeof *stream);
    stream->base.device = device;
    stream->cuda = native;
    *out = &stream->base;
    return LEAT_OK;
}

void leat_gpu_stream_unwrap(leat_stream *stream)
{
    free(stream);
}

int leat_gpu_stream_sync(leat_stream *stream, leat_error *err)
{
    leat_gpu *const gpu = leat_gpu_of(stream->device);
    cudaError_t rc = cudaSetDevice(gpu->number);
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    if (rc == cudaSuccess)
        rc = cudaStreamSynchronize(leat_gpu_stream_cuda(stream));
    leat_gpu_capture_mode(mode);
    return leat_gpu_check(gpu, rc, "waiting for a stream", err);
}

int leat_gpu_stream_wait(leat_stream *stream, leat_event *event)
{
    leat_gpu *const gpu = leat_gpu_of(stream->device);
    const int rc = leat_gpu_use(gpu);
    return rc < 0 ? rc
                  : leat_gpu_code(gpu,
                                  cudaStreamWaitEvent(leat_gpu_stream_cuda(stream),
                                                      ((leat_gpu_event *)event)->cuda,
                                                      cudaEventWaitDefault),
                                  "making a stream wait");
}

/* --- events ------------------------------------------------------------------------------------ */

int leat_gpu_event_open(leat_device *device, leat_event **out, leat_error *err)
{
    leat_gpu *const gpu = leat_gpu_of(device);
    leat_gpu_event *event = calloc(1, sizeof *event);
    *out = NULL;
    if (!event)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "event: %zu bytes", sizeof *event);
    cudaError_t cuda = cudaSetDevice(gpu->number);
    if (cuda == cudaSuccess)
        cuda = cudaEventCreateWithFlags(&event->cuda, cudaEventDefault);
    const int rc = leat_gpu_check(gpu, cuda, "opening an event", err);
    if (rc < 0) {
        free(event);
        return rc;
    }
    event->base.device = device;
    *out = &event->base;
    return LEAT_OK;
}

void leat_gpu_event_close(leat_event *event)
{
    if (!event)
        return;
    leat_gpu *const gpu = leat_gpu_of(event->device);
    leat_gpu_use(gpu);
    leat_gpu_code(gpu, cudaEventDestroy(((leat_gpu_event *)event)->cuda), "closing an event");
    free(event);
}

int leat_gpu_event_record(leat_event *base, leat_stream *stream)
{
    leat_gpu_event *const event = (leat_gpu_event *)base;
    leat_gpu *const gpu = leat_gpu_of(base->device);
    const int rc = leat_gpu_use(gpu);
    if (rc < 0)
        return rc;
    event->recorded_ns = leat_clock_ns();
    return leat_gpu_code(gpu, cudaEventRecord(event->cuda, leat_gpu_stream_cuda(stream)),
                         "recording an event");
}

/* cudaEventQuery() that does not end the capture of another thread. */
static cudaError_t query_event(cudaEvent_t event)
{
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    const cudaError_t rc = cudaEventQuery(event);
    leat_gpu_capture_mode(mode);
    return rc;
}

int leat_gpu_event_query(leat_event *event)
{
    leat_gpu *const gpu = leat_gpu_of(event->device);
    const int rc = leat_gpu_use(gpu);
    return rc < 0 ? rc
                  : leat_gpu_code(gpu, query_event(((leat_gpu_event *)event)->cuda),
                                  "asking for an event");
}

int leat_gpu_event_sync(leat_event *base)
{
    leat_gpu *const gpu = leat_gpu_of(base->device);
    cudaEvent_t const event = ((leat_gpu_event *)base)->cuda;
    const int used = leat_gpu_use(gpu);
    if (used < 0)
        return used;
    const int64_t start_ns = leat_clock_ns();
    cudaError_t rc;
    while ((rc = query_event(event)) == cudaErrorNotReady) {
        const int64_t ns = leat_clock_ns() - start_ns;
        if (ns > SPIN_NS)
            leat_clock_nap(ns / 16 < SLEEP_NS ? ns / 16 : SLEEP_NS);
    }
    return leat_gpu_code(gpu, rc, "waiting for an event");
}

int64_t leat_gpu_event_ns(leat_event *base)
{
    const leat_gpu_event *const event = (leat_gpu_event *)base;
    leat_gpu *const gpu = leat_gpu_of(base->device);
    if (!event->recorded_ns || leat_gpu_use(gpu) < 0)
        return 0;
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    const int64_t ns = leat_gpu_clock_of(gpu, event);
    leat_gpu_capture_mode(mode);
    return ns;
}

/* --- work -------------------------------------------------------------------------------------- */

static int copy(leat_stream *stream, void *to, const void *from, size_t bytes,
                enum cudaMemcpyKind kind)
{
    leat_gpu *const gpu = leat_gpu_of(stream->device);
    const int rc = leat_gpu_use(gpu);
    char what[64];
    if (rc < 0)
        return rc;
    snprintf(what, sizeof what, "copying %zu bytes %s", bytes,
             kind == cudaMemcpyHostToDevice   ? "to the device"
             : kind == cudaMemcpyDeviceToHost ? "to the host"
                                              : "on the device");
    return leat_gpu_code(gpu, cudaMemcpyAsync(to, from, bytes, kind, leat_gpu_stream_cuda(stream)),
                         what);
}

/* CUDA detects pinned memory. It stages other memory before the call returns. */
int leat_gpu_copy_to_device(leat_stream *stream, void *to, const void *from, size_t bytes,
                            bool pinned)
{
    (void)pinned;
    return copy(stream, to, from, bytes, cudaMemcpyHostToDevice);
}

int leat_gpu_copy_to_host(leat_stream *stream, void *to, const void *from, size_t bytes)
{
    return copy(stream, to, from, bytes, cudaMemcpyDeviceToHost);
}

int leat_gpu_copy_on_device(leat_stream *stream, void *to, const void *from, size_t bytes)
{
    return copy(stream, to, from, bytes, cudaMemcpyDeviceToDevice);
}
