/* SPDX-License-Identifier: MIT
 *
 * `device: auto` over the fake GPU: the plan alone says which ops run there, what must stay on the CPU
 * stays, and batches are the same bytes either way. */
#include "fixtures/cuda_fixture.h"

enum { RECORDS = 43, SIDE = 9 };

FAKE_GPU

/* A plan over images of one size, "y" beside them; stages: "NAME", "OPTIONS", …, NULL. */
static leat_plan *open_plan(const char *const *stages, const char *engine)
{
    static uint8_t pixels[RECORDS * SIDE * SIDE * 3];
    static float y[RECORDS * SIDE];
    const leat_rows rows[] = {
        { "image", leat_shape_make(LEAT_U8, 3, (int64_t[]){ SIDE, SIDE, 3 }), pixels },
        { "y", leat_shape_make(LEAT_F32, 1, (int64_t[]){ SIDE }), y },
    };
    leat_builder *b = leat_builder_open();
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 7919 >> 3);
    for (int i = 0; i < RECORDS * SIDE; i++)
        y[i] = (float)i;
    leat_builder_rows(b, RECORDS, rows, 2);
    leat_builder_op(b, &stall_op);
    leat_builder_engine(b, engine);
    build_stages(b, stages);
    return plan_of_builder(b);
}

/* The first op of a tensor that this device does; how many ops there are if it does none. */
static int32_t first_on(const leat_plan *plan, const leat_device *device, int32_t tensor)
{
    leat_chain_op_info op;
    int32_t i = 0;
    while (leat_plan_chain_op(leat_plan_on(plan, device), tensor, i, &op) == LEAT_OK && !op.device)
        i++;
    for (int32_t k = i; leat_plan_chain_op(leat_plan_on(plan, device), tensor, k, &op) == LEAT_OK;
         k++)
        assert_int_equal(op.device, 1);
    return i;
}

static const struct {
    const char *stages[11];
    const char *engine;
    int32_t image, y; /* the first op there that the GPU does */
} rules[] = {
    { { "map", "[random_flip, normalize]", "batch", "4" }, "{}", 0, 0 },
    { { "map", "{tensor: y, ops: [scale, scale]}", "batch", "4" }, "{}", 0, 0 },
    { { "map", "[random_flip, grayscale, scale]", "batch", "4" }, "{}", 2, 0 },
    { { "map", "[random_flip, grayscale]", "batch", "4" }, "{}", 2, 0 },
    { { "map", "[random_flip, stall, normalize]", "batch", "4" }, "{}", 2, 0 },
    { { "map", "{device: cpu, ops: [random_flip]}", "map", "[normalize]", "batch", "4" },
      "{}",
      1,
      0 },
    { { "map", "[random_flip]", "map", "{device: cpu, ops: [normalize]}", "batch", "4" },
      "{}",
      2,
      0 },
    { { "map", "[random_flip]", "map", "{device: gpu, ops: [normalize]}", "batch", "4" },
      "{}",
      0,
      0 },
    { { "map", "[random_flip]", "cache", "memory", "map", "[normalize]", "batch", "4" },
      "{}",
      1,
      0 },
    { { "map", "[random_flip]", "cache", "device", "map", "[normalize]", "batch", "4" },
      "{}",
      1,
      0 },
    { { "map", "[random_flip]", "on_error", "mask", "batch", "4" }, "{}", 1, 0 },
    { { "map", "[random_flip]", "batch", "4" }, "{digest: true}", 1, 0 },
    { { "map", "[random_flip]", "padded_batch", "{size: 4, shapes: {image: [10, 9, 3]}}" },
      "{}",
      1,
      0 },
    { { "map", "[random_flip]", "map", "{tensor: y, ops: [scale]}", "unbatch", NULL, "batch", "4" },
      "{}",
      1,
      1 },
    { { "map", "[normalize]", "map", "{tensor: y, ops: [scale]}", "batch", "4", "map",
        "[mixup: {label: y}]" },
      "{}",
      1,
      1 },
};

TEST(the_plan_alone_decides)
{
    leat_device *sim;
    leat_error err;
    check(leat_device_open("sim", &sim, &err), &err);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        fake->reset(i);
        leat_plan *plan = open_plan(rules[i].stages, rules[i].engine);
        leat_device *gpu = open_gpu();
        const uint64_t calls = fake->calls();
        if (first_on(plan, gpu, 0) != rules[i].image || first_on(plan, gpu, 1) != rules[i].y)
            fail_msg("case %d: the device begins with op %d of image, %d of y", (int)i,
                     (int)first_on(plan, gpu, 0), (int)first_on(plan, gpu, 1));
        assert_true(fake->calls() == calls); /* nothing is tried out */
        assert_ptr_equal(leat_plan_on(plan, sim), plan);
        assert_ptr_equal(leat_plan_on(plan, NULL), plan);
        leat_plan_close(&plan);
        leat_device_close(&gpu);
        check_fake(fake);
    }
    leat_device_close(&sim);
}

