/* SPDX-License-Identifier: MIT
 *
 * test_resample.c: resize against an independent double-precision reference, and the boxes and
 * pixels of random_resized_crop. */
#include "fixtures/op_test.h"

#include <math.h>

#include "base/cpu.h"
#include "ops/image/resample.h"
#include "ops/image/taps.h"

typedef struct box { /* as in a crop's plan */
    int32_t y, x, height, width;
} box;

static double pixel(const leat_view *view, int64_t y, int64_t x, int64_t c)
{
    const size_t at = (size_t)((y * view->shape.dims[1] + x) * view->shape.dims[2] + c);
    return view->shape.dtype == LEAT_U8 ? ((const uint8_t *)view->data)[at]
                                        : (double)((const float *)view->data)[at];
}

static const char *const names[] = { "bilinear", "nearest", "bicubic", "lanczos" };
enum { N_FILTERS = sizeof names / sizeof *names };

static double sinc(double x)
{
    return x == 0 ? 1 : x == floor(x) ? 0 : sin(M_PI * x) / (M_PI * x);
}

/* Pillow's filters (its source, Resample.c), written as in the literature. */
static double filter_at(int filter, double x)
{
    switch (filter) {
    case LEAT_BICUBIC:
        return x < 1 ? 1.5 * x * x * x - 2.5 * x * x + 1
                     : (x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0);
    case LEAT_LANCZOS:
        return x < 3 ? sinc(x) * sinc(x / 3) : 0;
    default:
        return x < 1 ? 1 - x : 0;
    }
}

/* The weight of input k for output i: the filter as wide as the scale, and at least one pixel. */
static double weight_of(int filter, int64_t n_in, int64_t n_out, int64_t i, int64_t k)
{
    const double scale = (double)n_in / (double)n_out;
    const double width = scale > 1 ? scale : 1, center = ((double)i + 0.5) * scale;
    if (filter == LEAT_NEAREST)
        return k == (2 * i + 1) * n_in / (2 * n_out);
    return filter_at(filter, fabs((double)k + 0.5 - center) / width);
}

/* Straight from the definition, both axes at once. */
static double reference(int filter, const leat_view *in, box b, const leat_shape *out, int64_t y,
                        int64_t x, int64_t c)
{
    double sum = 0, total = 0;
    for (int64_t j = 0; j < b.height; j++) {
        const double wy = weight_of(filter, b.height, out->dims[0], y, j);
        for (int64_t i = 0; wy != 0 && i < b.width; i++) {
            const double w = wy * weight_of(filter, b.width, out->dims[1], x, i);
            sum += w != 0 ? w * pixel(in, b.y + j, b.x + i, c) : 0;
            total += w;
        }
    }
    sum /= total;
    return in->shape.dtype == LEAT_U8 ? fmin(fmax(sum, 0), 255) : sum;
}

static double worst_difference(int filter, const leat_view *in, box b, const leat_view *out)
{
    double worst = 0;
    for (int64_t y = 0; y < out->shape.dims[0]; y++)
        for (int64_t x = 0; x < out->shape.dims[1]; x++)
            for (int64_t c = 0; c < out->shape.dims[2]; c++)
                worst = fmax(worst, fabs(pixel(out, y, x, c) -
                                         reference(filter, in, b, &out->shape, y, x, c)));
    return worst;
}

static op_result resize_by(int filter, leat_view in, int64_t height, int64_t width)
{
    char size[48];
    const leat_op *op = leat_op_find("resize");
    snprintf(size, sizeof size, "[%d, %d]", (int)height, (int)width);
    void *options = op_options(op, "size", size, "interpolation", names[filter], NULL);
    op_result r = op_run(op, options, in, 0);
    free(options);
    if (r.rc != LEAT_OK)
        fail_msg("%s", r.err.message);
    return r;
}

static const int64_t sizes[][4] = {
    { 1, 1, 1, 1 },     { 1, 1, 7, 5 },       { 9, 7, 1, 1 },     { 32, 32, 32, 32 },
    { 32, 32, 47, 29 }, { 33, 47, 16, 24 },   { 40, 60, 13, 17 }, { 5, 300, 4, 11 },
    { 300, 5, 2, 9 },   { 2, 3, 31, 64 },     { 600, 4, 1, 4 },   { 4, 1500, 3, 2 },
    { 64, 64, 32, 32 }, { 129, 65, 128, 64 },
};

