/* SPDX-License-Identifier: MIT
 *
 * test_color.c: what the ops on colours mean, against their formulas in floating point. */
#include "fixtures/op_test.h"

#include <math.h>

enum { HEIGHT = 13, WIDTH = 11, N = HEIGHT * WIDTH };

static double clamp(double x)
{
    return x < 0 ? 0 : x > 255 ? 255 : x;
}

static double gray_of(const uint8_t *rgb)
{
    return floor(0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] + 0.5);
}

/* Gray within 1: the weights of 16 bits are not exactly these. */
static int is_close(double a, double b, double within)
{
    return fabs(a - b) <= within;
}

TEST(grayscale_is_luma)
{
    for (int out_channels = 1; out_channels <= 3; out_channels += 2) {
        void *options = op_options_of("grayscale", "channels", out_channels == 1 ? "1" : "3");
        for (int64_t channels = 1; channels <= 3; channels += 2) {
            leat_view in = op_noise(LEAT_U8, HEIGHT, WIDTH, channels, 3);
            op_result r = op_run_ok("grayscale", options, in, 0);
            assert_int_equal(r.out.shape.dims[2], out_channels);
            for (int i = 0; i < N; i++) {
                const uint8_t *from = op_u8(in) + i * channels;
                const double gray =
                    channels == 1 ? *from : 0.299 * from[0] + 0.587 * from[1] + 0.114 * from[2];
                for (int c = 0; c < out_channels; c++)
                    assert_true(is_close(op_u8(r.out)[i * out_channels + c], gray, 0.505));
            }
            free(r.out.data);
            free(in.data);
        }
        free(options);
    }
    op_expect_refusal("grayscale", op_options_of("grayscale", "channels", "1"),
                      (leat_shape){ LEAT_U8, 3, { 2, 2, 4 } },
                      "grayscale expects 1 or 3 channels, got uint8[2, 2, 4]");
    op_expect_refusal("grayscale", op_options_of("grayscale", "p", "0.5"),
                      (leat_shape){ LEAT_U8, 3, { 2, 2, 3 } },
                      "grayscale: p is below 1, so channels must be as in uint8[2, 2, 3], not 1");
}

TEST(grayscale_has_its_probability)
{
    void *options = op_options(leat_op_find("grayscale"), "channels", "3", "p", "0.2", NULL);
    leat_view in = op_noise(LEAT_U8, 2, 2, 3, 3);
    int n_gray = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        op_result r = op_run_ok("grayscale", options, in, seed);
        const uint8_t *to = op_u8(r.out);
        const int is_gray = to[0] == to[1] && to[1] == to[2];
        if (!is_gray)
            assert_memory_equal(to, in.data, 12);
        n_gray += is_gray;
        free(r.out.data);
    }
    assert_in_range(n_gray, 320, 480);
    free(in.data);
    free(options);
}

TEST(saturation_is_distance_to_gray)
{
    void *options = op_options(leat_op_find("random_saturation"), "lower", "0", "upper", "3", NULL);
    double least = 9, most = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        const int64_t channels = 1 + (int64_t)(seed % 4);
        leat_view in = op_noise(LEAT_U8, HEIGHT, WIDTH, channels, seed);
        op_result r = op_run_ok("random_saturation", options, in, seed);
        int32_t q16;
        LEAT_DRAW_GET(&r.draw, q16);
        const double factor = q16 / 65536.0;
        least = fmin(least, factor);
        most = fmax(most, factor);
        for (int i = 0; i < N; i++) {
            const uint8_t *from = op_u8(in) + i * channels, *to = op_u8(r.out) + i * channels;
            for (int64_t c = 0; c < channels; c++) {
                const double gray = channels < 3 || c == 3 ? from[c] : gray_of(from);
                const double x = clamp((from[c] - gray) * factor + gray);
                /* gray may be 1 off where it lies near a half */
                assert_true(is_close(to[c], x, 0.51 + fabs(1 - factor) * (to[c] != rint(x))));
            }
        }
        free(r.out.data);
        free(in.data);
    }
    assert_true(least >= 0 && least < 0.1 && most > 2.9 && most <= 3);
    free(options);
    op_expect_refusal("random_saturation", op_options_of("random_saturation", "upper", "0.5"),
                      (leat_shape){ LEAT_U8, 3, { 1, 1, 3 } },
                      "random_saturation: lower (0.8) is above upper (0.5)");
}

