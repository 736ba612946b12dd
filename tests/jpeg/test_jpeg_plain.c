/* SPDX-License-Identifier: MIT
 *
 * Which JPEG files are plain, and that no beginning of one makes trouble. */
#include "fixtures/op_test.h"
#include "ops/jpeg/jpeg.h"

static bool is_plain(leat_view image, op_jpeg_how how, bool extended)
{
    leat_view file = op_jpeg(image, how);
    uint8_t *const bytes = file.data;
    const size_t n = (size_t)file.shape.dims[0];
    for (size_t i = 2; extended && i + 1 < n; i++) /* the same file in the frame of another kind */
        if (bytes[i] == 0xff && bytes[i + 1] == 0xc0) {
            bytes[i + 1] = 0xc1;
            break;
        }
    const bool found = leat_jpeg_is_plain(bytes, n);
    free(file.data);
    return found;
}

TEST(plain_ones)
{
    leat_view color = op_drawing(40, 50, 3), gray = op_drawing(40, 50, 1);
    for (int h = 1; h <= 2; h++)
        for (int v = 1; v <= 2; v++)
            for (int restart = 0; restart < 2; restart++)
                assert_true(is_plain(color, (op_jpeg_how){ .h = h, .v = v, .restart = restart * 3 },
                                     false));
    assert_true(is_plain(gray, (op_jpeg_how){ 0 }, false));
    free(color.data);
    free(gray.data);
}

TEST(others)
{
    leat_view color = op_drawing(40, 50, 3), inks = op_drawing(40, 50, 4);
    assert_false(is_plain(color, (op_jpeg_how){ .progressive = 1 }, false));
    assert_false(is_plain(color, (op_jpeg_how){ .arithmetic = 1 }, false));
    assert_false(is_plain(color, (op_jpeg_how){ .h = 4, .v = 1 }, false));
    assert_false(is_plain(color, (op_jpeg_how){ .stored = JCS_RGB }, false));
    assert_false(is_plain(inks, (op_jpeg_how){ 0 }, false));
    assert_false(is_plain(color, (op_jpeg_how){ 0 }, true));
    assert_false(leat_jpeg_is_plain((const uint8_t *)"no JPEG file at all", 19));
    free(color.data);
    free(inks.data);
}

/* Cut anywhere, in memory of just that size; and any byte of the header changed. */
TEST(beginnings_and_damage)
{
    leat_view image = op_drawing(16, 24, 3);
    leat_view file = op_jpeg(image, (op_jpeg_how){ .restart = 1 });
    const size_t n = (size_t)file.shape.dims[0];
    size_t n_plain = 0;
    for (size_t k = 0; k <= n; k++) {
        uint8_t *const part = malloc(k ? k : 1);
        memcpy(part, file.data, k);
        n_plain += leat_jpeg_is_plain(part, k);
        free(part);
    }
    assert_in_range(n_plain, 1, n - 600); /* only those with the whole header */
    uint8_t *const bytes = file.data;
    for (size_t k = 0; k < n; k++)
        for (int to = 0; to < 256; to += 51) {
            const uint8_t was = bytes[k];
            bytes[k] = (uint8_t)to;
            leat_jpeg_is_plain(bytes, n);
            bytes[k] = was;
        }
    assert_true(leat_jpeg_is_plain(bytes, n));
    free(image.data);
    free(file.data);
}