TEST(within_one_level_of_double)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int64_t k = 0; k < 4 * N_FILTERS; k++) {
            const int filter = (int)k / 4;
            leat_view in = op_noise(LEAT_U8, sizes[i][0], sizes[i][1], 1 + k % 4, i);
            const box whole = { 0, 0, (int32_t)sizes[i][0], (int32_t)sizes[i][1] };
            op_result r = resize_by(filter, in, sizes[i][2], sizes[i][3]);
            /* Half a level of rounding, what is lost between the passes (2^-8 of a level, more in rows
             * that shrink so much that there are fewer bits of fraction), and rounded weights. */
            const double most = leat_taps_radius(filter) > 1 ? 0.55 : 0.51;
            const double allowed = sizes[i][1] > 32 * sizes[i][3] ? 0.65 : most;
            assert_true(worst_difference(filter, &in, whole, &r.out) < allowed);
            free(r.out.data);
            free(in.data);
        }
}

TEST(float_images_too)
{
    for (size_t i = 0; i < N_FILTERS * sizeof sizes / sizeof *sizes; i++) {
        const int64_t *const size = sizes[i / N_FILTERS];
        const int filter = (int)(i % N_FILTERS);
        leat_view in = op_noise(LEAT_F32, size[0], size[1], 3, i);
        const box whole = { 0, 0, (int32_t)size[0], (int32_t)size[1] };
        op_result r = resize_by(filter, in, size[2], size[3]);
        assert_true(worst_difference(filter, &in, whole, &r.out) < 1e-5);
        free(r.out.data);
        free(in.data);
    }
}

/* NaN and infinity reach those outputs whose filter covers them. */
TEST(floats_that_are_not_finite)
{
    for (size_t i = 0; i < N_FILTERS * sizeof sizes / sizeof *sizes; i++) {
        const int64_t *const size = sizes[i / N_FILTERS];
        const int filter = (int)(i % N_FILTERS);
        leat_view in = op_noise(LEAT_F32, size[0], size[1], 1, i);
        const box whole = { 0, 0, (int32_t)size[0], (int32_t)size[1] };
        const int64_t n = size[0] * size[1];
        ((float *)in.data)[n / 2] = NAN;
        ((float *)in.data)[n / 3] = INFINITY;
        op_result r = resize_by(filter, in, size[2], size[3]);
        for (int64_t y = 0; y < size[2]; y++)
            for (int64_t x = 0; x < size[3]; x++) {
                const double want = reference(filter, &in, whole, &r.out.shape, y, x, 0);
                const double is = pixel(&r.out, y, x, 0);
                if (isfinite(want) ? !(fabs(is - want) < 1e-5) : isfinite(is))
                    fail_msg("%s, %d x %d to %d x %d: %g in place of %g at %d, %d", names[filter],
                             (int)size[0], (int)size[1], (int)size[2], (int)size[3], is, want,
                             (int)y, (int)x);
            }
        free(r.out.data);
        free(in.data);
    }
}

TEST(same_size_is_identity)
{
    static const leat_dtype dtypes[] = { LEAT_U8, LEAT_F32 };
    for (int64_t n = 1; n < 70; n += 3)
        for (int d = 0; d < 2; d++) {
            leat_view in = op_noise(dtypes[d], n, 71 - n, 3, (uint64_t)n);
            op_result r = resize_by((int)(n / 3 % N_FILTERS), in, n, 71 - n);
            assert_memory_equal(r.out.data, in.data, (size_t)leat_shape_bytes(&in.shape));
            free(r.out.data);
            free(in.data);
        }
}

TEST(one_colour_stays)
{
    for (int value = 0; value <= 255; value += 15) {
        leat_view in = op_image(LEAT_U8, 83, 61, 3);
        memset(in.data, value, (size_t)leat_shape_bytes(&in.shape));
        for (int64_t n = 1; n < 200; n += 13) {
            op_result r = resize_by((int)(n / 13 % N_FILTERS), in, n, 200 - n);
            for (int64_t i = 0; i < leat_shape_elements(&r.out.shape); i++)
                assert_int_equal(((uint8_t *)r.out.data)[i], value);
            free(r.out.data);
        }
        free(in.data);
    }
}

