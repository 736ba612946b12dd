/* SPDX-License-Identifier: MIT
 *
 * gpu_benches.c: what is measured on a real GPU, each with the limit it is held against. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gpu_cases.h"
#include "gpu_train.h"
#include "leat/leat.h"
#include "study/median_bootstrap.h"

double gpu_median(double *values, int n)
{
    leat_median_sort_real(values, (size_t)n);
    return values[n / 2];
}

/* --- copies ------------------------------------------------------------------------------------ */

enum { COPIES = 20 };

/* Milliseconds of one copy, by events around it: the median. Negative: failed. */
static double copy_ms(leat_device *device, leat_stream *stream, leat_event *const events[2],
                      void *to, const void *from, size_t bytes, bool pinned)
{
    const leat_device_table *const t = device->table;
    double ms[COPIES];
    for (int i = 0; i < COPIES + 3; i++) {
        if (t->event_record(events[0], stream) < 0 ||
            t->copy_to_device(stream, to, from, bytes, pinned) < 0 ||
            t->event_record(events[1], stream) < 0 || t->event_sync(events[1]) < 0)
            return -1;
        if (i >= 3)
            ms[i - 3] = (double)(t->event_ns(events[1]) - t->event_ns(events[0])) / 1e6;
    }
    return gpu_median(ms, COPIES);
}

/* The slab of a batch of 256 images of 224 x 224 x 3. */
#define SLAB_ROW  (224 * 224 * 3)
#define SLAB_ROWS 256

static gpu_verdict copy_rates(gpu_run *run)
{
    static const size_t sizes[] = { 4 << 10, 64 << 10, 1 << 20, 8 << 20,
                                    (size_t)SLAB_ROW * SLAB_ROWS };
    const leat_device_table *const t = run->device->table;
    const size_t most = (size_t)SLAB_ROW * SLAB_ROWS;
    leat_stream *stream = NULL;
    leat_event *events[2] = { NULL, NULL };
    double plain[2] = { 0, 0 };
    int rc = t->stream_open(run->device, &stream, NULL);
    for (int i = 0; i < 2 && rc >= 0; i++)
        rc = t->event_open(run->device, &events[i], NULL);
    uint8_t *const pinned = t->pinned_alloc(run->device, most), *const pageable = malloc(most);
    uint8_t *const memory = t->device_alloc(run->device, most);
    if (rc < 0 || !pinned || !pageable || !memory)
        return gpu_say(run, GPU_FAILED, "no memory, stream or event");
    memset(pinned, 1, most);
    memset(pageable, 1, most); /* or all its pages are the one of zeros */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int k = 0; k < 2; k++) {
            const double ms =
                copy_ms(run->device, stream, events, memory, k ? pageable : pinned, sizes[i], !k);
            char name[48];
            if (ms <= 0)
                return gpu_say(run, GPU_FAILED, "copies of %zu bytes cannot be timed", sizes[i]);
            snprintf(name, sizeof name, "%s_%zu_kib", k ? "pageable" : "pinned", sizes[i] >> 10);
            plain[k] = (double)sizes[i] / ms / 1e6;
            gpu_keep(run, name, plain[k], "GB/s");
        }
    t->stream_close(stream);
    t->event_close(events[0]);
    t->event_close(events[1]);
    t->pinned_free(run->device, pinned);
    t->device_free(run->device, memory);
    free(pageable);
    return gpu_say(run, GPU_PASSED, "slab of %.1f MB: pinned %.1f GB/s, pageable %.1f GB/s",
                   (double)most / 1e6, plain[0], plain[1]);
}

static double plain_slab_gb_s(gpu_run *run)
{
    gpu_run other = *run;
    other.n_figures = 0;
    if (copy_rates(&other) != GPU_PASSED)
        return 0;
    for (int32_t i = other.n_figures; i-- > 0;)
        if (!strncmp(other.figures[i].name, "pinned", 6))
            return other.figures[i].value;
    return 0;
}

/* The loader's own copies, while compute runs, against plain ones of the same size. */
static gpu_verdict loader_copies(gpu_run *run)
{
    const gpu_steps what = { .prefetch = 2,
                             .batch = SLAB_ROWS,
                             .steps = 60,
                             .row_bytes = SLAB_ROW,
                             .compute_ns = 20000000 };
    gpu_steps_result found;
    leat_error err;
    const double plain = plain_slab_gb_s(run);
    if (gpu_steps_run(run->device, &what, &found, &err) < 0)
        return gpu_say(run, GPU_FAILED, "%s", err.message);
    if (found.copy_ms <= 0 || plain <= 0)
        return gpu_say(run, GPU_FAILED, "no copy was timed");
    const double rate = (double)SLAB_ROW * SLAB_ROWS / found.copy_ms / 1e6;
    gpu_keep(run, "plain", plain, "GB/s");
    gpu_keep(run, "loader", rate, "GB/s");
    return gpu_say(run, rate >= 0.95 * plain ? GPU_PASSED : GPU_FAILED,
                   "the loader's copies run at %.1f GB/s, %.0f %% of plain ones (95 are wanted)",
                   rate, 100 * rate / plain);
}

