/* SPDX-License-Identifier: MIT
 *
 * cuda_fake.c: see cuda_fake.h. */
#include "cuda_fake.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "leat/api.h"

typedef enum op_kind { COPY, SET, RECORD, WAIT, CALL, KERNEL, GRAPH_END } op_kind;

typedef struct op {
    op_kind kind;
    void *to;
    const void *from;
    size_t bytes;
    int value;
    cudaEvent_t event;
    uint64_t generation;
    void (*fn)(void *);
    void *arg;
    const cuda_fake_kernel *kernel;
    uint32_t blocks[2], threads;
    void *args; /* owned by the op, of graphs by the graph */
    bool of_graph;
    struct op *next;
} op;

struct CUstream_st {
    op *first, *last;
    bool running; /* its first op is being run */
    bool capturing;
    struct CUgraph_st *graph;
    struct CUstream_st *next;
};

struct CUevent_st {
    uint64_t recorded, done; /* generations */
    int64_t ns;
    unsigned flags;
};

struct CUgraph_st {
    op *first, *last;
};
struct CUgraphExec_st {
    op *first;
};

typedef struct allocation {
    uint8_t *memory;
    size_t bytes;
    bool pinned;
    struct allocation *next;
} allocation;

enum { STREAMS, EVENTS, GRAPHS, EXECS, LIBRARIES, DEVICE, PINNED, N_KINDS };
static const char *const kinds[] = { "streams",   "events", "graphs", "exec graphs",
                                     "libraries", "device", "pinned" };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t thread;
    bool has_thread, stop, lost, paused, in_op;
    uint64_t random, calls, kernels, graphs;
    int64_t fail_in;
    int fail_code, n_gpus, driver;
    size_t memory, used, live[N_KINDS];
    allocation *allocations;
    struct CUstream_st *streams;
    const char *last; /* name of the last call */
    char violation[256];
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER,
           .work = PTHREAD_COND_INITIALIZER,
           .done = PTHREAD_COND_INITIALIZER,
           .fail_in = -1,
           .n_gpus = 1,
           .driver = 13000,
           .memory = (size_t)1 << 30,
           .random = 1 };

_Thread_local cuda_fake_place cuda_fake_at;
static _Thread_local bool in_call;
static _Thread_local cudaError_t last_error;

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

static void violate(const char *what)
{
    if (!fake.violation[0])
        snprintf(fake.violation, sizeof fake.violation, "%s", what);
}

/* Begins a call: takes the lock; the error to answer with, if it is made to fail. */
static cudaError_t enter(const char *name)
{
    pthread_mutex_lock(&fake.lock);
    /* Asking again and again is one call, so that the number of calls does not depend on time. */
    const bool again = fake.last == name && !strcmp(name, "cudaEventQuery");
    fake.last = name;
    fake.calls += !again;
    if (in_call) {
        char text[128];
        snprintf(text, sizeof text, "%s in a call-back", name);
        violate(text);
    }
    if (fake.driver == 0 || fake.driver < 13000)
        return cudaErrorInsufficientDriver;
    if (fake.n_gpus == 0)
        return cudaErrorNoDevice;
    if (fake.lost)
        return cudaErrorIllegalAddress;
    if (!again && fake.fail_in >= 0 && fake.fail_in-- == 0)
        return (cudaError_t)fake.fail_code;
    return cudaSuccess;
}

static cudaError_t leave(cudaError_t rc)
{
    pthread_mutex_unlock(&fake.lock);
    if (rc != cudaSuccess)
        last_error = rc;
    return rc;
}

#define ENTER()                                                                                    \
    cudaError_t rc = enter(__func__);                                                              \
    if (rc != cudaSuccess)                                                                         \
    return leave(rc)

/* --- the thread that runs everything ------------------------------------------------------------- */

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

static void drop(op *o)
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

static void append(op **first, op **last, const op *from)
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

static bool is_stream(cudaStream_t stream)
{
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        if (s == stream)
            return true;
    violate("a stream that is not there (or the legacy stream)");
    return false;
}

/* To the stream's queue or, while it is captured, to the graph. */
static cudaError_t enqueue(cudaStream_t stream, const op *o)
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

