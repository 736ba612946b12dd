/* SPDX-License-Identifier: MIT
 *
 * cuda_fake.c: see cuda_fake.h. The thread that runs everything, how calls begin and end, and what tests
 * can do; the calls themselves stand in cuda_fake_*.c. */
#include "cuda_fake_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "leat/api.h"

static const char *const kinds[] = { "streams",   "events", "graphs", "exec graphs",
                                     "libraries", "device", "pinned" };

fake_gpu cuda_fake = { .lock = PTHREAD_MUTEX_INITIALIZER,
                       .work = PTHREAD_COND_INITIALIZER,
                       .done = PTHREAD_COND_INITIALIZER,
                       .fail_in = -1,
                       .n_gpus = 1,
                       .driver = 13000,
                       .memory = (size_t)1 << 30,
                       .random = 1 };

_Thread_local cuda_fake_place cuda_fake_at;
_Thread_local int cuda_fake_device;
_Thread_local struct CUstream_st *cuda_fake_capturing;
static _Thread_local bool in_call;
static _Thread_local cudaError_t last_error;

int64_t cuda_fake_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const int64_t ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    return 86400000000000 + ns + ns / 10000;
}

static uint32_t draw(uint32_t below)
{
    fake.random = fake.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(fake.random >> 33) % below;
}

void cuda_fake_violate(const char *what)
{
    if (!fake.violation[0])
        snprintf(fake.violation, sizeof fake.violation, "%s", what);
}

/* --- calls -------------------------------------------------------------------------------------- */

/* After these the context is gone: every later call answers the same. */
static bool is_sticky(int code)
{
    return code == cudaErrorECCUncorrectable ||
           (code >= cudaErrorIllegalAddress && code <= cudaErrorLaunchTimeout) ||
           (code >= cudaErrorAssert && code <= cudaErrorLaunchFailure);
}

/* CUDA_FAKE_AT=20:abort (or hang, lose): what the 20th call of the process does. */
static void maybe_die(void)
{
    const char *const at = getenv("CUDA_FAKE_AT");
    char *word;
    if (!at || fake.calls != strtoull(at, &word, 10))
        return;
    if (!strcmp(word, ":abort"))
        abort();
    while (!strcmp(word, ":hang"))
        pause();
    fake.lost = true;
    fake.lost_code = cudaErrorIllegalAddress;
}

static void violate_by(const char *name, const char *what)
{
    char text[128];
    snprintf(text, sizeof text, "%s %s", name, what);
    cuda_fake_violate(text);
}

bool cuda_fake_ends_capture(const char *name)
{
    if (!fake.others_capture || cuda_fake_mode != cudaStreamCaptureModeGlobal)
        return false;
    violate_by(name, "ends a capture of another thread");
    return true;
}

