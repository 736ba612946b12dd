/* SPDX-License-Identifier: MIT
 *
 * gpu_bench_jpeg.c: from JPEG records in which one can seek to normalised batches on the GPU: decoded by the
 * CPU's threads, by nvJPEG, and by both. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "gpu_cases.h"
#include "gpu_jpegs.h"
#include "leat/leat.h"

/* How large all is: as in earnest, and for a quick look. */
typedef struct scale {
    int pictures, least_px, most_px, batch, size;
    int64_t warm_ns, measure_ns; /* of an arm, once */
} scale;
static const scale scales[] = { { 512, 330, 550, 256, 224, 400000000, 1200000000 },
                                { 32, 40, 60, 8, 24, 5000000, 20000000 } };
#define NORMALIZE                                                                                  \
    "random_flip, {normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}}"
#define CROP "{random_resized_crop: {size: %d}}"

typedef struct rate {
    double images_s, threads; /* threads: CPU time per time of the clock */
} rate;

static const scale *scale_of(const gpu_run *run)
{
    return &scales[run->effort < 50];
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Takes batches for so long; each is waited for on a stream, as a step would. Ends when all that was
 * taken is there. */
static int take_batches(gpu_run *run, leat_loader *loader, leat_stream *stream, int batch_size,
                        int64_t ns, rate *out, leat_error *err)
{
    const int64_t start = leat_clock_ns(), cpu = cpu_ns();
    int64_t rows = 0;
    int rc = LEAT_OK;
    while (rc >= 0 && leat_clock_ns() < start + ns) {
        leat_batch *batch;
        rc = leat_loader_next(loader, &batch, err);
        if (rc < 0)
            return rc;
        rows += batch_size;
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
    char text[900], with_size[500];
    leat_config *config;
    leat_plan *plan = NULL;
    leat_loader *loader = NULL;
    leat_stream *stream = NULL;
    const leat_loader_options o = { .device = run->device, .epochs = -1 };
    const scale *const s = scale_of(run);
    snprintf(with_size, sizeof with_size, maps, s->size);
    snprintf(text, sizeof text,
             "source: {tfrecord: '%s'}\npipeline:\n  - shuffle\n%s  - batch: %d\n  - prefetch: 2\n",
             path, with_size, s->batch);
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
        rc = take_batches(run, loader, stream, s->batch, s->warm_ns, out, err);
    if (rc >= 0)
        rc = take_batches(run, loader, stream, s->batch, s->measure_ns, out, err);
    leat_loader_close(&loader);
    if (stream)
        run->device->table->stream_close(stream);
    leat_plan_close(&plan);
    return rc;
}

/* --- arms ------------------------------------------------------------------------------------------ */

typedef struct arm {
    const char *name, *maps;
    bool whole; /* nvJPEG decodes all of every picture */
} arm;

#define SHARE(share)                                                                               \
    "  - map: {device: gpu, ops: [{decode_jpeg: {device_share: " share "}}, " CROP ", " NORMALIZE  \
    "]}\n"

static const arm arms[] = {
    /* what says most comes first */
    { "cpu_decode",
      "  - map: [decode_jpeg, " CROP "]\n  - map: {device: gpu, ops: [" NORMALIZE "]}\n", false },
    { "all_on_cpu", "  - map: {device: cpu, ops: [decode_jpeg, " CROP ", " NORMALIZE "]}\n",
      false },
    { "nvjpeg", SHARE("1"), false },
    { "share_50", SHARE("0.5"), false },
    { "share_25", SHARE("0.25"), false },
    { "share_75", SHARE("0.75"), false },
    { "nvjpeg_whole", SHARE("1"), true },
};
enum { CPU_DECODE, ALL_ON_CPU, NVJPEG, SHARE_50, SHARE_25, SHARE_75, WHOLE, N_ARMS };

/* Switches off that only parts of pictures are decoded. */
static int measure_arm(gpu_run *run, const char *path, const arm *a, rate *out, leat_error *err)
{
    if (a->whole)
        setenv("LEAT_NVJPEG_REGIONS", "off", 1);
    const int rc = measure(run, path, a->maps, out, err);
    if (a->whole)
        unsetenv("LEAT_NVJPEG_REGIONS");
    return rc;
}

static void keep(gpu_run *run, const char *name, const rate *r)
{
    char text[48];
    snprintf(text, sizeof text, "%s", name);
    gpu_keep(run, text, r->images_s, "images/s");
    snprintf(text, sizeof text, "%s_cpu_threads", name);
    gpu_keep(run, text, r->threads, "threads");
    gpu_note("%-12s %9.0f images/s, %.1f CPU threads", name, r->images_s, r->threads);
}

/* Each arm is kept as it is measured. */
static int measure_all(gpu_run *run, const char *path, rate rates[N_ARMS], leat_error *err)
{
    int rc = LEAT_OK;
    for (int k = 0; k < N_ARMS && rc >= 0; k++)
        if ((rc = measure_arm(run, path, &arms[k], &rates[k], err)) >= 0)
            keep(run, arms[k].name, &rates[k]);
    return rc;
}

gpu_verdict gpu_bench_jpeg(gpu_run *run)
{
    const scale *const s = scale_of(run);
    const int px = (s->least_px + s->most_px) / 2;
    const gpu_jpegs what = { .n = s->pictures,
                             .least_px = s->least_px,
                             .most_px = s->most_px,
                             .seekable = true,
                             .wide = -1,
                             .cut = -1,
                             .headless = -1,
                             .seed = 1 };
    char path[64];
    leat_error err;
    rate rates[N_ARMS] = { { 0, 0 } };
    if (!run->device->table->ops_open)
        return gpu_say(run, GPU_NOT_RUN, "the device runs no ops");
    int rc = gpu_jpegs_write(&what, path, &err);
    if (rc >= 0)
        rc = measure_all(run, path, rates, &err);
    gpu_jpegs_remove(path);
    if (rc < 0)
        return gpu_say(run, rc == LEAT_E_UNSUPPORTED ? GPU_NOT_RUN : GPU_FAILED,
                       "decoded on the CPU: %.0f images/s with %.1f threads; %.250s",
                       rates[CPU_DECODE].images_s, rates[CPU_DECODE].threads, err.message);
    return gpu_say(
        run, GPU_PASSED,
        "JPEG files of %d x %d to normalised batches of %d x %d, images/s (CPU threads): "
        "decoded on the CPU %.0f (%.1f), by nvJPEG %.0f (%.1f), half and half %.0f",
        px, px, s->size, s->size, rates[CPU_DECODE].images_s, rates[CPU_DECODE].threads,
        rates[NVJPEG].images_s, rates[NVJPEG].threads, rates[SHARE_50].images_s);
}