static int32_t most_taps(int64_t n_in, int64_t n_out, int32_t filter)
{
    int32_t most = 0;
    for (int32_t i = 0; i < n_out; i++) {
        const int32_t n = leat_taps_of(n_in, n_out, i, filter).n;
        most = n > most ? n : most;
    }
    return most;
}

/* All weights of output i, of either kind, and zeros where it has none. */
static void check_output(const leat_dsp_axis *axis, int32_t i, int16_t *bytes, float *floats)
{
    const size_t stride = (size_t)axis->stride, at = (size_t)i * stride;
    const leat_taps taps = leat_taps_of(axis->n_in, axis->n_out, i, axis->interpolation);
    const int32_t start = axis->start[i];
    assert_int_equal(start, taps.first < axis->n_in - axis->n_taps ? taps.first
                                                                   : axis->n_in - axis->n_taps);
    assert_true(taps.first + taps.n <= start + axis->n_taps);
    memset(bytes, 0, stride * sizeof *bytes);
    memset(floats, 0, stride * sizeof *floats);
    leat_taps_fill_u8(&taps, axis->bits, bytes + (taps.first - start));
    leat_taps_fill_f32(&taps, floats + (taps.first - start));
    if (axis->weights)
        assert_memory_equal(axis->weights + at, bytes, stride * sizeof *bytes);
    else
        assert_memory_equal(axis->float_weights + at, floats, stride * sizeof *floats);
}

static void check_axis_here(int64_t n_in, int64_t n_out, leat_dtype dtype, int32_t filter)
{
    leat_dsp_axis axis;
    leat_scratch_reset(op_scratch);
    assert_int_equal(leat_resample_axis(&axis, n_in, n_out, dtype, filter, op_scratch), LEAT_OK);
    assert_int_equal(axis.n_taps, most_taps(n_in, n_out, filter));
    assert_int_equal(axis.stride, (axis.n_taps + 1) / 2 * 2);
    assert_int_equal(axis.bits, leat_taps_bits(n_in, n_out, filter));
    assert_true(dtype == LEAT_U8 ? axis.weights && !axis.float_weights
                                 : axis.float_weights && !axis.weights);
    int16_t *bytes = malloc((size_t)axis.stride * sizeof *bytes);
    float *floats = malloc((size_t)axis.stride * sizeof *floats);
    assert_true(bytes && floats);
    for (int32_t i = 0; i < axis.n_out; i++)
        check_output(&axis, i, bytes, floats);
    free(bytes);
    free(floats);
}

static void check_axis(int64_t n_in, int64_t n_out, leat_dtype dtype, int32_t filter)
{
    for (int level = 0; level <= leat_cpu_best(); level++) {
        leat_cpu_use(level);
        check_axis_here(n_in, n_out, dtype, filter);
    }
}

/* An axis has the very weights of taps.h: all small sizes, the usual ones, and the extremes. */
TEST(axes_are_those_of_taps)
{
    static const int64_t most[][2] = { { 700, 300 }, { 9000, 20 }, { 20, 3000 }, { 65535, 9 } };
    uint64_t seed = 8;
    for (int64_t n_in = 1; n_in <= 40; n_in++)
        for (int64_t n_out = 1; n_out <= 40; n_out++)
            for (int d = 0; d < 2 * N_FILTERS; d++)
                check_axis(n_in, n_out, d % 2 ? LEAT_F32 : LEAT_U8, d / 2);
    for (size_t kind = 0; kind < sizeof most / sizeof *most; kind++)
        for (int i = 0; i < (kind ? 60 : 3000); i++) {
            const int64_t n_in = 1 + (int64_t)(op_next(&seed) % (uint64_t)most[kind][0]);
            const int64_t n_out = 1 + (int64_t)(op_next(&seed) % (uint64_t)most[kind][1]);
            check_axis(n_in, i % 9 ? n_out : 224, i % 4 ? LEAT_U8 : LEAT_F32, i % 7 % N_FILTERS);
        }
}

