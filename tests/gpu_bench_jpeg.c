/* SPDX-License-Identifier: MIT
 *
 * gpu_bench_jpeg.c: from JPEG records to normalised batches on the GPU: decoded by the CPU's threads, and by
 * nvJPEG. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "gpu_cases.h"
#include "gpu_jpegs.h"
#include "leat/leat.h"

enum { PICTURES = 512, BATCH = 256 };
#define WARM_NS    1000000000
#define MEASURE_NS 4000000000

#define NORMALIZE                                                                                  \
    "random_flip, {normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}}"
#define DECODE "decode_jpeg, {random_resized_crop: {size: 224}}"

typedef struct rate {
    double images_s, threads; /* threads: CPU time per time of the clock */
} rate;

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Takes batches for so long; each is waited for on a stream, as a step would. Ends when all that was
 * taken is there. */
static int take_batches(gpu_run *run, leat_loader *loader, leat_stream *stream, int64_t ns,
                        rate *out, leat_error *err)
{
    const int64_t start = leat_clock_ns(), cpu = cpu_ns();
    int64_t rows = 0;
    int rc = LEAT_OK;
    while (rc >= 0 && leat_clock_ns() < start + ns) {
        leat_batch *batch;
        rc = leat_loader_next(loader, &batch, err);
        if (rc < 0)
            return rc;
        rows += BATCH;
        rc = leat_batch_wait_on(batch, stream);
        if (rc >= 0)
            rc = leat_batch_release_on(batch, stream);
    }
    if (rc < 0)
        return leat_fail(err, rc, "a call on a batch failed");
    rc = run->device->table->stream_sync(stream, err);
    const double all = (double)(leat_clock_ns() - start);
    *out = (rate){ (double)rows / all * 1e9, (double)(cpu_ns() - cpu) / all };
    return rc;
}

static int measure(gpu_run *run, const char *path, const char *maps, rate *out, leat_error *err)
{
    char text[900];
    leat_config *config;
    leat_plan *plan = NULL;
    leat_loader *loader = NULL;
    leat_stream *stream = NULL;
    const leat_loader_options o = { .device = run->device, .epochs = -1 };
    snprintf(text, sizeof text,
             "source: {tfrecord: '%s'}\npipeline:\n  - shuffle\n%s  - batch: %d\n  - prefetch: 2\n",
             path, maps, BATCH);
    int rc = leat_config_parse(text, "gpu_bench_jpeg", &config, err);
    if (rc < 0)
        return rc;
    rc = leat_plan_open(config, NULL, &plan, err);
    leat_config_close(&config);
    if (rc >= 0)
        rc = run->device->table->stream_open(run->device, &stream, err);
    if (rc >= 0)
        rc = leat_loader_open(plan, &o, &loader, err);
    if (rc >= 0)
        rc = take_batches(run, loader, stream, WARM_NS, out, err);
    if (rc >= 0)
        rc = take_batches(run, loader, stream, MEASURE_NS, out, err);
    leat_loader_close(&loader);
    if (stream)
        run->device->table->stream_close(stream);
    leat_plan_close(&plan);
    return rc;
}

static void keep(gpu_run *run, const char *arm, const rate *r)
{
    char name[48];
    snprintf(name, sizeof name, "%s", arm);
    gpu_keep(run, name, r->images_s, "images/s");
    snprintf(name, sizeof name, "%s_cpu_threads", arm);
    gpu_keep(run, name, r->threads, "threads");
}

gpu_verdict gpu_bench_jpeg(gpu_run *run)
{
    const gpu_jpegs what = { .n = PICTURES,
                             .least_px = 330,
                             .most_px = 550,
                             .wide = -1,
                             .cut = -1,
                             .headless = -1,
                             .seed = 1 };
    char path[64];
    leat_error err, missing;
    rate cpu, nvjpeg;
    if (!run->device->table->map_open)
        return gpu_say(run, GPU_NOT_RUN, "the device runs no ops");
    int rc = gpu_jpegs_write(&what, path, &err);
    if (rc >= 0)
        rc = measure(run, path,
                     "  - map: [" DECODE "]\n  - map: {device: gpu, ops: [" NORMALIZE "]}\n", &cpu,
                     &err);
    const int on_gpu =
        rc < 0 ? rc
               : measure(run, path, "  - map: {device: gpu, ops: [" DECODE ", " NORMALIZE "]}\n",
                         &nvjpeg, &missing);
    gpu_jpegs_remove(path);
    if (rc < 0)
        return gpu_say(run, GPU_FAILED, "%.390s", err.message);
    keep(run, "cpu_decode", &cpu);
    if (on_gpu < 0)
        return gpu_say(run, on_gpu == LEAT_E_UNSUPPORTED ? GPU_NOT_RUN : GPU_FAILED,
                       "decoded on the CPU: %.0f images/s with %.1f threads; %.250s", cpu.images_s,
                       cpu.threads, missing.message);
    keep(run, "nvjpeg", &nvjpeg);
    return gpu_say(
        run, GPU_PASSED,
        "pictures of 440 x 440 to normalised batches of 224 x 224: %.0f images/s with %.1f "
        "CPU threads decoded on the CPU, %.0f with %.1f by nvJPEG",
        cpu.images_s, cpu.threads, nvjpeg.images_s, nvjpeg.threads);
}
