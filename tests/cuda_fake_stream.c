/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_stream.c: streams and events of the fake GPU. */
#include <stdlib.h>

#include "cuda_fake_state.h"

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    ENTER();
    (void)flags;
    struct CUstream_st *const stream = calloc(1, sizeof *stream);
    stream->next = fake.streams;
    fake.streams = stream;
    fake.live[STREAMS]++;
    *out = stream;
    return leave(cudaSuccess);
}

static bool stream_is_used(const void *what)
{
    return ((const struct CUstream_st *)what)->first != NULL;
}

static cudaError_t destroy_stream(cudaStream_t stream)
{
    if (!is_stream(stream))
        return cudaErrorInvalidResourceHandle;
    await(stream_is_used, stream, "a stream closed before its work is done");
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
        drop(o);
    }
    fake.live[STREAMS]--;
    free(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    END(destroy_stream(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    ENTER();
    if (!is_stream(stream))
        return leave(cudaErrorInvalidResourceHandle);
    while (stream->first && !fake.lost)
        pthread_cond_wait(&fake.done, &fake.lock);
    return leave(fake.lost ? cudaErrorIllegalAddress : cudaSuccess);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    ENTER();
    struct CUevent_st *const event = calloc(1, sizeof *event);
    event->flags = flags;
    fake.live[EVENTS]++;
    *out = event;
    return leave(cudaSuccess);
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
    await(event_is_used, event, "an event closed under work that uses it");
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
    const op o = { .kind = RECORD, .event = event, .generation = ++event->recorded };
    return leave(enqueue(stream, &o));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    ENTER();
    (void)flags;
    const op o = { .kind = WAIT, .event = event, .generation = event->recorded };
    return leave(enqueue(stream, &o));
}
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    ENTER();
    return leave(event->done >= event->recorded ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    ENTER();
    const uint64_t generation = event->recorded;
    while (event->done < generation && !fake.lost)
        pthread_cond_wait(&fake.done, &fake.lock);
    return leave(fake.lost ? cudaErrorIllegalAddress : cudaSuccess);
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    ENTER();
    if (!start->recorded || !end->recorded || (start->flags | end->flags) & cudaEventDisableTiming)
        return leave(cudaErrorInvalidResourceHandle);
    if (start->done < start->recorded || end->done < end->recorded)
        return leave(cudaErrorNotReady);
    *ms = (float)((double)(end->ns - start->ns) / 1e6);
    return leave(cudaSuccess);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *arg)
{
    ENTER();
    const op o = { .kind = CALL, .fn = fn, .arg = arg };
    return leave(enqueue(stream, &o));
}
