/* SPDX-License-Identifier: MIT
 *
 * gpu_case_device_cache.c: rows that stay on the device: the same bytes as on the host, over epochs, prefetch
 * depths and short last batches, and in the end no rows travel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_cases.h"
#include "leat/leat.h"
#include "pipeline/run/engine.h"

enum { SIDE = 12, PIXELS = SIDE * SIDE * 3, RECORDS = 101, ODD = 5, EPOCHS = 4 };

typedef struct keep_case {
    const char *before, *after; /* ops of the maps around the cache; "" for none */
    int batch, prefetch, hold;
} keep_case;

static const keep_case cases[] = {
    { "", "[random_flip, normalize: {mean: 0.5}]", 16, 2, 1 },
    { "[random_crop: {size: [11, 9], pad: 2}]", "[random_contrast]", 7, 0, 1 },
    { "[center_crop: {size: [8, 8]}]", "", 32, 3, 2 },
    { "[scale]", "[random_resized_crop: {size: [5, 6]}, random_flip]", 101, 1, 1 },
    { "", "[random_erasing]", 1, 4, 3 },
};

/* What is in memory. */
typedef struct keep_rows {
    uint8_t pixels[RECORDS * PIXELS], odd[RECORDS * ODD];
    int64_t ids[RECORDS];
} keep_rows;

static int open_plan(const keep_case *c, bool on_device, const keep_rows *all, leat_plan **out,
                     leat_error *err)
{
    char text[300];
    const leat_rows rows[] = {
        { "image", leat_shape_make(LEAT_U8, 3, (int64_t[]){ SIDE, SIDE, 3 }), all->pixels },
        { "odd", leat_shape_make(LEAT_U8, 1, (int64_t[]){ ODD }), all->odd },
        { "id", leat_shape_make(LEAT_I64, 0, NULL), all->ids },
    };
    leat_builder *b = leat_builder_open();
    leat_builder_seed(b, 9);
    leat_builder_rows(b, RECORDS, rows, 3);
    leat_builder_engine(b, "{threads: 3}");
    leat_builder_stage(b, "shuffle", "{seed: 4}");
    if (c->before[0])
        leat_builder_stage(b, "map", c->before);
    leat_builder_stage(b, "cache", on_device ? "device" : "memory");
    if (c->after[0])
        leat_builder_stage(b, "map", c->after);
    snprintf(text, sizeof text, "{size: %d, drop_remainder: false}", c->batch);
    leat_builder_stage(b, "batch", text);
    snprintf(text, sizeof text, "%d", c->prefetch);
    leat_builder_stage(b, "prefetch", text);
    const int rc = leat_builder_plan(b, out, err);
    leat_builder_close(&b);
    return rc;
}

/* Both loaders, batch by batch. last_bytes: copied for the last one. */
static gpu_verdict compare(gpu_run *run, const keep_case *c, leat_loader *host, leat_loader *gpu,
                           leat_stream *stream, size_t *last_bytes)
{
    const size_t most = (size_t)c->batch * (PIXELS * 4 + 64);
    uint8_t *const want = malloc(most), *const got = malloc(most);
    gpu_verdict verdict = GPU_PASSED;
    leat_error err = { .message = "" };
    for (int rc = LEAT_OK; rc == LEAT_OK && verdict == GPU_PASSED;) {
        leat_batch *a, *b;
        size_t n_want = 0, n_got = 0;
        rc = leat_loader_next(host, &a, &err);
        const int rc_gpu = leat_loader_next(gpu, &b, &err);
        if (rc != rc_gpu || (rc < 0 && rc != LEAT_E_END))
            verdict = gpu_say(run, GPU_FAILED, "%s", err.message);
        if (rc != LEAT_OK || verdict != GPU_PASSED)
            break;
        gpu_fetch(run, a, host->plan, false, NULL, want, &n_want, &err);
        if (gpu_fetch(run, b, gpu->plan, true, stream, got, &n_got, &err) < 0)
            verdict = gpu_say(run, GPU_FAILED, "a batch could not be read");
        else if (n_want != n_got || memcmp(want, got, n_want))
            verdict = gpu_say(run, GPU_FAILED, "batch %lld of '%s', cache, '%s' differs",
                              (long long)leat_batch_get_info(b)->number, c->before, c->after);
        *last_bytes = (size_t)leat_batch_get_info(b)->copied_bytes;
        leat_batch_release(a);
        leat_batch_release_on(b, stream);
    }
    free(want);
    free(got);
    return verdict;
}

