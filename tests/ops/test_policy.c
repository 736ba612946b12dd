/* SPDX-License-Identifier: MIT
 *
 * test_policy.c: rand_augment and trivial_augment: what is drawn, what each operation does, and
 * that several are done in order. */
#include "fixtures/op_test.h"

#include <math.h>

#include "ops/image/augment.h"

enum { H = 12, W = 17, N = H * W };

static const char *const names[] = {
#define NAME(name, text) #name,
    LEAT_AUGMENT_LIST(NAME)
#undef NAME
};

/* --- what is drawn --------------------------------------------------------------------------- */

static leat_augment_steps draw_of(const char *op, const void *options, const leat_shape *in,
                                  uint64_t record)
{
    leat_draw words = { 0 };
    leat_augment_steps draw;
    leat_rng rng = leat_rng_make(1, record, 0, 0);
    leat_op_find(op)->draw(options, &rng, in, &words);
    memcpy(&draw, &words, sizeof draw);
    return draw;
}

/* The published ranges at level 9 of 31, 100 columns and 200 rows. */
TEST(rand_augment_has_its_magnitudes)
{
    const leat_shape in = { LEAT_U8, 3, { 200, 100, 3 } };
    void *options = op_options_of("rand_augment", "ops", "5");
    static const struct {
        double a, b;
    } expected[LEAT_N_AUGMENTS] = {
        [LEAT_AUGMENT_SHEAR_X] = { 0.09 * (1 << 24), 0 },
        [LEAT_AUGMENT_SHEAR_Y] = { 0.09 * (1 << 24), 0 },
        [LEAT_AUGMENT_TRANSLATE_X] = { 13, 0 }, /* 13.595 */
        [LEAT_AUGMENT_TRANSLATE_Y] = { 27, 0 }, /* 27.190 */
        [LEAT_AUGMENT_ROTATE] = { 0.98768834059 * (1 << 24), 0.15643446504 * (1 << 24) },
        [LEAT_AUGMENT_BRIGHTNESS] = { 0.27 * 65536, 0 },
        [LEAT_AUGMENT_COLOR] = { 0.27 * 65536, 0 },
        [LEAT_AUGMENT_CONTRAST] = { 0.27 * 65536, 0 },
        [LEAT_AUGMENT_SHARPNESS] = { 0.27 * 65536, 0 },
        [LEAT_AUGMENT_POSTERIZE] = { 7, 0 }, /* 8 - round(1.2) */
        [LEAT_AUGMENT_SOLARIZE] = { 179, 0 } /* 178.5 */
    };
    int n_up[LEAT_N_AUGMENTS] = { 0 }, n_down[LEAT_N_AUGMENTS] = { 0 };
    for (uint64_t record = 0; record < 2800; record++) {
        const leat_augment_steps draw = draw_of("rand_augment", options, &in, record);
        assert_int_equal(draw.n, 5);
        for (int i = 0; i < 5; i++) {
            const leat_augment_step s = draw.steps[i];
            assert_in_range(s.kind, 0, LEAT_N_AUGMENTS - 1);
            const int is_factor =
                s.kind >= LEAT_AUGMENT_BRIGHTNESS && s.kind <= LEAT_AUGMENT_SHARPNESS;
            const double a = s.a - (is_factor ? 65536 : 0);
            const int is_down = s.kind == LEAT_AUGMENT_ROTATE ? s.b < 0 : a < 0;
            (is_down ? n_down : n_up)[s.kind]++;
            if (fabs(fabs(a) - expected[s.kind].a) > 1 ||
                fabs(fabs((double)s.b) - expected[s.kind].b) > 1)
                fail_msg("%s: %d %d", names[s.kind], s.a, s.b);
        }
    }
    for (int kind = 0; kind < LEAT_N_AUGMENTS; kind++) { /* 1000 expected of each */
        const int is_signed = kind >= LEAT_AUGMENT_SHEAR_X && kind <= LEAT_AUGMENT_SHARPNESS;
        assert_in_range(n_up[kind] + n_down[kind], 880, 1120);
        assert_in_range(n_down[kind], is_signed ? 400 : 0, is_signed ? 600 : 0);
    }
    free(options);
    op_expect_refusal("rand_augment", op_options_of("rand_augment", "magnitude", "31"), in,
                      "rand_augment: magnitude (31) is not below bins (31)");
    op_expect_refusal("rand_augment", op_options_of("rand_augment", "fill", "[1, 2]"), in,
                      "rand_augment: fill is one value or one for each channel, got 2 values for "
                      "uint8[200, 100, 3]");
}

