/* SPDX-License-Identifier: MIT
 *
 * cuda_jpeg_fixture.h: pipelines over drawn JPEG records on a fake GPU with a fake nvJPEG. */
#ifndef CUDA_JPEG_FIXTURE_H
#define CUDA_JPEG_FIXTURE_H

#include "gpu_jpegs.h"
#include "nvjpeg_fixture.h"

static const cuda_fake_table *fake;
static const nvjpeg_fake_table *nvjpeg;

/* Before all tests. */
static inline void open_fakes(void)
{
    fake = open_fake();
    nvjpeg = open_fake_nvjpeg();
}

static inline void begin(uint64_t seed, unsigned n_engines)
{
    fake->reset(seed);
    nvjpeg->reset(n_engines);
}

static inline void check_fakes(void)
{
    check_fake(fake);
    check_fake_nvjpeg(nvjpeg);
}

/* --- one set, one pipeline ------------------------------------------------------------------------- */

static const gpu_jpegs small_set = {
    .n = 22, .least_px = 30, .most_px = 50, .wide = -1, .cut = -1, .headless = -1, .seed = 3
};

/* stages: entries of `pipeline` behind the map. */
static inline leat_plan *open_set(const gpu_jpegs *set, const char *ops, const char *stages,
                                  const char *engine, char file[64])
{
    char text[800];
    leat_plan *plan;
    leat_error err;
    check(gpu_jpegs_write(set, file, &err), &err);
    snprintf(text, sizeof text,
             "source: {tfrecord: '%s'}\npipeline: [{map: {device: gpu, ops: %s}}, %s]\n"
             "engine: {%s}\n",
             file, ops, stages, engine);
    check(open_text(text, &plan, &err), &err);
    return plan;
}

typedef struct outcome {
    int64_t batches, rows;
    uint64_t replaced, files, files_here;
    uint64_t fused; /* samples of the stage "image: decode_jpeg to …" */
} outcome;

static inline void see(void *user, leat_loader *loader, leat_batch *batch)
{
    outcome *const out = user;
    leat_loader_stats_info stats;
    if (batch) {
        out->batches++;
        out->rows += leat_batch_get_info(batch)->rows;
        out->replaced += (uint64_t)leat_batch_get_info(batch)->n_replaced;
        return;
    }
    leat_loader_stats(loader, &stats);
    out->files = stats.n_files;
    out->files_here = stats.n_files_here;
    for (int32_t i = 0; i < stats.n_stages; i++)
        if (!strncmp(stats.stages[i].name, "image: decode_jpeg to ", 22))
            out->fused = stats.stages[i].samples;
}

static inline int run_all(const leat_plan *plan, outcome *out, leat_error *err)
{
    *out = (outcome){ .rows = 0 };
    return take_all_of_device(plan, see, out, err);
}

/* Ops over a file of records are refused, and it is said why. */
static inline void expect_refusal(const char *file, const char *device, const char *ops,
                                  const char *says)
{
    char text[400];
    leat_error err;
    leat_plan *plan = NULL;
    snprintf(text, sizeof text,
             "source: {tfrecord: '%s'}\npipeline: [{map: {device: %s, ops: %s}}, {batch: 4}]", file,
             device, ops);
    if (open_text(text, &plan, &err) >= 0 || !strstr(err.message, says))
        fail_msg("%s: %s: %s", device, ops, plan ? "no error" : err.message);
}

static inline void close_set(leat_plan *plan, const char *file)
{
    leat_plan_close(&plan);
    gpu_jpegs_remove(file);
}

#endif
