/* SPDX-License-Identifier: MIT
 *
 * `device: auto` over the fake GPU where there is little or nothing to measure, and what the command says. */
#include "cuda_fixture.h"

#include <unistd.h>

static const cuda_fake_table *fake;

/* A plan of a config as text, and what is placed there. */
static leat_plan *place_text(const char *text, leat_device *device, leat_placement *p)
{
    const leat_loader_options o = { .device = device };
    leat_plan *plan;
    leat_error err;
    check(open_text(text, &plan, &err), &err);
    check(leat_plan_placement(plan, &o, p, &err), &err);
    return plan;
}

/* Samples come out of a cache while they are measured, as they will in later epochs. */
static void what_a_cache_keeps_is_not_measured(void **state)
{
    static leat_placement p;
    char path[] = "/tmp/leat-test-placed-XXXXXX", text[400];
    (void)state;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_records(path, 0, 20, 0);
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: %s, features: {x: {type: float, shape: [%d]}}}}\n"
             "pipeline: [map: [scale: {factor: 2}], cache: memory, map: [scale: {factor: 3}], "
             "batch: 4]\n",
             path, ROW_FLOATS);
    fake->reset(0);
    leat_device *device = open_gpu();
    leat_plan *plan = place_text(text, device, &p);
    assert_int_equal(p.measured, 1);
    assert_string_equal(p.ops[0].reason, "what it gives is kept by the cache");
    assert_true(p.ops[0].host_ns < 0);
    for (int32_t i = 0; i < p.n_choices; i++)
        assert_in_range(p.choices[i].link, 1, 2);
    leat_plan_close(&plan);
    leat_device_close(&device);
    check_fake(fake);
    snprintf(text, sizeof text, "rm %s*", path);
    assert_int_equal(system(text), 0);
}

/* Records that nobody can decode say nothing of what they cost: nothing moves, and the loader opens. */
static void damaged_records_are_no_measure(void **state)
{
    static leat_placement p;
    char path[] = "/tmp/leat-test-placed-XXXXXX", text[400];
    leat_format_error ignored;
    (void)state;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    record_writer to = open_records(path);
    for (int i = 0; i < 8; i++) {
        leat_example_add_bytes(to.builder, "image/encoded", "no picture", 10, &ignored);
        put_record(&to);
    }
    close_records(&to);
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: %s, features: {image/encoded: {type: bytes}}}}\n"
             "pipeline: [map: [decode_image, {resize: [8, 8]}, random_flip], batch: 4]\n",
             path);
    fake->reset(0);
    leat_device *device = open_gpu();
    leat_plan *plan = place_text(text, device, &p);
    assert_int_equal(p.measured, 0);
    assert_non_null(strstr(p.reason, "none of the 3 samples tried got through the ops"));
    const leat_loader_options o = { .device = device };
    leat_loader *loader = open_loader(plan, &o);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    leat_device_close(&device);
    check_fake(fake);
    snprintf(text, sizeof text, "rm %s*", path);
    assert_int_equal(system(text), 0);
}

/* An op that waits on purpose is not run for nothing. */
static void what_may_not_be_timed(void **state)
{
    static leat_placement p;
    leat_plan *plan;
    leat_error err;
    const float y[4] = { 0 };
    const leat_rows rows = { "y", leat_shape_make(LEAT_F32, 0, NULL), y };
    leat_builder *b = leat_builder_open();
    (void)state;
    fake->reset(0);
    leat_builder_rows(b, 4, &rows, 1);
    leat_builder_stage(b, "map", "[sleep: 10000, scale]");
    leat_builder_stage(b, "batch", "2");
    check(leat_builder_plan(b, &plan, &err), &err);
    leat_builder_close(&b);
    leat_device *device = open_gpu();
    const leat_loader_options o = { .device = device };
    check(leat_plan_placement(plan, &o, &p, &err), &err);
    assert_int_equal(p.measured, 0);
    assert_non_null(strstr(p.reason, "is not called to be timed"));
    assert_string_equal(p.ops[0].reason, "it has no kernel");
    assert_string_equal(p.ops[1].reason, p.reason);
    leat_device_close(&device);
    leat_plan_close(&plan);
    check_fake(fake);
}

/* The command prints what was measured and chosen, and the same as JSON. */
static void the_command_says_it(void **state)
{
    static char text[1 << 16];
    char path[] = "/tmp/leat-test-placed-XXXXXX", line[512];
    (void)state;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_records(path, 0, 20, 0);
    for (int json = 0; json < 2; json++) {
        snprintf(
            line, sizeof line,
            "printf 'source: {tfrecord: {files: %s, features: {x: {type: float, shape: [%d]}}}}"
            "\npipeline: [map: [scale: {factor: 2}], batch: 4]\n' >%s.yaml && " BUILD_DIR
            "/leat plan %s.yaml --device cuda:0 --log-placement %s",
            path, ROW_FLOATS, path, path, json ? "--json" : "");
        FILE *const from = popen(line, "r");
        assert_non_null(from);
        text[fread(text, 1, sizeof text - 1, from)] = 0;
        assert_int_equal(pclose(from), 0);
        assert_non_null(strstr(text, json ? "\"measured\": true" : "placement: map x: scale on c"));
        assert_non_null(strstr(text, json ? "\"choices\": [" : ": auto, measured: "));
    }
    snprintf(line, sizeof line, "%s.yaml", path);
    remove(line);
    snprintf(line, sizeof line, "%s.idx", path);
    remove(line);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_cache_keeps_is_not_measured),
        cmocka_unit_test(damaged_records_are_no_measure),
        cmocka_unit_test(what_may_not_be_timed),
        cmocka_unit_test(the_command_says_it),
    };
    fake = open_fake();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
