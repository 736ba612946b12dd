/* SPDX-License-Identifier: MIT
 *
 * test_geometry.c: what rotation, erasing and padding mean, against their formulas. */
#include "fixtures/op_test.h"

#include <math.h>

#include "ops/image/warp.h"

static const double pi = 3.14159265358979323846;

/* --- rotation -------------------------------------------------------------------------------- */

/* The image rotated once by plain index arithmetic, counter-clockwise. */
TEST(quarter_turns_are_exact)
{
    enum { SIDE = 7 };
    static const char *const modes[] = { "nearest", "bilinear" };
    for (int mode = 0; mode < 2; mode++)
        for (int quarters = -4; quarters <= 4; quarters++) {
            char degrees[32];
            snprintf(degrees, sizeof degrees, "[%d, %d]", quarters * 90, quarters * 90);
            void *options = op_options(leat_op_find("random_rotation"), "degrees", degrees,
                                       "interpolation", modes[mode], NULL);
            leat_view in = op_noise(LEAT_U8, SIDE, SIDE, 3, 5);
            op_result r = op_run_ok("random_rotation", options, in, 1);
            for (int y = 0; y < SIDE; y++)
                for (int x = 0; x < SIDE; x++) {
                    int fy = y, fx = x;
                    for (int i = 0; i < (quarters + 4) % 4; i++) {
                        const int before = fx; /* what is at the top came from the right */
                        fx = SIDE - 1 - fy;
                        fy = before;
                    }
                    assert_memory_equal(op_u8(r.out) + (y * SIDE + x) * 3,
                                        op_u8(in) + (fy * SIDE + fx) * 3, 3);
                }
            free(r.out.data);
            free(in.data);
            free(options);
        }
}

static double value_at(leat_view in, int64_t y, int64_t x, int64_t c, const double *fill)
{
    if (y < 0 || y >= in.shape.dims[0] || x < 0 || x >= in.shape.dims[1])
        return fill[c];
    return op_u8(in)[(y * in.shape.dims[1] + x) * in.shape.dims[2] + c];
}

/* Bilinear in floating point, the surroundings being `fill`. */
static double mixed_at(leat_view in, double y, double x, int64_t c, const double *fill)
{
    const double fy = y - 0.5 - floor(y - 0.5), fx = x - 0.5 - floor(x - 0.5);
    const int64_t iy = (int64_t)floor(y - 0.5), ix = (int64_t)floor(x - 0.5);
    return (value_at(in, iy, ix, c, fill) * (1 - fx) + value_at(in, iy, ix + 1, c, fill) * fx) *
               (1 - fy) +
           (value_at(in, iy + 1, ix, c, fill) * (1 - fx) +
            value_at(in, iy + 1, ix + 1, c, fill) * fx) *
               fy;
}

TEST(rotation_about_the_centre)
{
    static const char *const fills[] = { "77", "[1, 200]", "[9, 99, 255]", "[0, 1, 2, 3]" };
    for (uint64_t seed = 0; seed < 200; seed++) {
        const int64_t channels = 1 + (int64_t)(seed % 4), bilinear = seed / 4 % 2;
        const int64_t height = 5 + (int64_t)(seed % 13), width = 20 - (int64_t)(seed % 11);
        void *options = op_options(leat_op_find("random_rotation"), "degrees", "180", "fill",
                                   fills[channels - 1], "interpolation",
                                   bilinear ? "bilinear" : "nearest", NULL);
        const double all[4][4] = { { 77 }, { 1, 200 }, { 9, 99, 255 }, { 0, 1, 2, 3 } };
        const double *fill = all[channels - 1];
        leat_view in = op_noise(LEAT_U8, height, width, channels, seed);
        op_result r = op_run_ok("random_rotation", options, in, seed);
        int32_t turn[2];
        memcpy(turn, &r.draw, sizeof turn);
        const double cosine = turn[0] / 16777216.0, sine = turn[1] / 16777216.0;
        assert_true(fabs(cosine * cosine + sine * sine - 1) < 1e-6);
        for (int64_t y = 0; y < height; y++)
            for (int64_t x = 0; x < width; x++) {
                const double dx = (double)x + 0.5 - (double)width / 2;
                const double dy = (double)y + 0.5 - (double)height / 2;
                const double u = (double)width / 2 + cosine * dx - sine * dy;
                const double v = (double)height / 2 + sine * dx + cosine * dy;
                for (int64_t c = 0; c < channels; c++) {
                    const double got = op_u8(r.out)[(y * width + x) * channels + c];
                    if (bilinear) /* weights are rounded to 1/256 */
                        assert_true(fabs(got - mixed_at(in, v, u, c, fill)) < 0.5 + 255.0 / 256);
                    else if (fabs(u - rint(u)) > 1e-5 && fabs(v - rint(v)) > 1e-5)
                        assert_true(got ==
                                    value_at(in, (int64_t)floor(v), (int64_t)floor(u), c, fill));
                }
            }
        free(r.out.data);
        free(in.data);
        free(options);
    }
}