cudaError_t cuda_fake_enter(const char *name, unsigned what)
{
    pthread_mutex_lock(&fake.lock);
    /* Asking again and again is one call, so that the number of calls does not depend on time. */
    const bool again = fake.last == name && !strcmp(name, "cudaEventQuery");
    fake.last = name;
    fake.calls += !again;
    maybe_die();
    if (in_call)
        violate_by(name, "in a call-back");
    if (fake.driver == 0 || fake.driver < 13000)
        return cudaErrorInsufficientDriver;
    if (fake.n_gpus == 0)
        return cudaErrorNoDevice;
    if (!(what & ANYWHERE)) /* the runtime makes one for whichever device is the thread's */
        fake.contexts |= 1u << cuda_fake_device;
    if (cuda_fake_capturing && !(what & (CAPTURED | ANYWHERE))) {
        violate_by(name, "in a thread that captures");
        cuda_fake_capturing->broken = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    if (what & UNSAFE && cuda_fake_ends_capture(name))
        return cudaErrorStreamCaptureUnsupported;
    if (!again && !fake.lost && fake.fail_in >= 0 && fake.fail_in-- == 0) {
        fake.lost = is_sticky(fake.fail_code);
        fake.lost_code = fake.fail_code;
        pthread_cond_broadcast(&fake.done);
        return (cudaError_t)fake.fail_code;
    }
    return fake.lost ? (cudaError_t)fake.lost_code : cudaSuccess;
}

cudaError_t cuda_fake_leave(cudaError_t rc)
{
    pthread_mutex_unlock(&fake.lock);
    if (rc != cudaSuccess)
        last_error = rc;
    return rc;
}

void cuda_fake_await(bool (*is_used)(const void *), const void *what, const char *text)
{
    if (fake.fail_code == 0 && !fake.lost && is_used(what))
        cuda_fake_violate(text);
    /* what runs ends, also when nothing more begins */
    while (is_used(what) && (fake.in_op || (!fake.lost && !fake.paused)))
        pthread_cond_wait(&fake.done, &fake.lock);
}

const char *cudaGetErrorString(cudaError_t rc)
{
    return rc == cudaErrorMemoryAllocation ? "out of memory"
           : rc == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
           : rc == cudaErrorNoDevice       ? "no CUDA-capable device is detected"
                                           : "planted failure";
}
const char *cudaGetErrorName(cudaError_t rc)
{
    return rc == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
           : rc == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress"
                                           : "cudaErrorPlanted";
}
cudaError_t cudaGetLastError(void)
{
    const cudaError_t rc = last_error;
    last_error = cudaSuccess;
    return rc;
}

/* --- the thread that runs everything ------------------------------------------------------------- */

static bool can_run(const struct CUstream_st *stream)
{
    const op *const o = stream->first;
    return o && !stream->running && (o->kind != WAIT || o->event->done >= o->generation);
}

static struct CUstream_st *choose(void)
{
    uint32_t n = 0;
    if (fake.lost || fake.paused) /* of what was enqueued some may be gone by now */
        return NULL;
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        n += can_run(s);
    if (!n)
        return NULL;
    uint32_t k = draw(n);
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        if (can_run(s) && k-- == 0)
            return s;
    return NULL;
}

/* What a kernel is given must be device memory while it runs. */
static void check_pointers(const op *o)
{
    const void *pointers[CUDA_FAKE_POINTERS];
    const int n = o->kernel->what->pointers(o->args, pointers);
    for (int i = 0; i < n; i++)
        if (pointers[i] && !cuda_fake_holds(pointers[i], 1, false))
            violate_by(o->kernel->what->name, "is given what is no device memory");
}

/* Blocks, and threads in each phase, from the last to the first or from the first to the last: no order may
 * matter. */
static void run_kernel(const op *o, bool backwards)
{
    static _Alignas(16) uint8_t shared[CUDA_FAKE_SHARED];
    const cuda_fake_kernel *const what = o->kernel->what;
    const uint64_t n = (uint64_t)o->blocks[0] * o->blocks[1];
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t block = backwards ? n - 1 - k : k;
        if (what->phases)
            memset(shared, 0xa5, sizeof shared);
        for (int phase = 0; phase < (what->phases ? what->phases : 1); phase++)
            for (uint32_t t = 0; t < o->threads; t++) {
                cuda_fake_at = (cuda_fake_place){ .thread_x = backwards ? o->threads - 1 - t : t,
                                                  .block_x = (uint32_t)(block % o->blocks[0]),
                                                  .block_y = (uint32_t)(block / o->blocks[0]),
                                                  .threads = o->threads,
                                                  .blocks_x = o->blocks[0],
                                                  .blocks_y = o->blocks[1],
                                                  .phase = phase,
                                                  .shared = shared };
                what->thread(o->args);
            }
    }
}

static void run_op(const op *o, uint32_t drawn)
{
    if (drawn % 16 == 0)
        nanosleep(&(struct timespec){ .tv_nsec = (long)(drawn % 40000) }, NULL);
    cuda_fake_reach(true);
    if (o->kind == COPY) {
        memcpy(o->to, o->from, o->bytes);
    } else if (o->kind == SET) {
        memset(o->to, o->value, o->bytes);
    } else if (o->kind == WORK) {
        in_call = true;
        o->fn(o->arg);
        in_call = false;
    } else if (o->kind == KERNEL) {
        run_kernel(o, drawn & 1);
    }
}

