/* SPDX-License-Identifier: MIT
 *
 * gpu_clock.c: when an event was done, on the host's clock.
 *
 * DESIGN. CUDA tells only the time between two events, as a float of milliseconds: after 16 s it no
 * longer resolves a microsecond, and the GPU's clock drifts against the host's. So an event's time is
 * counted from an anchor near it, an event on a stream of its own whose moment the host knows: it looks at
 * its clock, records, waits for it to be done, looks again, and takes the middle. When the last anchor is
 * older than a quarter of a second, the next question makes a new one, at the cost of some tens of
 * microseconds; gpu_anchors.h draws the lines between them. On a busy device an anchor may come late, and
 * then nobody knows when: one that is not narrow is taken only if there is no good one of late. */
#include "base/clock.h"
#include "gpu.h"

#define RENEW_NS   250000000
#define OLD_NS     (16 * (int64_t)RENEW_NS)
#define NARROW_NS  40000
#define TRIES      4
#define TRY_NS     500000 /* better an old anchor than a long wait */
#define OPEN_TRIES 16
#define OPEN_NS    20000000000 /* the first work that a device does takes its time */

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

/* The narrowest of some tries: its event is spare[0] then. */
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

/* spare[0] becomes the newest anchor; the oldest one's event is spare then. */
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
    if (width_ns > NARROW_NS) /* no better here: twice as wide will do later */
        gpu->narrow_ns = width_ns < TRY_NS / 4 ? 2 * width_ns : TRY_NS / 2;
    gpu->renew_ns = leat_clock_ns() + RENEW_NS;
    return leat_gpu_check(gpu, rc, "setting up the device's clock", err);
}

void leat_gpu_clock_close(leat_gpu *gpu)
{
    if (gpu->side) /* an anchor that was given up may still be on its way */
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

/* [clock lock held] A new anchor if it is time; if that fails, the others still hold. */
static void renew(leat_gpu *gpu)
{
    const int64_t now = leat_clock_ns();
    const int64_t age = now - leat_gpu_anchors_at(&gpu->anchors, gpu->anchors.n - 1)->host_ns;
    int64_t ns, width_ns;
    if (now < gpu->renew_ns)
        return;
    gpu->renew_ns = now + RENEW_NS; /* also if it fails: a busy device stays busy */
    if (find_moment(gpu, TRIES, TRY_NS, &ns, &width_ns) != cudaSuccess ||
        ((width_ns <= gpu->narrow_ns || age > OLD_NS) && add_anchor(gpu, ns) != cudaSuccess))
        cudaGetLastError();
}

int64_t leat_gpu_clock_of(leat_gpu *gpu, const leat_gpu_event *event)
{
    float ms = 0;
    pthread_mutex_lock(&gpu->lock);
    renew(gpu);
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
