/* SPDX-License-Identifier: MIT
 *
 * cupti_fake.c: see cupti_fake.h. */
#include "cupti_fake.h"

#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leat/api.h"

enum { N_KINDS = 64, N_CALLS = 1024 };

/* As large as any record. */
typedef union record {
    CUpti_Activity any;
    CUpti_ActivityKernel10 kernel;
    CUpti_ActivityMemcpy6 copy;
    CUpti_ActivityMemset4 set;
} record;

/* A buffer on its way back. */
typedef struct full {
    uint8_t *buffer;
    size_t size, at;
    struct full *next;
} full;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t delivered;
    CUpti_TimestampCallbackFunc clock;
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    bool kinds[N_KINDS], zeroed;
    CUpti_CallbackFunc note; /* NULL: nobody has subscribed */
    bool noted[N_CALLS];
    int fail;
    uint8_t *buffer; /* being filled */
    size_t size, at;
    bool holds;
    full *held;
    int n_pending; /* threads that give a buffer back */
    _Atomic uint64_t dropped;
    char violation[128];
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER, .delivered = PTHREAD_COND_INITIALIZER };

static void violate(const char *what)
{
    if (!fake.violation[0])
        snprintf(fake.violation, sizeof fake.violation, "%s", what);
}

static CUptiResult answer(void)
{
    const int code = fake.fail;
    fake.fail = 0;
    return (CUptiResult)code;
}

static size_t size_of(CUpti_ActivityKind kind)
{
    return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? sizeof(CUpti_ActivityKernel10)
           : kind == CUPTI_ACTIVITY_KIND_MEMCPY          ? sizeof(CUpti_ActivityMemcpy6)
                                                         : sizeof(CUpti_ActivityMemset4);
}

/* --- the library's functions ---------------------------------------------------------------------- */

LEAT_API CUptiResult cuptiGetVersion(uint32_t *version);
CUptiResult cuptiGetVersion(uint32_t *version)
{
    const char *const said = getenv("CUPTI_FAKE_VERSION");
    *version = said ? (uint32_t)atoi(said) : CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

LEAT_API CUptiResult cuptiGetResultString(CUptiResult result, const char **text);
CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "planted failure";
    return CUPTI_SUCCESS;
}

/* Whatever changes how records are made comes before any kind is enabled. */
static void check_early(void)
{
    for (int i = 0; i < N_KINDS; i++)
        if (fake.kinds[i])
            violate("settings changed while a kind is enabled");
}

LEAT_API CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock);
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
    check_early();
    fake.clock = clock;
    return answer();
}

LEAT_API CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete);
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    check_early();
    fake.request = request;
    fake.complete = complete;
    return answer();
}

LEAT_API CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute what, size_t *size,
                                               void *value);
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute what, size_t *size, void *value)
{
    check_early();
    if (what != CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER || *size != sizeof(uint8_t))
        return CUPTI_ERROR_INVALID_PARAMETER;
    fake.zeroed = *(uint8_t *)value != 0;
    return answer();
}

static CUptiResult enable(CUpti_ActivityKind kind, bool on)
{
    if (kind == CUPTI_ACTIVITY_KIND_KERNEL)
        violate("kernels recorded one after the other");
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER ||
        kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)
        violate("a kind of record that makes calls slow");
    if (on && (!fake.clock || !fake.request))
        violate("a kind enabled before clock and buffers are there");
    pthread_mutex_lock(&fake.lock);
    fake.kinds[kind] = on;
    pthread_mutex_unlock(&fake.lock);
    return on ? answer() : CUPTI_SUCCESS;
}
LEAT_API CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    return enable(kind, true);
}
LEAT_API CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    return enable(kind, false);
}
LEAT_API CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc note,
                                    void *user);
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc note, void *user)
{
    const CUptiResult rc = fake.note ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : answer();
    if (user)
        violate("call-backs with a user");
    if (rc != CUPTI_SUCCESS)
        return rc;
    pthread_mutex_lock(&fake.lock);
    fake.note = note;
    memset(fake.noted, 0, sizeof fake.noted);
    pthread_mutex_unlock(&fake.lock);
    *out = (CUpti_SubscriberHandle)(void *)&fake;
    return rc;
}
LEAT_API CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle who);
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle who)
{
    if ((void *)who != &fake || !fake.note)
        violate("nobody has subscribed");
    pthread_mutex_lock(&fake.lock);
    fake.note = NULL;
    pthread_mutex_unlock(&fake.lock);
    return CUPTI_SUCCESS;
}
LEAT_API CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle who,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId id);
CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle who,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    if ((void *)who != &fake || !fake.note || domain != CUPTI_CB_DOMAIN_DRIVER_API || id >= N_CALLS)
        violate("a call-back that nobody can get");
    else
        fake.noted[id] = on;
    return answer();
}

