/* SPDX-License-Identifier: MIT
 *
 * cupti_record.c: see cupti_record.h.
 *
 * CUPTI is opened at the first recording: the file that LEAT_CUPTI names (off: none), or the usual files. It gets the
 * host's clock before any record is enabled. CONCURRENT_KERNEL records kernels without serialising them,
 * and the kernels of a graph one by one. CUPTI asks for buffers and returns them full, on its own threads.
 * They are read at once and reused.
 *
 * Calls of the host are noted in call-backs, in the thread that calls: those of the driver that enqueue work or wait for
 * it. Every call of the runtime ends in one of them, with the same correlation ID. CUPTI has records for calls, too
 * (RUNTIME, DRIVER, SYNCHRONIZATION), but a step of eager PyTorch on an H200 took 1.47 times as long with them, and 1.13
 * times with call-backs: 1.14 times with the records of work alone. */
#include "cupti_record.h"

#include <string.h>

#if __has_include(<cupti.h>)
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cuda/gpu_libs.h"

#define BUFFER_BYTES ((size_t)4 << 20)
/* Given to CUPTI, for a reader that is late; and kept for the next ones. */
enum { MOST_GIVEN_BUFFERS = 64, MOST_IDLE_BUFFERS = 16 };
/* Other major versions have other layouts of records. Versions before 13 counted 1, 2, 3 … */
enum { OURS = CUPTI_API_VERSION, MAJOR = 10000 };

#define CUPTI_CALLS(X)                                                                             \
    X(cuptiGetVersion)                                                                             \
    X(cuptiActivityRegisterTimestampCallback)                                                      \
    X(cuptiActivitySetAttribute)                                                                   \
    X(cuptiActivityRegisterCallbacks)                                                              \
    X(cuptiActivityEnable)                                                                         \
    X(cuptiActivityDisable)                                                                        \
    X(cuptiActivityFlushAll)                                                                       \
    X(cuptiActivityFlushPeriod)                                                                    \
    X(cuptiActivityGetNextRecord)                                                                  \
    X(cuptiActivityGetNumDroppedRecords)                                                           \
    X(cuptiSubscribe)                                                                              \
    X(cuptiUnsubscribe)                                                                            \
    X(cuptiEnableCallback)                                                                         \
    X(cuptiGetResultString)

static struct {
    pthread_mutex_t lock;
    void *library; /* never closed */
#define DECLARE(name) __typeof__(&name) name##_fn;
    CUPTI_CALLS(DECLARE)
#undef DECLARE
    bool prepared;
    CUpti_SubscriberHandle subscriber; /* NULL: nothing is recorded */
    leat_cupti_sink sink;
} cupti = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* CUPTI asks for a buffer in the thread that launches, which must not wait for the sink. malloc() under the lock. */
static struct {
    pthread_mutex_t lock;
    uint8_t *buffers[MOST_IDLE_BUFFERS];
    int n, n_given;
} idle = { .lock = PTHREAD_MUTEX_INITIALIZER };

LEAT_PRINTF(3, 4)
static int fail(leat_error *err, int code, const char *format, ...)
{
    va_list args;
    if (!err)
        return code;
    *err = (leat_error){ .code = code };
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return code;
}

/* --- opening ----------------------------------------------------------------------------------- */

static void *open_library(void)
{
    const char *const named = getenv("LEAT_CUPTI");
    char path[LEAT_GPU_LIBS_PATH];
    if (named && *named)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    /* Inside a program that is watched nothing is started. */
    return leat_gpu_libs_find("libcupti.so.13", !getenv("CUDA_INJECTION64_PATH"), path);
}

