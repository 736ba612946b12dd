/* SPDX-License-Identifier: MIT
 *
 * cupti_record.c: see cupti_record.h.
 *
 * CUPTI is opened at the first recording: the file that LEAT_CUPTI names (off: none), or the usual files. It gets the
 * host's clock before any record is enabled. CONCURRENT_KERNEL records kernels without serialising them,
 * and the kernels of a graph one by one. CUPTI asks for buffers and returns them full, on its own threads.
 * They are read at once and reused. */
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
enum { MOST_IDLE_BUFFERS = 16 };
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
    X(cuptiGetResultString)

static struct {
    pthread_mutex_t lock;
    void *library; /* never closed */
#define DECLARE(name) __typeof__(&name) name##_fn;
    CUPTI_CALLS(DECLARE)
#undef DECLARE
    bool prepared;
    leat_cupti_sink sink;
    uint8_t *idle[MOST_IDLE_BUFFERS];
    int n_idle;
} cupti = { .lock = PTHREAD_MUTEX_INITIALIZER };

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

static void add_locked(const leat_device_span *span)
{
    if (span->end_ns != 0 && span->end_ns >= span->start_ns) /* else CUPTI has no times of it */
        cupti.sink.span(span);
}

static void take_copy_locked(const CUpti_ActivityMemcpy6 *copy)
{
    const bool inside = copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
    add_locked(&(leat_device_span){ .start_ns = (int64_t)copy->start,
                                    .end_ns = (int64_t)copy->end,
                                    .bytes = copy->bytes,
                                    .kind = inside ? LEAT_SPAN_MOVE : LEAT_SPAN_COPY,
                                    .call = copy->correlationId });
}

/* Whether a call enqueues work: others are not kept. */
static bool enqueues(const CUpti_ActivityAPI *call)
{
    static const CUpti_CallbackId of_runtime[] = {
        CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
        CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
        CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
        CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
        CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
    };
    static const CUpti_CallbackId of_driver[] = {
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,       CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
        CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,        CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2,
        CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2,
        CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync,        CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async,
        CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async,
    };
    const bool runtime = call->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    const CUpti_CallbackId *const list = runtime ? of_runtime : of_driver;
    const size_t n = (runtime ? sizeof of_runtime : sizeof of_driver) / sizeof *list;
    for (size_t i = 0; i < n; i++)
        if (list[i] == call->cbid)
            return true;
    return false;
}

static void take_locked(const CUpti_Activity *record)
{
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const CUpti_ActivityKernel10 *const kernel = (const void *)record;
        add_locked(&(leat_device_span){ .start_ns = (int64_t)kernel->start,
                                        .end_ns = (int64_t)kernel->end,
                                        .kind = LEAT_SPAN_KERNEL,
                                        .call = kernel->correlationId,
                                        .name = kernel->name });
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        take_copy_locked((const void *)record);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset4 *const set = (const void *)record;
        add_locked(&(leat_device_span){ .start_ns = (int64_t)set->start,
                                        .end_ns = (int64_t)set->end,
                                        .kind = LEAT_SPAN_SET,
                                        .call = set->correlationId });
    } else if (record->kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) {
        const CUpti_ActivitySynchronization2 *const wait = (const void *)record;
        add_locked(&(leat_device_span){ .start_ns = (int64_t)wait->start,
                                        .end_ns = (int64_t)wait->end,
                                        .kind = LEAT_SPAN_WAIT,
                                        .call = wait->correlationId });
    } else if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME ||
               record->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
        const CUpti_ActivityAPI *const call = (const void *)record;
        if (enqueues(call))
            add_locked(&(leat_device_span){ .start_ns = (int64_t)call->start,
                                            .end_ns = (int64_t)call->end,
                                            .kind = LEAT_SPAN_CALL,
                                            .call = call->correlationId });
    }
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most_records)
{
    pthread_mutex_lock(&cupti.lock);
    *buffer = cupti.n_idle ? cupti.idle[--cupti.n_idle] : NULL;
    pthread_mutex_unlock(&cupti.lock);
    if (!*buffer)
        *buffer = malloc(BUFFER_BYTES);
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
    if (buffer && cupti.n_idle < MOST_IDLE_BUFFERS) {
        cupti.idle[cupti.n_idle++] = buffer;
        buffer = NULL;
    }
    pthread_mutex_unlock(&cupti.lock);
    free(buffer);
}

static uint64_t CUPTIAPI host_clock(void)
{
    return (uint64_t)leat_clock_ns();
}

/* --- start and stop ------------------------------------------------------------------------------ */

/* RUNTIME records every call of the runtime. Choosing some by cuptiActivityEnableRuntimeApi() alone gave no record of any
 * with the CUPTI of CUDA 13.0.1 and driver 580. */
static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, /* from here on, with bits 0, 1 of `more` */
    CUPTI_ACTIVITY_KIND_DRIVER,
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, N_PLAIN = 4 };

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
    const int rc = load_locked(err);
    if (rc == LEAT_OK)
        cupti.sink = *sink;
    pthread_mutex_unlock(&cupti.lock);
    return rc < 0 ? rc : prepare(err);
}

void leat_cupti_stop(void)
{
    for (int i = 0; i < N_KINDS; i++)
        cupti.cuptiActivityDisable_fn(kinds[i]);
}

int leat_cupti_start(unsigned more, leat_error *err)
{
    int rc = LEAT_OK;
    for (int i = 0; i < (int)N_KINDS && rc == LEAT_OK; i++)
        if (i < (int)N_PLAIN || (more >> (i - (int)N_PLAIN) & 1))
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

int leat_cupti_start(unsigned more, leat_error *err)
{
    (void)more;
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