/* The buffer as it is, before what is held. [lock held] */
static full *take_buffer(void)
{
    full *const f = malloc(sizeof *f);
    *f = (full){ fake.buffer, fake.size, fake.at, fake.held };
    fake.buffer = NULL;
    fake.held = NULL;
    return f;
}

static void deliver(full *list)
{
    while (list) {
        full *const f = list;
        list = f->next;
        fake.complete(NULL, 0, f->buffer, f->size, f->at);
        free(f);
    }
}

static void *deliver_alone(void *arg)
{
    deliver(arg);
    pthread_mutex_lock(&fake.lock);
    fake.n_pending--;
    pthread_cond_broadcast(&fake.delivered);
    pthread_mutex_unlock(&fake.lock);
    return NULL;
}

/* The one who fills the buffer does not wait until it is read. [lock held] */
static void send_back(void)
{
    full *const f = take_buffer();
    pthread_t thread;
    if (fake.holds) {
        fake.held = f;
    } else if (pthread_create(&thread, NULL, deliver_alone, f) == 0) {
        fake.n_pending++;
        pthread_detach(thread);
    }
}

/* Only the records that are complete, or all: here each is. */
LEAT_API CUptiResult cuptiActivityFlushAll(uint32_t flags);
CUptiResult cuptiActivityFlushAll(uint32_t flags)
{
    (void)flags;
    pthread_mutex_lock(&fake.lock);
    while (fake.n_pending)
        pthread_cond_wait(&fake.delivered, &fake.lock);
    full *const list = fake.buffer ? take_buffer() : fake.held;
    fake.held = NULL;
    pthread_mutex_unlock(&fake.lock);
    deliver(list);
    return answer();
}

LEAT_API CUptiResult cuptiActivityFlushPeriod(uint32_t ms);
CUptiResult cuptiActivityFlushPeriod(uint32_t ms)
{
    (void)ms; /* whoever wants records asks for them */
    return answer();
}

LEAT_API CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                                CUpti_Activity **next);
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **next)
{
    uint8_t *const at = *next ? (uint8_t *)*next + (size_of((*next)->kind) + 7) / 8 * 8 : buffer;
    if (at >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *next = (CUpti_Activity *)(void *)at;
    return CUPTI_SUCCESS;
}

LEAT_API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
                                                       size_t *n);
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *n)
{
    (void)context, (void)stream;
    *n = atomic_exchange(&fake.dropped, 0);
    return CUPTI_SUCCESS;
}

/* --- for tests ------------------------------------------------------------------------------------ */

static void fake_reset(void)
{
    if (fake.buffer || fake.held)
        violate("records that nobody collected");
    memset(fake.kinds, 0, sizeof fake.kinds);
    fake.fail = 0;
    fake.dropped = 0;
    fake.holds = false;
    fake.violation[0] = 0;
}