TEST(rotation_draws_its_range)
{
    const leat_op *op = leat_op_find("random_rotation");
    const leat_shape in = { LEAT_U8, 3, { 2, 2, 3 } };
    static const struct {
        const char *degrees;
        double least, most;
    } cases[] = { { "30", -30, 30 }, { "[10, 40]", 10, 40 }, { "[-90, -60]", -90, -60 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *options = op_options_of("random_rotation", "degrees", cases[i].degrees);
        double least = 360, most = -360;
        for (uint64_t record = 0; record < 3000; record++) {
            leat_rng rng = leat_rng_make(1, record, 0, 0);
            leat_draw draw = { 0 };
            int32_t turn[2];
            op->draw(options, &rng, &in, &draw);
            memcpy(turn, &draw, sizeof turn);
            const double angle = atan2(turn[1], turn[0]) * 180 / pi;
            least = fmin(least, angle);
            most = fmax(most, angle);
        }
        assert_true(fabs(least - cases[i].least) < 0.2 && fabs(most - cases[i].most) < 0.2);
        free(options);
    }
    op_expect_refusal("random_rotation", op_options_of("random_rotation", "degrees", "[9, 1]"), in,
                      "random_rotation: degrees is one number from 0 on, or [least, most]");
    op_expect_refusal("random_rotation", op_options(op, "degrees", "9", "fill", "[1, 2]", NULL), in,
                      "random_rotation: fill is one value or one for each channel, got 2 values "
                      "for uint8[2, 2, 3]");
}

TEST(warps_shift_and_shear)
{
    enum { H = 6, W = 9 };
    static const uint8_t fill[4] = { 7, 7, 7, 7 };
    leat_view in = op_noise(LEAT_U8, H, W, 1, 2), out = op_image(LEAT_U8, H, W, 1);
    for (int right = -10; right <= 10; right++) {
        const leat_warp warp = leat_warp_shift(right, right / 2);
        leat_warp_apply(&warp, right & 1, fill, &in, &out);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                const int fy = y - right / 2, fx = x - right;
                const int inside = fy >= 0 && fy < H && fx >= 0 && fx < W;
                assert_int_equal(op_u8(out)[y * W + x], inside ? op_u8(in)[fy * W + fx] : 7);
            }
    }
    for (int k = -9; k <= 9; k++)
        for (int down = 0; down < 2; down++) { /* by tenths, and no tie at a pixel's edge */
            const double factor = k / 10.0 + 0.003;
            const int32_t q24 = (int32_t)rint(factor * LEAT_WARP_ONE);
            const leat_warp warp = down ? leat_warp_shear_y(q24) : leat_warp_shear_x(q24);
            leat_warp_apply(&warp, LEAT_WARP_NEAREST, fill, &in, &out);
            for (int y = 0; y < H; y++)
                for (int x = 0; x < W; x++) {
                    const int fx = down ? x : (int)floor(x + 0.5 + factor * (y + 0.5));
                    const int fy = down ? (int)floor(y + 0.5 + factor * (x + 0.5)) : y;
                    const int inside = fy >= 0 && fy < H && fx >= 0 && fx < W;
                    assert_int_equal(op_u8(out)[y * W + x], inside ? op_u8(in)[fy * W + fx] : 7);
                }
        }
    free(in.data);
    free(out.data);
}

/* --- erasing --------------------------------------------------------------------------------- */

