/* SPDX-License-Identifier: MIT
 *
 * test_mix.c: mixup and cutmix on two samples: shares, boxes, rounding. */
#include "fixtures/op_test.h"

#include <math.h>

#include "ops/batch_op.h"
#include "ops/image/mix.h"

enum { H = 20, W = 30 };

static void *mix_options(const leat_batch_op *op, const char *alpha, const char *p)
{
    void *o = calloc(1, op->options_size);
    leat_option_init(op->kind.options, o);
    assert_int_equal(leat_option_set(leat_option_find(op->kind.options, "alpha"), o, alpha, NULL),
                     0);
    assert_int_equal(leat_option_set(leat_option_find(op->kind.options, "p"), o, p, NULL), 0);
    return o;
}

/* Mean 1/2, variance 1 / (4 (2 alpha + 1)), symmetric, within 5 standard errors. */
TEST(beta_has_its_moments)
{
    static const double alphas[] = { 0.001, 0.05, 0.2, 0.5, 1, 2, 8, 1000 };
    enum { N = 20000 };
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; i++) {
        const double alpha = alphas[i], variance = 1 / (4 * (2 * alpha + 1));
        double sum = 0, squares = 0, fourths = 0;
        for (uint64_t k = 0; k < N; k++) {
            leat_rng rng = leat_rng_make(3, k, 0, (uint32_t)i);
            const double x = leat_mix_beta(&rng, alpha), d = x - 0.5;
            assert_true(x >= 0 && x <= 1);
            sum += d;
            squares += d * d;
            fourths += d * d * d * d;
        }
        const double error = sqrt((fourths / N - (squares / N) * (squares / N)) / N);
        assert_true(fabs(sum / N) < 5 * sqrt(variance / N));
        if (fabs(squares / N - variance) > 5 * error + 1e-6)
            fail_msg("alpha %g: variance %g and not %g", alpha, squares / N, variance);
    }
}

/* Beta(1, 1) is uniform: no bin of ten is far from a tenth. */
TEST(beta_of_one_is_uniform)
{
    int bins[10] = { 0 };
    for (uint64_t k = 0; k < 20000; k++) {
        leat_rng rng = leat_rng_make(4, k, 0, 0);
        const double x = leat_mix_beta(&rng, 1);
        bins[x < 1 ? (int)(x * 10) : 9]++;
    }
    for (int i = 0; i < 10; i++)
        assert_in_range(bins[i], 1800, 2200);
}

TEST(mixing_is_the_formula_both_ways)
{
    for (uint32_t own = 0; own <= 256; own++) {
        uint8_t a[256], b[256];
        float fa[256], fb[256];
        for (int i = 0; i < 256; i++) {
            a[i] = (uint8_t)i;
            b[i] = (uint8_t)(i * 37 + 11);
            fa[i] = (float)a[i] / 7;
            fb[i] = (float)b[i] / 3;
        }
        uint8_t x[256], y[256];
        float fx[256], fy[256];
        memcpy(x, a, sizeof a);
        memcpy(y, b, sizeof b);
        memcpy(fx, fa, sizeof fa);
        memcpy(fy, fb, sizeof fb);
        const double share = own / 256.0;
        leat_mix_u8(x, y, 256, own);
        leat_mix_f32(fx, fy, 256, (float)share);
        for (int i = 0; i < 256; i++) {
            assert_int_equal(x[i], floor(share * a[i] + (1 - share) * b[i] + 0.5));
            assert_int_equal(y[i], floor(share * b[i] + (1 - share) * a[i] + 0.5));
            assert_true(
                fabs((double)fx[i] - (share * (double)fa[i] + (1 - share) * (double)fb[i])) < 1e-4);
            assert_true(
                fabs((double)fy[i] - (share * (double)fb[i] + (1 - share) * (double)fa[i])) < 1e-4);
        }
    }
}

TEST(mixup_says_what_it_does)
{
    const leat_batch_op *const op = &leat_batch_op_mixup;
    void *const o = mix_options(op, "0.4", "1");
    for (uint64_t k = 0; k < 300; k++) {
        const leat_dtype dtype = k % 2 ? LEAT_U8 : LEAT_F32;
        const leat_shape in = { dtype, 1, { 2 } };
        uint8_t a[2] = { 255, 0 }, b[2] = { 0, 255 };
        float fa[2] = { 1, 0 }, fb[2] = { 0, 1 };
        leat_draw draw = { { 0 } };
        leat_rng rng = leat_rng_make(1, k, 0, 0);
        double own;
        op->draw(o, &rng, &in, &draw, &own);
        assert_true(own >= 0 && own <= 1);
        op->apply(&draw, &in, k % 2 ? (void *)a : fa, k % 2 ? (void *)b : fb);
        const double got = k % 2 ? a[0] / 255.0 : (double)fa[0];
        const double other = k % 2 ? b[1] / 255.0 : (double)fb[1];
        assert_true(fabs(got - own) < (k % 2 ? 0.5 / 255 + 1e-9 : 1e-6));
        assert_true(got == other);
        if (k % 2) /* the rounded share, so that labels fit the pixels */
            assert_true(own * 256 == rint(own * 256));
    }
    free(o);
}

