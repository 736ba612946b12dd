/* SPDX-License-Identifier: MIT
 *
 * test_augment.c: what crops, flips, brightness, contrast, normalize, cast, reshape and decode_raw
 * mean, value by value. */
#include "op_test.h"

#include <math.h>

static const uint8_t *u8(leat_view v)
{
    return v.data;
}

static const float *f32(leat_view v)
{
    return v.data;
}

static op_result run(const char *name, const void *options, leat_view in, uint64_t seed)
{
    op_result r = op_run(leat_op_find(name), options, in, seed);
    if (r.rc != LEAT_OK)
        fail_msg("%s", r.err.message);
    return r;
}

static void expect_config_error(const char *name, void *options, leat_shape in, const char *text)
{
    leat_shape out;
    leat_error err = { 0 };
    assert_int_equal(leat_op_find(name)->shape(options, &in, &out, &err), LEAT_E_CONFIG);
    assert_string_equal(err.message, text);
    free(options);
}

static void *options_of(const char *name, const char *option, const char *value)
{
    return op_options(leat_op_find(name), option, value, NULL);
}

/* --- crops ----------------------------------------------------------------------------------- */

static void crop_with_pad(void **state)
{
    (void)state;
    enum { SIDE = 6, PAD = 4, SIZE = 5 };
    static const leat_dtype dtypes[] = { LEAT_U8, LEAT_F32 };
    int seen[2 * SIDE + 2][2 * SIDE + 2] = { { 0 } };
    void *options = op_options(leat_op_find("random_crop"), "size", "[5, 5]", "pad", "4", NULL);
    for (uint64_t seed = 0; seed < 3000; seed++) {
        const leat_dtype dtype = dtypes[seed % 2];
        leat_view in = op_noise(dtype, SIDE, SIDE, 3, seed);
        op_result r = run("random_crop", options, in, seed);
        int32_t box[4]; /* y, x, height, width */
        memcpy(box, &r.plan, sizeof box);
        assert_in_range(box[0] + PAD, 0, SIDE + 2 * PAD - SIZE);
        assert_in_range(box[1] + PAD, 0, SIDE + 2 * PAD - SIZE);
        seen[box[0] + PAD][box[1] + PAD]++;
        const size_t pixel = 3 * leat_dtype_bytes(dtype);
        const uint8_t zeros[12] = { 0 };
        for (int y = 0; y < SIZE; y++)
            for (int x = 0; x < SIZE; x++) {
                const int iy = box[0] + y, ix = box[1] + x;
                const int inside = iy >= 0 && iy < SIDE && ix >= 0 && ix < SIDE;
                assert_memory_equal(u8(r.out) + (size_t)(y * SIZE + x) * pixel,
                                    inside ? u8(in) + (size_t)(iy * SIDE + ix) * pixel : zeros,
                                    pixel);
            }
        free(r.out.data);
        free(in.data);
    }
    for (int y = 0; y <= SIDE + 2 * PAD - SIZE; y++) /* 30 expected at each place */
        for (int x = 0; x <= SIDE + 2 * PAD - SIZE; x++)
            assert_in_range(seen[y][x], 5, 70);
    free(options);
}

static void crop_too_large_is_refused(void **state)
{
    (void)state;
    const leat_shape in = { LEAT_U8, 3, { 32, 30, 3 } };
    void *options = op_options(leat_op_find("random_crop"), "size", "[36, 40]", "pad", "4", NULL);
    expect_config_error("random_crop", options, in,
                        "random_crop: size [36, 40] is larger than the image uint8[32, 30, 3] with "
                        "pad 4; use a smaller size, a larger pad, or resize first");
    expect_config_error("center_crop", options_of("center_crop", "size", "31"), in,
                        "center_crop: size [31, 31] is larger than the image uint8[32, 30, 3]; use "
                        "a smaller size or resize first");
    expect_config_error("center_crop", options_of("center_crop", "size", "[1, 2, 3]"), in,
                        "center_crop: size is [height, width] or one number for both, got 3 "
                        "numbers");
    expect_config_error("center_crop", options_of("center_crop", "size", "3"),
                        (leat_shape){ LEAT_I64, 0, { 0 } },
                        "center_crop expects a uint8 or float32 image [height, width, 1 to 4 "
                        "channels], got int64[]");
}