/* Decoding, and what follows in sizes of its own, is not moved. */
TEST(decoding_stays)
{
    leat_builder *b = leat_builder_open();
    const leat_rows rows = { "image", leat_shape_make(LEAT_U8, 1, (int64_t[]){ 100 }), "" };
    fake->reset(0);
    leat_builder_rows(b, 1, &rows, 1);
    leat_builder_stage(
        b, "map",
        "[decode_jpeg, random_resized_crop: {size: 8}, random_flip, cast: {dtype: float32}]");
    leat_builder_stage(b, "batch", "1");
    leat_plan *plan = plan_of_builder(b);
    leat_device *gpu = open_gpu();
    assert_int_equal(first_on(plan, gpu, 0), 2);
    leat_device_close(&gpu);
    leat_plan_close(&plan);
    check_fake(fake);
}

/* --- batches ------------------------------------------------------------------------------------------ */

typedef struct seen {
    leat_device *device;
    leat_stream *stream;
    uint64_t digest;
    int64_t n;
} seen;

/* All bytes of a batch, wherever they are. */
static void add_bytes(void *user, leat_loader *loader, leat_batch *batch)
{
    static uint8_t bytes[1 << 16];
    seen *const s = user;
    leat_error err;
    if (!batch)
        return;
    s->n++;
    if (s->device)
        check(leat_batch_wait_on(batch, s->stream), &err);
    for (int32_t i = 0; i < 2; i++) {
        const leat_view view = leat_batch_tensor(batch, i);
        const size_t n = (size_t)leat_shape_bytes(&view.shape);
        assert_in_range(n, 1, sizeof bytes);
        if (s->device) {
            check(s->device->table->copy_to_host(s->stream, bytes, view.data, n), &err);
            check(s->device->table->stream_sync(s->stream, &err), &err);
        } else {
            memcpy(bytes, view.data, n);
        }
        s->digest = leat_digest_chain(s->digest, leat_digest_row(bytes, n, (uint64_t)i));
    }
}

static uint64_t digest_on_host(const leat_plan *plan)
{
    const leat_loader_options o = { .epochs = 2 };
    leat_loader *loader = open_loader(plan, &o);
    leat_batch *batch;
    seen s = { .device = NULL };
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        add_bytes(&s, loader, batch);
        leat_batch_release(batch);
    }
    leat_loader_close(&loader);
    return s.digest;
}

TEST(batches_stay_the_same)
{
    static const char *const prefetches[] = { "0", "1", "3", "auto" };
    for (size_t p = 0; p < sizeof prefetches / sizeof *prefetches; p++)
        for (int threads = 0; threads < 3; threads++) {
            char engine[32];
            leat_error err;
            const char *const stages[] = { "shuffle",
                                           "{seed: 3}",
                                           "map",
                                           "[random_crop: {size: [8, 7], pad: 2}, random_flip, "
                                           "random_contrast, normalize: {mean: 0.5}]",
                                           "map",
                                           "{tensor: y, ops: [scale: {factor: 3}]}",
                                           "batch",
                                           "8",
                                           "prefetch",
                                           prefetches[p],
                                           NULL };
            snprintf(engine, sizeof engine, "{threads: %d}", threads);
            fake->reset(p);
            leat_plan *plan = open_plan(stages, engine);
            seen s = { .device = open_gpu() };
            check(s.device->table->stream_open(s.device, &s.stream, &err), &err);
            check(take_all(plan, s.device, 2, add_bytes, &s, &err), &err);
            assert_int_equal(s.n, 2 * (RECORDS / 8 + 1));
            assert_true(fake->kernels() > 0);
            assert_true(s.digest == digest_on_host(plan));
            s.device->table->stream_close(s.stream);
            leat_device_close(&s.device);
            leat_plan_close(&plan);
            check_fake(fake);
        }
}

/* What a loader is told about itself. */
TEST(the_budget_says_it)
{
    static leat_budget budget;
    leat_error err;
    fake->reset(0);
    leat_plan *plan = open_plan(
        (const char *const[]){ "map", "[random_flip, normalize]", "batch", "4", NULL }, "{}");
    leat_device *gpu = open_gpu();
    check(leat_plan_budget(plan, &(leat_loader_options){ .device = gpu }, &budget, &err), &err);
    const leat_decision *one = budget.decisions;
    while (strcmp(one->name, "placement"))
        one++;
    assert_non_null(strstr(one->reason, "ops on the CPU, except 2 on cuda:0 (auto"));
    leat_device_close(&gpu);
    leat_plan_close(&plan);
    check_fake(fake);
}
