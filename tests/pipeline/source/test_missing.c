/* SPDX-License-Identifier: MIT
 *
 * test_missing.c: features that some records lack: `default` fills them, and without it they are an error that
 * says so. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

enum { N = 20 };

/* Record r has `id`; only odd ones have `weight` (r) and `point` (r, r + 0.5). */
static int make_file(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    leat_format_error err;
    record_writer to = open_records(in_folder("some.tfrecord"));
    for (int64_t r = 0; r < N; r++) {
        const float point[] = { (float)r, (float)r + 0.5f };
        assert_int_equal(leat_example_add_int64s(to.builder, "id", &r, 1, &err), 0);
        if (r % 2) {
            assert_int_equal(leat_example_add_int64s(to.builder, "weight", &r, 1, &err), 0);
            assert_int_equal(leat_example_add_floats(to.builder, "point", point, 2, &err), 0);
        }
        put_record(&to);
    }
    close_records(&to);
    return 0;
}

static int open_with(const char *features, leat_plan **plan, leat_error *err)
{
    char text[1000];
    snprintf(text, sizeof text,
             "source:\n  tfrecord: {files: '%s/some.tfrecord', features: {id: {}, %s}}\n"
             "pipeline: [shuffle, {batch: 4}]\n",
             test_folder, features);
    return open_text(text, plan, err);
}

static void default_fills_what_is_missing(void **state)
{
    leat_plan *plan;
    leat_batch *batch;
    leat_error err = { 0 };
    int n = 0;
    (void)state;
    check(open_with("w: {key: weight, type: int64, default: 9007199254740993}, "
                    "p: {key: point, type: float, shape: [2], default: -0.25}",
                    &plan, &err),
          &err);
    leat_loader *loader = open_loader(plan, NULL);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
        const int64_t *id = leat_batch_tensor(batch, 0).data;
        const int64_t *weight = leat_batch_tensor(batch, 1).data;
        const float *point = leat_batch_tensor(batch, 2).data;
        for (int i = 0; i < 4; i++, n++) {
            const bool there = id[i] % 2;
            assert_true(weight[i] == (there ? id[i] : 9007199254740993));
            assert_true(point[2 * i] == (there ? (float)id[i] : -0.25f));
            assert_true(point[2 * i + 1] == (there ? (float)id[i] + 0.5f : -0.25f));
        }
        leat_batch_release(batch);
    }
    assert_int_equal(n, N);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
}

static void messages_say_what_to_write(void **state)
{
    static const struct {
        const char *features, *says;
    } cases[] = {
        { "w: {key: weight}", "if some records lack it, give a default" },
        { "w: {key: weight, default: 1}", "default needs type: int64 or type: float" },
        { "w: {key: weight, type: bytes, default: x}", "default needs type: int64 or type: float" },
        { "w: {key: weight, type: int64, default: 1.5}",
          "must be a number of its type (int64), got '1.5'" },
        { "w: {key: weight, type: float, default: 1e39}", "must be a number of its type (float)" },
        { "w: {key: weight, type: int64, shape: [-1], default: 1}", "remove default" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_plan *plan;
        leat_error err = { 0 };
        if (open_with(cases[i].features, &plan, &err) != LEAT_E_CONFIG ||
            !strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].features, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_fills_what_is_missing),
        cmocka_unit_test(messages_say_what_to_write),
    };
    return cmocka_run_group_tests(tests, make_file, remove_folder);
}
