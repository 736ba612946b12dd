/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_eighth.c: pictures at an eighth of their size, by leat's decoder and by the op, beside those of
 * libjpeg-turbo. */
#include "fixtures/jpeg_fixture.h"
#include "leat/op.h"
#include "ops/jpeg/jpeg_turbo.h"

static leat_view room(int width, int height, int channels, int scale, uint8_t *data)
{
    const int64_t dims[] = { leat_jpeg_scaled(height, scale), leat_jpeg_scaled(width, scale),
                             channels };
    return (leat_view){ leat_shape_make(LEAT_U8, 3, dims), data, NULL };
}

/* With an index the pixels are the same. A point that is wrong is noticed, or does no harm. */
static void check_index(leat_jpeg jpeg, int channels, size_t n)
{
    static leat_jpeg_point points[1 << 16];
    static unsigned seed = 11;
    const uint32_t every = 1 + draw(&seed, 40);
    const uint64_t n_points = leat_jpeg_count_points(&jpeg, every);
    uint8_t *const with = got + n + 64;
    if (!n_points)
        return;
    assert_in_range(n_points, 1, 1 << 16);
    leat_scratch_reset(scratch);
    assert_int_equal(leat_jpeg_make_points(&jpeg, every, points, scratch, NULL), LEAT_OK);
    assert_int_equal(leat_jpeg_use_points(&jpeg, every, points, n_points, NULL), LEAT_OK);
    for (int i = 0; i < 8; i++) {
        leat_scratch_reset(scratch);
        memset(with, 0xa5, n + 64);
        const int rc = leat_jpeg_decode_eighth(&jpeg, channels, with, scratch, NULL);
        assert_true(rc == LEAT_OK || (i && rc == LEAT_E_UNSUPPORTED));
        if (!rc)
            assert_memory_equal(with, got, n);
        for (size_t k = n; k < n + 64; k++)
            assert_int_equal(with[k], 0xa5);
        leat_jpeg_point *const used =
            &points[(uint64_t)(jpeg.mcus_y / 2) * (uint64_t)jpeg.mcus_x / every];
        ((uint8_t *)used)[draw(&seed, sizeof *used)] ^= (uint8_t)(1u << draw(&seed, 8));
    }
}

/* Sum of the differences between ours, at every level, and libjpeg-turbo's. */
static uint64_t difference(const uint8_t *data, size_t size, const reference_picture *p,
                           int channels)
{
    const leat_view out = room(p->width, p->height, channels, 8, expected);
    const size_t n = (size_t)leat_shape_bytes(&out.shape);
    uint64_t sum = 0;
    leat_jpeg jpeg;
    leat_scratch_reset(scratch);
    assert_int_equal(leat_jpeg_turbo_decode(data, size, 8, false, &out, scratch, NULL), LEAT_OK);
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    for (int level = 0; level < N_LEVELS; level++) {
        if (!(jpeg.dsp = leat_jpeg_dsp_at(level)))
            continue;
        uint64_t here = 0;
        memset(got, 0xa5, n + 64);
        leat_scratch_reset(scratch);
        assert_int_equal(leat_jpeg_decode_eighth(&jpeg, channels, got, scratch, NULL), LEAT_OK);
        for (size_t i = 0; i < n; i++)
            here += (uint64_t)abs(got[i] - expected[i]);
        for (size_t i = n; i < n + 64; i++)
            assert_int_equal(got[i], 0xa5);
        assert_true(level == 0 || here == sum);
        check_index(jpeg, channels, n);
        sum = here;
    }
    return sum;
}

enum { IN_QUARTERS = 3 }; /* of `samplings` */

/* The pixels are the same; where chroma has half the size of luma in both directions, close. */
TEST(all_sizes)
{
    unsigned seed = 3;
    uint64_t differences = 0, values = 0;
    for (unsigned i = 0; i < 160; i++) {
        const uint8_t *s = samplings[i % N_SAMPLINGS];
        const reference_picture p = {
            REFERENCE_OF(1 + (int)draw(&seed, 300), 1 + (int)draw(&seed, 200), i % 9 ? 3 : 1,
                         i % 9 ? s[0] : 1, i % 9 ? s[1] : 1, 30 + (int)draw(&seed, 70)),
            .chroma_h = s[2], .chroma_v = s[3], .restart = i % 5 ? 0 : 3
        };
        uint8_t *data;
        const size_t size = reference_encode(&p, i, &data);
        assert_int_equal(difference(data, size, &p, 1), 0);
        const uint64_t in_colour = difference(data, size, &p, 3);
        if (s != samplings[IN_QUARTERS])
            assert_int_equal(in_colour, 0);
        differences += in_colour;
        if (s == samplings[IN_QUARTERS] && i % 9)
            values += 3 * (uint64_t)leat_jpeg_scaled(p.width, 8) *
                      (uint64_t)leat_jpeg_scaled(p.height, 8);
        free(data);
    }
    assert_true(differences < 8 * values);
}

