/* SPDX-License-Identifier: MIT
 *
 * test_labels.c: what one_hot and scale mean, value by value. */
#include "base/half.h"
#include "fixtures/op_test.h"

#include <math.h>

static leat_view vector(leat_dtype dtype, int64_t n, const int64_t *values)
{
    leat_view view = { .shape = { dtype, 1, { n } } };
    view.data = malloc((size_t)n * leat_dtype_bytes(dtype));
    assert_non_null(view.data);
    for (int64_t i = 0; i < n; i++)
        switch (dtype) {
        case LEAT_U8:
            ((uint8_t *)view.data)[i] = (uint8_t)values[i];
            break;
        case LEAT_I32:
            ((int32_t *)view.data)[i] = (int32_t)values[i];
            break;
        case LEAT_I64:
            ((int64_t *)view.data)[i] = values[i];
            break;
        case LEAT_F16:
            ((uint16_t *)view.data)[i] = leat_half_f16((float)values[i]);
            break;
        case LEAT_BF16:
            ((uint16_t *)view.data)[i] = leat_half_bf16((float)values[i]);
            break;
        default:
            ((float *)view.data)[i] = (float)values[i];
        }
    return view;
}

TEST(one_hot_rows)
{
    static const leat_dtype dtypes[] = { LEAT_U8, LEAT_I32, LEAT_I64 };
    static const int64_t labels[] = { 3, 0, 4, 1 };
    for (size_t d = 0; d < 3; d++)
        for (int smooth = 0; smooth < 2; smooth++) {
            leat_view in = vector(dtypes[d], 4, labels);
            void *options = op_options(leat_op_find("one_hot"), "classes", "5", "smoothing",
                                       smooth ? "0.1" : "0", NULL);
            op_result r = op_run_ok("one_hot", options, in, 0);
            assert_int_equal(r.out.shape.rank, 2);
            assert_int_equal(r.out.shape.dims[0], 4);
            assert_int_equal(r.out.shape.dims[1], 5);
            for (int i = 0; i < 4; i++)
                for (int k = 0; k < 5; k++) {
                    const double x = k == labels[i] ? (smooth ? 0.92 : 1) : (smooth ? 0.02 : 0);
                    assert_true(fabs((double)op_f32(r.out)[i * 5 + k] - x) < 1e-7);
                }
            free(r.out.data);
            free(in.data);
            free(options);
        }
}

TEST(one_hot_of_a_scalar)
{
    int64_t label = 2;
    void *options = op_options_of("one_hot", "classes", "3");
    const leat_view in = { { LEAT_I64, 0, { 0 } }, &label, NULL };
    op_result r = op_run_ok("one_hot", options, in, 0);
    assert_int_equal(r.out.shape.rank, 1);
    assert_memory_equal(r.out.data, ((float[]){ 0, 0, 1 }), 12);
    free(r.out.data);
    static const struct {
        int64_t label;
        const char *message;
    } wrong[] = { { 3, "one_hot: label 3 is not one of 0 to 2" },
                  { -1, "one_hot: label -1 is not one of 0 to 2" },
                  { INT64_MIN, "one_hot: label -9223372036854775808 is not one of 0 to 2" } };
    for (size_t i = 0; i < 3; i++) {
        label = wrong[i].label;
        r = op_run(leat_op_find("one_hot"), options, in, 0);
        assert_int_equal(r.rc, LEAT_E_DATA);
        assert_string_equal(r.err.message, wrong[i].message);
    }
    free(options);
    op_expect_refusal("one_hot", op_options_of("one_hot", "classes", "3"),
                      (leat_shape){ LEAT_F32, 1, { 4 } },
                      "one_hot expects class numbers (integers), got float32[4]");
}

TEST(scale_multiplies_and_adds)
{
    static const int64_t values[] = { 0, 1, 77, 128, 200, 255, 254, 3, 9, 10, 11 };
    void *options = op_options(leat_op_find("scale"), "factor", "0.0078125", "offset", "-1", NULL);
    void *usual = op_options(leat_op_find("scale"), NULL);
    for (int d = 0; d < LEAT_N_DTYPES; d++) {
        leat_view in = vector((leat_dtype)d, 11, values);
        op_result r = op_run_ok("scale", options, in, 0), to_one = op_run_ok("scale", usual, in, 0);
        for (int i = 0; i < 11; i++) {
            assert_true(op_f32(r.out)[i] == (float)values[i] / 128 - 1);
            assert_true(fabs((double)op_f32(to_one.out)[i] - (double)values[i] / 255) < 1e-7);
        }
        free(to_one.out.data);
        free(r.out.data);
        free(in.data);
    }
    free(usual);
    free(options);
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