/* --- hue ------------------------------------------------------------------------------------- */

/* The textbook way: to hue, saturation, value, and back. */
static void turned(const uint8_t *rgb, double turn, double out[3])
{
    const double r = rgb[0] / 255.0, g = rgb[1] / 255.0, b = rgb[2] / 255.0;
    const double v = fmax(r, fmax(g, b)), c = v - fmin(r, fmin(g, b));
    double h = 0;
    if (c > 0)
        h = v == r ? (g - b) / c : v == g ? 2 + (b - r) / c : 4 + (r - g) / c;
    h = fmod(h / 6 + turn + 2, 1) * 6;
    for (int i = 0; i < 3; i++) { /* v - c * max(0, min(k, 4 - k, 1)) */
        static const double start[3] = { 5, 3, 1 };
        const double k = fmod(start[i] + h, 6);
        out[i] = 255 * (v - c * fmax(0, fmin(fmin(k, 4 - k), 1)));
    }
}

TEST(hue_turns_the_hexcone)
{
    void *options = op_options_of("random_hue", "max_delta", "0.5");
    double least = 1, most = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        const int64_t channels = 3 + (int64_t)(seed % 2);
        leat_view in = op_noise(LEAT_U8, HEIGHT, WIDTH, channels, seed);
        for (int i = 0; i < N; i += 3) /* equal values, where the cases meet */
            ((uint8_t *)in.data)[i * channels + i % 3] = op_u8(in)[i * channels + (i / 3) % 3];
        op_result r = op_run_ok("random_hue", options, in, seed);
        int32_t amount;
        LEAT_DRAW_GET(&r.draw, amount);
        const double turn = amount / (6 * 65536.0);
        least = fmin(least, turn);
        most = fmax(most, turn);
        for (int i = 0; i < N; i++) {
            const uint8_t *from = op_u8(in) + i * channels, *to = op_u8(r.out) + i * channels;
            double x[3];
            turned(from, turn, x);
            for (int c = 0; c < 3; c++)
                assert_true(is_close(to[c], x[c], 0.501));
            if (channels == 4)
                assert_int_equal(to[3], from[3]);
        }
        free(r.out.data);
        free(in.data);
    }
    assert_true(least >= 0 && least < 0.02 && most > 0.98 && most < 1);
    free(options);
}

/* Each sixth of a turn moves pure colours on: red, yellow, green, cyan, blue, magenta. */
TEST(hue_of_pure_colors)
{
    static const uint8_t wheel[6][3] = { { 255, 0, 0 },   { 255, 255, 0 }, { 0, 255, 0 },
                                         { 0, 255, 255 }, { 0, 0, 255 },   { 255, 0, 255 } };
    const leat_op *op = leat_op_find("random_hue");
    for (int32_t by = 0; by < 6; by++)
        for (int i = 0; i < 6; i++) {
            uint8_t pixel[3];
            leat_draw draw = { 0 };
            const int32_t amount = by * 65536;
            const leat_shape shape = { LEAT_U8, 3, { 1, 1, 3 } };
            memcpy(&draw, &amount, sizeof amount);
            memcpy(pixel, wheel[i], 3);
            const leat_view view = { shape, pixel, NULL };
            assert_int_equal(op->apply(NULL, &draw, &view, &view, op_scratch, NULL), LEAT_OK);
            assert_memory_equal(pixel, wheel[(i + by) % 6], 3);
        }
}

/* --- jitter ---------------------------------------------------------------------------------- */

static double mean_gray(const double *image, int64_t channels)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        const double *p = image + i * channels;
        sum += channels < 3 ? p[0] : floor(0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2] + 0.5);
    }
    return sum / N;
}