static void center_crop_is_the_middle(void **state)
{
    (void)state;
    leat_view in = op_noise(LEAT_U8, 9, 8, 2, 1);
    void *options = options_of("center_crop", "size", "[4, 6]");
    op_result r = run("center_crop", options, in, 0);
    for (size_t y = 0; y < 4; y++)
        assert_memory_equal(u8(r.out) + y * 12, u8(in) + ((y + 2) * 8 + 1) * 2, 12);
    free(r.out.data);
    free(options);
    free(in.data);
}

/* --- flips ----------------------------------------------------------------------------------- */

static void flip_mirrors_and_twice_is_identity(void **state)
{
    (void)state;
    static const char *const axes[] = { "horizontal", "vertical" };
    static const leat_dtype dtypes[] = { LEAT_U8, LEAT_F32 };
    for (int axis = 0; axis < 2; axis++)
        for (int64_t n = 1; n < 120; n += 7)
            for (int64_t channels = 1; channels <= 4; channels++) {
                const leat_dtype dtype = dtypes[n % 2];
                const size_t pixel = (size_t)channels * leat_dtype_bytes(dtype);
                const int64_t height = 1 + n % 10, width = n;
                void *options =
                    op_options(leat_op_find("random_flip"), "p", "1", "axis", axes[axis], NULL);
                leat_view in = op_noise(dtype, height, width, channels, 3);
                op_result r = run("random_flip", options, in, 0);
                for (int64_t y = 0; y < height; y++)
                    for (int64_t x = 0; x < width; x++) {
                        const int64_t from =
                            axis ? (height - 1 - y) * width + x : y * width + width - 1 - x;
                        assert_memory_equal(u8(r.out) + (size_t)(y * width + x) * pixel,
                                            u8(in) + (size_t)from * pixel, pixel);
                    }
                op_result back = run("random_flip", options, r.out, 0);
                assert_memory_equal(back.out.data, in.data, (size_t)leat_shape_bytes(&in.shape));
                free(back.out.data);
                free(r.out.data);
                free(in.data);
                free(options);
            }
}

static void flip_has_its_probability(void **state)
{
    (void)state;
    const leat_op *op = leat_op_find("random_flip");
    const leat_shape in = { LEAT_U8, 3, { 2, 2, 3 } };
    for (int percent = 0; percent <= 100; percent += 25) {
        char text[16];
        int n = 0;
        snprintf(text, sizeof text, "%g", percent / 100.0);
        void *options = op_options(op, "p", text, NULL);
        for (uint64_t record = 0; record < 10000; record++) {
            leat_rng rng = leat_rng_make(1, record, 0, 0);
            leat_plan64 plan = { 0 };
            op->plan(options, &rng, &in, &plan);
            n += (int)plan.words[0];
        }
        assert_in_range(n, percent ? percent * 100 - 250 : 0, percent * 100 + percent * 2);
        free(options);
    }
}

/* --- brightness and contrast --------------------------------------------------------------------- */

static void brightness_adds_one_number(void **state)
{
    (void)state;
    void *options = options_of("random_brightness", "max_delta", "0.6");
    double least = 0, most = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        leat_view in = op_noise(LEAT_U8, 7, 9, 3, seed);
        leat_view floats = op_noise(LEAT_F32, 7, 9, 3, seed);
        op_result r = run("random_brightness", options, in, seed);
        op_result rf = run("random_brightness", options, floats, seed);
        float delta;
        memcpy(&delta, &r.plan, sizeof delta);
        assert_true(delta >= -0.6f && delta < 0.6f);
        least = fmin(least, (double)delta);
        most = fmax(most, (double)delta);
        const long whole = lrint((double)delta * 255);
        for (size_t i = 0; i < 7 * 9 * 3; i++) {
            const long sum = u8(in)[i] + whole;
            assert_int_equal(u8(r.out)[i], sum < 0 ? 0 : sum > 255 ? 255 : sum);
            assert_true(f32(rf.out)[i] == f32(floats)[i] + delta);
        }
        free(rf.out.data);
        free(r.out.data);
        free(floats.data);
        free(in.data);
    }
    assert_true(least < -0.59 && most > 0.59);
    free(options);
}

