/* SPDX-License-Identifier: MIT
 *
 * test_device_cache.c: which plans `cache: device` refuses, and how it plans others.
 * test_cuda_device_cache.c tests its batches. */
#include "fixtures/engine_fixture.h"

#include "pipeline/plan/plan_impl.h"

enum { RECORDS = 50, SIDE = 6, ROW = SIDE * SIDE * 3 };

/* Stages, "NAME", "OPTIONS" each, over images and numbers. */
static int try_plan(const char *const *stages, const char *engine, leat_plan **plan,
                    leat_error *err)
{
    static uint8_t pixels[RECORDS * ROW];
    static int64_t ids[RECORDS];
    const leat_rows rows[] = {
        { "image", leat_shape_make(LEAT_U8, 3, (int64_t[]){ SIDE, SIDE, 3 }), pixels },
        { "id", leat_shape_make(LEAT_I64, 0, NULL), ids },
    };
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, RECORDS, rows, 2);
    leat_builder_engine(b, engine);
    build_stages(b, stages);
    const int rc = leat_builder_plan(b, plan, err);
    leat_builder_close(&b);
    return rc;
}

TEST(what_cannot_be_is_refused)
{
    static const struct {
        const char *stages[9], *engine, *part;
    } cases[] = {
        { { "cache", "{file: device, bytes: 1 GiB}", "batch", "4" }, "{}", "leave bytes out" },
        { { "cache", "device", "cache", "memory", "batch", "4" }, "{}", "a second cache stage" },
        { { "cache", "device", "map", "{device: cpu, ops: [random_flip]}", "batch", "4" },
          "{}",
          "device: cpu cannot follow cache: device" },
        { { "cache", "device", "map", "[random_rotation: 5]", "batch", "4" },
          "{}",
          "op 'random_rotation' has no kernel" },
        { { "map", "{device: gpu, ops: [random_flip]}", "cache", "device", "batch", "4" },
          "{}",
          "put it before the map with device: gpu" },
        { { "on_error", "mask", "cache", "device", "batch", "4" }, "{}", "policy: replace" },
        { { "on_error", "replace", "cache", "device", "batch", "4" },
          "{}",
          "cache: device does not work with on_error" },
        { { "cache", "device", "batch", "4", "map", "[mixup: {label: none}]" },
          "{}",
          "cache: device does not work with a map after batch" },
        { { "cache", "device", "padded_batch", "{size: 4, shapes: {image: [8, 8, 3]}}" },
          "{}",
          "does not work with padded_batch" },
        { { "cache", "device", "batch", "4" }, "{digest: true}", "cache: device finishes them" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_plan *plan = NULL;
        leat_error err = { .message = "" };
        const int rc = try_plan(cases[i].stages, cases[i].engine, &plan, &err);
        leat_plan_close(&plan);
        if (rc != LEAT_E_CONFIG && rc != LEAT_E_UNSUPPORTED)
            fail_msg("case %zu: %d, '%s'", i, rc, err.message);
        if (!strstr(err.message, cases[i].part))
            fail_msg("case %zu: '%s' has no '%s'", i, err.message, cases[i].part);
    }
}

TEST(samples_of_several_sizes_are_refused)
{
    char path[] = "/tmp/leat-test-keep-XXXXXX", text[400];
    leat_plan *plan;
    leat_error err;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    write_records(path, 0, 5, 30);
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: %s, features: {blob: {type: bytes}}}}\n"
             "pipeline: [cache: device, batch: 2]\n",
             path);
    assert_int_equal(open_text(text, &plan, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "'blob' is uint8[?] here: resize or crop it before"));
    snprintf(text, sizeof text, "rm %s*", path);
    assert_int_equal(system(text), 0);
}

static const char *const stages[] = { "map",     "[random_flip]", "cache", "device", "map",
                                      "[scale]", "batch",         "8",     NULL };

/* What follows the cache is the device's, without a word; a random op before it is said; a plan with it has
 * the digest of one with a cache in memory. */
TEST(a_plan_with_it)
{
    static const char *const in_memory[] = { "map",     "[random_flip]", "cache", "memory", "map",
                                             "[scale]", "batch",         "8",     NULL };
    leat_plan *plan, *other;
    leat_chain_op_info op;
    leat_error err;
    check(try_plan(stages, "{}", &plan, &err), &err);
    check(try_plan(in_memory, "{}", &other, &err), &err);
    assert_int_equal(leat_plan_chain_op(plan, 0, 0, &op), LEAT_OK);
    assert_int_equal(op.device, 0);
    assert_int_equal(leat_plan_chain_op(plan, 0, 1, &op), LEAT_OK);
    assert_int_equal(op.device, 1);
    assert_non_null(strstr(leat_plan_note(plan, 0), "'random_flip' before it is random"));
    assert_true(leat_plan_get_info(plan)->digest == leat_plan_get_info(other)->digest);
    assert_int_equal(plan->rows_bytes, (8 * ROW + 63) / 64 * 64 + 64);
    leat_plan_close(&other);
    leat_plan_close(&plan);
}

TEST(it_needs_a_device_with_kernels)
{
    static const char *const devices[] = { NULL, "cpu", "sim" };
    leat_plan *plan;
    leat_error err;
    check(try_plan(stages, "{}", &plan, &err), &err);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        leat_loader_options o = { .hold = 1 };
        leat_loader *loader;
        if (devices[i])
            check(leat_device_open(devices[i], &o.device, &err), &err);
        assert_int_equal(leat_loader_open(plan, &o, &loader, &err), LEAT_E_UNSUPPORTED);
        assert_non_null(strstr(err.message, "a cache on the device"));
        assert_non_null(strstr(err.message, "write cache: memory"));
        leat_device_close(&o.device);
    }
    leat_plan_close(&plan);
}