/* --- overlap and idle time ----------------------------------------------------------------------- */

enum { IDLE_BATCH = 32, IDLE_STEPS = 120, GAP_STEPS = IDLE_STEPS - 10 };
#define IDLE_SLEEP_MS 0.5

static gpu_steps idle_steps(int prefetch, int64_t compute_ns)
{
    return (gpu_steps){ .prefetch = prefetch,
                        .batch = IDLE_BATCH,
                        .steps = IDLE_STEPS,
                        .row_bytes = 64 * 1024,
                        .sleep_ms = IDLE_SLEEP_MS,
                        .compute_ns = compute_ns };
}

/* Input 0.8 of compute: nothing to see of it ahead, all of it without prefetch. */
static gpu_verdict overlap(gpu_run *run)
{
    gpu_steps_result input, alone, ahead, none;
    leat_error err;
    gpu_steps what = idle_steps(2, 1000);
    if (gpu_steps_run(run->device, &what, &input, &err) < 0)
        return gpu_say(run, GPU_FAILED, "%s", err.message);
    const int64_t compute_ns = (int64_t)(input.step_ms * 1e6 / 0.8);
    what = idle_steps(0, 1000);
    const int rc = gpu_steps_run(run->device, &what, &alone, &err);
    what = idle_steps(2, compute_ns);
    const int rc2 = rc < 0 ? rc : gpu_steps_run(run->device, &what, &ahead, &err);
    what = idle_steps(0, compute_ns);
    if (rc2 < 0 || gpu_steps_run(run->device, &what, &none, &err) < 0)
        return gpu_say(run, GPU_FAILED, "%s", err.message);
    const double c = (double)compute_ns / 1e6, expected = alone.step_ms / (alone.step_ms + c);
    gpu_keep(run, "compute", c, "ms");
    gpu_keep(run, "input", input.step_ms, "ms");
    gpu_keep(run, "input_and_copy_alone", alone.step_ms, "ms");
    gpu_keep(run, "idle_prefetch_2", 100 * ahead.idle, "%");
    gpu_keep(run, "idle_prefetch_0", 100 * none.idle, "%");
    gpu_keep(run, "idle_prefetch_0_expected", 100 * expected, "%");
    gpu_keep(run, "input_wait_prefetch_0", 100 * none.input_wait, "%");
    gpu_keep(run, "exposed_copy_prefetch_0", 100 * none.exposed_copy, "%");
    const double off = none.idle > expected ? none.idle - expected : expected - none.idle;
    return gpu_say(run, ahead.idle <= 0.01 && off <= 0.03 ? GPU_PASSED : GPU_FAILED,
                   "input 0.8 of compute: idle %.1f %% at prefetch 2 (1 is allowed), %.1f %% at "
                   "prefetch 0 (arithmetic says %.1f, 3 points are allowed)",
                   100 * ahead.idle, 100 * none.idle, 100 * expected);
}

/* What each of the usual mistakes costs, one at a time. */
static gpu_verdict mistakes(gpu_run *run)
{
    const struct {
        const char *name;
        bool pageable;
        int batch, prefetch;
        int64_t launches;
    } arms[] = { { "pinned", false, SLAB_ROWS, 2, 1 },
                 { "pageable", true, SLAB_ROWS, 2, 1 },
                 { "no_prefetch", false, SLAB_ROWS, 0, 1 },
                 { "many_launches", false, SLAB_ROWS, 2, 500 },
                 { "small_batch", false, 4, 2, 1 } };
    const size_t n = sizeof arms / sizeof *arms;
    double ms[sizeof arms / sizeof *arms];
    for (size_t i = 0; i < n; i++) {
        const gpu_steps what = { .prefetch = arms[i].prefetch,
                                 .batch = arms[i].batch,
                                 .steps = 60,
                                 .row_bytes = SLAB_ROW,
                                 .compute_ns = 5000000,
                                 .launches = arms[i].launches,
                                 .pageable = arms[i].pageable };
        gpu_steps_result found;
        leat_error err;
        if (gpu_steps_run(run->device, &what, &found, &err) < 0)
            return gpu_say(run, GPU_FAILED, "%s: %s", arms[i].name, err.message);
        ms[i] = found.step_ms;
        gpu_keep(run, arms[i].name, found.step_ms, "ms");
    }
    return gpu_say(run, GPU_PASSED,
                   "5 ms of compute a step: %.2f ms pinned, %.2f pageable, %.2f without prefetch, "
                   "%.2f in 500 launches, %.2f with batches of 4",
                   ms[0], ms[1], ms[2], ms[3], ms[4]);
}

