/* SPDX-License-Identifier: MIT
 *
 * gpu_case_decode.c: pipelines over JPEG records, decoded by nvJPEG and on the CPU: the same rows in the same
 * order, and pixels that differ little. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_cases.h"
#include "gpu_jpegs.h"
#include "leat/leat.h"

enum { RECORDS = 150 };

static int open_plan(const char *path, const char *ops, int batch, int prefetch, bool on_gpu,
                     leat_plan **out, leat_error *err)
{
    char text[1000];
    leat_config *config;
    snprintf(text, sizeof text,
             "seed: 4\nsource: {tfrecord: '%s'}\npipeline:\n  - shuffle\n"
             "  - map: {device: %s, ops: %s}\n"
             "  - batch: {size: %d, drop_remainder: false}\n  - prefetch: {batches: %d}\n"
             "engine: {threads: 3}\n",
             path, on_gpu ? "gpu" : "cpu", ops, batch, prefetch);
    int rc = leat_config_parse(text, "gpu_case_decode", &config, err);
    if (rc < 0)
        return rc;
    rc = leat_plan_open(config, NULL, out, err);
    leat_config_close(&config);
    return rc;
}

enum { OTHER_PICTURE = 10 };

static void add_row(const uint8_t *want, const uint8_t *got, size_t n, leat_batch *batch,
                    int64_t row, gpu_pixels *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const int d = abs(want[i] - got[i]);
        t->differing += d > 0;
        sum += (uint64_t)d;
        t->most = d > t->most ? d : t->most;
    }
    t->rows++;
    t->values += (int64_t)n;
    t->sum += sum;
    if (sum <= OTHER_PICTURE * n || t->other_rows++)
        return;
    const leat_view label = leat_batch_tensor(batch, 1);
    snprintf(t->first, sizeof t->first, "record %lld, row %lld of batch %lld, by %.1f",
             (long long)((const int64_t *)label.data)[row], (long long)row,
             (long long)leat_batch_get_info(batch)->number, (double)sum / (double)n);
}

/* Labels must agree; pixels are counted. */
static bool add(const uint8_t *want, const uint8_t *got, leat_batch *batch, size_t n, gpu_pixels *t)
{
    const leat_view image = leat_batch_tensor(batch, 0);
    const size_t n_pixels = (size_t)leat_shape_bytes(&image.shape);
    const int64_t rows = leat_batch_get_info(batch)->rows;
    const size_t row_bytes = n_pixels / (size_t)rows;
    for (int64_t row = 0; row < rows; row++)
        add_row(want + (size_t)row * row_bytes, got + (size_t)row * row_bytes, row_bytes, batch,
                row, t);
    return !memcmp(want + n_pixels, got + n_pixels, n - n_pixels);
}

int gpu_compare_pixels(gpu_run *run, const leat_plan *host_plan, const leat_plan *gpu_plan,
                       leat_stream *stream, gpu_pixels *t, leat_error *err)
{
    const leat_loader_options o = { .device = run->device, .epochs = 2 };
    const leat_loader_options on_host = { .epochs = 2 };
    const size_t most = (size_t)1 << 24;
    uint8_t *const want = malloc(most), *const got = malloc(most);
    leat_loader *host = NULL, *gpu = NULL;
    int rc = leat_loader_open(host_plan, &on_host, &host, err);
    if (rc >= 0)
        rc = leat_loader_open(gpu_plan, &o, &gpu, err);
    while (rc >= 0) {
        leat_batch *a, *b;
        size_t n_want, n_got;
        rc = leat_loader_next(host, &a, err);
        const int rc_gpu = leat_loader_next(gpu, &b, rc == LEAT_E_END ? NULL : err);
        if (rc < 0 || rc_gpu < 0) {
            if (rc != rc_gpu && rc == LEAT_E_END)
                rc = leat_fail(err, LEAT_E_DATA, "the GPU's loader has more batches");
            rc = rc < 0 ? rc : rc_gpu;
            break;
        }
        gpu_fetch(run, a, host_plan, false, stream, want, &n_want, err);
        rc = gpu_fetch(run, b, gpu_plan, true, stream, got, &n_got, err);
        if (rc >= 0 && (n_want != n_got || !add(want, got, a, n_want, t)))
            rc = leat_fail(err, LEAT_E_DATA, "batch %lld has other rows",
                           (long long)leat_batch_get_info(b)->number);
        leat_batch_release(a);
        if (++t->batches % 3) /* given back with and without an event */
            leat_batch_release_on(b, stream);
        else
            leat_batch_release(b);
    }
    leat_loader_close(&host);
    leat_loader_close(&gpu);
    free(want);
    free(got);
    return rc == LEAT_E_END ? LEAT_OK : rc;
}