/* --- device -------------------------------------------------------------------------------------- */

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = fake.driver;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count)
{
    ENTER();
    *count = fake.n_gpus;
    return leave(cudaSuccess);
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    ENTER();
    if (device < 0 || device >= fake.n_gpus)
        return leave(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "fake GPU");
    p->major = 9;
    p->totalGlobalMem = fake.memory;
    p->multiProcessorCount = 4;
    return leave(cudaSuccess);
}
cudaError_t cudaSetDevice(int device)
{
    ENTER();
    return leave(device >= 0 && device < fake.n_gpus ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetPCIBusId(char *bus, int size, int device)
{
    ENTER();
    snprintf(bus, (size_t)size, "0000:%02x:00.0", device);
    return leave(cudaSuccess);
}
cudaError_t cudaDeviceSynchronize(void)
{
    ENTER();
    for (struct CUstream_st *s = fake.streams; s && !fake.lost;)
        if (s->first) {
            pthread_cond_wait(&fake.done, &fake.lock);
            s = fake.streams;
        } else {
            s = s->next;
        }
    return leave(cudaSuccess);
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

/* --- memory -------------------------------------------------------------------------------------- */

static cudaError_t allocate(void **out, size_t bytes, bool pinned)
{
    if (!pinned && fake.used + bytes > fake.memory)
        return cudaErrorMemoryAllocation;
    allocation *const a = malloc(sizeof *a);
    *a = (allocation){ aligned_alloc(256, (bytes + 255) & ~(size_t)255), bytes, pinned,
                       fake.allocations };
    memset(a->memory, 0xa5, bytes); /* never zeros by luck */
    fake.allocations = a;
    fake.used += pinned ? 0 : bytes;
    fake.live[pinned ? PINNED : DEVICE]++;
    *out = a->memory;
    return cudaSuccess;
}

/* What is ended while work uses it is a violation, unless a call was made to fail: then the waiting
 * before it may be what failed, and CUDA itself waits. */
static void await(bool (*is_used)(const void *), const void *what, const char *text)
{
    if (fake.fail_code == 0 && !fake.lost && is_used(what))
        violate(text);
    while (is_used(what) && !fake.lost && !fake.paused)
        pthread_cond_wait(&fake.done, &fake.lock);
}

static bool touches(const op *o, const allocation *a)
{
    const uint8_t *const to = o->to, *const from = o->from;
    return (to && to >= a->memory && to < a->memory + a->bytes) ||
           (from && from >= a->memory && from < a->memory + a->bytes);
}

/* Kernels may use any memory of the device; freeing waits for them, as CUDA's does, where a call that
 * was to wait has been made to fail. */
static bool memory_is_used(const void *what)
{
    const allocation *const memory = what;
    for (struct CUstream_st *s = fake.streams; s && fake.fail_code && !memory->pinned; s = s->next)
        if (s->first)
            return true;
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        for (const op *o = s->first; o; o = o->next)
            if (touches(o, what))
                return true;
    return false;
}

static cudaError_t release(void *memory, bool pinned)
{
    for (const allocation *a = fake.allocations; a; a = a->next)
        if (a->memory == memory) {
            await(memory_is_used, a, "memory freed under work that uses it");
            break; /* the list may be another one by now */
        }
    for (allocation **at = &fake.allocations; *at; at = &(*at)->next) {
        allocation *const a = *at;
        if (a->memory != memory || a->pinned != pinned)
            continue;
        *at = a->next;
        fake.used -= pinned ? 0 : a->bytes;
        fake.live[pinned ? PINNED : DEVICE]--;
        free(a->memory);
        free(a);
        return cudaSuccess;
    }
    violate("memory freed that is not there");
    return cudaErrorInvalidValue;
}

static void check_range(const void *memory, size_t bytes)
{
    const uint8_t *const p = memory;
    for (const allocation *a = fake.allocations; a; a = a->next)
        if (!a->pinned && p >= a->memory && p + bytes <= a->memory + a->bytes)
            return;
    violate("a copy beyond device memory");
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    ENTER();
    return leave(allocate(out, bytes, false));
}
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    ENTER();
    (void)flags;
    return leave(allocate(out, bytes, true));
}
/* What ends something ends it also when it is made to fail, as CUDA's do: there is no second try. */
#define END(call)                                                                                  \
    cudaError_t rc = enter(__func__);                                                              \
    const cudaError_t own = (call);                                                                \
    return leave(rc != cudaSuccess ? rc : own)

cudaError_t cudaFree(void *memory)
{
    END(release(memory, false));
}
cudaError_t cudaFreeHost(void *memory)
{
    END(release(memory, true));
}
cudaError_t cudaMemGetInfo(size_t *n_free, size_t *total)
{
    ENTER();
    *n_free = fake.memory - fake.used;
    *total = fake.memory;
    return leave(cudaSuccess);
}

/* --- streams and events --------------------------------------------------------------------------- */

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

/* --- work ----------------------------------------------------------------------------------------- */

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    ENTER();
    check_range(kind == cudaMemcpyHostToDevice ? to : from, bytes);
    const op o = { .kind = COPY, .to = to, .from = from, .bytes = bytes };
    return leave(enqueue(stream, &o));
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    ENTER();
    check_range(to, bytes);
    const op o = { .kind = SET, .to = to, .bytes = bytes, .value = value };
    return leave(enqueue(stream, &o));
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *arg)
{
    ENTER();
    const op o = { .kind = CALL, .fn = fn, .arg = arg };
    return leave(enqueue(stream, &o));
}

/* --- kernels and graphs --------------------------------------------------------------------------- */

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *jit_options, void **jit_values, unsigned n_jit,
                                enum cudaLibraryOption *options, void **values, unsigned n)
{
    ENTER();
    (void)code, (void)jit_options, (void)jit_values, (void)n_jit, (void)options, (void)values;
    (void)n;
    fake.live[LIBRARIES]++;
    *library = (cudaLibrary_t)(void *)malloc(1);
    return leave(cudaSuccess);
}
static cudaError_t unload(cudaLibrary_t library)
{
    fake.live[LIBRARIES]--;
    free((void *)library);
    return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    END(unload(library));
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t *out, cudaLibrary_t library, const char *name)
{
    ENTER();
    (void)library;
    for (const cuda_fake_kernel *k = cuda_fake_kernels; k->name; k++)
        if (!strcmp(k->name, name)) {
            *(const void **)out = k;
            return leave(cudaSuccess);
        }
    return leave(cudaErrorSymbolNotFound);
}
cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                             cudaStream_t stream)
{
    ENTER();
    (void)shared;
    if (!grid.x || !grid.y || !block.x || grid.y > 65535 || block.x > 1024)
        return leave(cudaErrorInvalidConfiguration);
    op o = {
        .kind = KERNEL, .kernel = func, .blocks = { grid.x, grid.y }, .threads = block.x * block.y
    };
    o.args = malloc(o.kernel->args_bytes);
    memcpy(o.args, args[0], o.kernel->args_bytes);
    const cudaError_t own = enqueue(stream, &o);
    if (own != cudaSuccess)
        free(o.args);
    return leave(own);
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    ENTER();
    if (mode != cudaStreamCaptureModeThreadLocal)
        violate("a capture that forbids other threads' calls");
    stream->capturing = true;
    stream->graph = calloc(1, sizeof *stream->graph);
    fake.live[GRAPHS]++;
    return leave(cudaSuccess);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    cudaError_t rc = enter(__func__);
    *out = stream->graph;
    stream->capturing = false;
    if (rc != cudaSuccess && *out) { /* a capture that fails leaves no graph */
        while ((*out)->first) {
            op *const o = (*out)->first;
            (*out)->first = o->next;
            drop(o);
        }
        free(*out);
        *out = NULL;
        fake.live[GRAPHS]--;
    }
    stream->graph = NULL;
    return leave(rc);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    ENTER();
    (void)flags;
    struct CUgraphExec_st *const exec = calloc(1, sizeof *exec);
    op *last = NULL;
    for (const op *o = graph->first; o; o = o->next) {
        append(&exec->first, &last, o);
        if (o->args) {
            last->args = malloc(o->kernel->args_bytes);
            memcpy(last->args, o->args, o->kernel->args_bytes);
        }
    }
    fake.live[EXECS]++;
    *out = exec;
    return leave(cudaSuccess);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    ENTER();
    (void)exec, (void)stream;
    return leave(cudaSuccess);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    ENTER();
    for (const op *o = exec->first; o && rc == cudaSuccess; o = o->next) {
        op copy = *o;
        copy.of_graph = true;
        rc = enqueue(stream, &copy);
    }
    if (rc == cudaSuccess)
        rc = enqueue(stream, &(op){ .kind = GRAPH_END });
    return leave(rc);
}
static cudaError_t destroy_ops(op *first, int kind, void *owner)
{
    while (first) {
        op *const o = first;
        first = o->next;
        drop(o);
    }
    free(owner);
    fake.live[kind]--;
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    END(destroy_ops(graph->first, GRAPHS, graph));
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    END(destroy_ops(exec->first, EXECS, exec));
}

