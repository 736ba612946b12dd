/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_box.c: a part of a JPEG file is the same pixels as that part of the whole, at every CPU
 * level: boxes, also by means of an index, and boxes that are resized at once. */
#include "fixtures/jpeg_fixture.h"

#include "ops/image/resample.h"
#include "ops/image/taps.h"

TEST(boxes)
{
    static const int restarts[] = { 0, 1, 3, 4, 8, 16, 100 }, widths[] = { 200, 333, 128, 40, 3 };
    for (unsigned s = 0; s < N_SAMPLINGS; s++)
        for (unsigned r = 0; r < sizeof restarts / sizeof *restarts; r++)
            for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++) {
                const reference_picture p = { REFERENCE_OF(widths[w], 150 - 20 * (int)(s % 4), 3,
                                                           samplings[s][0], samplings[s][1],
                                                           40 + 10 * (int)w),
                                              .chroma_h = samplings[s][2],
                                              .chroma_v = samplings[s][3],
                                              .is_optimized = (int)r % 2, .restart = restarts[r] };
                uint8_t *data;
                const size_t size = reference_encode(&p, s + w, &data);
                check_boxes(data, size, 12, s + 4 * r + w);
                free(data);
            }
}

TEST(boxes_outside)
{
    const leat_image_box wrong[] = {
        { -1, 0, 5, 5 },       { 0, -1, 5, 5 }, { 0, 0, 0, 5 },
        { 0, 0, 5, 0 },        { 20, 0, 2, 5 }, { 0, 36, 5, 2 },
        { 0, 0, 22, 1 },       { 0, 0, 1, 38 }, { 1 << 30, 0, 1 << 30, 1 },
        { 0, 5, 1, INT32_MAX }
    };
    leat_jpeg jpeg;
    uint8_t *data;
    const reference_picture p = {
        .width = 37, .height = 21, .channels = 3, .h = 2, .v = 2, .quality = 60
    };
    const size_t size = reference_encode(&p, 3, &data);
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(leat_jpeg_decode_box(&jpeg, &wrong[i], 3, got, scratch, NULL),
                         LEAT_E_ARGUMENT);
    free(data);
}

TEST(indexed)
{
    static const uint32_t intervals[] = { 1, 3, 8, 16, 17, 40, 100000 };
    for (unsigned s = 0; s < N_SAMPLINGS; s++)
        for (unsigned k = 0; k < sizeof intervals / sizeof *intervals; k++) {
            const reference_picture p = {
                REFERENCE_OF(210, 99, 3, samplings[s][0], samplings[s][1], 30 + 10 * (int)k),
                .chroma_h = samplings[s][2], .chroma_v = samplings[s][3], .has_long_codes = k == 2
            };
            uint8_t *data;
            size_t n;
            const size_t size = reference_encode(&p, s, &data);
            leat_jpeg_point *points = make_marks(data, size, intervals[k], &n);
            assert_int_equal(reference_decode(data, size, 3, expected, ROOM), 0);
            assert_int_equal(check_indexed(data, size, intervals[k], points, 20, s + k), LEAT_OK);
            free(points);
            free(data);
        }
}