TEST(trivial_augment_reaches_both_ends)
{
    const leat_shape in = { LEAT_U8, 3, { 200, 100, 3 } };
    void *options = op_options(leat_op_find("trivial_augment"), NULL);
    int least[LEAT_N_AUGMENTS], most[LEAT_N_AUGMENTS];
    for (int kind = 0; kind < LEAT_N_AUGMENTS; kind++) {
        least[kind] = INT32_MAX;
        most[kind] = INT32_MIN;
    }
    for (uint64_t record = 0; record < 20000; record++) {
        const leat_augment_steps draw = draw_of("trivial_augment", options, &in, record);
        assert_int_equal(draw.n, 1);
        const leat_augment_step s = draw.steps[0];
        least[s.kind] = s.a < least[s.kind] ? s.a : least[s.kind];
        most[s.kind] = s.a > most[s.kind] ? s.a : most[s.kind];
    }
    const int shear = (int)rint(0.99 * (1 << 24)), factor = (int)rint(0.99 * 65536);
    const struct {
        int kind, least, most;
    } ends[] = { { LEAT_AUGMENT_IDENTITY, 0, 0 },
                 { LEAT_AUGMENT_SHEAR_X, -shear, shear },
                 { LEAT_AUGMENT_SHEAR_Y, -shear, shear },
                 { LEAT_AUGMENT_TRANSLATE_X, -32, 32 },
                 { LEAT_AUGMENT_TRANSLATE_Y, -32, 32 },
                 { LEAT_AUGMENT_ROTATE, (int)rint(-0.70710678118 * (1 << 24)), 1 << 24 },
                 { LEAT_AUGMENT_BRIGHTNESS, 65536 - factor, 65536 + factor },
                 { LEAT_AUGMENT_COLOR, 65536 - factor, 65536 + factor },
                 { LEAT_AUGMENT_CONTRAST, 65536 - factor, 65536 + factor },
                 { LEAT_AUGMENT_SHARPNESS, 65536 - factor, 65536 + factor },
                 { LEAT_AUGMENT_POSTERIZE, 2, 8 },
                 { LEAT_AUGMENT_SOLARIZE, 0, 255 },
                 { LEAT_AUGMENT_AUTO_CONTRAST, 0, 0 },
                 { LEAT_AUGMENT_EQUALIZE, 0, 0 } };
    assert_int_equal(sizeof ends / sizeof *ends, LEAT_N_AUGMENTS);
    for (int i = 0; i < LEAT_N_AUGMENTS; i++)
        if (least[ends[i].kind] != ends[i].least || most[ends[i].kind] != ends[i].most)
            fail_msg("%s: %d to %d", names[ends[i].kind], least[ends[i].kind], most[ends[i].kind]);
    free(options);
}

/* --- what is done ---------------------------------------------------------------------------- */

/* Runs steps on an image of W x H; the caller frees. */
static leat_view done(leat_view in, const leat_augment_step *steps, int n)
{
    void *options = op_options(leat_op_find("rand_augment"), "fill", "9", NULL);
    leat_view out = op_image(LEAT_U8, H, W, in.shape.dims[2]);
    leat_augment_steps draw = { .n = n };
    leat_draw words = { 0 };
    memcpy(draw.steps, steps, (size_t)n * sizeof *steps);
    memcpy(&words, &draw, sizeof draw);
    leat_scratch_reset(op_scratch);
    assert_int_equal(
        leat_op_find("rand_augment")->apply(options, &words, &in, &out, op_scratch, NULL), LEAT_OK);
    free(options);
    return out;
}

