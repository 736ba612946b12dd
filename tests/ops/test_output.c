/* SPDX-License-Identifier: MIT
 *
 * test_output.c: what models take: 16-bit floats and channels first, by normalize, cast and layout, on every
 * CPU level. */
#include "fixtures/op_test.h"

#include <math.h>

#include "base/cpu.h"
#include "base/half.h"

/* --- numbers of 16 bits ------------------------------------------------------------------------ */

TEST(known_numbers)
{
    static const struct {
        float x;
        uint16_t f16, bf16;
    } cases[] = {
        { 0, 0, 0 },
        { -0.0f, 0x8000, 0x8000 },
        { 1, 0x3c00, 0x3f80 },
        { -2.5f, 0xc100, 0xc020 },
        { 65504, 0x7bff, 0x4780 }, /* the largest float16 */
        { 65519.99f, 0x7bff, 0x4780 },
        { 65520, 0x7c00, 0x4780 },
        { 1e20f, 0x7c00, 0x60ad },
        { -1e20f, 0xfc00, 0xe0ad },
        { 3.4028235e38f, 0x7c00, 0x7f80 }, /* the largest float32 */
        { INFINITY, 0x7c00, 0x7f80 },
        { 0x1p-14f, 0x0400, 0x3880 },   /* the smallest normal float16 */
        { 0x1p-24f, 0x0001, 0x3380 },   /* the smallest of all */
        { 0x1p-25f, 0x0000, 0x3300 },   /* halfway to it: to even */
        { 0x1.8p-24f, 0x0002, 0x33c0 }, /* halfway to the next: to even */
        { 0x1.0002p-25f, 0x0001, 0x3300 },
        { 0x1p-149f, 0x0000, 0x0000 },
        { 1 + 0x1p-11f, 0x3c00, 0x3f80 }, /* halfway: to even */
        { 1 + 0x3p-11f, 0x3c02, 0x3f80 },
        { 1 + 0x1p-8f, 0x3c04, 0x3f80 },
        { 1 + 0x3p-8f, 0x3c0c, 0x3f82 },
        { 0.1f, 0x2e66, 0x3dcd },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(leat_half_f16(cases[i].x), cases[i].f16);
        assert_int_equal(leat_half_bf16(cases[i].x), cases[i].bf16);
    }
    assert_int_equal(leat_half_f16(NAN) & 0x7e00, 0x7e00);
    assert_int_equal(leat_half_bf16(NAN) & 0x7fc0, 0x7fc0);
}

/* Every number of 16 bits survives float32. Between two neighbours the nearer one is taken, halfway the
 * even one. */
TEST(each_number_and_its_neighbour)
{
    for (uint32_t i = 0; i < 0x8000; i++) {
        const uint16_t a = (uint16_t)i, b = (uint16_t)(i + 1);
        const float f = leat_half_of_f16(a), g = leat_half_of_bf16(a);
        assert_int_equal(leat_half_f16(f), i > 0x7c00 ? a | 0x200 : a);
        assert_int_equal(leat_half_f16(-f) & 0x7fff, i > 0x7c00 ? a | 0x200 : a);
        assert_int_equal(leat_half_bf16(g), i > 0x7f80 ? a | 0x40 : a);
        if (i < 0x7bff) {
            const float middle = (f + leat_half_of_f16(b)) / 2; /* exact */
            assert_int_equal(leat_half_f16(middle), a & 1 ? b : a);
            assert_int_equal(leat_half_f16(nextafterf(middle, 0)), a);
            assert_int_equal(leat_half_f16(nextafterf(middle, INFINITY)), b);
        }
        if (i < 0x7f7f) {
            const float middle = leat_half_float(i << 16 | 0x8000);
            assert_int_equal(leat_half_bf16(middle), a & 1 ? b : a);
            assert_int_equal(leat_half_bf16(leat_half_float((i << 16 | 0x8000) - 1)), a);
            assert_int_equal(leat_half_bf16(leat_half_float((i << 16 | 0x8000) + 1)), b);
        }
    }
}

TEST(cast_to_every_type)
{
    static const char *const names[] = {
        "uint8", "int32", "int64", "float32", "float16", "bfloat16"
    };
    static const uint8_t values[] = { 0, 1, 7, 128, 200, 255 };
    for (int from = 0; from < LEAT_N_DTYPES; from++)
        for (int to = 0; to < LEAT_N_DTYPES; to++) {
            void *first = op_options_of("cast", "dtype", names[from]);
            void *second = op_options_of("cast", "dtype", names[to]);
            void *third = op_options_of("cast", "dtype", "int64");
            leat_view in = op_bytes(values, 6);
            op_result a = op_run_ok("cast", first, in, 0), b = op_run_ok("cast", second, a.out, 0);
            op_result c = op_run_ok("cast", third, b.out, 0);
            assert_int_equal(b.out.shape.dtype, to);
            for (int i = 0; i < 6; i++) /* whole numbers up to 256 are exact in all */
                assert_int_equal(((const int64_t *)c.out.data)[i], values[i]);
            free(a.out.data);
            free(b.out.data);
            free(c.out.data);
            free(in.data);
            free(first);
            free(second);
            free(third);
        }
}

