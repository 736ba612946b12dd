/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_queue.c: the queues of the fake GPU's streams and the thread that runs what is in them. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_fake_state.h"

_Thread_local cuda_fake_place cuda_fake_at;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint32_t draw(uint32_t below)
{
    fake.random = fake.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(fake.random >> 33) % below;
}

static bool can_run(const struct CUstream_st *stream)
{
    const op *const o = stream->first;
    return o && !stream->running && (o->kind != WAIT || o->event->done >= o->generation);
}

static struct CUstream_st *choose(void)
{
    uint32_t n = 0;
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        n += can_run(s);
    if (!n || fake.lost || fake.paused)
        return NULL;
    uint32_t k = draw(n);
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        if (can_run(s) && k-- == 0)
            return s;
    return NULL;
}

/* Blocks and threads from the last to the first or from the first to the last: no order may matter. */
static void run_kernel(const op *o, bool backwards)
{
    const uint64_t n = (uint64_t)o->blocks[0] * o->blocks[1] * o->threads;
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t i = backwards ? n - 1 - k : k;
        cuda_fake_at = (cuda_fake_place){ .thread_x = (uint32_t)(i % o->threads),
                                          .block_x = (uint32_t)(i / o->threads % o->blocks[0]),
                                          .block_y = (uint32_t)(i / o->threads / o->blocks[0]),
                                          .threads = o->threads,
                                          .blocks_x = o->blocks[0],
                                          .blocks_y = o->blocks[1] };
        o->kernel->thread(o->args);
    }
}

static void run_op(const op *o, uint32_t drawn)
{
    if (drawn % 16 == 0)
        nanosleep(&(struct timespec){ .tv_nsec = (long)(drawn % 40000) }, NULL);
    if (o->kind == COPY) {
        memcpy(o->to, o->from, o->bytes);
    } else if (o->kind == SET) {
        memset(o->to, o->value, o->bytes);
    } else if (o->kind == CALL) {
        in_call = true;
        o->fn(o->arg);
        in_call = false;
    } else if (o->kind == KERNEL) {
        run_kernel(o, drawn & 1);
    }
}

void drop(op *o)
{
    if (!o->of_graph)
        free(o->args);
    free(o);
}

static void *live_thread(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&fake.lock);
    while (!fake.stop) {
        struct CUstream_st *const stream = choose();
        if (!stream) {
            pthread_cond_wait(&fake.work, &fake.lock);
            continue;
        }
        op *const o = stream->first;
        const uint32_t drawn = draw(1u << 30);
        stream->running = true;
        fake.in_op = true;
        pthread_mutex_unlock(&fake.lock);
        run_op(o, drawn);
        pthread_mutex_lock(&fake.lock);
        fake.in_op = false;
        stream->running = false;
        stream->first = o->next;
        if (!stream->first)
            stream->last = NULL;
        fake.kernels += o->kind == KERNEL;
        fake.graphs += o->kind == GRAPH_END;
        if (o->kind == RECORD && o->generation > o->event->done) {
            o->event->done = o->generation;
            o->event->ns = now_ns();
        }
        drop(o);
        pthread_cond_broadcast(&fake.done);
    }
    pthread_mutex_unlock(&fake.lock);
    return NULL;
}

static void start_thread(void)
{
    if (!fake.has_thread)
        fake.has_thread = pthread_create(&fake.thread, NULL, live_thread, NULL) == 0;
}

__attribute__((destructor)) static void end_thread(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.stop = true;
    pthread_cond_broadcast(&fake.work);
    pthread_mutex_unlock(&fake.lock);
    if (fake.has_thread)
        pthread_join(fake.thread, NULL);
}

void append(op **first, op **last, const op *from)
{
    op *const o = malloc(sizeof *o);
    *o = *from;
    o->next = NULL;
    if (*last)
        (*last)->next = o;
    else
        *first = o;
    *last = o;
}

bool is_stream(cudaStream_t stream)
{
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        if (s == stream)
            return true;
    violate("a stream that is not there (or the legacy stream)");
    return false;
}

cudaError_t enqueue(cudaStream_t stream, const op *o)
{
    if (!is_stream(stream))
        return cudaErrorInvalidResourceHandle;
    if (stream->capturing) {
        if (o->kind != KERNEL && o->kind != SET)
            violate("something else than kernels and memset in a graph");
        append(&stream->graph->first, &stream->graph->last, o);
        return cudaSuccess;
    }
    start_thread();
    append(&stream->first, &stream->last, o);
    pthread_cond_signal(&fake.work);
    return cudaSuccess;
}

void await(bool (*is_used)(const void *), const void *what, const char *text)
{
    if (fake.fail_code == 0 && !fake.lost && is_used(what))
        violate(text);
    while (is_used(what) && !fake.lost && !fake.paused)
        pthread_cond_wait(&fake.done, &fake.lock);
}