static double clamp(double x)
{
    return x < 0 ? 0 : x > 255 ? 255 : x;
}

/* What a value of one channel becomes by its histogram, in Pillow's words. */
static double equalized(const int *histogram, int x)
{
    int last = 255, below = 0, n = 0;
    for (int i = 0; i < 256; i++)
        n += histogram[i];
    while (!histogram[last])
        last--;
    const int step = (n - histogram[last]) / 255;
    for (int i = 0; i < x; i++)
        below += histogram[i];
    return step ? clamp((step / 2 + below) / step) : x;
}

static double smooth_at(leat_view in, int y, int x, int64_t c)
{
    const int64_t channels = in.shape.dims[2];
    double sum = 4 * op_u8(in)[(y * W + x) * channels + c];
    if (y == 0 || y == H - 1 || x == 0 || x == W - 1)
        return op_u8(in)[(y * W + x) * channels + c];
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            sum += op_u8(in)[((y + dy) * W + x + dx) * channels + c];
    return rint(sum / 13);
}

static double expected_at(leat_view in, const leat_augment_step *s, int y, int x, int64_t c)
{
    const int64_t channels = in.shape.dims[2];
    const uint8_t *pixels = op_u8(in), here = pixels[(y * W + x) * channels + c];
    const double factor = s->a / 65536.0;
    int histogram[256] = { 0 }, least = 255, most = 0;
    double mean = 0;
    for (int i = 0; i < N; i++) {
        const uint8_t *p = pixels + i * channels;
        histogram[p[c]]++;
        least = p[c] < least ? p[c] : least;
        most = p[c] > most ? p[c] : most;
        mean += (channels == 1 ? p[0] : rint(0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2])) / N;
    }
    switch (s->kind) {
    case LEAT_AUGMENT_TRANSLATE_X:
        return x - s->a < 0 || x - s->a >= W ? 9 : pixels[(y * W + x - s->a) * channels + c];
    case LEAT_AUGMENT_TRANSLATE_Y:
        return y - s->a < 0 || y - s->a >= H ? 9 : pixels[((y - s->a) * W + x) * channels + c];
    case LEAT_AUGMENT_BRIGHTNESS:
        return clamp(here * factor);
    case LEAT_AUGMENT_CONTRAST:
        return clamp((here - mean) * factor + mean);
    case LEAT_AUGMENT_SHARPNESS: {
        const double smooth = smooth_at(in, y, x, c);
        return clamp((here - smooth) * factor + smooth);
    }
    case LEAT_AUGMENT_POSTERIZE:
        return here - here % (1 << (8 - s->a));
    case LEAT_AUGMENT_SOLARIZE:
        return here >= s->a ? 255 - here : here;
    case LEAT_AUGMENT_AUTO_CONTRAST:
        return most > least ? (here - least) * 255.0 / (most - least) : here;
    case LEAT_AUGMENT_EQUALIZE:
        return equalized(histogram, here);
    default:
        return here;
    }
}