static gpu_verdict idle_meter(gpu_run *run)
{
    gpu_steps what = idle_steps(2, 3000000);
    gpu_steps_result found, off;
    leat_error err;
    what.record = true;
    if (gpu_steps_run(run->device, &what, &found, &err) < 0)
        return gpu_say(run, GPU_FAILED, "%s", err.message);
    if (!found.recorded)
        return gpu_say(run, GPU_NOT_RUN, "%s", found.no_record);
    what.record = false;
    if (gpu_steps_run(run->device, &what, &off, &err) < 0)
        return gpu_say(run, GPU_FAILED, "%s", err.message);
    gpu_keep(run, "idle_by_records", 100 * found.recorded_idle, "%");
    gpu_keep(run, "idle_by_events", 100 * found.idle, "%");
    gpu_keep(run, "utilisation_by_driver", found.utilisation, "%");
    gpu_keep(run, "step_on_off_ratio", found.step_ms / off.step_ms, "");
    gpu_keep(run, "dropped", (double)found.dropped, "records");
    const double d = 100 * (found.recorded_idle - found.idle);
    return gpu_say(run, d < 2 && d > -2 ? GPU_PASSED : GPU_FAILED,
                   "idle %.1f %% by records, %.1f %% by events (2 points are allowed); the driver "
                   "says %d %% used; recording makes a step %.3f times as long; %llu dropped",
                   100 * found.recorded_idle, 100 * found.idle, found.utilisation,
                   found.step_ms / off.step_ms, (unsigned long long)found.dropped);
}

/* Time per step in which the host had enqueued nothing, by records. */
static gpu_verdict find_host_gap(gpu_run *run, int64_t sleep_ns, gpu_steps_result *found,
                                 double *host_us)
{
    const gpu_steps what = { .prefetch = 0,
                             .batch = 8,
                             .steps = IDLE_STEPS,
                             .row_bytes = 1024,
                             .compute_ns = 1000000,
                             .host_ns = sleep_ns,
                             .record = true };
    leat_error err;
    if (gpu_steps_run(run->device, &what, found, &err) < 0)
        return gpu_say(run, GPU_FAILED, "%s", err.message);
    if (!found->recorded)
        return gpu_say(run, GPU_NOT_RUN, "%s", found->no_record);
    *host_us = (double)found->shares.host_ns / GAP_STEPS / 1e3;
    return GPU_PASSED;
}

/* The host sleeps 200 us before each step, and waits for the device: the records must say so. Waiting
 * takes its time too, so that the steps without sleep are the measure. */
static gpu_verdict host_gap(gpu_run *run)
{
    gpu_steps_result without, with;
    double least_us = 0, host_us = 0;
    gpu_verdict verdict = find_host_gap(run, 0, &without, &least_us);
    if (verdict == GPU_PASSED)
        verdict = find_host_gap(run, 200000, &with, &host_us);
    if (verdict != GPU_PASSED)
        return verdict;
    const double more_us = host_us - least_us;
    gpu_keep(run, "host_gap", host_us, "us/step");
    gpu_keep(run, "host_gap_without", least_us, "us/step");
    gpu_keep(run, "launch_gap", (double)with.shares.launch_ns / GAP_STEPS / 1e3, "us/step");
    gpu_keep(run, "unknown", (double)with.shares.unknown_ns / GAP_STEPS / 1e3, "us/step");
    return gpu_say(
        run, host_us >= 200 && more_us >= 150 && more_us < 400 ? GPU_PASSED : GPU_FAILED,
        "200 us of host sleep a step: the records find %.0f us a step in which the host had "
        "enqueued nothing, %.0f more than without (150 to 400 are allowed), %lld gaps above 50 us",
        host_us, more_us, (long long)with.shares.n_host);
}

/* --- map --------------------------------------------------------------------------------------- */