/* An output takes the first input that ends after its centre: (2 i + 1) n_in < 2 n_out (k + 1). */
TEST(nearest_takes_the_second_at_a_border)
{
    static const int64_t wide[][2] = { { 888, 1729 },    { 632, 414 },     { 304, 238 },
                                       { 30000, 29999 }, { 65535, 65534 }, { 3, 65535 } };
    enum { SMALL = 130 };
    for (int64_t p = 0; p < SMALL * SMALL + (int64_t)(sizeof wide / sizeof *wide); p++) {
        const int64_t *const sides = p < SMALL * SMALL ? NULL : wide[p - SMALL * SMALL];
        const int64_t n_in = sides ? sides[0] : 1 + p / SMALL;
        const int64_t n_out = sides ? sides[1] : 1 + p % SMALL;
        int64_t k = 0;
        for (int64_t i = 0; i < n_out; i++) {
            while ((2 * i + 1) * n_in >= 2 * n_out * (k + 1))
                k++;
            const leat_taps taps = leat_taps_of(n_in, n_out, (int32_t)i, LEAT_NEAREST);
            assert_int_equal(taps.first, k);
            assert_int_equal(taps.n, 1);
        }
        if (sides)
            check_axis(n_in, n_out, LEAT_U8, LEAT_NEAREST);
    }
}

TEST(keep_aspect_follows)
{
    static const int64_t cases[][4] = {
        { 100, 200, 32, 64 }, { 200, 100, 64, 32 }, { 375, 500, 32, 42 }, { 10, 10, 32, 32 }
    };
    const leat_op *op = leat_op_find("resize");
    void *options = op_options(op, "size", "32", "keep_aspect", "true", NULL);
    leat_shape in = { LEAT_U8, 3, { LEAT_UNKNOWN_DIM, 8, 3 } }, out;
    assert_int_equal(op->shape(options, &in, &out, NULL), LEAT_OK);
    assert_int_equal(out.dims[0], LEAT_UNKNOWN_DIM);
    assert_int_equal(out.dims[1], LEAT_UNKNOWN_DIM);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(in.dims, cases[i], 2 * sizeof in.dims[0]);
        assert_int_equal(op->shape(options, &in, &out, NULL), LEAT_OK);
        assert_int_equal(out.dims[0], cases[i][2]);
        assert_int_equal(out.dims[1], cases[i][3]);
    }
    free(options);
    options = op_options(op, "size", "[32, 40]", "keep_aspect", "true", NULL);
    assert_int_equal(op->shape(options, &in, &out, NULL), LEAT_E_CONFIG);
    free(options);
}

TEST(crop_pixels_are_resized_box)
{
    const leat_op *op = leat_op_find("random_resized_crop");
    leat_view in = op_noise(LEAT_U8, 50, 70, 3, 1);
    for (uint64_t seed = 0; seed < 80; seed++) {
        const int filter = (int)(seed % N_FILTERS);
        void *options = op_options(op, "size", "[12, 9]", "interpolation", names[filter], NULL);
        op_result r = op_run(op, options, in, seed);
        box b;
        memcpy(&b, &r.draw, sizeof b);
        assert_int_equal(r.rc, LEAT_OK);
        assert_true(worst_difference(filter, &in, b, &r.out) < 0.55);
        free(r.out.data);
        free(options);
    }
    free(in.data);
}

static box draw_box(const leat_op *op, const void *options, const leat_shape *in, uint64_t record)
{
    leat_rng rng = leat_rng_make(9, record, 0, 1);
    leat_draw draw = { 0 };
    box b;
    op->draw(options, &rng, in, &draw);
    memcpy(&b, &draw, sizeof b);
    assert_in_range(b.height, 1, in->dims[0]);
    assert_in_range(b.width, 1, in->dims[1]);
    assert_in_range(b.y, 0, in->dims[0] - b.height);
    assert_in_range(b.x, 0, in->dims[1] - b.width);
    return b;
}

/* Where no try fails (the image is much larger than the box), area and log ratio are uniform: mean,
 * variance and quarters as they should be, and places centred. */