/* After the first epoch (and a few batches that were begun before its end) nothing is computed, and of
 * the last batch no row was copied. */
static gpu_verdict check_counts(gpu_run *run, const keep_case *c, leat_loader *gpu, size_t last)
{
    leat_loader_stats_info *const stats = malloc(sizeof *stats);
    gpu_verdict verdict = GPU_PASSED;
    leat_loader_stats(gpu, stats);
    const uint64_t hits = stats->cache.hits, misses = stats->cache.misses;
    const uint64_t most = RECORDS + (uint64_t)((c->prefetch + 2) * c->batch);
    if (hits + misses != (uint64_t)RECORDS * EPOCHS || misses < RECORDS || misses > most ||
        stats->cache.entries != RECORDS)
        verdict = gpu_say(run, GPU_FAILED, "%llu rows were there, %llu were not, %llu are",
                          (unsigned long long)hits, (unsigned long long)misses,
                          (unsigned long long)stats->cache.entries);
    else if (last != gpu->plan->copy_bytes - gpu->plan->rows_bytes)
        verdict = gpu_say(run, GPU_FAILED, "%zu bytes were copied of the last batch", last);
    free(stats);
    return verdict;
}

static gpu_verdict one(gpu_run *run, const keep_case *c, const keep_rows *all)
{
    const leat_loader_options o = { .device = run->device, .epochs = EPOCHS, .hold = c->hold };
    const leat_loader_options on_host = { .epochs = EPOCHS };
    leat_plan *host_plan = NULL, *gpu_plan = NULL;
    leat_loader *host = NULL, *gpu = NULL;
    leat_stream *stream = NULL;
    leat_error err;
    size_t last = 0;
    gpu_verdict verdict;
    if (open_plan(c, false, all, &host_plan, &err) < 0 ||
        open_plan(c, true, all, &gpu_plan, &err) < 0 ||
        run->device->table->stream_open(run->device, &stream, &err) < 0 ||
        leat_loader_open(host_plan, &on_host, &host, &err) < 0 ||
        leat_loader_open(gpu_plan, &o, &gpu, &err) < 0)
        verdict = gpu_say(run, GPU_FAILED, "%s", err.message);
    else
        verdict = compare(run, c, host, gpu, stream, &last);
    if (verdict == GPU_PASSED)
        verdict = check_counts(run, c, gpu, last);
    if (stream)
        run->device->table->stream_close(stream);
    leat_loader_close(&host);
    leat_loader_close(&gpu);
    leat_plan_close(&host_plan);
    leat_plan_close(&gpu_plan);
    return verdict;
}

gpu_verdict gpu_case_device_cache(gpu_run *run)
{
    keep_rows *const all = malloc(sizeof *all);
    leat_rng rng = leat_rng_make(run->seed, 2, 1, 1);
    gpu_verdict verdict = GPU_PASSED;
    const size_t n = sizeof cases / sizeof *cases;
    for (size_t i = 0; i < sizeof all->pixels; i++)
        all->pixels[i] = (uint8_t)leat_rng_u32(&rng);
    for (size_t i = 0; i < sizeof all->odd; i++)
        all->odd[i] = (uint8_t)leat_rng_u32(&rng);
    for (int64_t i = 0; i < RECORDS; i++)
        all->ids[i] = i * i;
    for (size_t i = 0; i < n && verdict == GPU_PASSED; i++)
        verdict = one(run, &cases[i], all);
    free(all);
    return verdict == GPU_PASSED
               ? gpu_say(run, verdict,
                         "%zu pipelines with cache: device, %d epochs each: the host's bytes, and "
                         "in the end no rows are copied",
                         n, (int)EPOCHS)
               : verdict;
}
