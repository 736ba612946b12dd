/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_queue.c: the fake GPU's streams, events and copies. */
#include "cuda_fake_impl.h"

#include <stdlib.h>
#include <string.h>

#include "leat/api.h"

static cudaError_t lost_or_not(void)
{
    return fake.lost ? (cudaError_t)fake.lost_code : cudaSuccess;
}

/* --- streams ------------------------------------------------------------------------------------- */

bool cuda_fake_is_stream(cudaStream_t stream)
{
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        if (s == stream)
            return true;
    cuda_fake_violate("a stream that is not there (or the legacy stream)");
    return false;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    ENTER();
    if (flags != cudaStreamNonBlocking)
        cuda_fake_violate("a stream that waits for the legacy stream");
    struct CUstream_st *const stream = calloc(1, sizeof *stream);
    stream->device = cuda_fake_device;
    stream->next = fake.streams;
    fake.streams = stream;
    fake.live[STREAMS]++;
    *out = stream;
    return cuda_fake_leave(cudaSuccess);
}

LEAT_API void *cuda_fake_stream(void);
/* A stream of device 0 of whoever calls, such as a test in Python. */
void *cuda_fake_stream(void)
{
    cudaStream_t out;
    cudaSetDevice(0);
    return cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking) == cudaSuccess ? out : NULL;
}

static bool stream_is_used(const void *what)
{
    return ((const struct CUstream_st *)what)->first != NULL;
}

