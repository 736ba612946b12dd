/* SPDX-License-Identifier: MIT
 *
 * test_cuda_loader.c: loaders over the CUDA plugin on a fake GPU. Batches are the same as on the host, in
 * whatever order streams progress. Also: failures of every call, a lost device, a plan that no device can run. */
#include "device/device_table.h"
#include "fixtures/nvjpeg_fixture.h"
#include "gpu/gpu_cases.h"
#include "gpu/gpu_jpegs.h"

static const cuda_fake_table *fake;
static const nvjpeg_fake_table *nvjpeg;

TEST(all_cases_hold)
{
    for (const gpu_case *c = gpu_cases; c->name; c++) {
        gpu_run run = { .seed = 5, .effort = 1 };
        leat_error err;
        fake->reset(5);
        check(leat_device_open("cuda:0", &run.device, &err), &err);
        const gpu_verdict verdict = c->run(&run);
        printf("%-8s %s\n", c->name, run.text);
        leat_device_close(&run.device);
        /* The fake's clock is the host's under load: only that it answers is looked at here. */
        if (strcmp(c->name, "clock"))
            assert_int_equal(verdict, GPU_PASSED);
        check_fake(fake);
    }
}

TEST(batches_do_not_depend_on_luck)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        gpu_run run = { .seed = seed, .effort = 1 };
        leat_error err;
        fake->reset(seed);
        check(leat_device_open("cuda:0", &run.device, &err), &err);
        if (gpu_case_loader(&run) != GPU_PASSED)
            fail_msg("%s", run.text);
        assert_true(fake->graphs() > 100);
        leat_device_close(&run.device);
        check_fake(fake);
    }
}

/* --- a small pipeline with everything in it ------------------------------------------------------ */

enum { RECORDS = 40, ROW = 6 * 6 * 3 };

static leat_plan *open_plan(const char *map, int prefetch)
{
    static uint8_t pixels[RECORDS * ROW];
    const leat_rows rows = { "image", leat_shape_make(LEAT_U8, 3, (int64_t[]){ 6, 6, 3 }), pixels };
    leat_builder *b = leat_builder_open();
    char text[32];
    leat_builder_rows(b, RECORDS, &rows, 1);
    leat_builder_engine(b, "{threads: 2}");
    leat_builder_stage(b, "map", map);
    leat_builder_stage(b, "batch", "8");
    snprintf(text, sizeof text, "%d", prefetch);
    leat_builder_stage(b, "prefetch", text);
    return plan_of_builder(b);
}

/* With prefetch 1 every call fails once, with one of the two codes; otherwise every third. */
TEST(any_call_may_fail)
{
    static const int codes[] = { 2 /* memory */, 719 /* launch failure */ };
    for (int prefetch = 0; prefetch < 3; prefetch++) {
        leat_plan *plan = open_plan("{device: gpu, ops: [random_flip, random_contrast]}", prefetch);
        leat_error err;
        fake->reset(0);
        check(take_all_of_device(plan, NULL, NULL, &err), &err);
        check_fake(fake);
        const int64_t calls = (int64_t)fake->calls();
        for (size_t c = 0; c < sizeof codes / sizeof *codes; c++)
            for (int64_t n = (int64_t)c; n < calls; n += prefetch == 1 ? 2 : 6) {
                fake->reset((uint64_t)n);
                fake->fail_at(n, codes[c]);
                err.message[0] = 0;
                const int rc = take_all_of_device(plan, NULL, NULL, &err);
                char text[128];
                const bool bad = fake->violation() || fake->live(text, sizeof text);
                if (bad || (rc < 0 && !err.message[0]))
                    fail_msg("prefetch %d, call %d answers %d (then %d: '%s'): %s %s", prefetch,
                             (int)n, codes[c], rc, err.message,
                             fake->violation() ? fake->violation() : "not freed:", text);
            }
        leat_plan_close(&plan);
    }
}

/* The device goes while slots are being copied: no call-back comes any more. */
TEST(a_lost_device_is_an_error)
{
    for (int prefetch = 0; prefetch < 3; prefetch++) {
        leat_plan *plan = open_plan("{device: gpu, ops: [random_flip]}", prefetch);
        leat_device *device;
        leat_loader *loader;
        leat_batch *batch;
        leat_error err;
        int rc;
        fake->reset(1);
        check(leat_device_open("cuda:0", &device, &err), &err);
        const leat_loader_options o = { .device = device, .epochs = -1 };
        check(leat_loader_open(plan, &o, &loader, &err), &err);
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
        if (prefetch)
            fake->pause(1);
        fake->lose();
        for (int i = 0; (rc = leat_loader_next(loader, &batch, &err)) >= 0; i++) {
            leat_batch_release(batch);
            assert_in_range(i, 0, 100);
        }
        assert_int_equal(rc, LEAT_E_DEVICE);
        assert_non_null(strstr(err.message, "cuda:0"));
        assert_non_null(strstr(err.message, "cudaErrorIllegalAddress"));
        assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_DEVICE);
        leat_loader_close(&loader);
        leat_device_close(&device);
        leat_plan_close(&plan);
        /* Everything is given back as far as that goes: the fake takes it although it is lost. */
        assert_null(fake->violation());
    }
    fake->reset(0);
}