/* As the help says. */
TEST(cast_of_values_that_a_type_does_not_have)
{
    static const struct {
        float value;
        int64_t u8, i32, i64;
        float f16, bf16;
    } cases[] = {
        { NAN, 0, 0, 0, NAN, NAN },
        { INFINITY, UINT8_MAX, INT32_MAX, INT64_MAX, INFINITY, INFINITY },
        { -INFINITY, 0, INT32_MIN, INT64_MIN, -INFINITY, -INFINITY },
        { 3.4e38f, UINT8_MAX, INT32_MAX, INT64_MAX, INFINITY, INFINITY },
        { -0x1p127f, 0, INT32_MIN, INT64_MIN, -INFINITY, -0x1p127f },
        { 0x1p63f, UINT8_MAX, INT32_MAX, INT64_MAX, INFINITY, 0x1p63f },
        { 65536, UINT8_MAX, 65536, 65536, INFINITY, 65536 },
        { 256, UINT8_MAX, 256, 256, 256, 256 },
        { -1, 0, -1, -1, -1, -1 },
        { 0.5f, 0, 0, 0, 0.5f, 0.5f },
        { 1.5f, 2, 2, 2, 1.5f, 1.5f },
        { 2.5f, 2, 2, 2, 2.5f, 2.5f },
        { -2.5f, 0, -2, -2, -2.5f, -2.5f },
    };
    static const char *const names[] = { "uint8", "int32", "int64", "float16", "bfloat16" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t to = 0; to < sizeof names / sizeof *names; to++) {
            void *first = op_options_of("cast", "dtype", "float32");
            void *second = op_options_of("cast", "dtype", names[to]);
            void *third = op_options_of("cast", "dtype", to < 3 ? "int64" : "float32");
            leat_view in = op_bytes("", 1);
            op_result a = op_run_ok("cast", first, in, 0);
            memcpy(a.out.data, &cases[i].value, sizeof cases[i].value);
            op_result b = op_run_ok("cast", second, a.out, 0);
            op_result c = op_run_ok("cast", third, b.out, 0);
            if (to < 3)
                assert_true(*(const int64_t *)c.out.data == (to == 0   ? cases[i].u8
                                                             : to == 1 ? cases[i].i32
                                                                       : cases[i].i64));
            else {
                const float got = *op_f32(c.out), wanted = to == 3 ? cases[i].f16 : cases[i].bf16;
                assert_true(got == wanted || (isnan(got) && isnan(wanted)));
            }
            free(a.out.data);
            free(b.out.data);
            free(c.out.data);
            free(in.data);
            free(first);
            free(second);
            free(third);
        }
}

/* --- normalize ----------------------------------------------------------------------------------- */

/* The result of float32 with channels last, converted value by value. */
static void check_format(leat_view in, const leat_view *plain, const char *mean, const char *dtype,
                         const char *layout)
{
    const leat_op *op = leat_op_find("normalize");
    const int64_t channels = in.shape.dims[2], n_px = in.shape.dims[0] * in.shape.dims[1];
    const int planar = !strcmp(layout, "channels_first");
    void *options =
        op_options(op, "mean", mean, "std", "0.3", "dtype", dtype, "layout", layout, NULL);
    op_result r = op_run_ok("normalize", options, in, 0);
    assert_string_equal(leat_dtype_name(r.out.shape.dtype), dtype);
    assert_int_equal(r.out.shape.dims[planar ? 0 : 2], channels);
    assert_int_equal(r.out.shape.dims[planar ? 1 : 0], in.shape.dims[0]);
    assert_int_equal(r.out.shape.dims[planar ? 2 : 1], in.shape.dims[1]);
    for (int64_t i = 0; i < n_px; i++)
        for (int64_t c = 0; c < channels; c++) {
            const float x = op_f32(*plain)[i * channels + c];
            const int64_t at = planar ? c * n_px + i : i * channels + c;
            const uint16_t *const halves = r.out.data;
            if (r.out.shape.dtype == LEAT_F32)
                assert_memory_equal(op_f32(r.out) + at, &x, sizeof x);
            else
                assert_int_equal(halves[at], r.out.shape.dtype == LEAT_F16 ? leat_half_f16(x)
                                                                           : leat_half_bf16(x));
        }
    free(r.out.data);
    free(options);
}