TEST(each_operation_does_its_formula)
{
    static const leat_augment_step steps[] = {
        { LEAT_AUGMENT_IDENTITY, 0, 0 },       { LEAT_AUGMENT_TRANSLATE_X, 5, 0 },
        { LEAT_AUGMENT_TRANSLATE_X, -32, 0 },  { LEAT_AUGMENT_TRANSLATE_Y, -3, 0 },
        { LEAT_AUGMENT_BRIGHTNESS, 90000, 0 }, { LEAT_AUGMENT_BRIGHTNESS, 655, 0 },
        { LEAT_AUGMENT_CONTRAST, 124000, 0 },  { LEAT_AUGMENT_CONTRAST, 30000, 0 },
        { LEAT_AUGMENT_SHARPNESS, 130000, 0 }, { LEAT_AUGMENT_SHARPNESS, 6553, 0 },
        { LEAT_AUGMENT_POSTERIZE, 8, 0 },      { LEAT_AUGMENT_POSTERIZE, 4, 0 },
        { LEAT_AUGMENT_POSTERIZE, 2, 0 },      { LEAT_AUGMENT_SOLARIZE, 255, 0 },
        { LEAT_AUGMENT_SOLARIZE, 128, 0 },     { LEAT_AUGMENT_SOLARIZE, 0, 0 },
        { LEAT_AUGMENT_AUTO_CONTRAST, 0, 0 },  { LEAT_AUGMENT_EQUALIZE, 0, 0 },
        { LEAT_AUGMENT_ROTATE, 1 << 24, 0 },   { LEAT_AUGMENT_SHEAR_X, 0, 0 },
        { LEAT_AUGMENT_SHEAR_Y, 0, 0 },
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (int64_t channels = 1; channels <= 3; channels += 2)
            for (int narrow = 0; narrow < 3; narrow++) { /* all values, a few, one */
                leat_view in = op_noise(LEAT_U8, H, W, channels, 7 + (uint64_t)i);
                for (int64_t k = 0; k < N * channels && narrow; k++)
                    ((uint8_t *)in.data)[k] = (uint8_t)(narrow == 2 ? 100 : 60 + op_u8(in)[k] % 9);
                leat_view out = done(in, &steps[i], 1);
                for (int y = 0; y < H; y++)
                    for (int x = 0; x < W; x++)
                        for (int64_t c = 0; c < channels; c++) {
                            const double want = expected_at(in, &steps[i], y, x, c);
                            const int got = op_u8(out)[(y * W + x) * channels + c];
                            if (fabs(got - want) > 0.51)
                                fail_msg("%s %d: %d and not %g", names[steps[i].kind], steps[i].a,
                                         got, want);
                        }
                free(out.data);
                free(in.data);
            }
}

TEST(colors_spare_alpha)
{
    static const leat_augment_step colors[] = {
        { LEAT_AUGMENT_EQUALIZE, 0, 0 },     { LEAT_AUGMENT_AUTO_CONTRAST, 0, 0 },
        { LEAT_AUGMENT_SHARPNESS, 9999, 0 }, { LEAT_AUGMENT_SOLARIZE, 0, 0 },
        { LEAT_AUGMENT_POSTERIZE, 1, 0 },    { LEAT_AUGMENT_COLOR, 0, 0 },
        { LEAT_AUGMENT_CONTRAST, 9, 0 },     { LEAT_AUGMENT_BRIGHTNESS, 0, 0 }
    };
    for (int64_t channels = 2; channels <= 4; channels += 2)
        for (size_t i = 0; i < sizeof colors / sizeof *colors; i++) {
            leat_view in = op_noise(LEAT_U8, H, W, channels, 3);
            leat_view out = done(in, &colors[i], 1);
            for (int k = 0; k < N; k++)
                assert_int_equal(op_u8(out)[k * channels + channels - 1],
                                 op_u8(in)[k * channels + channels - 1]);
            free(out.data);
            free(in.data);
        }
}

TEST(steps_are_done_in_order)
{
    static const leat_augment_step steps[LEAT_AUGMENT_STEPS] = {
        { LEAT_AUGMENT_TRANSLATE_X, 3, 0 },  { LEAT_AUGMENT_SOLARIZE, 100, 0 },
        { LEAT_AUGMENT_SHARPNESS, 9000, 0 }, { LEAT_AUGMENT_ROTATE, 14529495, 8388608 },
        { LEAT_AUGMENT_EQUALIZE, 0, 0 },
    };
    for (int n = 1; n <= LEAT_AUGMENT_STEPS; n++) {
        leat_view in = op_noise(LEAT_U8, H, W, 3, 4);
        leat_view at_once = done(in, steps, n);
        for (int i = 0; i < n; i++) {
            leat_view next = done(in, &steps[i], 1);
            free(in.data);
            in = next;
        }
        assert_memory_equal(at_once.data, in.data, N * 3);
        free(at_once.data);
        free(in.data);
    }
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
