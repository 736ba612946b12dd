/* SPDX-License-Identifier: MIT
 *
 * Where ops run when no device can run them, and what keeps each op where it is. The rest, which needs a
 * device with kernels, is in test_cuda_placement.c. */
#include "engine_fixture.h"

#include <unistd.h>

enum { RECORDS = 40, SIDE = 8 };

/* A plan over images of one size, "y" beside them, and the stages given, "NAME: OPTIONS" each. */
static leat_plan *open_plan(const char *const *stages, const char *engine)
{
    static uint8_t pixels[RECORDS * SIDE * SIDE * 3];
    static float y[RECORDS * SIDE];
    const leat_rows rows[] = {
        { "image", leat_shape_make(LEAT_U8, 3, (int64_t[]){ SIDE, SIDE, 3 }), pixels },
        { "y", leat_shape_make(LEAT_F32, 1, (int64_t[]){ SIDE }), y },
    };
    leat_builder *b = leat_builder_open();
    leat_plan *plan;
    leat_error err;
    leat_builder_rows(b, RECORDS, rows, 2);
    leat_builder_op(b, &stall_op);
    leat_builder_engine(b, engine);
    for (; *stages; stages += 2)
        leat_builder_stage(b, stages[0], stages[1]);
    check(leat_builder_plan(b, &plan, &err), &err);
    leat_builder_close(&b);
    return plan;
}

#define ALL_AUTO "auto: on the CPU: batches stay in host memory"

/* Which op is looked at, and how the reason begins why it is where it is. */
static const struct stay {
    const char *stages[9];
    const char *engine;
    int32_t tensor, link;
    const char *reason;
} stays[] = {
    { { "map", "[random_flip, normalize]", "batch", "4" }, "{}", 0, 0, ALL_AUTO },
    { { "map", "[random_flip, normalize]", "batch", "4" }, "{}", 0, 1, ALL_AUTO },
    { { "map", "{device: cpu, ops: [random_flip]}", "batch", "4" },
      "{}",
      0,
      0,
      "its map says device: cpu" },
    { { "map", "[random_flip]", "map", "{device: cpu, ops: [normalize]}", "batch", "4" },
      "{}",
      0,
      0,
      "normalize after it stays on the CPU: its map says device: cpu" },
    { { "map", "{device: cpu, ops: [random_flip]}", "map", "[normalize]", "batch", "4" },
      "{}",
      0,
      1,
      ALL_AUTO },
    { { "map", "[random_rotation: 10]", "batch", "4" }, "{}", 0, 0, "it has no kernel" },
    { { "map", "[random_flip, grayscale, scale]", "batch", "4" },
      "{}",
      0,
      0,
      "grayscale after it stays on the CPU: it has no kernel" },
    { { "map", "[random_flip, grayscale, scale]", "batch", "4" }, "{}", 0, 2, ALL_AUTO },
    { { "map", "{tensor: y, ops: [stall, scale]}", "batch", "4" }, "{}", 1, 0, "it has no kernel" },
    { { "map", "[random_flip]", "cache", NULL, "map", "[normalize]", "batch", "4" },
      "{}",
      0,
      0,
      "what it gives is kept by the cache" },
    { { "map", "[random_flip]", "on_error", "mask", "batch", "4" },
      "{}",
      0,
      0,
      "on_error: mask leaves rows of zeros" },
    { { "map", "[random_flip]", "batch", "4" }, "{digest: true}", 0, 0, "engine.digest reads" },
    { { "map", "[random_flip]", "unbatch", NULL, "batch", "4" }, "{}", 0, 0, "with unbatch" },
    { { "map", "[scale]", "batch", "4", "map", "[mixup: {label: none}]" },
      "{}",
      0,
      0,
      "a map after batch works on the CPU" },
    { { "map", "[scale]", "batch", "4", "map", "[mixup: {label: none}]" },
      "{}",
      0,
      -1,
      "a map after batch works on the CPU" },
    { { "map", "{device: gpu, ops: [random_flip]}", "map", "[normalize]", "batch", "4" },
      "{}",
      0,
      0,
      "its map says device: gpu" },
    { { "map", "{device: gpu, ops: [random_flip]}", "map", "[normalize]", "batch", "4" },
      "{}",
      0,
      1,
      "after a map with device: gpu" },
};