TEST(normalize_writes_every_format)
{
    static const char *const dtypes[] = { "float32", "float16", "bfloat16" };
    static const char *const means[] = { "0.4", "[0.1, 0.5]", "[0.4, 0.5, 0.6]",
                                         "[0.1, 0.2, 0.3, 0.4]", "0.25" };
    uint64_t seed = 1;
    for (int level = 0; level <= leat_cpu_best(); level++)
        for (int i = 0; i < 150; i++) {
            /* five channels of a lower picture could be its width */
            const int64_t channels = 1 + i % 5, lowest = channels == 5 ? 5 : 1;
            const int64_t height = lowest + (int64_t)(op_next(&seed) % 30);
            const int64_t width = 1 + (int64_t)(op_next(&seed) % 40);
            const char *const mean = i % 4 == 3 ? "0.5" : means[channels - 1];
            leat_cpu_use(level);
            leat_view in =
                op_noise(i % 3 ? LEAT_U8 : LEAT_F32, height, width, channels, (uint64_t)i);
            void *options = op_options(leat_op_find("normalize"), "mean", mean, "std", "0.3", NULL);
            op_result plain = op_run_ok("normalize", options, in, 0);
            check_format(in, &plain.out, mean, dtypes[i % 3], "channels_first");
            check_format(in, &plain.out, mean, dtypes[i / 3 % 3], "channels_first");
            check_format(in, &plain.out, mean, dtypes[1 + i % 2], "channels_last");
            free(plain.out.data);
            free(options);
            free(in.data);
        }
    leat_cpu_use(leat_cpu_best());
    op_expect_refusal("normalize", op_options_of("normalize", "layout", "channels_first"),
                      (leat_shape){ LEAT_U8, 1, { 5 } },
                      "normalize: layout channels_first needs an image [height, width, channels], "
                      "got uint8[5]");
    op_expect_refusal(
        "normalize", op_options_of("normalize", "layout", "channels_first"),
        (leat_shape){ LEAT_U8, 3, { 3, 32, 32 } },
        "normalize: the channels of uint8[3, 32, 32] are first already: leave `layout` out");
}

/* --- layout ------------------------------------------------------------------------------------ */

TEST(layout_there_and_back)
{
    void *there = op_options_of("layout", "to", "channels_first");
    void *back = op_options_of("layout", "to", "channels_last");
    for (int level = 0; level <= leat_cpu_best(); level++)
        for (int i = 0; i < 60; i++) {
            const int64_t height = 1 + i % 7, width = 1 + i * 3, channels = 1 + i % 4;
            leat_cpu_use(level);
            leat_view in = op_noise(i % 2 ? LEAT_U8 : LEAT_F32, height, width, channels, 5);
            const size_t size = leat_dtype_bytes(in.shape.dtype);
            op_result a = op_run_ok("layout", there, in, 0),
                      b = op_run_ok("layout", back, a.out, 0);
            assert_int_equal(a.out.shape.dims[0], channels);
            assert_int_equal(a.out.shape.dims[2], width);
            for (int64_t k = 0; k < height * width; k++)
                for (int64_t c = 0; c < channels; c++)
                    assert_memory_equal(op_u8(a.out) + (size_t)(c * height * width + k) * size,
                                        op_u8(in) + (size_t)(k * channels + c) * size, size);
            assert_true(leat_shape_equal(&b.out.shape, &in.shape));
            assert_memory_equal(b.out.data, in.data, (size_t)leat_shape_bytes(&in.shape));
            free(a.out.data);
            free(b.out.data);
            free(in.data);
        }
    leat_cpu_use(leat_cpu_best());
    free(there);
    free(back);
    op_expect_refusal("layout", op_options_of("layout", "to", "channels_first"),
                      (leat_shape){ LEAT_U8, 1, { 5 } },
                      "layout expects three dimensions, got uint8[5]");
    op_expect_refusal(
        "layout", op_options_of("layout", "to", "channels_last"),
        (leat_shape){ LEAT_U8, 3, { 32, 32, 3 } },
        "layout: the channels of uint8[32, 32, 3] are last already: leave `layout` out");
    op_expect_refusal(
        "layout", op_options_of("layout", "to", "channels_last"),
        (leat_shape){ LEAT_U8, 3, { 8, 8, 3 } },
        "layout: the channels of uint8[8, 8, 3] are last already: leave `layout` out");
    op_expect_refusal(
        "layout", op_options_of("layout", "to", "channels_last"),
        (leat_shape){ LEAT_U8, 3, { 28, 28, 1 } },
        "layout: the channels of uint8[28, 28, 1] are last already: leave `layout` out");
    op_expect_refusal(
        "layout", op_options_of("layout", "to", "channels_first"),
        (leat_shape){ LEAT_F32, 3, { 1, 28, 28 } },
        "layout: the channels of float32[1, 28, 28] are first already: leave `layout` out");
    op_expect_refusal(
        "layout", op_options_of("layout", "to", "channels_first"),
        (leat_shape){ LEAT_F32, 3, { 3, 32, 20 } },
        "layout: the channels of float32[3, 32, 20] are first already: leave `layout` out");
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