/* Any change of an index is found out when the whole is read. */
TEST(wrong_index)
{
    uint8_t *data, *other;
    size_t n;
    leat_jpeg jpeg;
    const size_t size = small_file(2, 2, 0, &data), size_marked = small_file(2, 2, 3, &other);
    leat_jpeg_point *points = make_marks(data, size, 2, &n);
    assert_int_equal(reference_decode(data, size, 3, expected, ROOM), 0);
    assert_int_equal(check_indexed(data, size, 2, points, 9, 1), LEAT_OK);
    for (size_t i = 0; i < n; i++)
        for (int change = 0; change < 8; change++) {
            const leat_jpeg_point kept = points[i];
            points[i].byte += change == 0   ? 1u
                              : change == 1 ? 0xffffffffu
                              : change == 2 ? 99999u
                                            : 0u;
            points[i].bit = (uint16_t)(points[i].bit ^ (change == 3 ? 1 : change == 4 ? 256 : 0));
            if (change >= 5)
                points[i].dc[change - 5]++;
            assert_int_equal(check_indexed(data, size, 2, points, 0, 1), LEAT_E_UNSUPPORTED);
            points[i] = kept;
        }
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    assert_int_equal(leat_jpeg_use_points(&jpeg, 2, points, n - 1, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_jpeg_use_points(&jpeg, 0, points, 0, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_jpeg_open(&jpeg, other, size_marked, NULL), LEAT_OK);
    assert_int_equal(leat_jpeg_use_points(&jpeg, 2, points, n, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_jpeg_make_points(&jpeg, 2, points, scratch, NULL), LEAT_E_UNSUPPORTED);
    free(points);
    free(data);
    free(other);
}

/* A new picture of bytes with the target's channels. */
static leat_view picture_open(int64_t height, int64_t width, const leat_jpeg_target *t)
{
    const int64_t dims[] = { height, width, t->channels };
    leat_view view = { .shape = leat_shape_make(LEAT_U8, 3, dims) };
    view.data = malloc((size_t)leat_shape_bytes(&view.shape));
    return view;
}

/* The ops one after the other, from the whole picture in `expected`. The caller frees. */
static uint8_t *by_steps(const leat_jpeg *jpeg, const leat_image_box *box,
                         const leat_jpeg_target *t)
{
    const leat_view whole = {
        leat_shape_make(LEAT_U8, 3, (const int64_t[]){ jpeg->height, jpeg->width, t->channels }),
        expected, NULL
    };
    const leat_view resized = picture_open(t->resized_height ? t->resized_height : t->height,
                                           t->resized_width ? t->resized_width : t->width, t);
    const leat_view out = picture_open(t->height, t->width, t);
    const leat_image_box cut = { t->top, t->left, t->height, t->width };
    const size_t row = (size_t)t->width * (size_t)t->channels;
    uint8_t *pixels = out.data;
    leat_scratch_reset(scratch);
    assert_int_equal(leat_resample(&whole, box, &resized, t->interpolation, scratch, NULL),
                     LEAT_OK);
    leat_image_crop(&resized, &out, &cut, LEAT_PAD_CONSTANT);
    for (int32_t y = 0; t->is_mirrored && y < t->height; y++, pixels += row)
        leat_dsp()->mirror_row(pixels, pixels, (size_t)t->width, (size_t)t->channels);
    free(resized.data);
    return out.data;
}

static void check_resized(const uint8_t *data, size_t size, const leat_image_box *box,
                          leat_jpeg_target t)
{
    leat_jpeg jpeg;
    const size_t n = (size_t)t.height * (size_t)t.width * (size_t)t.channels;
    float *floats = malloc(n * sizeof *floats);
    leat_affine affine = { .n_channels = 1, .scale = { 0.017f }, .shift = { -2.1f } };
    leat_dsp_affine_fill(&affine);
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    uint8_t *small = by_steps(&jpeg, box, &t);
    leat_dsp()->affine_u8(floats, small, n, &affine);
    for (int level = 0; level < N_LEVELS; level++) {
        if (!(jpeg.dsp = leat_jpeg_dsp_at(level)))
            continue;
        t.affine = NULL;
        leat_scratch_reset(scratch);
        assert_int_equal(leat_jpeg_decode_resized(&jpeg, box, &t, got, scratch, NULL), LEAT_OK);
        assert_memory_equal(got, small, n);
        t.affine = &affine;
        leat_scratch_reset(scratch);
        assert_int_equal(leat_jpeg_decode_resized(&jpeg, box, &t, got, scratch, NULL), LEAT_OK);
        assert_memory_equal(got, floats, n * sizeof *floats);
    }
    free(small);
    free(floats);
}

TEST(resized)
{
    unsigned seed = 5;
    for (int i = 0; i < 200; i++) {
        const unsigned s = draw(&seed, N_SAMPLINGS);
        const int is_large = i % 20 == 19; /* larger than the window of rows */
        const reference_picture p = { REFERENCE_OF(1 + 700 * is_large + (int)draw(&seed, 300),
                                                   1 + 400 * is_large + (int)draw(&seed, 200), 3,
                                                   samplings[s][0], samplings[s][1], 80),
                                      .chroma_h = samplings[s][2], .chroma_v = samplings[s][3] };
        uint8_t *data;
        const size_t size = reference_encode(&p, (unsigned)i, &data);
        leat_image_box box = { (int32_t)draw(&seed, (unsigned)p.height),
                               (int32_t)draw(&seed, (unsigned)p.width), 0, 0 };
        box.height = 1 + (int32_t)draw(&seed, (unsigned)(p.height - box.y));
        box.width = 1 + (int32_t)draw(&seed, (unsigned)(p.width - box.x));
        if (is_large)
            box = (leat_image_box){ 1, 2, p.height - 2, p.width - 3 };
        leat_jpeg_target t = { .height = 1 + (int32_t)draw(&seed, 100),
                               .width = 1 + (int32_t)draw(&seed, i % 2 ? 300 : 40),
                               .channels = i % 7 ? 3 : 1,
                               .is_mirrored = i % 2 };
        if (i % 3) { /* a part of the resized box */
            t.top = (int32_t)draw(&seed, 50);
            t.left = (int32_t)draw(&seed, 50);
            t.resized_height = t.top + t.height + (int32_t)draw(&seed, 50);
            t.resized_width = t.left + t.width + (int32_t)draw(&seed, 50);
        }
        assert_int_equal(reference_decode(data, size, t.channels, expected, ROOM), 0);
        check_resized(data, size, &box, t);
        free(data);
    }
}

SUITE_FIXTURE(set_up, tear_down)
