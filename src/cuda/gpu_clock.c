/* SPDX-License-Identifier: MIT
 *
 * gpu_clock.c: the host time at which an event completed. gpu_queue.c calls it for leat_device_table.event_ns.
 *
 * DESIGN. CUDA gives only the time between two events, as a float of milliseconds. After 16 s a float does
 * not resolve a microsecond, and the GPU's clock drifts against the host's. So the time of an event counts
 * from a near anchor: an event on the side stream whose host time is known. To make one, the host reads
 * its clock, records the event, waits for it, reads the clock again and takes the middle. If the last
 * anchor is older than 250 ms, the next call makes a new one, which takes some tens of microseconds.
 * gpu_anchors.h interpolates. On a busy device the event may complete late, which makes the anchor wide.
 * A wide anchor is used only if there has been no narrow one for a while. */
#include "base/clock.h"
#include "gpu.h"

#define RENEW_NS   250000000
#define OLD_NS     (16 * (int64_t)RENEW_NS)
#define NARROW_NS  40000
#define TRIES      4
#define TRY_NS     500000 /* an old anchor is better than a longer wait */
#define OPEN_TRIES 16
#define OPEN_NS    20000000000 /* the first work on a device can take seconds */

/* Tries one anchor: *ns is the middle of two clock readings, *width_ns their distance. */
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

/* Finds the narrowest of some tries. Its event is spare[0] afterwards. */
static cudaError_t find_moment(leat_gpu *gpu, int tries, int64_t limit_ns, int64_t *ns,
                               int64_t *width_ns)
{
    *width_ns = INT64_MAX;
    for (int i = 0; NARROW_NS < *width_ns && i < tries; i++) {
        int64_t at, width;
        const cudaError_t rc = try_anchor(gpu, gpu->spare[1], &at, &width, limit_ns);
        if (rc != cudaSuccess)
            return rc;
        if (width >= *width_ns)
            continue;
        cudaEvent_t const best = gpu->spare[1];
        gpu->spare[1] = gpu->spare[0];
        gpu->spare[0] = best;
        *ns = at;
        *width_ns = width;
    }
    return cudaSuccess;
}

/* Makes spare[0] the newest anchor. The event of the oldest becomes the spare. */
static cudaError_t add_anchor(leat_gpu *gpu, int64_t host_ns)
{
    leat_gpu_anchors *const a = &gpu->anchors;
    const int64_t at = a->n % LEAT_GPU_ANCHORS, last = (a->n + LEAT_GPU_ANCHORS - 1);
    cudaEvent_t const fresh = gpu->spare[0];
    int64_t gpu_ns = 0;
    if (a->n) {
        float ms = 0;
        const cudaError_t rc =
            cudaEventElapsedTime(&ms, gpu->anchor_events[last % LEAT_GPU_ANCHORS], fresh);
        if (rc != cudaSuccess)
            return rc;
        gpu_ns = leat_gpu_anchors_at(a, a->n - 1)->gpu_ns + (int64_t)((double)ms * 1e6);
    }
    gpu->spare[0] = gpu->anchor_events[at];
    gpu->anchor_events[at] = fresh;
    leat_gpu_anchors_add(a, host_ns, gpu_ns);
    return cudaSuccess;
}

int leat_gpu_clock_open(leat_gpu *gpu, leat_error *err)
{
    int64_t ns = 0, width_ns = 0;
    gpu->narrow_ns = NARROW_NS;
    cudaError_t rc = cudaStreamCreateWithFlags(&gpu->side, cudaStreamNonBlocking);
    for (int i = 0; i < LEAT_GPU_ANCHORS && rc == cudaSuccess; i++)
        rc = cudaEventCreateWithFlags(&gpu->anchor_events[i], cudaEventDefault);
    for (int i = 0; i < 2 && rc == cudaSuccess; i++)
        rc = cudaEventCreateWithFlags(&gpu->spare[i], cudaEventDefault);
    if (rc == cudaSuccess)
        rc = find_moment(gpu, OPEN_TRIES, OPEN_NS, &ns, &width_ns);
    if (rc == cudaSuccess)
        rc = add_anchor(gpu, ns);
    if (width_ns > NARROW_NS) /* this machine is slow: accept twice that width later */
        gpu->narrow_ns = width_ns < TRY_NS / 4 ? 2 * width_ns : TRY_NS / 2;
    gpu->renew_ns = leat_clock_ns() + RENEW_NS;
    return leat_gpu_check(gpu, rc, "setting up the device's clock", err);
}

void leat_gpu_clock_close(leat_gpu *gpu)
{
    if (gpu->side) /* the event of a failed try may still be in flight */
        cudaStreamSynchronize(gpu->side);
    for (int i = 0; i < LEAT_GPU_ANCHORS; i++)
        if (gpu->anchor_events[i])
            cudaEventDestroy(gpu->anchor_events[i]);
    for (int i = 0; i < 2; i++)
        if (gpu->spare[i])
            cudaEventDestroy(gpu->spare[i]);
    if (gpu->side)
        cudaStreamDestroy(gpu->side);
    cudaGetLastError();
}

/* Adds an anchor if it is due. If that fails, the others are still valid. */
static void renew_locked(leat_gpu *gpu)
{
    const int64_t now = leat_clock_ns();
    const int64_t age = now - leat_gpu_anchors_at(&gpu->anchors, gpu->anchors.n - 1)->host_ns;
    int64_t ns, width_ns;
    if (now < gpu->renew_ns)
        return;
    gpu->renew_ns = now + RENEW_NS; /* even if it fails, because a busy device stays busy */
    if (find_moment(gpu, TRIES, TRY_NS, &ns, &width_ns) != cudaSuccess ||
        ((width_ns <= gpu->narrow_ns || age > OLD_NS) && add_anchor(gpu, ns) != cudaSuccess))
        cudaGetLastError();
}

int64_t leat_gpu_clock_of(leat_gpu *gpu, const leat_gpu_event *event)
{
    float ms = 0;
    pthread_mutex_lock(&gpu->lock);
    renew_locked(gpu);
    const int64_t near = leat_gpu_anchors_before(&gpu->anchors, event->recorded_ns);
    const cudaError_t rc =
        cudaEventElapsedTime(&ms, gpu->anchor_events[near % LEAT_GPU_ANCHORS], event->cuda);
    const int64_t gpu_ns =
        leat_gpu_anchors_at(&gpu->anchors, near)->gpu_ns + (int64_t)((double)ms * 1e6);
    const int64_t ns = leat_gpu_anchors_host(&gpu->anchors, gpu_ns);
    pthread_mutex_unlock(&gpu->lock);
    if (rc != cudaSuccess)
        cudaGetLastError();
    return rc == cudaSuccess ? ns : 0;
}
