/* SPDX-License-Identifier: MIT
 *
 * test_filter_rows.c: the stage `filter` over rows in memory: the rows that stay, and limits of int64 values, which are
 * exact. */
#include "fixtures/engine_fixture.h"

static void rows_in_memory(void **state)
{
    const int64_t dim = ROW_FLOATS;
    int64_t labels[100];
    leat_error err;
    float *const x = make_rows(100);
    (void)state;
    for (int i = 0; i < 100; i++)
        labels[i] = i % 4;
    const leat_rows rows[] = { { "x", leat_shape_make(LEAT_F32, 1, &dim), x },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, 100, rows, 2);
    leat_builder_stage(builder, "filter", "{feature: label, equals: [1, 2]}");
    leat_builder_stage(builder, "batch", "10");
    leat_plan *plan = plan_of_builder(builder);
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    for (int b = 0; b < 5; b++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        for (int j = 0; j < 10; j++)
            assert_int_equal(((const float *)leat_batch_tensor(batch, 0).data)[j * ROW_FLOATS],
                             (b * 10 + j) / 2 * 4 + 1 + (b * 10 + j) % 2);
        leat_batch_release(batch);
    }
    assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_END);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    free(x);
}

/* Samples of int64 rows that a filter keeps: one bit each; -1 where the plan is refused. */
static int kept_rows(const char *limits, const int64_t *values, int n, leat_error *error)
{
    char options[200];
    int kept = 0;
    leat_plan *plan;
    leat_batch *batch;
    const leat_rows rows[] = { { "id", leat_shape_make(LEAT_I64, 0, NULL), values } };
    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, (uint64_t)n, rows, 1);
    snprintf(options, sizeof options, "{feature: id, %s}", limits);
    leat_builder_stage(builder, "filter", options);
    leat_builder_stage(builder, "batch", "1");
    const int rc = leat_builder_plan(builder, &plan, error);
    leat_builder_close(&builder);
    if (rc < 0)
        return -1;
    leat_loader *loader = open_loader(plan, NULL);
    while (leat_loader_next(loader, &batch, error) == LEAT_OK) {
        for (int i = 0; i < n; i++)
            kept |= (values[i] == *(const int64_t *)leat_batch_tensor(batch, 0).data) << i;
        leat_batch_release(batch);
    }
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    return kept;
}

/* A double has no 2^53 + 1. */
static void limits_of_int64_are_exact(void **state)
{
    static const int64_t v[] = {
        INT64_MIN, INT64_MIN + 1,    -9007199254740993, -9007199254740992, -2,       -1, 0, 1,
        2,         9007199254740992, 9007199254740993,  INT64_MAX - 1,     INT64_MAX
    };
    enum { N = sizeof v / sizeof *v, ALL = (1 << N) - 1 };
    static const struct {
        const char *options;
        int kept;
    } limits[] = {
        { "min: 9007199254740993", ALL & ~0x3ff },
        { "max: 9007199254740992", 0x3ff },
        { "min: -9007199254740992", ALL & ~0x7 },
        { "max: -9007199254740993", 0x7 },
        { "min: 9223372036854775807", 1 << 12 },
        { "max: 9223372036854775806", ALL & ~(1 << 12) },
        { "max: -9223372036854775808", 1 },
        { "min: -9223372036854775807", ALL & ~1 },
        { "min: 9007199254740992.5", ALL & ~0x3ff },
        { "max: 9007199254740993.9", 0x7ff },
        { "min: -9007199254740992.1", ALL & ~0x7 },
        { "max: -9007199254740992.1", 0x7 },
        { "min: -1.5, max: 1.5", 0xe0 },
        { "min: -.5, max: .5", 0x40 },
        { "min: +1.0, max: 2e0", 0x180 },
        { "min: -inf, max: 0", 0x7f },
        { "max: .inf, min: 1e15", ALL & ~0x1ff },
    };
    static const char *const refused[][2] = {
        { "min: 9223372036854775807.5", "fits in 64 bits" },
        { "max: -9223372036854775808.5", "fits in 64 bits" },
        { "min: 9223372036854775808", "min must be a number that fits in 64 bits" },
        { "max: -9223372036854775809", "max must be a number that fits in 64 bits" },
        { "min: 1e17", "min must be written without an exponent, got 1e17" },
        { "max: 1.5e0", "max must be written without an exponent" },
        { "min: many", "min must be a number, got many" },
        { "min: inf", "min must be finite" },
    };
    leat_error err;
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (kept_rows(limits[i].options, v, N, &err) != limits[i].kept)
            fail_msg("%s keeps %#x, not %#x", limits[i].options,
                     (unsigned)kept_rows(limits[i].options, v, N, &err), (unsigned)limits[i].kept);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(kept_rows(refused[i][0], v, N, &err), -1);
        if (!strstr(err.message, refused[i][1]))
            fail_msg("'%s' lacks '%s'", err.message, refused[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_memory),
        cmocka_unit_test(limits_of_int64_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
