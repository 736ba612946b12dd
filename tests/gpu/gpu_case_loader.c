/* SPDX-License-Identifier: MIT
 *
 * gpu_case_loader.c: pipelines over rows in memory, with and without device: gpu, over prefetch depths,
 * held batches and a short last batch: the same bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_cases.h"
#include "leat/leat.h"

enum { SIDE = 20, CHANNELS = 3, RECORDS = 103, PIXELS = SIDE * SIDE * CHANNELS };

typedef struct pipeline {
    const char *host, *device; /* ops of the first map, and of the second */
    int batch, prefetch, hold;
    bool pinned;
} pipeline;

static int open_plan(const pipeline *p, bool on_gpu, const uint8_t *pixels, const int64_t *ids,
                     leat_plan **out, leat_error *err)
{
    char text[600];
    const leat_rows rows[] = {
        { "image", leat_shape_make(LEAT_U8, 3, (int64_t[]){ SIDE, SIDE, CHANNELS }), pixels },
        { "id", leat_shape_make(LEAT_I64, 0, NULL), ids },
    };
    leat_builder *b = leat_builder_open();
    leat_builder_seed(b, 5);
    leat_builder_rows(b, RECORDS, rows, 2);
    leat_builder_engine(b, "{threads: 3}");
    leat_builder_stage(b, "shuffle", "{seed: 3}");
    if (p->host[0])
        leat_builder_stage(b, "map", p->host);
    snprintf(text, sizeof text, "{device: %s, ops: %s}", on_gpu ? "gpu" : "cpu", p->device);
    leat_builder_stage(b, "map", text);
    snprintf(text, sizeof text, "{size: %d, drop_remainder: false}", p->batch);
    leat_builder_stage(b, "batch", text);
    snprintf(text, sizeof text, "{batches: %d, pinned: %s}", p->prefetch,
             p->pinned ? "true" : "false");
    leat_builder_stage(b, "prefetch", text);
    const int rc = leat_builder_plan(b, out, err);
    leat_builder_close(&b);
    return rc;
}

int gpu_fetch(gpu_run *run, leat_batch *batch, const leat_plan *plan, bool on_gpu,
              leat_stream *stream, uint8_t *to, size_t *bytes, leat_error *err)
{
    int rc = on_gpu ? leat_batch_wait_on(batch, stream) : LEAT_OK;
    *bytes = 0;
    for (int32_t i = 0; i < leat_plan_get_info(plan)->n_tensors && rc >= 0; i++) {
        const leat_view view = leat_batch_tensor(batch, i);
        const size_t n = (size_t)leat_shape_bytes(&view.shape);
        if (on_gpu)
            rc = run->device->table->copy_to_host(stream, to + *bytes, view.data, n);
        else
            memcpy(to + *bytes, view.data, n);
        *bytes += n;
    }
    return rc >= 0 && on_gpu ? run->device->table->stream_sync(stream, err) : rc;
}

/* Two loaders side by side, two epochs. */
static gpu_verdict compare(gpu_run *run, const pipeline *p, const leat_plan *host_plan,
                           const leat_plan *gpu_plan, leat_loader *host, leat_loader *gpu,
                           leat_stream *stream, int64_t *n)
{
    const size_t most = (size_t)p->batch * (PIXELS * 64 + 64);
    uint8_t *const want = malloc(most), *const got = malloc(most);
    gpu_verdict verdict = GPU_PASSED;
    leat_error err = { 0 };
    for (int rc = LEAT_OK; rc == LEAT_OK && verdict == GPU_PASSED;) {
        leat_batch *a, *b;
        size_t n_want, n_got;
        rc = leat_loader_next(host, &a, &err);
        const int rc_gpu = leat_loader_next(gpu, &b, &err);
        if (rc != rc_gpu || (rc < 0 && rc != LEAT_E_END)) {
            verdict = gpu_say(run, GPU_FAILED, "%s", err.message);
        } else if (rc == LEAT_OK) {
            gpu_fetch(run, a, host_plan, false, stream, want, &n_want, &err);
            if (gpu_fetch(run, b, gpu_plan, true, stream, got, &n_got, &err) < 0)
                verdict = gpu_say(run, GPU_FAILED, "%s", err.message);
            else if (n_want != n_got || memcmp(want, got, n_want))
                verdict = gpu_say(run, GPU_FAILED, "batch %lld of map %s differs",
                                  (long long)leat_batch_get_info(b)->number, p->device);
            leat_batch_release(a);
            if (++*n % 3) /* given back with and without an event */
                leat_batch_release_on(b, stream);
            else
                leat_batch_release(b);
        }
    }
    free(want);
    free(got);
    return verdict;
}

