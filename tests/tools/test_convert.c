/* SPDX-License-Identifier: MIT
 *
 * test_convert.c: what normalize, cast, reshape and decode_raw mean, value by value. */
#include "fixtures/op_test.h"

#include <math.h>

/* --- normalize, cast ----------------------------------------------------------------------------- */

TEST(normalize_is_the_formula)
{
    static const double mean[] = { 0.491, 0.482, 0.447 }, std[] = { 0.247, 0.243, 0.262 };
    void *options = op_options(leat_op_find("normalize"), "mean", "[0.491, 0.482, 0.447]", "std",
                               "[0.247, 0.243, 0.262]", NULL);
    leat_view in = op_noise(LEAT_U8, 33, 17, 3, 1), floats = op_noise(LEAT_F32, 33, 17, 3, 2);
    op_result r = op_run_ok("normalize", options, in, 0),
              rf = op_run_ok("normalize", options, floats, 0);
    assert_int_equal(r.out.shape.dtype, LEAT_F32);
    for (size_t i = 0; i < 33 * 17 * 3; i++) {
        const double x = (op_u8(in)[i] / 255.0 - mean[i % 3]) / std[i % 3];
        const double xf = ((double)op_f32(floats)[i] - mean[i % 3]) / std[i % 3];
        assert_true(fabs((double)op_f32(r.out)[i] - x) < 1e-6);
        assert_true(fabs((double)op_f32(rf.out)[i] - xf) < 1e-6);
    }
    free(rf.out.data);
    free(r.out.data);
    free(floats.data);
    free(in.data);
    op_expect_refusal("normalize", options, (leat_shape){ LEAT_U8, 3, { 4, 4, 1 } },
                      "normalize: mean and std are for 3 channels, got uint8[4, 4, 1]");
    op_expect_refusal("normalize", op_options_of("normalize", "std", "[1, 2]"),
                      (leat_shape){ LEAT_I32, 1, { 4 } },
                      "normalize expects uint8 or float32, got int32[4]");
    op_expect_refusal("normalize", op_options_of("normalize", "std", "[0.2, 255, 0.2]"),
                      (leat_shape){ LEAT_U8, 3, { 4, 4, 3 } },
                      "normalize: uint8 pixels count as 0 to 1, so a std of 255 is none of theirs: "
                      "divide mean and std by 255");
    op_expect_refusal("normalize", op_options_of("normalize", "mean", "127"),
                      (leat_shape){ LEAT_U8, 1, { 4 } },
                      "normalize: uint8 pixels count as 0 to 1, so a mean of 127 is none of "
                      "theirs: divide mean and std by 255");
    options = op_options(leat_op_find("normalize"), "mean", "[1, 2, 3]", "std", "[1, 2]", NULL);
    op_expect_refusal("normalize", options, (leat_shape){ LEAT_U8, 3, { 4, 4, 3 } },
                      "normalize: mean has 3 values and std has 2; give as many as there are "
                      "channels, or one");
}

/* One value is for all, whatever the shape. */
TEST(normalize_with_one_value)
{
    void *options = op_options(leat_op_find("normalize"), NULL);
    leat_view in = op_noise(LEAT_U8, 1, 300, 1, 1);
    in.shape = (leat_shape){ LEAT_U8, 1, { 300 } };
    op_result r = op_run_ok("normalize", options, in, 0);
    for (size_t i = 0; i < 300; i++)
        assert_true(fabs((double)op_f32(r.out)[i] - op_u8(in)[i] / 255.0) < 1e-7);
    free(r.out.data);
    free(in.data);
    free(options);
}

static double cast_one(leat_dtype from, const void *value, const char *to)
{
    leat_view in = { .shape = { from, 0, { 0 } } };
    uint8_t copy[8];
    in.data = memcpy(copy, value, leat_dtype_bytes(from));
    void *options = op_options_of("cast", "dtype", to);
    op_result r = op_run_ok("cast", options, in, 0);
    double result = 0;
    if (r.out.shape.dtype == LEAT_U8)
        result = *(uint8_t *)r.out.data;
    else if (r.out.shape.dtype == LEAT_I32)
        result = *(int32_t *)r.out.data;
    else if (r.out.shape.dtype == LEAT_I64)
        result = (double)*(int64_t *)r.out.data;
    else
        result = (double)*(float *)r.out.data;
    free(r.out.data);
    free(options);
    return result;
}