static void contrast_keeps_the_mean(void **state)
{
    (void)state;
    void *options = op_options(leat_op_find("random_contrast"), "lower", "0.2", "upper", "3", NULL);
    for (uint64_t seed = 0; seed < 300; seed++) {
        enum { N = 11 * 13 };
        const int64_t channels = 1 + (int64_t)(seed % 4);
        leat_view in = op_noise(LEAT_U8, 11, 13, channels, seed);
        leat_view floats = op_noise(LEAT_F32, 11, 13, channels, seed);
        op_result r = run("random_contrast", options, in, seed);
        op_result rf = run("random_contrast", options, floats, seed);
        float factor;
        memcpy(&factor, &r.plan, sizeof factor);
        assert_true(factor >= 0.2f && factor < 3);
        for (int64_t c = 0; c < channels; c++) {
            double mean = 0, mean_f = 0;
            for (int64_t i = 0; i < N; i++) {
                mean += (double)u8(in)[i * channels + c] / N;
                mean_f += (double)f32(floats)[i * channels + c] / N;
            }
            for (int64_t i = c; i < N * channels; i += channels) {
                const double x = (u8(in)[i] - mean) * (double)factor + mean;
                const double allowed = x < 0 ? 0 : x > 255 ? 255 : x;
                assert_true(fabs(u8(r.out)[i] - allowed) < 0.51);
                const double xf = ((double)f32(floats)[i] - mean_f) * (double)factor + mean_f;
                assert_true(fabs((double)f32(rf.out)[i] - xf) < 1e-5);
            }
        }
        free(rf.out.data);
        free(r.out.data);
        free(floats.data);
        free(in.data);
    }
    free(options);
    options = op_options(leat_op_find("random_contrast"), "lower", "1", "upper", "1", NULL);
    leat_view in = op_noise(LEAT_U8, 20, 30, 3, 9);
    op_result r = run("random_contrast", options, in, 0);
    assert_memory_equal(r.out.data, in.data, 20 * 30 * 3);
    free(r.out.data);
    free(in.data);
    free(options);
    expect_config_error("random_contrast", options_of("random_contrast", "lower", "1.5"),
                        (leat_shape){ LEAT_U8, 3, { 1, 1, 1 } },
                        "random_contrast: lower (1.5) is above upper (1.2)");
}

/* --- normalize, cast ----------------------------------------------------------------------------- */

static void normalize_is_the_formula(void **state)
{
    (void)state;
    static const double mean[] = { 0.491, 0.482, 0.447 }, std[] = { 0.247, 0.243, 0.262 };
    void *options = op_options(leat_op_find("normalize"), "mean", "[0.491, 0.482, 0.447]", "std",
                               "[0.247, 0.243, 0.262]", NULL);
    leat_view in = op_noise(LEAT_U8, 33, 17, 3, 1), floats = op_noise(LEAT_F32, 33, 17, 3, 2);
    op_result r = run("normalize", options, in, 0), rf = run("normalize", options, floats, 0);
    assert_int_equal(r.out.shape.dtype, LEAT_F32);
    for (size_t i = 0; i < 33 * 17 * 3; i++) {
        const double x = (u8(in)[i] / 255.0 - mean[i % 3]) / std[i % 3];
        const double xf = ((double)f32(floats)[i] - mean[i % 3]) / std[i % 3];
        assert_true(fabs((double)f32(r.out)[i] - x) < 1e-6);
        assert_true(fabs((double)f32(rf.out)[i] - xf) < 1e-6);
    }
    free(rf.out.data);
    free(r.out.data);
    free(floats.data);
    free(in.data);
    expect_config_error("normalize", options, (leat_shape){ LEAT_U8, 3, { 4, 4, 1 } },
                        "normalize: mean and std are for 3 channels, got uint8[4, 4, 1]");
    expect_config_error("normalize", options_of("normalize", "std", "[1, 2]"),
                        (leat_shape){ LEAT_I32, 1, { 4 } },
                        "normalize expects uint8 or float32, got int32[4]");
    options = op_options(leat_op_find("normalize"), "mean", "[1, 2, 3]", "std", "[1, 2]", NULL);
    expect_config_error("normalize", options, (leat_shape){ LEAT_U8, 3, { 4, 4, 3 } },
                        "normalize: mean has 3 values and std has 2; give as many as there are "
                        "channels, or one");
}