static cudaError_t destroy_stream(cudaStream_t stream)
{
    if (!cuda_fake_is_stream(stream))
        return cudaErrorInvalidResourceHandle;
    if (stream->capturing)
        cuda_fake_violate("a stream closed while it is captured");
    cuda_fake_await(stream_is_used, stream, "a stream closed before its work is done");
    while (stream->running)
        pthread_cond_wait(&fake.done, &fake.lock);
    for (struct CUstream_st **at = &fake.streams; *at; at = &(*at)->next)
        if (*at == stream) {
            *at = stream->next;
            break;
        }
    while (stream->first) {
        op *const o = stream->first;
        stream->first = o->next;
        cuda_fake_drop(o);
    }
    fake.live[STREAMS]--;
    free(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    END(destroy_stream(stream));
}

static void wait_until_empty(const struct CUstream_st *stream)
{
    while (stream->first && !fake.lost)
        pthread_cond_wait(&fake.done, &fake.lock);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    ENTER_AS(UNSAFE);
    if (!cuda_fake_is_stream(stream))
        return cuda_fake_leave(cudaErrorInvalidResourceHandle);
    if (stream->capturing) {
        cuda_fake_violate("waiting for a stream that is captured");
        stream->broken = true;
        return cuda_fake_leave(cudaErrorStreamCaptureUnsupported);
    }
    wait_until_empty(stream);
    return cuda_fake_leave(lost_or_not());
}

/* --- events -------------------------------------------------------------------------------------- */

static bool is_event(cudaEvent_t event)
{
    for (struct CUevent_st *e = fake.events; e; e = e->next)
        if (e == event)
            return true;
    cuda_fake_violate("an event that is not there");
    return false;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    ENTER();
    struct CUevent_st *const event = calloc(1, sizeof *event);
    event->flags = flags;
    event->device = cuda_fake_device;
    event->next = fake.events;
    fake.events = event;
    fake.live[EVENTS]++;
    *out = event;
    return cuda_fake_leave(cudaSuccess);
}

static bool event_is_used(const void *what)
{
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        for (const op *o = s->first; o; o = o->next)
            if (o->event == what)
                return true;
    return false;
}

static cudaError_t destroy_event(cudaEvent_t event)
{
    if (!is_event(event))
        return cudaErrorInvalidResourceHandle;
    cuda_fake_await(event_is_used, event, "an event closed under work that uses it");
    for (struct CUevent_st **at = &fake.events; *at; at = &(*at)->next)
        if (*at == event) {
            *at = event->next;
            break;
        }
    fake.live[EVENTS]--;
    free(event);
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    END(destroy_event(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    ENTER();
    if (!is_event(event) || !cuda_fake_is_stream(stream) || event->device != stream->device)
        return cuda_fake_leave(cudaErrorInvalidResourceHandle);
    const op o = { .kind = RECORD, .event = event, .generation = ++event->recorded };
    return cuda_fake_leave(cuda_fake_enqueue(stream, &o));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    ENTER();
    if (!is_event(event) || flags != cudaEventWaitDefault)
        return cuda_fake_leave(cudaErrorInvalidResourceHandle);
    const op o = { .kind = WAIT, .event = event, .generation = event->recorded };
    return cuda_fake_leave(cuda_fake_enqueue(stream, &o));
}
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    ENTER_AS(UNSAFE);
    if (!is_event(event))
        return cuda_fake_leave(cudaErrorInvalidResourceHandle);
    return cuda_fake_leave(event->done >= event->recorded ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    ENTER_AS(UNSAFE);
    if (!is_event(event))
        return cuda_fake_leave(cudaErrorInvalidResourceHandle);
    const uint64_t generation = event->recorded;
    while (event->done < generation && !fake.lost)
        pthread_cond_wait(&fake.done, &fake.lock);
    return cuda_fake_leave(lost_or_not());
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    ENTER();
    if (!is_event(start) || !is_event(end) || start->device != end->device || !start->recorded ||
        !end->recorded || (start->flags | end->flags) & cudaEventDisableTiming)
        return cuda_fake_leave(cudaErrorInvalidResourceHandle);
    if (start->done < start->recorded || end->done < end->recorded)
        return cuda_fake_leave(cudaErrorNotReady);
    *ms = (float)((double)(end->ns - start->ns) / 1e6);
    return cuda_fake_leave(cudaSuccess);
}

/* --- copies -------------------------------------------------------------------------------------- */

/* The device's side in one allocation; the host's in one of pinned memory, or in none. */
static cudaError_t check_sides(const void *device, const void *host, size_t bytes)
{
    const char *what = NULL;
    if (!cuda_fake_holds(device, bytes, false))
        what = "a copy beyond device memory";
    else if (cuda_fake_meets(host, bytes, false))
        what = "a copy whose host side is device memory";
    else if (cuda_fake_meets(host, bytes, true) && !cuda_fake_holds(host, bytes, true))
        what = "a copy beyond pinned memory";
    if (what)
        cuda_fake_violate(what);
    return what ? cudaErrorInvalidValue : cudaSuccess;
}

/* What is not pinned goes through memory of the driver: to the device when all before it is done, and the
 * call returns when it is read; to the host when the call returns. */
static cudaError_t copy_pageable(op *o, bool to_device, cudaStream_t stream)
{
    if (!cuda_fake_is_stream(stream))
        return cudaErrorInvalidResourceHandle;
    if (to_device) {
        wait_until_empty(stream);
        o->staged = malloc(o->bytes ? o->bytes : 1);
        memcpy(o->staged, o->from, o->bytes);
        o->from = o->staged;
    }
    const cudaError_t rc = cuda_fake_enqueue(stream, o);
    if (rc != cudaSuccess)
        free(o->staged);
    else if (!to_device)
        wait_until_empty(stream);
    return rc != cudaSuccess ? rc : lost_or_not();
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    ENTER_AS(CAPTURED);
    const bool to_device = kind == cudaMemcpyHostToDevice;
    const void *const host = to_device ? from : to;
    op o = { .kind = COPY, .to = to, .from = from, .bytes = bytes };
    if (kind == cudaMemcpyDeviceToDevice) {
        const bool right = cuda_fake_holds(to, bytes, false) && cuda_fake_holds(from, bytes, false);
        if (!right)
            cuda_fake_violate("a copy on the device beyond device memory");
        return cuda_fake_leave(right ? cuda_fake_enqueue(stream, &o) : cudaErrorInvalidValue);
    }
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToHost)
        cuda_fake_violate("a copy of another kind");
    if ((rc = check_sides(to_device ? to : from, host, bytes)) != cudaSuccess)
        return cuda_fake_leave(rc);
    return cuda_fake_leave(cuda_fake_holds(host, bytes, true)
                               ? cuda_fake_enqueue(stream, &o)
                               : copy_pageable(&o, to_device, stream));
}
/* Row by row, from pinned memory. */
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t bytes, size_t rows, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    ENTER();
    if (kind != cudaMemcpyHostToDevice || !cuda_fake_holds(from, bytes, true))
        cuda_fake_violate("a copy of another kind");
    if (bytes > to_pitch || bytes > from_pitch)
        rc = cudaErrorInvalidPitchValue;
    for (size_t i = 0; i < rows && rc == cudaSuccess; i++) {
        const op o = { .kind = COPY,
                       .to = (uint8_t *)to + i * to_pitch,
                       .from = (const uint8_t *)from + i * from_pitch,
                       .bytes = bytes };
        rc = check_sides(o.to, o.from, bytes);
        if (rc == cudaSuccess)
            rc = cuda_fake_enqueue(stream, &o);
    }
    return cuda_fake_leave(rc);
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    ENTER_AS(CAPTURED);
    if (!cuda_fake_holds(to, bytes, false)) {
        cuda_fake_violate("memory set beyond its end");
        return cuda_fake_leave(cudaErrorInvalidValue);
    }
    const op o = { .kind = SET, .to = to, .bytes = bytes, .value = value };
    return cuda_fake_leave(cuda_fake_enqueue(stream, &o));
}