static int one(gpu_run *run, const char *path, const char *ops, int batch, int prefetch,
               gpu_pixels *t, leat_error *err)
{
    leat_plan *host_plan = NULL, *gpu_plan = NULL;
    leat_stream *stream = NULL;
    int rc = open_plan(path, ops, batch, prefetch, false, &host_plan, err);
    if (rc >= 0)
        rc = open_plan(path, ops, batch, prefetch, true, &gpu_plan, err);
    if (rc >= 0)
        rc = run->device->table->stream_open(run->device, &stream, err);
    if (rc >= 0)
        rc = gpu_compare_pixels(run, host_plan, gpu_plan, stream, t, err);
    if (stream)
        run->device->table->stream_close(stream);
    leat_plan_close(&host_plan);
    leat_plan_close(&gpu_plan);
    return rc;
}

/* No more memory than these pictures need. */
#define DECODE "{decode_jpeg: {max_pixels: 25600}}"
#define PADDED ", {random_crop: {size: 36, pad: 20}}"

gpu_verdict gpu_case_decode(gpu_run *run)
{
    static const char *const ops[] = {
        "[" DECODE ", {random_resized_crop: {size: 40}}]",
        "[" DECODE ", {resize: {size: [30, 50]}}, random_flip]",
        "[" DECODE PADDED ", random_flip, {center_crop: {size: 30}}]",
        "[{decode_jpeg: {channels: 1, max_pixels: 25600}}, {resize: {size: 37}}]",
        "[" DECODE ", {center_crop: {size: [24, 30]}}]",
    };
    gpu_jpegs what = { .n = RECORDS,
                       .least_px = 30,
                       .most_px = 160,
                       .odd_every = 4,
                       .wide = -1,
                       .cut = -1,
                       .headless = -1,
                       .seed = run->seed };
    char paths[2][64] = { "", "" };
    leat_error err = { 0 };
    gpu_pixels t = { 0 };
    int rc = gpu_jpegs_write(&what, paths[0], &err);
    what.cmyk = true;
    if (rc >= 0)
        rc = gpu_jpegs_write(&what, paths[1], &err);
    for (int i = 0; i < 10 && rc >= 0; i++) {
        const int64_t before = t.other_rows;
        rc = one(run, paths[strstr(ops[i % 5], "channels: 1") == NULL], ops[i % 5], i % 2 ? 64 : 17,
                 i % 4, &t, &err);
        if (t.other_rows > before)
            gpu_note("%lld rows are other pictures with %s, prefetch %d",
                     (long long)(t.other_rows - before), ops[i % 5], i % 4);
    }
    gpu_jpegs_remove(paths[0]);
    gpu_jpegs_remove(paths[1]);
    if (rc == LEAT_E_UNSUPPORTED)
        return gpu_say(run, GPU_NOT_RUN, "%.390s", err.message);
    if (rc < 0)
        return gpu_say(run, GPU_FAILED, "%.390s", err.message);
    const double mean = (double)t.sum / (double)t.values;
    gpu_keep(run, "mean_difference", mean, "of 255");
    gpu_keep(run, "most_difference", t.most, "of 255");
    gpu_keep(run, "values_that_differ", 100 * (double)t.differing / (double)t.values, "%");
    gpu_keep(run, "other_pictures", (double)t.other_rows, "rows");
    if (t.other_rows)
        return gpu_say(run, GPU_FAILED, "%lld of %lld rows are other pictures; the first: %s",
                       (long long)t.other_rows, (long long)t.rows, t.first);
    return gpu_say(run, mean <= 3 ? GPU_PASSED : GPU_FAILED,
                   "%lld batches of %d pictures: pixels differ from the CPU's by %.3f of 255 (3 is "
                   "allowed), at most %d, %.1f %% of them",
                   (long long)t.batches, RECORDS, mean, t.most,
                   100 * (double)t.differing / (double)t.values);
}