void cuda_fake_drop(op *o)
{
    free(o->args);
    free(o->staged);
    free(o);
}

/* [lock held] */
static void run_first(struct CUstream_st *stream)
{
    op *const o = stream->first;
    const uint32_t drawn = draw(1u << 30);
    stream->running = true;
    fake.in_op = true;
    if (o->kind == KERNEL)
        check_pointers(o);
    pthread_mutex_unlock(&fake.lock);
    const int64_t start_ns = leat_clock_ns();
    run_op(o, drawn);
    pthread_mutex_lock(&fake.lock);
    cuda_fake_record_op(o, start_ns);
    fake.in_op = false;
    stream->running = false;
    stream->first = o->next;
    if (!stream->first)
        stream->last = NULL;
    fake.kernels += o->kind == KERNEL;
    fake.graphs += o->kind == GRAPH_END;
    if (o->kind == RECORD && o->generation > o->event->done) {
        o->event->done = o->generation;
        o->event->ns = cuda_fake_clock();
    }
    cuda_fake_drop(o);
    pthread_cond_broadcast(&fake.done);
}

static void *live_thread(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&fake.lock);
    while (!fake.stop) {
        struct CUstream_st *const stream = choose();
        if (stream)
            run_first(stream);
        else
            pthread_cond_wait(&fake.work, &fake.lock);
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

void cuda_fake_append(op **first, op **last, const op *from)
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

cudaError_t cuda_fake_enqueue(cudaStream_t stream, const op *o)
{
    if (!cuda_fake_is_stream(stream))
        return cudaErrorInvalidResourceHandle;
    if (stream->capturing) {
        if (o->kind != KERNEL && o->kind != SET && o->kind != WORK)
            cuda_fake_violate("something else than kernels and memset in a graph");
        if (stream != cuda_fake_capturing)
            cuda_fake_violate("work for a stream that another thread captures");
        cuda_fake_append(&stream->graph->first, &stream->graph->last, o);
        return cudaSuccess;
    }
    start_thread();
    cuda_fake_append(&stream->first, &stream->last, o);
    stream->last->call = cuda_fake_record_call(o->kind);
    pthread_cond_signal(&fake.work);
    return cudaSuccess;
}

/* --- for tests ------------------------------------------------------------------------------------ */

static void fake_reset(uint64_t seed)
{
    pthread_mutex_lock(&fake.lock);
    fake.random = seed * 2 + 1;
    fake.lost = fake.paused = fake.others_capture = false;
    fake.fail_in = -1;
    fake.fail_code = 0;
    fake.n_gpus = 1;
    fake.driver = 13000;
    fake.memory = (size_t)1 << 30;
    fake.contexts = 0;
    fake.calls = fake.kernels = fake.graphs = 0;
    fake.violation[0] = 0;
    pthread_mutex_unlock(&fake.lock);
}
static void fake_set_memory(size_t bytes)
{
    fake.memory = bytes;
}
static void fake_set_gpus(int n)
{
    fake.n_gpus = n;
}
static void fake_set_driver(int version)
{
    fake.driver = version;
}
static void fake_fail_at(int64_t n, int code)
{
    pthread_mutex_lock(&fake.lock);
    fake.fail_in = n;
    fake.fail_code = code;
    pthread_mutex_unlock(&fake.lock);
}
static uint64_t count(const uint64_t *what)
{
    pthread_mutex_lock(&fake.lock);
    const uint64_t n = *what;
    pthread_mutex_unlock(&fake.lock);
    return n;
}
static uint64_t fake_calls(void)
{
    return count(&fake.calls);
}
static uint64_t fake_kernels(void)
{
    return count(&fake.kernels);
}
static uint64_t fake_graphs(void)
{
    return count(&fake.graphs);
}
static void fake_lose(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.lost = true;
    fake.lost_code = cudaErrorIllegalAddress;
    pthread_cond_broadcast(&fake.done);
    pthread_mutex_unlock(&fake.lock);
}
static void fake_pause(int on)
{
    pthread_mutex_lock(&fake.lock);
    fake.paused = on;
    pthread_cond_broadcast(&fake.work);
    pthread_mutex_unlock(&fake.lock);
}
int cuda_fake_work(void *stream, void (*fn)(void *), void *arg)
{
    pthread_mutex_lock(&fake.lock);
    const op o = { .kind = WORK, .fn = fn, .arg = arg };
    const cudaError_t rc = fake.lost ? (cudaError_t)fake.lost_code : cuda_fake_enqueue(stream, &o);
    pthread_mutex_unlock(&fake.lock);
    return (int)rc;
}
/* It becomes the first that the stream has not begun. */
static int fake_work_ahead(void *given, void (*fn)(void *), void *arg)
{
    cudaStream_t const stream = given;
    const int rc = cuda_fake_work(stream, fn, arg);
    pthread_mutex_lock(&fake.lock);
    op *last = rc == 0 ? stream->first : NULL, *before = NULL;
    for (; last && last != stream->last; last = last->next)
        before = last;
    if (before && last->arg == arg && (before != stream->first || !stream->running)) {
        before->next = NULL;
        stream->last = before;
        op **const to = stream->running ? &stream->first->next : &stream->first;
        last->next = *to;
        *to = last;
    }
    pthread_mutex_unlock(&fake.lock);
    return rc;
}
static int fake_forgives(void)
{
    pthread_mutex_lock(&fake.lock);
    const bool forgives = fake.fail_code != 0 || fake.lost;
    pthread_mutex_unlock(&fake.lock);
    return forgives;
}
static int fake_is_lost(void)
{
    pthread_mutex_lock(&fake.lock);
    const bool lost = fake.lost;
    pthread_mutex_unlock(&fake.lock);
    return lost;
}
static size_t fake_live(char *text, size_t size)
{
    size_t n = 0, at = 0;
    pthread_mutex_lock(&fake.lock);
    text[0] = 0;
    for (int i = 0; i < N_LIVE; i++) {
        n += fake.live[i];
        if (fake.live[i] && at < size)
            at += (size_t)snprintf(text + at, size - at, "%zu %s ", fake.live[i], kinds[i]);
    }
    pthread_mutex_unlock(&fake.lock);
    return n;
}
static const char *fake_violation(void)
{
    return fake.violation[0] ? fake.violation : NULL;
}
static unsigned fake_contexts(void)
{
    pthread_mutex_lock(&fake.lock);
    const unsigned contexts = fake.contexts;
    pthread_mutex_unlock(&fake.lock);
    return contexts;
}
static void fake_others_capture(int on)
{
    pthread_mutex_lock(&fake.lock);
    fake.others_capture = on != 0;
    pthread_mutex_unlock(&fake.lock);
}
static void fake_allocates(const char *name)
{
    pthread_mutex_lock(&fake.lock);
    cuda_fake_ends_capture(name);
    pthread_mutex_unlock(&fake.lock);
}
static size_t fake_pending(void)
{
    size_t n = 0;
    pthread_mutex_lock(&fake.lock);
    for (const struct CUstream_st *s = fake.streams; s; s = s->next)
        for (const op *o = s->first; o; o = o->next)
            n++;
    pthread_mutex_unlock(&fake.lock);
    return n;
}

LEAT_API const cuda_fake_table *cuda_fake_get(void);
const cuda_fake_table *cuda_fake_get(void)
{
    static const cuda_fake_table table = {
        fake_reset,   fake_set_memory, fake_set_gpus,  fake_set_driver,     fake_fail_at,
        fake_calls,   fake_lose,       fake_pause,     fake_live,           fake_violation,
        fake_kernels, fake_graphs,     cuda_fake_work, fake_work_ahead,     fake_forgives,
        fake_is_lost, fake_contexts,   fake_pending,   fake_others_capture, fake_allocates
    };
    return &table;
}