/* Whatever thread calls, no other GPU is touched: a context there would cost its memory. */
TEST(one_gpu_of_several)
{
    for (int prefetch = 0; prefetch < 3; prefetch++) {
        leat_plan *plan = open_plan("{device: gpu, ops: [random_flip, random_contrast]}", prefetch);
        leat_device *device;
        leat_error err;
        fake->reset((uint64_t)prefetch);
        fake->set_gpus(3);
        check(leat_device_open("cuda:1", &device, &err), &err);
        for (int i = 0; i < 10; i++)
            check(take_all(plan, device, 2, NULL, NULL, &err), &err);
        assert_int_equal(fake->contexts(), 1 << 1);
        leat_device_close(&device);
        leat_plan_close(&plan);
        check_fake(fake);
    }
    fake->reset(0);
}

static const gpu_jpegs jpegs = {
    .n = 60, .least_px = 30, .most_px = 50, .wide = -1, .cut = -1, .headless = -1, .seed = 3
};

static leat_plan *open_jpegs(const char *file, int prefetch)
{
    return plan_format("source: {tfrecord: '%s'}\npipeline: [{map: {device: gpu, ops: "
                       "[{decode_jpeg: {max_pixels: 10000}}, {resize: {size: 40}}]}}, {batch: 4}, "
                       "{prefetch: %d}]\n",
                       file, prefetch);
}

/* A batch may be held longer than its loader is open: what is left of that knows nothing of threads and
 * readers, so that no call-back may come any more. */
TEST(no_call_after_the_close)
{
    char file[64];
    leat_error err;
    check(gpu_jpegs_write(&jpegs, file, &err), &err);
    leat_plan *plan = open_jpegs(file, 3);
    for (uint64_t seed = 0; seed < 20; seed++) {
        leat_device *device;
        leat_loader *loader;
        leat_batch *batch;
        fake->reset(seed);
        nvjpeg->reset((unsigned)seed % 2);
        check(leat_device_open("cuda:0", &device, &err), &err);
        const leat_loader_options o = { .device = device, .epochs = -1 };
        check(leat_loader_open(plan, &o, &loader, &err), &err);
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_loader_close(&loader);
        assert_int_equal(fake->pending(), 0);
        leat_batch_release(batch);
        leat_device_close(&device);
        check_fake(fake);
        check_fake_nvjpeg(nvjpeg);
    }
    leat_plan_close(&plan);
    gpu_jpegs_remove(file);
    fake->reset(0);
}

/* A program that captures a graph in mode global, as PyTorch does, must not be disturbed by leat's threads, nor they by it. */
TEST(a_capture_of_others_is_left_alone)
{
    static const char *const maps[] = { "{device: cpu, ops: [normalize]}",
                                        "{device: gpu, ops: [random_flip, normalize]}", NULL };
    char file[64];
    leat_error err;
    check(gpu_jpegs_write(&jpegs, file, &err), &err);
    for (int i = 0; i < 6; i++) {
        const int prefetch = i % 2 * 3;
        leat_plan *plan =
            maps[i / 2] ? open_plan(maps[i / 2], prefetch) : open_jpegs(file, prefetch);
        leat_device *device;
        fake->reset(7);
        nvjpeg->reset(1);
        fake->others_capture(1);
        check(leat_device_open("cuda:0", &device, &err), &err);
        check(take_all(plan, device, 3, NULL, NULL, &err), &err);
        leat_device_close(&device);
        check_fake(fake);
        check_fake_nvjpeg(nvjpeg);
        leat_plan_close(&plan);
    }
    gpu_jpegs_remove(file);
    fake->reset(0);
}

TEST(too_little_memory_is_said)
{
    leat_plan *plan = open_plan("{device: gpu, ops: [normalize]}", 2);
    leat_device *device;
    leat_loader *loader;
    leat_error err;
    fake->reset(0);
    check(leat_device_open("cuda:0", &device, &err), &err);
    fake->set_memory(8000);
    const leat_loader_options o = { .device = device };
    assert_int_equal(leat_loader_open(plan, &o, &loader, &err), LEAT_E_NOMEM);
    assert_non_null(strstr(err.message, "B on cuda:0"));
    assert_non_null(strstr(err.message, "kB are free)"));
    leat_device_close(&device);
    leat_plan_close(&plan);
    check_fake(fake);
    fake->reset(0);
}

TEST(where_a_map_can_run)
{
    static const char *const devices[] = { NULL, "cpu", "sim" };
    leat_plan *plan = open_plan("{device: gpu, ops: [normalize]}", 2);
    leat_error err;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        leat_device *device = NULL;
        leat_loader *loader;
        if (devices[i])
            check(leat_device_open(devices[i], &device, &err), &err);
        const leat_loader_options o = { .device = device };
        assert_int_equal(leat_loader_open(plan, &o, &loader, &err), LEAT_E_UNSUPPORTED);
        assert_non_null(strstr(err.message, "device: gpu"));
        leat_device_close(&device);
    }
    leat_plan_close(&plan);
}

int main(void)
{
    fake = open_fake();
    nvjpeg = open_fake_nvjpeg();
    return unit_run();
}
