/* SPDX-License-Identifier: MIT
 *
 * test_augment.c: what crops, flips, brightness and contrast mean, value by value. */
#include "fixtures/op_test.h"

#include <math.h>

#include "base/cpu.h"

/* --- crops ----------------------------------------------------------------------------------- */

TEST(crop_with_pad)
{
    enum { SIDE = 6, PAD = 4, SIZE = 5 };
    static const leat_dtype dtypes[] = { LEAT_U8, LEAT_F32 };
    int seen[2 * SIDE + 2][2 * SIDE + 2] = { { 0 } };
    void *options = op_options(leat_op_find("random_crop"), "size", "[5, 5]", "pad", "4", NULL);
    for (uint64_t seed = 0; seed < 3000; seed++) {
        const leat_dtype dtype = dtypes[seed % 2];
        leat_view in = op_noise(dtype, SIDE, SIDE, 3, seed);
        op_result r = op_run_ok("random_crop", options, in, seed);
        int32_t box[4]; /* y, x, height, width */
        memcpy(box, &r.draw, sizeof box);
        assert_in_range(box[0] + PAD, 0, SIDE + 2 * PAD - SIZE);
        assert_in_range(box[1] + PAD, 0, SIDE + 2 * PAD - SIZE);
        seen[box[0] + PAD][box[1] + PAD]++;
        const size_t pixel = 3 * leat_dtype_bytes(dtype);
        const uint8_t zeros[12] = { 0 };
        for (int y = 0; y < SIZE; y++)
            for (int x = 0; x < SIZE; x++) {
                const int iy = box[0] + y, ix = box[1] + x;
                const int inside = iy >= 0 && iy < SIDE && ix >= 0 && ix < SIDE;
                assert_memory_equal(op_u8(r.out) + (size_t)(y * SIZE + x) * pixel,
                                    inside ? op_u8(in) + (size_t)(iy * SIDE + ix) * pixel : zeros,
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

/* Padding with a mode equals the op pad before a crop without padding, at every place and CPU level. */
TEST(crop_with_mode_is_pad_and_crop)
{
    static const char *const modes[] = { "constant", "edge", "reflect", "symmetric" };
    enum { HEIGHT = 7, WIDTH = 6, PAD = 5, TALL = 4, BROAD = 3, N = 2500 };
    for (uint64_t seed = 0; seed < N; seed++) {
        const char *const mode = modes[seed % 4];
        void *crop = op_options(leat_op_find("random_crop"), "size", "[4, 3]", "pad", "5", "mode",
                                mode, NULL);
        void *pad = op_options(leat_op_find("pad"), "pixels", "5", "mode", mode, NULL);
        leat_view in = op_noise(seed % 3 ? LEAT_U8 : LEAT_F32, HEIGHT, WIDTH, 1 + seed % 4, seed);
        op_result padded = op_run_ok("pad", pad, in, 0);
        const size_t pixel = (size_t)in.shape.dims[2] * leat_dtype_bytes(in.shape.dtype);
        for (int level = 0; level <= leat_cpu_best(); level++) {
            int32_t box[4]; /* y, x, height, width */
            leat_cpu_use(level);
            op_result r = op_run_ok("random_crop", crop, in, seed);
            memcpy(box, &r.draw, sizeof box);
            for (int y = 0; y < TALL; y++)
                assert_memory_equal(
                    op_u8(r.out) + (size_t)(y * BROAD) * pixel,
                    op_u8(padded.out) +
                        (size_t)((box[0] + PAD + y) * (WIDTH + 2 * PAD) + box[1] + PAD) * pixel,
                    BROAD * pixel);
            free(r.out.data);
        }
        free(padded.out.data);
        free(in.data);
        free(pad);
        free(crop);
    }
    leat_cpu_use(leat_cpu_best());
}

TEST(crop_too_large_is_refused)
{
    const leat_shape in = { LEAT_U8, 3, { 32, 30, 3 } };
    void *options = op_options(leat_op_find("random_crop"), "size", "[36, 40]", "pad", "4", NULL);
    op_expect_refusal("random_crop", options, in,
                      "random_crop: size [36, 40] is larger than the image uint8[32, 30, 3] with "
                      "pad 4; use a smaller size, a larger pad, or resize first");
    op_expect_refusal("center_crop", op_options_of("center_crop", "size", "31"), in,
                      "center_crop: size [31, 31] is larger than the image uint8[32, 30, 3]; use "
                      "a smaller size or resize first");
    op_expect_refusal("center_crop", op_options_of("center_crop", "size", "[1, 2, 3]"), in,
                      "center_crop: size is [height, width] or one number for both, got 3 "
                      "numbers");
    op_expect_refusal("center_crop", op_options_of("center_crop", "size", "3"),
                      (leat_shape){ LEAT_I64, 0, { 0 } },
                      "center_crop expects a uint8 or float32 image [height, width, 1 to 4 "
                      "channels], got int64[]");
    op_expect_refusal("random_crop",
                      op_options(leat_op_find("random_crop"), "size", "[8, 8]", "pad", "30", "mode",
                                 "reflect", NULL),
                      in, "random_crop: 30 pixels are more than uint8[32, 30, 3] has to mirror");
}

TEST(center_crop_is_the_middle)
{
    leat_view in = op_noise(LEAT_U8, 9, 8, 2, 1);
    void *options = op_options_of("center_crop", "size", "[4, 6]");
    op_result r = op_run_ok("center_crop", options, in, 0);
    for (size_t y = 0; y < 4; y++)
        assert_memory_equal(op_u8(r.out) + y * 12, op_u8(in) + ((y + 2) * 8 + 1) * 2, 12);
    free(r.out.data);
    free(options);
    free(in.data);
}

/* --- flips ----------------------------------------------------------------------------------- */

TEST(flip_mirrors_and_twice_is_identity)
{
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
                op_result r = op_run_ok("random_flip", options, in, 0);
                for (int64_t y = 0; y < height; y++)
                    for (int64_t x = 0; x < width; x++) {
                        const int64_t from =
                            axis ? (height - 1 - y) * width + x : y * width + width - 1 - x;
                        assert_memory_equal(op_u8(r.out) + (size_t)(y * width + x) * pixel,
                                            op_u8(in) + (size_t)from * pixel, pixel);
                    }
                op_result back = op_run_ok("random_flip", options, r.out, 0);
                assert_memory_equal(back.out.data, in.data, (size_t)leat_shape_bytes(&in.shape));
                free(back.out.data);
                free(r.out.data);
                free(in.data);
                free(options);
            }
}

TEST(flip_has_its_probability)
{
    const leat_op *op = leat_op_find("random_flip");
    const leat_shape in = { LEAT_U8, 3, { 2, 2, 3 } };
    for (int percent = 0; percent <= 100; percent += 25) {
        char text[16];
        int n = 0;
        snprintf(text, sizeof text, "%g", percent / 100.0);
        void *options = op_options(op, "p", text, NULL);
        for (uint64_t record = 0; record < 10000; record++) {
            leat_rng rng = leat_rng_make(1, record, 0, 0);
            leat_draw draw = { 0 };
            op->draw(options, &rng, &in, &draw);
            n += (int)draw.words[0];
        }
        assert_in_range(n, percent ? percent * 100 - 250 : 0, percent * 100 + percent * 2);
        free(options);
    }
}

/* `alternate`: the side of epoch 0 has probability p; then a record changes its side in every epoch. */
TEST(flip_alternates)
{
    static const uint64_t epochs[] = { 0, 1, 2, 3, 7, 0xffff, 0x10000, 0x10001 };
    const leat_op *op = leat_op_find("random_flip");
    const leat_shape in = { LEAT_U8, 3, { 2, 2, 3 } };
    for (int percent = 0; percent <= 100; percent += 25) {
        char text[16];
        int n = 0;
        snprintf(text, sizeof text, "%g", percent / 100.0);
        void *options = op_options(op, "p", text, "alternate", "true", NULL);
        for (uint64_t record = 0; record < 4000; record++) {
            uint64_t first = 2;
            for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
                leat_rng rng = leat_rng_make(1, record, epochs[i], 3);
                leat_draw draw = { 0 };
                op->draw(options, &rng, &in, &draw);
                first = i ? first : draw.words[0];
                assert_int_equal(draw.words[0], first ^ (epochs[i] & 1));
            }
            n += (int)first;
        }
        assert_in_range(n, percent ? percent * 40 - 160 : 0, percent * 40 + percent * 2);
        free(options);
    }
}

/* --- brightness and contrast --------------------------------------------------------------------- */

TEST(brightness_adds_one_number)
{
    void *options = op_options_of("random_brightness", "max_delta", "0.6");
    double least = 0, most = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        leat_view in = op_noise(LEAT_U8, 7, 9, 3, seed);
        leat_view floats = op_noise(LEAT_F32, 7, 9, 3, seed);
        op_result r = op_run_ok("random_brightness", options, in, seed);
        op_result rf = op_run_ok("random_brightness", options, floats, seed);
        float delta;
        memcpy(&delta, &r.draw, sizeof delta);
        assert_true(delta >= -0.6f && delta < 0.6f);
        least = fmin(least, (double)delta);
        most = fmax(most, (double)delta);
        const long whole = lrint((double)delta * 255);
        for (size_t i = 0; i < 7 * 9 * 3; i++) {
            const long sum = op_u8(in)[i] + whole;
            assert_int_equal(op_u8(r.out)[i], sum < 0 ? 0 : sum > 255 ? 255 : sum);
            assert_true(op_f32(rf.out)[i] == op_f32(floats)[i] + delta);
        }
        free(rf.out.data);
        free(r.out.data);
        free(floats.data);
        free(in.data);
    }
    assert_true(least < -0.59 && most > 0.59);
    free(options);
}

TEST(contrast_keeps_the_mean)
{
    void *options = op_options(leat_op_find("random_contrast"), "lower", "0.2", "upper", "3", NULL);
    for (uint64_t seed = 0; seed < 300; seed++) {
        enum { N = 11 * 13 };
        const int64_t channels = 1 + (int64_t)(seed % 4);
        leat_view in = op_noise(LEAT_U8, 11, 13, channels, seed);
        leat_view floats = op_noise(LEAT_F32, 11, 13, channels, seed);
        op_result r = op_run_ok("random_contrast", options, in, seed);
        op_result rf = op_run_ok("random_contrast", options, floats, seed);
        float factor;
        memcpy(&factor, &r.draw, sizeof factor);
        assert_true(factor >= 0.2f && factor < 3);
        for (int64_t c = 0; c < channels; c++) {
            double mean = 0, mean_f = 0;
            for (int64_t i = 0; i < N; i++) {
                mean += (double)op_u8(in)[i * channels + c] / N;
                mean_f += (double)op_f32(floats)[i * channels + c] / N;
            }
            for (int64_t i = c; i < N * channels; i += channels) {
                const double x = (op_u8(in)[i] - mean) * (double)factor + mean;
                const double allowed = x < 0 ? 0 : x > 255 ? 255 : x;
                assert_true(fabs(op_u8(r.out)[i] - allowed) < 0.51);
                const double xf = ((double)op_f32(floats)[i] - mean_f) * (double)factor + mean_f;
                assert_true(fabs((double)op_f32(rf.out)[i] - xf) < 1e-5);
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
    op_result r = op_run_ok("random_contrast", options, in, 0);
    assert_memory_equal(r.out.data, in.data, 20 * 30 * 3);
    free(r.out.data);
    free(in.data);
    free(options);
    op_expect_refusal("random_contrast", op_options_of("random_contrast", "lower", "1.5"),
                      (leat_shape){ LEAT_U8, 3, { 1, 1, 1 } },
                      "random_contrast: lower (1.5) is above upper (1.2)");
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