TEST(cast_keeps_or_saturates)
{
    static const struct {
        double from, u8, i32, i64;
    } floats[] = {
        { 0, 0, 0, 0 },
        { 0.5, 0, 0, 0 },
        { 1.5, 2, 2, 2 },
        { -0.4, 0, 0, 0 },
        { 254.6, 255, 255, 255 },
        { 256, 255, 256, 256 },
        { -7.7, 0, -8, -8 },
        { 3e9, 255, 2147483647, 3e9 },
        { -3e9, 0, -2147483648.0, -3e9 },
        { 1e30, 255, 2147483647, 9223372036854775807.0 },
        { -1e30, 0, -2147483648.0, -9223372036854775808.0 },
        { INFINITY, 255, 2147483647, 9223372036854775807.0 },
        { NAN, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        const float x = (float)floats[i].from;
        assert_true(cast_one(LEAT_F32, &x, "uint8") == floats[i].u8);
        assert_true(cast_one(LEAT_F32, &x, "int32") == floats[i].i32);
        assert_true(cast_one(LEAT_F32, &x, "int64") == floats[i].i64);
    }
    const int64_t large = 5000000000, negative = -5000000000;
    assert_true(cast_one(LEAT_I64, &large, "int32") == 2147483647);
    assert_true(cast_one(LEAT_I64, &negative, "int32") == -2147483648.0);
    assert_true(cast_one(LEAT_I64, &large, "uint8") == 255);
    assert_true(cast_one(LEAT_I64, &negative, "uint8") == 0);
    assert_true(cast_one(LEAT_I64, &large, "float32") == 5e9);
    for (int x = 0; x < 256; x++) {
        const uint8_t byte = (uint8_t)x;
        const int32_t word = x;
        assert_true(cast_one(LEAT_U8, &byte, "float32") == x);
        assert_true(cast_one(LEAT_U8, &byte, "int64") == x);
        assert_true(cast_one(LEAT_U8, &byte, "uint8") == x);
        assert_true(cast_one(LEAT_I32, &word, "uint8") == x);
    }
}

/* --- reshape, decode_raw ------------------------------------------------------------------------- */

TEST(reshape_fits)
{
    static const struct {
        const char *shape;
        const char *result; /* of uint8[24]; NULL: refused */
        const char *open;   /* of uint8[?] */
    } cases[] = {
        { "[2, 3, 4]", "uint8[2, 3, 4]", "uint8[2, 3, 4]" },
        { "[-1, 4]", "uint8[6, 4]", "uint8[?, 4]" },
        { "-1", "uint8[24]", "uint8[?]" },
        { "[24, 1, 1, 1, 1, 1]", "uint8[24, 1, 1, 1, 1, 1]", "uint8[24, 1, 1, 1, 1, 1]" },
        { "[5, -1]", NULL, "uint8[5, ?]" },
        { "[5, 5]", NULL, "uint8[5, 5]" },
        { "[-1, -1]", NULL, NULL },
        { "[0, -1]", NULL, NULL },
        { "[1, 1, 1, 1, 1, 1, 24]", NULL, NULL },
        { "[4000000000, 4000000000, 4000000000]", NULL, NULL },
    };
    const leat_op *op = leat_op_find("reshape");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *options = op_options_of("reshape", "shape", cases[i].shape);
        leat_shape in = { LEAT_U8, 1, { 24 } }, out;
        char text[128];
        leat_error err = { 0 };
        assert_int_equal(op->shape(options, &in, &out, &err),
                         cases[i].result ? LEAT_OK : LEAT_E_CONFIG);
        if (cases[i].result)
            assert_string_equal(leat_shape_text(&out, text, sizeof text), cases[i].result);
        in.dims[0] = LEAT_UNKNOWN_DIM;
        assert_int_equal(op->shape(options, &in, &out, &err),
                         cases[i].open ? LEAT_OK : LEAT_E_CONFIG);
        if (cases[i].open)
            assert_string_equal(leat_shape_text(&out, text, sizeof text), cases[i].open);
        free(options);
    }
    op_expect_refusal("reshape", op_options_of("reshape", "shape", "[5, 5]"),
                      (leat_shape){ LEAT_U8, 1, { 24 } },
                      "reshape: uint8[5, 5] does not hold 24 elements");
}

TEST(decode_raw_sees_bytes)
{
    const uint8_t bytes[] = { 1, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xff, 0xff, 0xff };
    const leat_op *op = leat_op_find("decode_raw");
    void *options = op_options(op, "dtype", "int32", "shape", "[3, 1]", NULL);
    leat_view in = op_bytes(bytes, sizeof bytes);
    op_result r = op_run_ok("decode_raw", options, in, 0);
    assert_int_equal(((int32_t *)r.out.data)[0], 1);
    assert_int_equal(((int32_t *)r.out.data)[1], 512);
    assert_int_equal(((int32_t *)r.out.data)[2], -1);
    free(r.out.data);
    free(in.data);
    op_expect_refusal("decode_raw", options, (leat_shape){ LEAT_U8, 1, { 13 } },
                      "decode_raw: int32[3, 1] takes 12 bytes, got 13");
    options = op_options(op, "dtype", "float32", "shape", "[-1, 3]", NULL);
    op_expect_refusal("decode_raw", options, (leat_shape){ LEAT_U8, 1, { 32 } },
                      "decode_raw: 32 bytes are not a whole number of rows of float32[?, 3]");
    op_expect_refusal("decode_raw", op_options(op, NULL), (leat_shape){ LEAT_F32, 1, { 8 } },
                      "decode_raw expects bytes (uint8[n]), got float32[8]");
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