/* --- for tests ------------------------------------------------------------------------------------ */

static void fake_reset(uint64_t seed)
{
    pthread_mutex_lock(&fake.lock);
    fake.random = seed * 2 + 1;
    fake.lost = fake.paused = false;
    fake.fail_in = -1;
    fake.fail_code = 0;
    fake.n_gpus = 1;
    fake.driver = 13000;
    fake.memory = (size_t)1 << 30;
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
static int fake_enqueue(void *stream, void (*fn)(void *), void *arg)
{
    pthread_mutex_lock(&fake.lock);
    const op o = { .kind = CALL, .fn = fn, .arg = arg };
    const cudaError_t rc = fake.lost ? cudaErrorIllegalAddress : enqueue(stream, &o);
    pthread_mutex_unlock(&fake.lock);
    return (int)rc;
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
    for (int i = 0; i < N_KINDS; i++) {
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

LEAT_API const cuda_fake_table *cuda_fake_get(void);
const cuda_fake_table *cuda_fake_get(void)
{
    static const cuda_fake_table table = { fake_reset,      fake_set_memory, fake_set_gpus,
                                           fake_set_driver, fake_fail_at,    fake_calls,
                                           fake_lose,       fake_pause,      fake_live,
                                           fake_violation,  fake_kernels,    fake_graphs,
                                           fake_enqueue,    fake_forgives,   fake_is_lost };
    return &table;
}
