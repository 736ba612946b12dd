/* SPDX-License-Identifier: MIT
 *
 * test_cuda_device_cache.c: `cache: device` on the fake GPU: in whatever order streams progress, with
 * failures of every call, and with too little memory. */
#include "fixtures/cuda_fixture.h"

#include "device/device_table.h"
#include "gpu/gpu_cases.h"

FAKE_GPU

enum { RECORDS = 60, ROW = 5 * 5 * 3 };

static leat_plan *open_plan(const char *engine)
{
    static uint8_t pixels[RECORDS * ROW];
    const leat_rows rows = { "image", leat_shape_make(LEAT_U8, 3, (int64_t[]){ 5, 5, 3 }), pixels };
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, RECORDS, &rows, 1);
    leat_builder_engine(b, engine);
    leat_builder_stage(b, "shuffle", NULL);
    leat_builder_stage(b, "cache", "device");
    leat_builder_stage(b, "map", "[random_flip]");
    leat_builder_stage(b, "batch", "8");
    leat_builder_stage(b, "prefetch", "2");
    return plan_of_builder(b);
}

TEST(batches_do_not_depend_on_luck)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        gpu_run run = { .seed = seed, .effort = 1 };
        fake->reset(seed);
        run.device = open_gpu();
        if (gpu_case_device_cache(&run) != GPU_PASSED)
            fail_msg("seed %d: %s", (int)seed, run.text);
        leat_device_close(&run.device);
        check_fake(fake);
    }
}

TEST(any_call_may_fail)
{
    static const int codes[] = { 2 /* memory */, 719 /* launch failure */ };
    leat_plan *plan = open_plan("{threads: 1}");
    leat_error err;
    fake->reset(0);
    leat_device *device = open_gpu();
    const uint64_t opened = fake->calls();
    check(take_all(plan, device, 3, NULL, NULL, &err), &err);
    const int64_t calls = (int64_t)(fake->calls() - opened);
    leat_device_close(&device);
    for (int64_t n = 0; n < calls; n += n < 60 ? 1 : 17) { /* all of the opening */
        fake->reset((uint64_t)n);
        device = open_gpu();
        err.message[0] = 0;
        fake->fail_at(n, codes[n % 2]);
        const int rc = take_all(plan, device, 3, NULL, NULL, &err);
        fake->fail_at(-1, 0);
        leat_device_close(&device);
        check_fake(fake);
        if (rc < 0 && !err.message[0])
            fail_msg("call %d fails without a word", (int)n);
    }
    leat_plan_close(&plan);
    fake->reset(0);
}

/* Too little of either is refused with the sizes, and what to do. */
TEST(too_little_memory_is_said)
{
    static leat_budget budget;
    leat_loader *loader;
    leat_error err;
    char engine[64];
    fake->reset(0);
    leat_device *device = open_gpu();
    const leat_loader_options o = { .device = device };
    leat_plan *plan = open_plan("{threads: 1}");
    check(leat_plan_budget(plan, &o, &budget, &err), &err);
    int64_t kept = 0;
    for (int32_t i = 0; i < budget.n_rows; i++)
        if (!strcmp(budget.rows[i].name, "cache")) {
            assert_int_equal(budget.rows[i].kind, LEAT_MEMORY_DEVICE);
            kept = budget.rows[i].bytes;
        }
    assert_in_range(kept, RECORDS * ROW, RECORDS * ROW + 8192);
    fake->set_memory(RECORDS * ROW - 256);
    assert_int_equal(leat_loader_open(plan, &o, &loader, &err), LEAT_E_NOMEM);
    assert_non_null(strstr(err.message, "cache: device: 60 records take 0.0 MiB on cuda:0 ("));
    assert_non_null(strstr(err.message, "write cache: memory"));
    leat_plan_close(&plan);
    fake->set_memory((size_t)1 << 30);
    snprintf(engine, sizeof engine, "{threads: 1, memory: %lld}",
             (long long)budget.least_bytes - 1);
    plan = open_plan(engine);
    assert_int_equal(leat_loader_open(plan, &o, &loader, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "this pipeline needs at least"));
    leat_plan_close(&plan);
    leat_device_close(&device);
    check_fake(fake);
    fake->reset(0);
}