/* --- damage ------------------------------------------------------------------------------------ */

enum { DAMAGED = 7, SOUND = 24 };

/* One epoch on the device. */
static int take_all(gpu_run *run, const leat_plan *plan, leat_error *err)
{
    const leat_loader_options o = { .device = run->device };
    leat_loader *loader = NULL;
    leat_batch *batch;
    int rc = leat_loader_open(plan, &o, &loader, err);
    while (rc >= 0 && (rc = leat_loader_next(loader, &batch, err)) >= 0)
        leat_batch_release(batch);
    leat_loader_close(&loader);
    return rc == LEAT_E_END ? LEAT_OK : rc;
}

static int take_set(gpu_run *run, const char *path, const char *ops, leat_error *err)
{
    leat_plan *plan;
    int rc = open_plan(path, ops, 8, 2, true, &plan, err);
    if (rc < 0)
        return rc;
    rc = take_all(run, plan, err);
    leat_plan_close(&plan);
    return rc;
}

/* A set with one file that lacks its end: LEAT_E_DATA if that is noticed; it must name the record then. */
static int take_damaged(gpu_run *run, const char *path, const char *ops, bool *is_named,
                        leat_error *err)
{
    char name[24];
    const int rc = take_set(run, path, ops, err);
    snprintf(name, sizeof name, "record %d", (int)DAMAGED);
    *is_named = strstr(err->message, name) != NULL;
    return rc;
}

gpu_verdict gpu_case_damage(gpu_run *run)
{
    static const char *const ops[] = { "[" DECODE ", {random_resized_crop: {size: 40}}]",
                                       "[" DECODE ", {resize: {size: 40}}]" };
    gpu_jpegs what = { .n = SOUND,
                       .least_px = 60,
                       .most_px = 160,
                       .wide = -1,
                       .cut = DAMAGED,
                       .headless = -1,
                       .seed = run->seed };
    char paths[2][64] = { "", "" };
    leat_error err = { 0 };
    int n_noticed = 0, rc = gpu_jpegs_write(&what, paths[0], &err);
    bool named = true;
    what.cut = -1;
    if (rc >= 0)
        rc = gpu_jpegs_write(&what, paths[1], &err);
    for (int i = 0; i < 2 && rc >= 0 && named; i++) {
        rc = take_damaged(run, paths[0], ops[i], &named, &err);
        n_noticed += rc == LEAT_E_DATA;
        named |= rc != LEAT_E_DATA;
        if (rc == LEAT_E_DATA && named) /* and sound files are decoded after it as before */
            rc = take_set(run, paths[1], ops[i], &err);
    }
    gpu_jpegs_remove(paths[0]);
    gpu_jpegs_remove(paths[1]);
    if (rc == LEAT_E_UNSUPPORTED)
        return gpu_say(run, GPU_NOT_RUN, "%.390s", err.message);
    if (rc < 0 || !named)
        return gpu_say(run, GPU_FAILED, "%.390s", err.message);
    return gpu_say(run, n_noticed == 2 ? GPU_PASSED : GPU_FAILED,
                   "a JPEG file that is cut short is %s; sound files are decoded after it",
                   n_noticed == 2 ? "noticed, and its record named" : "decoded to some picture");
}