static gpu_verdict one(gpu_run *run, const pipeline *p, const uint8_t *pixels, const int64_t *ids,
                       int64_t *n)
{
    const leat_loader_options o = { .device = run->device, .epochs = 2, .hold = p->hold };
    const leat_loader_options on_host = { .epochs = 2 };
    leat_plan *host_plan = NULL, *gpu_plan = NULL;
    leat_loader *host = NULL, *gpu = NULL;
    leat_stream *stream = NULL;
    leat_error err;
    gpu_verdict verdict;
    if (open_plan(p, false, pixels, ids, &host_plan, &err) < 0 ||
        open_plan(p, true, pixels, ids, &gpu_plan, &err) < 0 ||
        run->device->table->stream_open(run->device, &stream, &err) < 0 ||
        leat_loader_open(host_plan, &on_host, &host, &err) < 0 ||
        leat_loader_open(gpu_plan, &o, &gpu, &err) < 0)
        verdict = gpu_say(run, GPU_FAILED, "%s", err.message);
    else
        verdict = compare(run, p, host_plan, gpu_plan, host, gpu, stream, n);
    if (stream)
        run->device->table->stream_close(stream);
    leat_loader_close(&host);
    leat_loader_close(&gpu);
    leat_plan_close(&host_plan);
    leat_plan_close(&gpu_plan);
    return verdict;
}

gpu_verdict gpu_case_loader(gpu_run *run)
{
    static const char *const chains[][2] = {
        { "", "[random_flip]" },
        { "",
          "[{random_flip: {alternate: true}}, {random_crop: {size: 14, pad: 4, mode: reflect}}]" },
        { "[random_crop: {size: [20, 20], pad: 2}]", "[random_flip, normalize: {mean: 0.5}]" },
        { "",
          "[random_crop: {size: [18, 16], pad: 3}, random_flip, color_jitter: {brightness: 0.4, "
          "contrast: 0.4, saturation: 0.4, hue: 0.1}, normalize: {mean: [0.4, 0.5, 0.6], std: "
          "[0.2, 0.3, 0.4]}, random_erasing]" },
        { "[random_brightness]", "[random_resized_crop: {size: [12, 14]}, random_contrast, cast]" },
        { "", "[resize: {size: [30, 31]}, random_hue, random_saturation, center_crop: {size: [9, "
              "9]}, scale, random_contrast]" },
    };
    uint8_t *const pixels = malloc((size_t)RECORDS * PIXELS);
    int64_t ids[RECORDS], n = 0;
    leat_rng rng = leat_rng_make(run->seed, 1, 1, 1);
    gpu_verdict verdict = GPU_PASSED;
    for (int64_t i = 0; i < (int64_t)RECORDS * PIXELS; i++)
        pixels[i] = (uint8_t)leat_rng_u32(&rng);
    for (int64_t i = 0; i < RECORDS; i++)
        ids[i] = i;
    const size_t n_chains = sizeof chains / sizeof *chains;
    for (size_t i = 0; i < 4 * n_chains && verdict == GPU_PASSED; i++) {
        const pipeline p = { chains[i % n_chains][0], chains[i % n_chains][1], i % 3 ? 16 : 7,
                             (int)(i / n_chains),     i % 2 ? 2 : 1,           i % 5 != 4 };
        verdict = one(run, &p, pixels, ids, &n);
    }
    free(pixels);
    return verdict == GPU_PASSED
               ? gpu_say(
                     run, verdict,
                     "%d pipelines, %lld batches: the same bytes as on the CPU, at prefetch 0 to 3",
                     (int)(4 * n_chains), (long long)n)
               : verdict;
}

/* --- leaks ------------------------------------------------------------------------------------- */

gpu_verdict gpu_case_leaks(gpu_run *run)
{
    const pipeline p = { "", "[random_flip, normalize]", 16, 2, 1, true };
    const int64_t batches = (int64_t)run->effort * 1000;
    const leat_loader_options o = { .device = run->device, .epochs = -1 };
    uint8_t *const pixels = calloc(RECORDS, PIXELS);
    int64_t ids[RECORDS] = { 0 }, i = 0;
    size_t before, after, total;
    leat_plan *plan = NULL;
    leat_loader *loader = NULL;
    leat_stream *stream = NULL;
    leat_batch *batch;
    leat_error err = { 0 };
    const leat_device_table *const t = run->device->table;
    int rc = open_plan(&p, true, pixels, ids, &plan, &err);
    if (rc >= 0)
        rc = t->stream_open(run->device, &stream, &err);
    if (rc >= 0)
        rc = leat_loader_open(plan, &o, &loader, &err);
    for (; i < batches && rc >= 0; i++) {
        if (i == 100)
            t->memory_info(run->device, &before, &total);
        rc = leat_loader_next(loader, &batch, &err);
        if (rc >= 0) {
            leat_batch_wait_on(batch, stream);
            t->synthetic_work(stream, 0, 1, NULL, 0);
            leat_batch_release_on(batch, stream);
        }
    }
    t->memory_info(run->device, &after, &total);
    if (stream)
        t->stream_close(stream);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    free(pixels);
    if (rc < 0)
        return gpu_say(run, GPU_FAILED, "batch %lld: %s", (long long)i, err.message);
    /* the driver may take memory of its own, once */
    return gpu_say(run, after + (4 << 20) >= before ? GPU_PASSED : GPU_FAILED,
                   "%lld batches, device memory free before %zu, after %zu bytes",
                   (long long)batches, before, after);
}