TEST(erasing_fills_a_box)
{
    enum { H = 20, W = 30 };
    void *options[2] = {
        op_options(leat_op_find("random_erasing"), "p", "0.75", "value", "[1, 2.5, 255]", NULL),
        op_options(leat_op_find("random_erasing"), "p", "0.75", "value", "[-0.5, 2, 9]", NULL)
    };
    static const uint8_t bytes[3] = { 1, 2, 255 };
    static const float floats[3] = { -0.5f, 2, 9 };
    int n_erased = 0;
    double least_area = 1, most_area = 0, least_ratio = 9, most_ratio = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        const int is_float = seed % 2;
        leat_view in = op_noise(is_float ? LEAT_F32 : LEAT_U8, H, W, 3, seed);
        op_result r = op_run_ok("random_erasing", options[is_float], in, seed);
        int32_t box[4]; /* y, x, height, width */
        memcpy(box, &r.draw, sizeof box);
        const size_t pixel = is_float ? 12 : 3;
        const void *value = is_float ? (const void *)floats : bytes;
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                const size_t at = (size_t)(y * W + x) * pixel;
                const int inside =
                    y >= box[0] && y < box[0] + box[2] && x >= box[1] && x < box[1] + box[3];
                assert_memory_equal(op_u8(r.out) + at, inside ? value : op_u8(in) + at, pixel);
            }
        if (box[2]) {
            assert_true(box[0] >= 0 && box[0] + box[2] <= H && box[2] < H);
            assert_true(box[1] >= 0 && box[1] + box[3] <= W && box[3] < W);
            n_erased++;
            least_area = fmin(least_area, box[2] * box[3] / (double)(H * W));
            most_area = fmax(most_area, box[2] * box[3] / (double)(H * W));
            least_ratio = fmin(least_ratio, box[2] / (double)box[3]);
            most_ratio = fmax(most_ratio, box[2] / (double)box[3]);
        }
        free(r.out.data);
        free(in.data);
    }
    assert_in_range(n_erased, 1420, 1580);
    assert_true(least_area > 0.01 && least_area < 0.03 && most_area > 0.3 && most_area < 0.36);
    assert_true(least_ratio > 0.2 && least_ratio < 0.4 && most_ratio > 2.6 && most_ratio < 4.1);
    free(options[0]);
    free(options[1]);
    op_expect_refusal("random_erasing", op_options_of("random_erasing", "scale", "0.5"),
                      (leat_shape){ LEAT_U8, 3, { 2, 2, 3 } },
                      "random_erasing: scale is [least, most], got 1 values");
    op_expect_refusal("random_erasing", op_options_of("random_erasing", "value", "300"),
                      (leat_shape){ LEAT_U8, 3, { 2, 2, 3 } },
                      "random_erasing: value is 300, but values of uint8[2, 2, 3] are 0 to 255");
    op_expect_refusal("pad",
                      op_options(leat_op_find("pad"), "pixels", "1", "value", "[0, 1, -0.5]", NULL),
                      (leat_shape){ LEAT_U8, 3, { 2, 2, 3 } },
                      "pad: value is -0.5, but values of uint8[2, 2, 3] are 0 to 255");
}

/* A box that cannot be smaller than the image: none. */
TEST(erasing_spares_what_is_too_small)
{
    void *options = op_options_of("random_erasing", "p", "1");
    leat_view in = op_noise(LEAT_U8, 1, 40, 3, 1);
    for (uint64_t seed = 0; seed < 50; seed++) {
        op_result r = op_run_ok("random_erasing", options, in, seed);
        assert_memory_equal(r.out.data, in.data, 120);
        free(r.out.data);
    }
    free(in.data);
    free(options);
}

/* --- padding --------------------------------------------------------------------------------- */

TEST(pad_puts_around)
{
    static const struct {
        const char *mode, *row; /* of a b c d with 3 before and 2 after */
    } cases[] = { { "constant", "...abcd.." },
                  { "edge", "aaaabcddd" },
                  { "reflect", "dcbabcdcb" },
                  { "symmetric", "cbaabcddc" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int down = 0; down < 2; down++) {
            leat_view in = down ? op_image(LEAT_U8, 4, 1, 2) : op_image(LEAT_U8, 1, 4, 2);
            memcpy(in.data, "a0b1c2d3", 8);
            void *options =
                op_options(leat_op_find("pad"), "pixels", down ? "[3, 2, 0, 0]" : "[0, 0, 3, 2]",
                           "mode", cases[i].mode, "value", "[46, 57]", NULL);
            op_result r = op_run_ok("pad", options, in, 0);
            assert_int_equal(r.out.shape.dims[!down], 9);
            for (int k = 0; k < 9; k++) {
                const char letter = cases[i].row[k];
                assert_int_equal(op_u8(r.out)[2 * k], letter);
                assert_int_equal(op_u8(r.out)[2 * k + 1], letter == '.' ? '9' : letter - 'a' + '0');
            }
            free(r.out.data);
            free(in.data);
            free(options);
        }
}

/* random_crop pads with zeros too: cutting the middle out again gives the image. */
TEST(pad_and_crop_is_identity)
{
    static const char *const modes[] = { "constant", "edge", "reflect", "symmetric" };
    for (int64_t i = 0; i < 4; i++) {
        leat_view in = op_noise(LEAT_F32, 6, 9, 1 + i, 4);
        void *padding = op_options(leat_op_find("pad"), "pixels", "[2, 5]", "mode", modes[i], NULL);
        void *cut = op_options_of("center_crop", "size", "[6, 9]");
        op_result r = op_run_ok("pad", padding, in, 0);
        op_result back = op_run_ok("center_crop", cut, r.out, 0);
        assert_int_equal(r.out.shape.dims[0], 10);
        assert_int_equal(r.out.shape.dims[1], 19);
        assert_memory_equal(back.out.data, in.data, (size_t)leat_shape_bytes(&in.shape));
        free(back.out.data);
        free(r.out.data);
        free(padding);
        free(cut);
        free(in.data);
    }
    const leat_shape small = { LEAT_U8, 3, { 4, 4, 3 } };
    op_expect_refusal("pad",
                      op_options(leat_op_find("pad"), "pixels", "4", "mode", "reflect", NULL),
                      small, "pad: 4 pixels are more than uint8[4, 4, 3] has to mirror");
    op_expect_refusal("pad", op_options_of("pad", "pixels", "[1, 2, 3]"), small,
                      "pad: pixels is 1, 2 or 4 numbers, got 3");
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