/* One value is for all, whatever the shape. */
static void normalize_with_one_value(void **state)
{
    (void)state;
    void *options = op_options(leat_op_find("normalize"), NULL);
    leat_view in = op_noise(LEAT_U8, 1, 300, 1, 1);
    in.shape = (leat_shape){ LEAT_U8, 1, { 300 } };
    op_result r = run("normalize", options, in, 0);
    for (size_t i = 0; i < 300; i++)
        assert_true(fabs((double)f32(r.out)[i] - u8(in)[i] / 255.0) < 1e-7);
    free(r.out.data);
    free(in.data);
    free(options);
}

static double cast_one(leat_dtype from, const void *value, const char *to)
{
    leat_view in = { .shape = { from, 0, { 0 } } };
    uint8_t copy[8];
    in.data = memcpy(copy, value, leat_dtype_bytes(from));
    void *options = options_of("cast", "dtype", to);
    op_result r = run("cast", options, in, 0);
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

static void cast_keeps_or_saturates(void **state)
{
    (void)state;
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

static void reshape_fits(void **state)
{
    (void)state;
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
        void *options = options_of("reshape", "shape", cases[i].shape);
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
    expect_config_error("reshape", options_of("reshape", "shape", "[5, 5]"),
                        (leat_shape){ LEAT_U8, 1, { 24 } },
                        "reshape: uint8[5, 5] does not hold 24 elements");
}

static void decode_raw_sees_bytes(void **state)
{
    (void)state;
    const uint8_t bytes[] = { 1, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xff, 0xff, 0xff };
    const leat_op *op = leat_op_find("decode_raw");
    void *options = op_options(op, "dtype", "int32", "shape", "[3, 1]", NULL);
    leat_view in = op_bytes(bytes, sizeof bytes);
    op_result r = run("decode_raw", options, in, 0);
    assert_int_equal(((int32_t *)r.out.data)[0], 1);
    assert_int_equal(((int32_t *)r.out.data)[1], 512);
    assert_int_equal(((int32_t *)r.out.data)[2], -1);
    free(r.out.data);
    free(in.data);
    expect_config_error("decode_raw", options, (leat_shape){ LEAT_U8, 1, { 13 } },
                        "decode_raw: int32[3, 1] takes 12 bytes, got 13");
    options = op_options(op, "dtype", "float32", "shape", "[-1, 3]", NULL);
    expect_config_error("decode_raw", options, (leat_shape){ LEAT_U8, 1, { 32 } },
                        "decode_raw: 32 bytes are not a whole number of rows of float32[?, 3]");
    expect_config_error("decode_raw", op_options(op, NULL), (leat_shape){ LEAT_F32, 1, { 8 } },
                        "decode_raw expects bytes (uint8[n]), got float32[8]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crop_with_pad),
        cmocka_unit_test(crop_too_large_is_refused),
        cmocka_unit_test(center_crop_is_the_middle),
        cmocka_unit_test(flip_mirrors_and_twice_is_identity),
        cmocka_unit_test(flip_has_its_probability),
        cmocka_unit_test(brightness_adds_one_number),
        cmocka_unit_test(contrast_keeps_the_mean),
        cmocka_unit_test(normalize_is_the_formula),
        cmocka_unit_test(normalize_with_one_value),
        cmocka_unit_test(cast_keeps_or_saturates),
        cmocka_unit_test(reshape_fits),
        cmocka_unit_test(decode_raw_sees_bytes),
    };
    return cmocka_run_group_tests(tests, op_test_setup, op_test_teardown);
}
