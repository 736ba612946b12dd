/* SPDX-License-Identifier: MIT
 *
 * test_sheet.c: the sheet of a batch: levels undone, images at their places, sizes. */
#include <math.h>

#include "fixtures/unit.h"
#include "print/sheet.h"

static leat_view view_of(leat_dtype dtype, int64_t n, int64_t height, int64_t width,
                         int64_t channels, void *data)
{
    const int64_t dims[] = { n, height, width, channels };
    return (leat_view){ .shape = leat_shape_make(dtype, 4, dims), .data = data };
}

/* Pixel of a sheet whose images are wide × tall with gaps of 2. */
static const uint8_t *pixel(const leat_sheet *s, int number, int wide, int tall, int y, int x)
{
    const int row = number / 8 * (tall + 2) + y, column = number % 8 * (wide + 2) + x;
    assert_true(row < s->height && column < s->width);
    return s->pixels + ((size_t)row * (size_t)s->width + (size_t)column) * 3;
}

/* normalize is undone in each channel: black and white pixels come back, and values between. */
TEST(normalize_is_undone)
{
    static const float mean[] = { 0.3f, 0.5f, -2 }, std[] = { 0.2f, 7, 0.01f };
    static float batch[10][64][64][3];
    leat_sheet sheet;
    for (int i = 0; i < 10; i++)
        for (int y = 0; y < 64; y++)
            for (int x = 0; x < 64; x++)
                for (int c = 0; c < 3; c++)
                    batch[i][y][x][c] =
                        ((float)((y * 4 + x + i + c) % 256) / 255 - mean[c]) / std[c];
    const leat_view view = view_of(LEAT_F32, 10, 64, 64, 3, batch);
    assert_int_equal(leat_sheet_make(&view, &sheet), LEAT_OK);
    assert_int_equal(sheet.width, 8 * 66 - 2);
    assert_int_equal(sheet.height, 2 * 66 - 2);
    for (int i = 0; i < 10; i++)
        for (int y = 0; y < 64; y++)
            for (int x = 0; x < 64; x++)
                for (int c = 0; c < 3; c++)
                    assert_int_equal(pixel(&sheet, i, 64, 64, y, x)[c], (y * 4 + x + i + c) % 256);
    assert_int_equal(pixel(&sheet, 0, 64, 64, 0, 64)[0], 255); /* a gap */
    free(sheet.pixels);
}

/* uint8 is shown as it is, grey as RGB, and small images are enlarged. */
TEST(bytes_are_kept)
{
    uint8_t batch[3][16][8];
    leat_sheet sheet;
    for (int i = 0; i < 3; i++)
        for (int y = 0; y < 16; y++)
            for (int x = 0; x < 8; x++)
                batch[i][y][x] = (uint8_t)(100 + 40 * i + y + x);
    const leat_view view = view_of(LEAT_U8, 3, 16, 8, 1, batch);
    assert_int_equal(leat_sheet_make(&view, &sheet), LEAT_OK);
    assert_int_equal(sheet.height, 64);
    assert_int_equal(sheet.width, 3 * 34 - 2);
    for (int i = 0; i < 3; i++)
        for (int y = 0; y < 64; y++)
            for (int x = 0; x < 32; x++)
                for (int c = 0; c < 3; c++)
                    assert_int_equal(pixel(&sheet, i, 32, 64, y, x)[c], batch[i][y / 4][x / 4]);
    free(sheet.pixels);
}

/* Sizes around the borders of zoom and thinning, and values that are none; a sanitizer watches. */
TEST(any_size_and_value)
{
    static const int64_t sides[] = { 1, 2, 63, 64, 65, 191, 192, 193, 384, 385 };
    const size_t n_sides = sizeof sides / sizeof *sides;
    static const int64_t counts[] = { 1, 8, 9, 70 };
    for (size_t i = 0; i < n_sides * 3 * 4; i++) {
        const int64_t height = sides[i % n_sides], width = sides[(i * 7 + i / n_sides) % n_sides];
        const int64_t n = counts[i / n_sides % 4];
        leat_sheet sheet;
        float *batch = calloc((size_t)(n * height * width), sizeof *batch);
        assert_non_null(batch);
        batch[0] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -1;
        const leat_view view = view_of(LEAT_F32, n, height, width, 1, batch);
        assert_int_equal(leat_sheet_make(&view, &sheet), LEAT_OK);
        assert_in_range(sheet.width, 1, 8 * 194);
        assert_in_range(sheet.height, 1, 8 * 194);
        free(sheet.pixels);
        free(batch);
    }
}

TEST(others_are_no_images)
{
    uint8_t bytes[256] = { 0 };
    leat_sheet sheet;
    const leat_view views[] = { view_of(LEAT_U8, 1, 4, 4, 2, bytes),
                                view_of(LEAT_I32, 1, 2, 2, 3, bytes),
                                view_of(LEAT_U8, 0, 4, 4, 3, bytes),
                                view_of(LEAT_U8, 1, 4, 4, 3, NULL) };
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        assert_int_equal(leat_sheet_make(&views[i], &sheet), LEAT_E_ARGUMENT);
        assert_null(sheet.pixels);
    }
    const leat_shape row = leat_shape_make(LEAT_F32, 1, (const int64_t[]){ 3 });
    assert_false(leat_sheet_fits(&row));
}