/* Room for a record in the buffer; a full one goes back first. */
static void put(const record *r)
{
    const size_t bytes = (size_of(r->any.kind) + 7) / 8 * 8;
    size_t most = 0;
    if (fake.buffer && fake.at + bytes > fake.size)
        send_back();
    if (!fake.buffer) {
        fake.request(&fake.buffer, &fake.size, &most);
        fake.at = 0;
        if (most != 0 || (fake.buffer && (uintptr_t)fake.buffer % 8))
            violate("a buffer with a limit, or one that is not aligned");
        for (size_t i = 0; fake.buffer && fake.zeroed && i < fake.size; i += 509)
            if (fake.buffer[i])
                violate("a buffer that is not zeroed, though it was said to be");
    }
    if (!fake.buffer || fake.size < bytes) {
        fake.dropped++;
        return;
    }
    memcpy(fake.buffer + fake.at, r, size_of(r->any.kind));
    fake.at += bytes;
}

/* The host made a call. It began at `start`, and ends now. */
static void make_call(CUpti_CallbackId id, uint64_t start, uint32_t call)
{
    uint64_t kept = 0;
    CUpti_CallbackData data = { .callbackSite = CUPTI_API_ENTER,
                                .correlationData = &kept,
                                .correlationId = call };
    pthread_mutex_lock(&fake.lock);
    const CUpti_CallbackFunc note = fake.noted[id] ? fake.note : NULL;
    pthread_mutex_unlock(&fake.lock);
    if (!note)
        return;
    note(NULL, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    if (!kept)
        violate("a call-back that has not kept when the call began");
    kept = start;
    data.callbackSite = CUPTI_API_EXIT;
    note(NULL, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

static void fake_work(cupti_fake_kind kind, uint64_t start, uint64_t end, uint32_t call)
{
    record r;
    if (kind == CUPTI_FAKE_WAIT || kind == CUPTI_FAKE_LAUNCH || kind == CUPTI_FAKE_OTHER_CALL) {
        make_call(kind == CUPTI_FAKE_WAIT     ? CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize
                  : kind == CUPTI_FAKE_LAUNCH ? CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel
                                              : CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
                  start, call);
        return;
    }
    memset(&r, 0, sizeof r);
    if (kind == CUPTI_FAKE_KERNEL) {
        r.kernel = (CUpti_ActivityKernel10){ .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                             .name = end - start < 1000000 ? "short" : "long",
                                             .start = start,
                                             .end = end,
                                             .correlationId = call };
    } else if (kind == CUPTI_FAKE_TO_DEVICE || kind == CUPTI_FAKE_INSIDE) {
        r.copy = (CUpti_ActivityMemcpy6){ .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                          .copyKind = kind == CUPTI_FAKE_INSIDE
                                                          ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                                                          : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                          .start = start,
                                          .end = end,
                                          .bytes = 4096,
                                          .correlationId = call };
    } else {
        r.set = (CUpti_ActivityMemset4){
            .kind = CUPTI_ACTIVITY_KIND_MEMSET, .start = start, .end = end, .correlationId = call
        };
    }
    pthread_mutex_lock(&fake.lock);
    if (fake.kinds[r.any.kind])
        put(&r);
    pthread_mutex_unlock(&fake.lock);
}

static void fake_drop(uint64_t n)
{
    fake.dropped += n;
}
static uint64_t fake_now(void)
{
    return fake.clock ? fake.clock() : 0;
}
static void fake_fail(int code)
{
    fake.fail = code;
}
static int fake_enabled(void)
{
    int n = fake.note != NULL;
    for (int i = 0; i < N_KINDS; i++)
        n += fake.kinds[i];
    return n;
}
static const char *fake_violation(void)
{
    return fake.violation[0] ? fake.violation : NULL;
}

static void fake_hold(int on)
{
    pthread_mutex_lock(&fake.lock);
    fake.holds = on;
    pthread_mutex_unlock(&fake.lock);
}

LEAT_API const cupti_fake_table *cupti_fake_get(void);
const cupti_fake_table *cupti_fake_get(void)
{
    static const cupti_fake_table table = { fake_reset, fake_work,    fake_drop,      fake_now,
                                            fake_fail,  fake_enabled, fake_violation, fake_hold };
    return &table;
}