/* One change of an image of whole values, rounded to whole values. */
static void change(double *image, int64_t channels, int kind, double amount)
{
    const double mean = mean_gray(image, channels);
    const int64_t n_colors = channels < 3 ? 1 : 3;
    for (int i = 0; i < N; i++) {
        double *p = image + i * channels, x[3] = { p[0], 0, 0 };
        const uint8_t rgb[3] = { (uint8_t)p[0], (uint8_t)p[n_colors / 2],
                                 (uint8_t)p[n_colors - 1] };
        for (int64_t c = 0; c < n_colors; c++)
            x[c] = kind == 0   ? p[c] * amount
                   : kind == 1 ? (p[c] - mean) * amount + mean
                               : (p[c] - gray_of(rgb)) * amount + gray_of(rgb);
        if (kind == 2 && n_colors == 1)
            x[0] = p[0];
        if (kind == 3 && n_colors == 3)
            turned(rgb, amount, x);
        else if (kind == 3)
            x[0] = p[0];
        for (int64_t c = 0; c < n_colors; c++)
            p[c] = clamp(floor(x[c] + 0.5));
    }
}

TEST(jitter_is_its_parts_in_order)
{
    void *options = op_options(leat_op_find("color_jitter"), "brightness", "0.4", "contrast",
                               "[0.5, 1.5]", "saturation", "2", "hue", "0.1", NULL);
    int seen[4][4] = { { 0 } }; /* change, place */
    for (uint64_t seed = 0; seed < 1200; seed++) {
        const int64_t channels = 1 + (int64_t)(seed % 4);
        leat_view in = op_noise(LEAT_U8, HEIGHT, WIDTH, channels, seed);
        op_result r = op_run_ok("color_jitter", options, in, seed);
        struct {
            int32_t amounts[4];
            uint8_t order[4];
        } drawn;
        LEAT_DRAW_GET(&r.draw, drawn);
        assert_in_range(drawn.amounts[0], (int)(0.6 * 65536) - 1, (int)(1.4 * 65536) + 1);
        assert_in_range(drawn.amounts[1], 32768, 3 * 32768);
        assert_in_range(drawn.amounts[2], 0, 3 * 65536);
        const int32_t turn = drawn.amounts[3];
        assert_true(turn <= 39322 || turn >= 6 * 65536 - 39322); /* a tenth of the circle */
        double image[N * 4];
        for (int64_t i = 0; i < N * channels; i++)
            image[i] = op_u8(in)[i];
        for (int i = 0; i < 4; i++) {
            const int kind = drawn.order[i];
            seen[kind][i]++;
            change(image, channels, kind, drawn.amounts[kind] / (kind == 3 ? 6 : 1.0) / 65536);
        }
        double off = 0; /* the last digits of what each step rounds may differ, and grow a little */
        for (int64_t i = 0; i < N * channels; i++)
            off += fabs(op_u8(r.out)[i] - image[i]) / (double)(N * channels);
        assert_true(off < 0.2);
        free(r.out.data);
        free(in.data);
    }
    for (int kind = 0; kind < 4; kind++)
        for (int place = 0; place < 4; place++)
            assert_in_range(seen[kind][place], 240, 360);
    free(options);
}

TEST(jitter_of_nothing_is_nothing)
{
    void *options = op_options(leat_op_find("color_jitter"), NULL);
    leat_view in = op_noise(LEAT_U8, HEIGHT, WIDTH, 3, 1);
    op_result r = op_run_ok("color_jitter", options, in, 1);
    assert_memory_equal(r.out.data, in.data, N * 3);
    free(r.out.data);
    free(in.data);
    free(options);
    op_expect_refusal("color_jitter", op_options_of("color_jitter", "hue", "-0.1"),
                      (leat_shape){ LEAT_U8, 3, { 1, 1, 3 } },
                      "color_jitter: hue is one number from 0 on, or [least, most], got 1 values "
                      "below 0");
    op_expect_refusal("color_jitter", op_options_of("color_jitter", "contrast", "[2, 1]"),
                      (leat_shape){ LEAT_U8, 3, { 1, 1, 3 } },
                      "color_jitter: contrast is one number from 0 on, or [least, most], got 2 "
                      "values in the wrong order");
    op_expect_refusal("color_jitter", op_options_of("color_jitter", "hue", "0.1"),
                      (leat_shape){ LEAT_F32, 3, { 1, 1, 3 } },
                      "color_jitter expects a uint8 image [height, width, 1 to 4 channels], got "
                      "float32[1, 1, 3]");
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