/* The box is torchvision's; what is outside stays, what is inside is the other's. */
TEST(cutmix_exchanges_a_box)
{
    const leat_batch_op *const op = &leat_batch_op_cutmix;
    void *const o = mix_options(op, "1", "1");
    const leat_shape in = { LEAT_U8, 3, { H, W, 2 } };
    int n_whole = 0, n_none = 0, n_inner = 0;
    for (uint64_t k = 0; k < 500; k++) {
        uint8_t a[H][W][2], b[H][W][2];
        leat_draw draw = { { 0 } };
        leat_rng rng = leat_rng_make(2, k, 5, 1), again = rng;
        double own;
        memset(a, 1, sizeof a);
        memset(b, 2, sizeof b);
        op->draw(o, &rng, &in, &draw, &own);
        op->apply(&draw, &in, a, b);
        leat_rng_f32(&again); /* p */
        const int x = (int)leat_rng_below(&again, W), y = (int)leat_rng_below(&again, H);
        const double r = 0.5 * sqrt(1 - leat_mix_beta(&again, 1));
        const int w = (int)(r * W), h = (int)(r * H);
        int area = 0;
        for (int i = 0; i < H; i++)
            for (int j = 0; j < W; j++) {
                const int in_box = i >= y - h && i < y + h && j >= x - w && j < x + w;
                area += in_box;
                for (int c = 0; c < 2; c++) {
                    assert_int_equal(a[i][j][c], in_box ? 2 : 1);
                    assert_int_equal(b[i][j][c], in_box ? 1 : 2);
                }
            }
        assert_true(fabs(own - (1 - area / (double)(H * W))) < 1e-12);
        n_whole += area == H * W;
        n_none += area == 0;
        n_inner += area > H * W / 4;
    }
    assert_in_range(n_none, 1, 100);
    assert_in_range(n_inner, 50, 400);
    assert_in_range(n_whole, 0, 50);
    free(o);
}

TEST(p_is_a_probability)
{
    const leat_shape in = { LEAT_U8, 3, { H, W, 3 } };
    for (size_t i = 0; leat_batch_op_at(i); i++) {
        const leat_batch_op *const op = leat_batch_op_at(i);
        static const char *const ps[] = { "0", "0.25", "1" };
        for (int k = 0; k < 3; k++) {
            void *const o = mix_options(op, "2", ps[k]);
            int n = 0;
            for (uint64_t b = 0; b < 2000; b++) {
                leat_draw draw = { { 0 } };
                leat_rng rng = leat_rng_make(8, b, 0, 3);
                double own;
                op->draw(o, &rng, &in, &draw, &own);
                n += own < 1;
            }
            assert_in_range(n, k == 0 ? 0 : k == 1 ? 400 : 1950, k == 0 ? 0 : k == 1 ? 600 : 2000);
            free(o);
        }
    }
}

TEST(what_they_refuse)
{
    leat_error err;
    const leat_shape labels = { LEAT_I64, 3, { 2, 2, 1 } }, flat = { LEAT_F32, 1, { 9 } };
    const leat_shape planes = { LEAT_F32, 3, { 3, 32, 40 } },
                     bands = { LEAT_F32, 3, { 32, 40, 12 } },
                     leads = { LEAT_F32, 3, { 1, 99, 12 } };
    const leat_shape row = { LEAT_U8, 3, { 1, 40, 3 } };
    void *const o = mix_options(&leat_batch_op_mixup, "1", "1");
    assert_int_equal(leat_batch_op_mixup.check(o, &labels, &err), LEAT_E_CONFIG);
    assert_string_equal(err.message, "mixup expects uint8 or float32, got int64[2, 2, 1]");
    assert_int_equal(leat_batch_op_mixup.check(o, &flat, &err), LEAT_OK);
    assert_int_equal(leat_batch_op_cutmix.check(o, &flat, &err), LEAT_E_CONFIG);
    assert_string_equal(err.message,
                        "cutmix expects images of height, width, channels, got float32[9]");
    assert_int_equal(leat_batch_op_cutmix.check(o, &planes, &err), LEAT_E_CONFIG);
    assert_string_equal(err.message,
                        "cutmix expects images of height, width, channels, but float32[3, 32, 40] "
                        "has its channels first: leave them last, and put them first in your loop");
    assert_int_equal(leat_batch_op_cutmix.check(o, &bands, &err), LEAT_OK);
    assert_int_equal(leat_batch_op_cutmix.check(o, &row, &err), LEAT_OK);
    assert_int_equal(leat_batch_op_cutmix.check(o, &leads, &err), LEAT_OK);
    free(o);
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