/* Large files are read with larger tables; noise of high quality has long codes and full blocks. */
TEST(large_files)
{
    for (unsigned i = 0; i < 4; i++) {
        const uint8_t *s = samplings[i % N_SAMPLINGS];
        const reference_picture p = {
            REFERENCE_OF(1100 + (int)i, 900, 3, s[0], s[1], i % 2 ? 98 : 100), .chroma_h = s[2],
            .chroma_v = s[3], .restart = i == 3 ? 7 : 0
        };
        uint8_t *data;
        const size_t size = reference_encode(&p, i, &data);
        assert_in_range(size, 1 << 20, 1 << 23);
        assert_int_equal(difference(data, size, &p, 1), 0);
        free(data);
    }
}

TEST(cut_files)
{
    uint8_t *data;
    const size_t size = small_file(2, 2, 0, &data);
    leat_jpeg jpeg;
    for (size_t n = size - 1; n > size - 200; n--)
        if (leat_jpeg_open(&jpeg, data, n, NULL) == LEAT_OK) {
            leat_scratch_reset(scratch);
            assert_int_equal(leat_jpeg_decode_eighth(&jpeg, 3, got, scratch, NULL),
                             LEAT_E_UNSUPPORTED);
        }
    free(data);
}

static void *options_of(const leat_op *op, const char *scale, const char *exact)
{
    void *options = calloc(1, op->options_size);
    leat_option_init(op->options, options);
    leat_option_set(leat_option_find(op->options, "scale"), options, scale, NULL);
    leat_option_set(leat_option_find(op->options, "exact"), options, exact, NULL);
    return options;
}

/* All sizes are libjpeg-turbo's. */
TEST(the_op_scales)
{
    static const char *const scales[] = { "1", "2", "4", "8" };
    const leat_op *op = leat_op_find("decode_jpeg");
    for (unsigned k = 0; k < 4 * N_SAMPLINGS; k++) {
        const unsigned i = k % 4;
        const uint8_t *s = samplings[k / 4];
        const reference_picture p = { REFERENCE_OF(77, 50, 3, s[0], s[1], 80), .chroma_h = s[2],
                                      .chroma_v = s[3] };
        uint8_t *data;
        const size_t size = reference_encode(&p, 1, &data);
        const leat_view in = { { LEAT_U8, 1, { (int64_t)size } }, data, NULL };
        void *options = options_of(op, scales[i], "false");
        const leat_view want = room(p.width, p.height, 3, 1 << i, expected);
        leat_view out = { .data = got };
        leat_scratch_reset(scratch);
        assert_int_equal(op->measure(options, &in, &out.shape, scratch, NULL), LEAT_OK);
        assert_true(leat_shape_equal(&out.shape, &want.shape));
        assert_int_equal(op->apply(options, NULL, &in, &out, scratch, NULL), LEAT_OK);
        assert_int_equal(leat_jpeg_turbo_decode(data, size, 1 << i, false, &want, scratch, NULL),
                         LEAT_OK);
        if (i < 3 || s != samplings[IN_QUARTERS])
            assert_memory_equal(got, expected, (size_t)leat_shape_bytes(&out.shape));
        free(options);
        free(data);
    }
}

/* The op decodes with the source's index, and without it if it is another file's. */
TEST(the_op_uses_an_index)
{
    enum { EVERY = 4 };
    const reference_picture p = {
        .width = 300, .height = 200, .channels = 3, .h = 2, .v = 2, .quality = 80
    };
    static leat_jpeg_point points[1000];
    const leat_op *op = leat_op_find("decode_jpeg");
    uint8_t *data;
    const size_t size = reference_encode(&p, 1, &data);
    leat_jpeg jpeg;
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    const uint64_t n = leat_jpeg_count_points(&jpeg, EVERY);
    assert_in_range(n, 2, 1000);
    assert_int_equal(leat_jpeg_make_points(&jpeg, EVERY, points, scratch, NULL), LEAT_OK);
    uint8_t *table = malloc(leat_jpeg_table_most(n));
    void *options = options_of(op, "8", "false");
    for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
        const leat_view want = room(p.width, p.height, 3, 8, expected);
        const leat_view out = room(p.width, p.height, 3, 8, got);
        leat_seek seek = { .table = table };
        const leat_view plain = { { LEAT_U8, 1, { (int64_t)size } }, data, NULL };
        const leat_view in = { { LEAT_U8, 1, { (int64_t)size } }, data, &seek };
        seek.bytes = leat_jpeg_pack_points(points, n, EVERY, table);
        leat_scratch_reset(scratch);
        assert_int_equal(op->apply(options, NULL, &plain, &want, scratch, NULL), LEAT_OK);
        assert_int_equal(op->apply(options, NULL, &in, &out, scratch, NULL), LEAT_OK);
        assert_memory_equal(got, expected, (size_t)leat_shape_bytes(&out.shape));
        assert_int_equal(seek.used, !is_wrong);
        assert_int_equal(seek.refused, is_wrong);
        points[(uint64_t)(jpeg.mcus_y / 2) * (uint64_t)jpeg.mcus_x / EVERY].dc[0] += 3;
    }
    free(options);
    free(table);
    free(data);
}

TEST(a_scale_is_not_exact)
{
    const leat_op *op = leat_op_find("decode_jpeg");
    const leat_shape in = { LEAT_U8, 1, { LEAT_UNKNOWN_DIM } };
    void *options = options_of(op, "auto", "true");
    leat_shape out;
    leat_error err;
    assert_int_equal(op->shape(options, &in, &out, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "add exact: false"));
    free(options);
}

SUITE_FIXTURE(set_up, tear_down)
