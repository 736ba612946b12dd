/* SPDX-License-Identifier: MIT
 *
 * gpu_record.c: records what the device does and when, for a while, with CUPTI (cupti_record.h). Studies call it. */
#include <stdlib.h>

#include "cuda/gpu.h"
#include "cupti_record.h"

static struct {
    pthread_mutex_t lock;
    bool recording;
    leat_device_span *spans;
    size_t n, room;
    uint64_t dropped;
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void keep_span(const leat_device_span *span)
{
    pthread_mutex_lock(&kept.lock);
    if (kept.recording && kept.n == kept.room) {
        const size_t room = kept.room ? kept.room * 2 : 4096;
        leat_device_span *const more = realloc(kept.spans, room * sizeof *more);
        if (more) {
            kept.spans = more;
            kept.room = room;
        }
    }
    if (kept.recording && kept.n < kept.room)
        kept.spans[kept.n++] = *span;
    else
        kept.dropped += kept.recording;
    pthread_mutex_unlock(&kept.lock);
}

static void keep_dropped(uint64_t n)
{
    pthread_mutex_lock(&kept.lock);
    kept.dropped += n;
    pthread_mutex_unlock(&kept.lock);
}

static const leat_cupti_sink sink = { keep_span, keep_dropped };

int leat_gpu_record_start(leat_device *device, leat_error *err)
{
    (void)device;
    pthread_mutex_lock(&kept.lock);
    const bool busy = kept.recording;
    pthread_mutex_unlock(&kept.lock);
    int rc = busy ? leat_gpu_fail(err, LEAT_E_BUSY, "a recording is under way already")
                  : leat_cupti_open(&sink, err);
    if (rc < 0 || (rc = leat_cupti_start(false, err)) < 0)
        return rc;
    pthread_mutex_lock(&kept.lock);
    kept.recording = true;
    kept.n = 0;
    kept.dropped = 0;
    pthread_mutex_unlock(&kept.lock);
    return LEAT_OK;
}

int leat_gpu_record_stop(leat_device *device, leat_device_record *out, leat_error *err)
{
    leat_gpu *const gpu = leat_gpu_of(device);
    *out = (leat_device_record){ .spans = NULL };
    pthread_mutex_lock(&kept.lock);
    const bool on = kept.recording;
    pthread_mutex_unlock(&kept.lock);
    if (!on)
        return leat_gpu_fail(err, LEAT_E_ARGUMENT, "no recording is under way");
    cudaSetDevice(gpu->number);
    int rc = leat_gpu_check(gpu, cudaDeviceSynchronize(), "waiting for the device", err);
    /* First the complete buffers; then, with all records disabled, the others. */
    int flushed = leat_cupti_flush(false, rc == LEAT_OK ? err : NULL);
    leat_cupti_stop();
    if (flushed == LEAT_OK)
        flushed = leat_cupti_flush(true, rc == LEAT_OK ? err : NULL);
    pthread_mutex_lock(&kept.lock);
    kept.recording = false;
    *out = (leat_device_record){ kept.spans, kept.n, kept.dropped };
    kept.spans = NULL;
    kept.n = kept.room = 0;
    pthread_mutex_unlock(&kept.lock);
    if (out->n)
        qsort(out->spans, out->n, sizeof *out->spans, leat_device_span_order);
    rc = rc == LEAT_OK ? flushed : rc;
    if (rc < 0) {
        free(out->spans);
        *out = (leat_device_record){ .spans = NULL };
    }
    return rc;
}