static int load_locked(leat_error *err)
{
    const char *const named = getenv("LEAT_CUPTI");
    if (named && !strcmp(named, "off"))
        return fail(err, LEAT_E_UNSUPPORTED, "LEAT_CUPTI is off");
    if (cupti.library)
        return LEAT_OK;
    void *const library = open_library();
    if (!library)
        return fail(err, LEAT_E_UNSUPPORTED,
                    "%.300s cannot be opened: put it on the library path or name it in "
                    "LEAT_CUPTI",
                    named && *named ? named : "libcupti.so.13");
#define LOAD(name)                                                                                 \
    *(void **)&cupti.name##_fn = dlsym(library, #name);                                            \
    if (!cupti.name##_fn)                                                                          \
        return fail(err, LEAT_E_UNSUPPORTED, "CUPTI has no function %s", #name);
    CUPTI_CALLS(LOAD)
#undef LOAD
    uint32_t version = 0;
    if (cupti.cuptiGetVersion_fn(&version) != CUPTI_SUCCESS || version / MAJOR != OURS / MAJOR)
        return fail(err, LEAT_E_UNSUPPORTED,
                    "CUPTI's version is %u, and its records are read as those of %d: use "
                    "the one of CUDA %d",
                    version, OURS, OURS / MAJOR);
    cupti.library = library;
    return LEAT_OK;
}

static int check(CUptiResult rc, const char *what, leat_error *err)
{
    const char *text = NULL;
    if (rc == CUPTI_SUCCESS)
        return LEAT_OK;
    cupti.cuptiGetResultString_fn(rc, &text);
    return fail(err, LEAT_E_UNSUPPORTED, "CUPTI: %s: %s (%d)%s", what,
                text ? text : "unknown error", (int)rc,
                rc == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
                    ? "; profiling is for administrators only on this machine"
                : rc == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                    ? "; another profiler is attached"
                    : "");
}

/* --- records ----------------------------------------------------------------------------------- */

/* Hands a span to whoever records. */
static void hand_over_locked(const leat_device_span *span)
{
    if (span->end_ns != 0 && span->end_ns >= span->start_ns) /* else CUPTI has no times of it */
        cupti.sink.span(span);
}

static void take_copy_locked(const CUpti_ActivityMemcpy6 *copy)
{
    const bool inside = copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
    hand_over_locked(&(leat_device_span){ .start_ns = (int64_t)copy->start,
                                          .end_ns = (int64_t)copy->end,
                                          .bytes = copy->bytes,
                                          .kind = inside ? LEAT_SPAN_MOVE : LEAT_SPAN_COPY,
                                          .call = copy->correlationId });
}

static void take_locked(const CUpti_Activity *record)
{
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const CUpti_ActivityKernel10 *const kernel = (const void *)record;
        hand_over_locked(&(leat_device_span){ .start_ns = (int64_t)kernel->start,
                                              .end_ns = (int64_t)kernel->end,
                                              .kind = LEAT_SPAN_KERNEL,
                                              .call = kernel->correlationId,
                                              .name = kernel->name });
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        take_copy_locked((const void *)record);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset4 *const set = (const void *)record;
        hand_over_locked(&(leat_device_span){ .start_ns = (int64_t)set->start,
                                              .end_ns = (int64_t)set->end,
                                              .kind = LEAT_SPAN_SET,
                                              .call = set->correlationId });
    }
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most_records)
{
    pthread_mutex_lock(&idle.lock);
    *buffer = idle.n                              ? idle.buffers[--idle.n]
              : idle.n_given < MOST_GIVEN_BUFFERS ? malloc(BUFFER_BYTES)
                                                  : NULL; /* CUPTI counts what it drops */
    idle.n_given += *buffer != NULL;
    pthread_mutex_unlock(&idle.lock);
    if (*buffer) /* prepare() promises zeros; CUPTI leaves gaps that must not look like records */
        memset(*buffer, 0, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *most_records = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    CUpti_Activity *record = NULL;
    size_t dropped = 0;
    (void)size;
    pthread_mutex_lock(&cupti.lock);
    while (valid && cupti.cuptiActivityGetNextRecord_fn(buffer, valid, &record) == CUPTI_SUCCESS)
        take_locked(record);
    if (cupti.cuptiActivityGetNumDroppedRecords_fn(context, stream, &dropped) != CUPTI_SUCCESS)
        dropped = 0;
    cupti.sink.end(dropped);
    pthread_mutex_unlock(&cupti.lock);
    pthread_mutex_lock(&idle.lock);
    idle.n_given -= buffer != NULL;
    if (buffer && idle.n < MOST_IDLE_BUFFERS) {
        idle.buffers[idle.n++] = buffer;
        buffer = NULL;
    }
    pthread_mutex_unlock(&idle.lock);
    free(buffer);
}

/* --- calls of the host --------------------------------------------------------------------------- */

#define DRIVER(name) CUPTI_DRIVER_TRACE_CBID_##name
static const CUpti_CallbackId calls[] = {
    DRIVER(cuLaunchKernel),
    DRIVER(cuLaunchKernel_ptsz),
    DRIVER(cuLaunchKernelEx),
    DRIVER(cuLaunchKernelEx_ptsz),
    DRIVER(cuGraphLaunch),
    DRIVER(cuGraphLaunch_ptsz),
    DRIVER(cuMemcpyHtoD_v2),
    DRIVER(cuMemcpyDtoH_v2),
    DRIVER(cuMemcpyHtoDAsync_v2),
    DRIVER(cuMemcpyHtoDAsync_v2_ptsz),
    DRIVER(cuMemcpyDtoHAsync_v2),
    DRIVER(cuMemcpyDtoHAsync_v2_ptsz),
    DRIVER(cuMemcpyDtoDAsync_v2),
    DRIVER(cuMemcpyDtoDAsync_v2_ptsz),
    DRIVER(cuMemcpyAsync),
    DRIVER(cuMemcpyAsync_ptsz),
    DRIVER(cuMemcpy2DAsync_v2),
    DRIVER(cuMemcpy3DAsync_v2),
    DRIVER(cuMemsetD8Async),
    DRIVER(cuMemsetD8Async_ptsz),
    DRIVER(cuMemsetD32Async),
    DRIVER(cuMemsetD32Async_ptsz),
    DRIVER(cuLaunchCooperativeKernel),
};
static const CUpti_CallbackId waits[] = { DRIVER(cuStreamSynchronize), DRIVER(cuCtxSynchronize),
                                          DRIVER(cuEventSynchronize),
                                          DRIVER(cuStreamSynchronize_ptsz),
                                          DRIVER(cuCtxSynchronize_v2) };
#undef DRIVER
enum { N_CALLS = sizeof calls / sizeof *calls, N_WAITS = sizeof waits / sizeof *waits };

static uint64_t CUPTIAPI host_clock(void)
{
    return (uint64_t)leat_clock_ns();
}

/* At the begin and the end of a call, in its thread. */
static void CUPTIAPI note_call(void *none, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                               const void *given)
{
    const CUpti_CallbackData *const data = given;
    leat_device_span span = { .kind = LEAT_SPAN_CALL, .call = data->correlationId };
    (void)none;
    (void)domain;
    if (data->callbackSite == CUPTI_API_ENTER) {
        *data->correlationData = host_clock();
        return;
    }
    for (int i = 0; i < N_WAITS; i++)
        if (waits[i] == id)
            span.kind = LEAT_SPAN_WAIT;
    span.start_ns = (int64_t)*data->correlationData;
    span.end_ns = (int64_t)host_clock();
    if (span.start_ns > 0) /* else it began before anybody subscribed */
        cupti.sink.span(&span);
}

static int note_calls(const CUpti_CallbackId *ids, int n, leat_error *err)
{
    CUptiResult rc = CUPTI_SUCCESS;
    for (int i = 0; i < n && rc == CUPTI_SUCCESS; i++)
        rc = cupti.cuptiEnableCallback_fn(1, cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, ids[i]);
    return check(rc, "calls of the host", err);
}

/* --- start and stop ------------------------------------------------------------------------------ */

static const CUpti_ActivityKind kinds[] = { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                            CUPTI_ACTIVITY_KIND_MEMCPY,
                                            CUPTI_ACTIVITY_KIND_MEMSET };
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static int prepare(leat_error *err)
{
    uint8_t zeroed = 1;
    size_t size = sizeof zeroed;
    if (cupti.prepared)
        return LEAT_OK;
    int rc = check(cupti.cuptiActivityRegisterTimestampCallback_fn(host_clock), "setting its clock",
                   err);
    if (rc == LEAT_OK) /* otherwise CUPTI zeroes them in the thread that launches */
        rc = check(cupti.cuptiActivitySetAttribute_fn(
                       CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed),
                   "buffers", err);
    if (rc == LEAT_OK)
        rc = check(cupti.cuptiActivityRegisterCallbacks_fn(give_buffer, take_buffer), "call-backs",
                   err);
    cupti.prepared = rc == LEAT_OK;
    return rc;
}

int leat_cupti_open(const leat_cupti_sink *sink, leat_error *err)
{
    pthread_mutex_lock(&cupti.lock);
    int rc = load_locked(err);
    if (rc == LEAT_OK && cupti.subscriber)
        rc = fail(err, LEAT_E_BUSY,
                  "this process is recorded already, by `leat watch` or by itself");
    if (rc == LEAT_OK)
        cupti.sink = *sink;
    pthread_mutex_unlock(&cupti.lock);
    return rc < 0 ? rc : prepare(err);
}

void leat_cupti_stop(void)
{
    if (cupti.subscriber)
        cupti.cuptiUnsubscribe_fn(cupti.subscriber);
    cupti.subscriber = NULL;
    for (int i = 0; i < N_KINDS; i++)
        cupti.cuptiActivityDisable_fn(kinds[i]);
}

int leat_cupti_start(bool with_waits, leat_error *err)
{
    CUpti_SubscriberHandle subscriber;
    int rc = check(cupti.cuptiSubscribe_fn(&subscriber, note_call, NULL), "call-backs", err);
    if (rc < 0)
        return rc;
    cupti.subscriber = subscriber;
    rc = note_calls(calls, N_CALLS, err);
    if (rc == LEAT_OK && with_waits)
        rc = note_calls(waits, N_WAITS, err);
    for (int i = 0; i < N_KINDS && rc == LEAT_OK; i++)
        rc = check(cupti.cuptiActivityEnable_fn(kinds[i]), "enabling a kind of record", err);
    if (rc < 0)
        leat_cupti_stop();
    return rc;
}

int leat_cupti_flush(bool all, leat_error *err)
{
    return check(cupti.cuptiActivityFlushAll_fn(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0),
                 "collecting the records", err);
}

int leat_cupti_flush_every(uint32_t ms, leat_error *err)
{
    return check(cupti.cuptiActivityFlushPeriod_fn(ms), "collecting the records", err);
}

uint32_t leat_cupti_version(void)
{
    uint32_t version = 0;
    if (!cupti.library || cupti.cuptiGetVersion_fn(&version) != CUPTI_SUCCESS)
        version = 0;
    return version;
}
#else
int leat_cupti_open(const leat_cupti_sink *sink, leat_error *err)
{
    static const char why[] = "this was built without CUPTI's headers";
    (void)sink;
    if (err) {
        *err = (leat_error){ .code = LEAT_E_UNSUPPORTED };
        memcpy(err->message, why, sizeof why);
    }
    return LEAT_E_UNSUPPORTED;
}

int leat_cupti_start(bool with_waits, leat_error *err)
{
    (void)with_waits;
    return leat_cupti_open(NULL, err);
}

int leat_cupti_flush(bool all, leat_error *err)
{
    (void)all;
    return leat_cupti_open(NULL, err);
}

int leat_cupti_flush_every(uint32_t ms, leat_error *err)
{
    (void)ms;
    return leat_cupti_open(NULL, err);
}

void leat_cupti_stop(void)
{
}

uint32_t leat_cupti_version(void)
{
    return 0;
}
#endif