static const leat_op_placement *find(const leat_placement *p, int32_t tensor, int32_t link)
{
    for (int32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].tensor == tensor && p->ops[i].link == link)
            return &p->ops[i];
    return NULL;
}

static void every_op_has_a_reason(void **state)
{
    static leat_placement p;
    leat_error err;
    (void)state;
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) {
        leat_plan *plan = open_plan(stays[i].stages, stays[i].engine);
        check(leat_plan_placement(plan, NULL, &p, &err), &err);
        const leat_op_placement *const one = find(&p, stays[i].tensor, stays[i].link);
        assert_non_null(one);
        if (strncmp(one->reason, stays[i].reason, strlen(stays[i].reason)))
            fail_msg("case %zu: '%s', not '%s'", i, one->reason, stays[i].reason);
        for (int32_t k = 0; k < p.n_ops; k++) {
            assert_true(p.ops[k].reason[0]);
            assert_true(p.ops[k].host_ns < 0 && p.ops[k].device_ns < 0);
        }
        assert_int_equal(p.measured, 0);
        assert_int_equal(p.n_choices, 0);
        assert_string_equal(p.device, "");
        leat_plan_close(&plan);
    }
}

/* Samples of no fixed size: what makes them one stays, and all before it. */
static void samples_that_differ_stay(void **state)
{
    static leat_placement p;
    char path[] = "/tmp/leat-test-placement-XXXXXX", text[512];
    leat_plan *plan;
    leat_error err;
    (void)state;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    record_writer to = open_records(path);
    leat_format_error ignored;
    for (int i = 0; i < 8; i++) {
        leat_example_add_bytes(to.builder, "image/encoded", "x", 1, &ignored);
        put_record(&to);
    }
    close_records(&to);
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: %s, features: {image/encoded: {type: bytes}}}}\n"
             "pipeline: [map: [decode_jpeg, {random_resized_crop: {size: 8}}, random_flip], batch: "
             "4]\n",
             path);
    check(open_text(text, &plan, &err), &err);
    check(leat_plan_placement(plan, NULL, &p, &err), &err);
    assert_int_equal(p.n_ops, 3);
    for (int32_t i = 0; i < p.n_ops; i++)
        assert_string_equal(p.ops[i].reason, "auto: on the CPU: batches stay in host memory");
    assert_int_equal(p.ops[0].bytes, -1);
    assert_int_equal(p.ops[1].bytes, 8 * 8 * 3);
    assert_string_equal(p.ops[2].reason, ALL_AUTO);
    leat_plan_close(&plan);
    remove(path);
}

/* A device with copies, but without kernels: nothing is measured, nothing moves. */
static void a_device_without_kernels(void **state)
{
    static const char *const stages[] = { "map", "[random_flip, normalize]", "batch", "4", NULL };
    static leat_placement p;
    static leat_budget budget;
    leat_plan *plan = open_plan(stages, "{}");
    leat_loader_options o = { .hold = 1 };
    leat_error err;
    (void)state;
    check(leat_device_open("sim", &o.device, &err), &err);
    check(leat_plan_placement(plan, &o, &p, &err), &err);
    assert_string_equal(p.reason, "auto: on the CPU, as sim runs no ops");
    assert_string_equal(p.device, "sim");
    assert_int_equal(p.measured, 0);
    assert_int_equal(p.n_ops, 2);
    for (int32_t i = 0; i < p.n_ops; i++)
        assert_int_equal(p.ops[i].on_device, 0);
    check(leat_plan_budget(plan, &o, &budget, &err), &err);
    for (int32_t i = 0; i < budget.n_decisions; i++)
        if (!strcmp(budget.decisions[i].name, "placement"))
            assert_non_null(strstr(budget.decisions[i].reason, "ops on the CPU"));
    leat_device_close(&o.device);
    leat_plan_close(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_a_reason),
        cmocka_unit_test(samples_that_differ_stay),
        cmocka_unit_test(a_device_without_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
