/* SPDX-License-Identifier: MIT
 *
 * test_source_rows.c: rows in the memory of the caller (leat_builder_rows): every type and rank as given, and
 * what is refused. test_loader.c runs loaders over such rows. */
#include "fixtures/engine_fixture.h"

static int open_rows(uint64_t n, const leat_rows *rows, int32_t n_rows, leat_plan **plan,
                     leat_error *err)
{
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, n, rows, n_rows);
    leat_builder_stage(b, "batch", "{size: 3}");
    const int rc = leat_builder_plan(b, plan, err);
    leat_builder_close(&b);
    return rc;
}

TEST(rows_arrive_as_they_are)
{
    static const uint8_t pixels[3][2][2] = { { { 1, 2 }, { 3, 4 } }, { { 5, 6 } } };
    static const int32_t counts[3] = { -1, 0, INT32_MAX };
    static const int64_t labels[3] = { 7, INT64_MIN, 9 };
    static const float x[3][3] = { { 0.5f, 1, 2 }, { 3, 4, 5 }, { 6, 7, 8 } };
    const int64_t square[] = { 2, 2 }, three[] = { 3 };
    const leat_rows rows[] = { { "pixels", leat_shape_make(LEAT_U8, 2, square), pixels },
                               { "count", leat_shape_make(LEAT_I32, 0, NULL), counts },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), labels },
                               { "x", leat_shape_make(LEAT_F32, 1, three), x } };
    leat_plan *plan;
    leat_batch *batch;
    leat_error err;
    check(open_rows(3, rows, 4, &plan, &err), &err);
    leat_loader *loader = open_loader(plan, NULL);
    check(leat_loader_next(loader, &batch, &err), &err);
    assert_memory_equal(leat_batch_tensor(batch, 0).data, pixels, sizeof pixels);
    assert_memory_equal(leat_batch_tensor(batch, 1).data, counts, sizeof counts);
    assert_memory_equal(leat_batch_tensor(batch, 2).data, labels, sizeof labels);
    assert_memory_equal(leat_batch_tensor(batch, 3).data, x, sizeof x);
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

TEST(what_is_no_row_is_refused)
{
    static const float x[3] = { 0 };
    const int64_t open = LEAT_UNKNOWN_DIM;
    const leat_shape scalar = leat_shape_make(LEAT_F32, 0, NULL);
    const leat_rows bad[] = { { NULL, scalar, x },
                              { "x", leat_shape_make(LEAT_F32, 1, &open), x },
                              { "x", scalar, NULL },
                              { "x", leat_shape_make(leat_dtype_of("float64"), 0, NULL), x },
                              { "x", leat_shape_make((leat_dtype)-1, 0, NULL), x } };
    leat_rows many[17];
    leat_plan *plan;
    leat_error err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(open_rows(3, &bad[i], 1, &plan, &err), LEAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, "tensor 0 needs a name, data and a shape"));
    }
    static const char *const names[][2] = {
        { "a", "a" },
        { "a", "" },
        { "a", "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" },
    };
    for (int i = 0; i < 3; i++) {
        const leat_rows two[] = { { names[i][0], scalar, x }, { names[i][1], scalar, x } };
        assert_int_equal(open_rows(3, two, 2, &plan, &err), LEAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, "tensor 1 is named"));
    }
    for (int i = 0; i < 17; i++)
        many[i] = (leat_rows){ "x", scalar, x };
    assert_int_equal(open_rows(3, many, 17, &plan, &err), LEAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "1 to 16 tensors, got 17"));
    assert_int_equal(open_rows(3, many, 0, &plan, &err), LEAT_E_ARGUMENT);
    assert_int_equal(open_rows(0, many, 1, &plan, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "no records"));
}