TEST(boxes_are_uniform)
{
    enum { N = 20000 };
    const leat_op *op = leat_op_find("random_resized_crop");
    void *options = op_options(op, "size", "8", "scale", "[0.1, 0.5]", NULL);
    const leat_shape in = { LEAT_U8, 3, { 3000, 3000, 3 } };
    double area = 0, area2 = 0, ratio = 0, ratio2 = 0, y = 0, x = 0;
    int quarters[4] = { 0 };
    for (uint64_t i = 0; i < N; i++) {
        const box b = draw_box(op, options, &in, i);
        const double a = (double)b.height * b.width / 9e6, r = log((double)b.width / b.height);
        assert_true(a > 0.0995 && a < 0.5005);
        assert_true(fabs(r) < log(4.0 / 3) + 0.002);
        area += a;
        area2 += a * a;
        ratio += r;
        ratio2 += r * r;
        y += (b.y + b.height / 2.0) / 3000;
        x += (b.x + b.width / 2.0) / 3000;
        quarters[(int)fmin(3, (a - 0.1) * 10 > 0 ? (a - 0.1) * 10 : 0)]++;
    }
    assert_true(fabs(area / N - 0.3) < 0.004);
    assert_true(fabs(area2 / N - area / N * area / N - 0.4 * 0.4 / 12) < 0.0005);
    assert_true(fabs(ratio / N) < 0.006);
    const double width = 2 * log(4.0 / 3);
    assert_true(fabs(ratio2 / N - width * width / 12) < 0.001);
    assert_true(fabs(y / N - 0.5) < 0.005);
    assert_true(fabs(x / N - 0.5) < 0.005);
    for (int i = 0; i < 4; i++)
        assert_true(abs(quarters[i] - N / 4) < 300); /* five standard deviations */
    free(options);
}

/* In a picture so narrow that no try can fit: the largest box of an allowed ratio, in the middle. */
TEST(narrow_pictures_fall_back)
{
    const leat_op *op = leat_op_find("random_resized_crop");
    void *options = op_options(op, "size", "8", "scale", "[1, 1]", NULL);
    leat_shape in = { LEAT_U8, 3, { 1000, 30, 3 } };
    box b = draw_box(op, options, &in, 0);
    assert_int_equal(b.width, 30);
    assert_int_equal(b.height, 40);
    assert_int_equal(b.y, 480);
    assert_int_equal(b.x, 0);
    in = (leat_shape){ LEAT_U8, 3, { 30, 1000, 3 } };
    b = draw_box(op, options, &in, 0);
    assert_int_equal(b.width, 40);
    assert_int_equal(b.height, 30);
    assert_int_equal(b.x, 480);
    for (uint64_t i = 0; i < 100; i++) {
        in = (leat_shape){ LEAT_U8, 3, { 1, 1 + (int64_t)i, 3 } };
        draw_box(op, options, &in, i); /* checks that the box lies inside */
    }
    free(options);
}

TEST(wrong_ranges_are_refused)
{
    static const char *const wrong[][2] = { { "scale", "0.5" },
                                            { "scale", "[0.5, 0.1]" },
                                            { "ratio", "[2, 1]" },
                                            { "ratio", "[1, 1, 1]" },
                                            { "size", "[3, 4, 5]" } };
    const leat_op *op = leat_op_find("random_resized_crop");
    const leat_shape in = { LEAT_U8, 3, { 10, 10, 3 } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        void *options = op_options(op, "size", "8", wrong[i][0], wrong[i][1], NULL);
        leat_shape out;
        leat_error err = { 0 };
        assert_int_equal(op->shape(options, &in, &out, &err), LEAT_E_CONFIG);
        assert_non_null(strstr(err.message, wrong[i][0]));
        free(options);
    }
}

TEST(too_little_scratch)
{
    leat_scratch *usual = op_scratch;
    leat_view in = op_noise(LEAT_U8, 40, 4000, 3, 0);
    const leat_op *op = leat_op_find("resize");
    void *options = op_options(op, "size", "30", NULL);
    assert_int_equal(leat_scratch_open(&op_scratch, 4096, NULL), LEAT_OK);
    op_result r = op_run(op, options, in, 0);
    assert_int_equal(r.rc, LEAT_E_NOMEM);
    assert_non_null(strstr(r.err.message, "scratch"));
    leat_scratch_close(&op_scratch);
    op_scratch = usual;
    free(options);
    free(in.data);
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