/* Images per second of a chain on the device alone, from a batch that is there. */
static double map_rate(gpu_run *run, const char *ops, int side, bool kept, bool *ok)
{
    const int64_t dims[] = { side, side, 3 };
    const int batch = 256;
    char text[512];
    leat_plan *plan;
    leat_loader *loader;
    leat_batch *b;
    leat_error err;
    double rate = 0;
    const size_t n_pixels = SLAB_ROWS * (size_t)side * (size_t)side * 3;
    uint8_t *const pixels = malloc(n_pixels);
    if (!pixels) {
        gpu_say(run, GPU_FAILED, "pixels: %zu bytes", n_pixels);
        *ok = false;
        return 0;
    }
    for (size_t i = 0; i < n_pixels; i++)
        pixels[i] = (uint8_t)(i * 2654435761u >> 13);
    const leat_rows rows = { "image", leat_shape_make(LEAT_U8, 3, dims), pixels };
    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, SLAB_ROWS, &rows, 1);
    if (kept)
        leat_builder_stage(builder, "cache", "device");
    snprintf(text, sizeof text, "{device: gpu, ops: %s}", ops);
    leat_builder_stage(builder, "map", text);
    snprintf(text, sizeof text, "%d", batch);
    leat_builder_stage(builder, "batch", text);
    leat_builder_stage(builder, "prefetch", "4");
    const leat_loader_options o = { .device = run->device, .epochs = -1 };
    *ok = leat_builder_plan(builder, &plan, &err) >= 0;
    leat_builder_close(&builder);
    if (!*ok || leat_loader_open(plan, &o, &loader, &err) < 0) {
        gpu_say(run, GPU_FAILED, "%s: %s", ops, err.message);
        *ok = false;
        return 0;
    }
    enum { STEPS = 40, SKIP = 10 };
    leat_stream *stream = NULL;
    run->device->table->stream_open(run->device, &stream, NULL);
    int64_t start = 0;
    for (int i = 0; i < STEPS && *ok; i++) {
        *ok = leat_loader_next(loader, &b, &err) >= 0 && leat_batch_wait_on(b, stream) >= 0 &&
              run->device->table->stream_sync(stream, &err) >= 0;
        if (*ok)
            leat_batch_release(b);
        if (i == SKIP)
            start = leat_clock_ns();
    }
    rate = (double)(STEPS - 1 - SKIP) * batch / ((double)(leat_clock_ns() - start) / 1e9);
    run->device->table->stream_close(stream);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    free(pixels);
    return rate;
}

static gpu_verdict map_rates(gpu_run *run)
{
    static const struct {
        const char *name, *ops;
        bool kept;
    } chains[] = {
        { "kept", "[]", true },
        { "copy_only", "[]", false },
        { "flip", "[random_flip]", false },
        { "normalize", "[normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}]",
          false },
        { "random_resized_crop", "[random_resized_crop: {size: 224}]", false },
        { "color_jitter",
          "[color_jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}]", false },
        { "all",
          "[random_resized_crop: {size: 224}, random_flip, color_jitter: {brightness: 0.4, "
          "contrast: 0.4, saturation: 0.4, hue: 0.1}, normalize: {mean: [0.485, 0.456, 0.406], "
          "std: [0.229, 0.224, 0.225]}]",
          false },
    };
    double rates[sizeof chains / sizeof *chains];
    if (!run->device->table->ops_open)
        return gpu_say(run, GPU_NOT_RUN, "the device runs no ops");
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        bool ok;
        rates[i] = map_rate(run, chains[i].ops, 256, chains[i].kept, &ok);
        if (!ok)
            return GPU_FAILED;
        gpu_keep(run, chains[i].name, rates[i], "images/s");
    }
    return gpu_say(
        run, GPU_PASSED,
        "images/s of 256 x 256 from memory through copy and kernels: %.0f copied (%.0f kept on the "
        "device), %.0f normalised, %.0f cropped and resized, %.0f with all four ops",
        rates[1], rates[0], rates[3], rates[4], rates[6]);
}

const gpu_case gpu_benches[] = {
    { "train primitives", "cuDNN and cuBLASLt against sums in double", gpu_bench_prims },
    { "train small", "small models, their batch on the device", gpu_bench_train_small },
    { "train r224", "ResNet-50 on 224 x 224 in bf16, its batch on the device",
      gpu_bench_train_r224 },
    { "train r32", "ResNet-50 on 32 x 32 in bf16", gpu_bench_train_r32 },
    { "train r32 fp32", "ResNet-50 on 32 x 32 in fp32 and tf32", gpu_bench_train_r32_fp32 },
    { "copy rates", "plain copies, pinned and pageable, by size", copy_rates },
    { "loader copies", "the loader's copies against plain ones", loader_copies },
    { "overlap", "idle time with and without prefetch, against arithmetic", overlap },
    { "mistakes", "what pageable memory, no prefetch, launches and small batches cost", mistakes },
    { "idle meter", "idle time by records against idle time by events", idle_meter },
    { "host gap", "a planted sleep of the host is found", host_gap },
    { "map rates", "ops on the device", map_rates },
    { "jpeg rates", "JPEG records to batches, decoded on the CPU and by nvJPEG", gpu_bench_jpeg },
    { 0 },
};
