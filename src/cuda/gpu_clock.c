/* SPDX-License-Identifier: MIT
 *
 * gpu_clock.c: when an event was done, on the host's clock.
 *
 * DESIGN. CUDA tells only the time between two events, as a float of milliseconds: after 16 s it no
 * longer resolves a microsecond, and the GPU's clock drifts against the host's. So an event's time is
 * counted from an anchor, an event on a stream of its own whose moment the host knows: it looks at
 * its clock, records, waits for it to be done, looks again, and takes the middle of the narrowest of
 * some tries. When the anchor is older than a second, the next question makes a new one, at the cost
 * of some tens of microseconds. An event that the host recorded before that is counted from the
 * anchor before. */
#include "clock.h"
#include "gpu.h"

#define FRESH_NS   1000000000 /* an anchor is good for this long */
#define TRIES      4
#define TRY_NS     500000 /* a busy device answers late: better the old anchor than a long wait */
#define OPEN_TRIES 16

/* One try: the middle of the two looks at the clock, and how far they are apart. */
static cudaError_t try_anchor(leat_gpu *gpu, cudaEvent_t event, int64_t *ns, int64_t *width_ns,
                              int64_t limit_ns)
{
    const int64_t before = leat_clock_ns();
    cudaError_t rc = cudaEventRecord(event, gpu->side);
    while (rc == cudaSuccess && (rc = cudaEventQuery(event)) == cudaErrorNotReady &&
           leat_clock_ns() - before < limit_ns)
        rc = cudaSuccess;
    const int64_t after = leat_clock_ns();
    *ns = before + (after - before) / 2;
    *width_ns = after - before;
    return rc;
}

/* The later tries overwrite the event, so the last must be a good one: stops at the first that is
 * nearly as narrow as the narrowest seen. */
static cudaError_t make_anchor(leat_gpu *gpu, leat_gpu_anchor *anchor, int tries, int64_t limit_ns)
{
    int64_t least = INT64_MAX, width;
    for (int i = 0; i < tries; i++) {
        const cudaError_t rc = try_anchor(gpu, anchor->event, &anchor->ns, &width, limit_ns);
        if (rc != cudaSuccess)
            return rc;
        if (i > 0 && width <= least + least / 4)
            break;
        least = width < least ? width : least;
    }
    return cudaSuccess;
}

int leat_gpu_clock_open(leat_gpu *gpu, leat_error *err)
{
    cudaError_t rc = cudaStreamCreateWithFlags(&gpu->side, cudaStreamNonBlocking);
    for (int i = 0; i < 2 && rc == cudaSuccess; i++)
        rc = cudaEventCreateWithFlags(&gpu->anchors[i].event, cudaEventDefault);
    if (rc == cudaSuccess)
        rc = make_anchor(gpu, &gpu->anchors[0], OPEN_TRIES, (int64_t)20 * FRESH_NS);
    gpu->renew_ns = leat_clock_ns() + FRESH_NS;
    return leat_gpu_check(gpu, rc, "setting up the device's clock", err);
}

void leat_gpu_clock_close(leat_gpu *gpu)
{
    for (int i = 0; i < 2; i++)
        if (gpu->anchors[i].event)
            cudaEventDestroy(gpu->anchors[i].event);
    if (gpu->side)
        cudaStreamDestroy(gpu->side);
    cudaGetLastError();
}

/* [clock lock held] The older anchor becomes the newer one; if that fails, the other still holds. */
static void renew(leat_gpu *gpu)
{
    leat_gpu_anchor fresh = gpu->anchors[1];
    if (leat_clock_ns() < gpu->renew_ns)
        return;
    gpu->renew_ns = leat_clock_ns() + FRESH_NS; /* also if it fails: a busy device stays busy */
    gpu->anchors[1].ns = 0;                     /* its event is about to be recorded anew */
    if (make_anchor(gpu, &fresh, TRIES, TRY_NS) != cudaSuccess) {
        cudaGetLastError();
        return;
    }
    gpu->anchors[1] = gpu->anchors[0];
    gpu->anchors[0] = fresh;
}

int64_t leat_gpu_clock_of(leat_gpu *gpu, const leat_gpu_event *event)
{
    float ms = 0;
    pthread_mutex_lock(&gpu->lock);
    renew(gpu);
    const leat_gpu_anchor *const anchor =
        event->recorded_ns < gpu->anchors[0].ns && gpu->anchors[1].ns ? &gpu->anchors[1]
                                                                      : &gpu->anchors[0];
    const cudaError_t rc = cudaEventElapsedTime(&ms, anchor->event, event->cuda);
    const int64_t ns = anchor->ns + (int64_t)((double)ms * 1e6);
    pthread_mutex_unlock(&gpu->lock);
    if (rc != cudaSuccess)
        cudaGetLastError();
    return rc == cudaSuccess ? ns : 0;
}
