/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_probe.c: which decoder takes what kind of file, and which files can be read in parts. */
#include "bench/jpeg_reference.h"
#include "fixtures/unit.h"
#include "leat/jpeg_probe.h"

static const struct {
    reference_picture picture;
    const char *why_not; /* NULL: leat's own decoder */
} kinds[] = {
    { { .width = 40, .height = 24, .channels = 3, .h = 2, .v = 2 }, NULL },
    { { .width = 41, .height = 23, .channels = 3, .h = 2, .v = 1, .restart = 4 }, NULL },
    { { .width = 8, .height = 99, .channels = 1, .h = 1, .v = 1, .restart = 65535 }, NULL },
    { { .width = 40, .height = 24, .channels = 3, .h = 1, .v = 1, .is_progressive = 1 }, NULL },
    { { REFERENCE_OF(40, 24, 3, 1, 1, 0), .is_progressive = 1, .restart = 2 }, NULL },
    { { .width = 40, .height = 24, .channels = 3, .h = 4, .v = 1 }, "unusual sampling" },
    { { .width = 40, .height = 24, .channels = 3, .h = 1, .v = 1, .is_rgb = 1 }, "not YCbCr" },
    { { .width = 40, .height = 24, .channels = 3, .h = 1, .v = 1, .is_arithmetic = 1 },
      "unusual marker" },
    { { .width = 40, .height = 24, .channels = 3, .h = 1, .v = 1, .is_split = 1 },
      "not one scan of all components" },
    { { .width = 40, .height = 24, .channels = 4, .h = 1, .v = 1, .restart = 2 },
      "not one frame of 8 bits with 1 or 3 components" },
};

TEST(every_kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        reference_picture picture = kinds[i].picture;
        leat_jpeg_info info;
        uint8_t *bytes;
        picture.quality = 80;
        const size_t size = reference_encode(&picture, 1, &bytes);
        assert_int_equal(leat_jpeg_probe(bytes, size, &info, NULL), LEAT_OK);
        assert_int_equal(info.width, picture.width);
        assert_int_equal(info.height, picture.height);
        assert_int_equal(info.components, picture.channels);
        assert_int_equal(info.is_own, kinds[i].why_not == NULL);
        assert_int_equal(info.is_progressive, picture.is_progressive);
        assert_int_equal(info.restart_mcus,
                         kinds[i].why_not || picture.is_progressive ? 0 : picture.restart);
        assert_string_equal(info.why_not, kinds[i].why_not ? kinds[i].why_not : "");
        free(bytes);
    }
}

TEST(truncated_anywhere)
{
    const reference_picture picture = {
        .width = 9, .height = 9, .channels = 3, .h = 2, .v = 2, .quality = 60, .restart = 1
    };
    uint8_t *bytes;
    int n_bad = 0, n_own = 0;
    const size_t size = reference_encode(&picture, 1, &bytes);
    for (size_t n = 0; n <= size; n++) {
        leat_jpeg_info info;
        leat_error err = { 0 };
        uint8_t *copy = malloc(n + (n == 0));
        memcpy(copy, bytes, n);
        const int rc = leat_jpeg_probe(copy, n, &info, &err);
        assert_true(rc == LEAT_OK || rc == LEAT_E_DATA);
        assert_int_equal(rc, err.code);
        n_bad += rc != LEAT_OK;
        n_own += rc == LEAT_OK && info.is_own;
        free(copy);
    }
    assert_in_range(n_bad, 100, (int)size - 100);
    assert_in_range(n_own, 10, (int)size - n_bad);
    free(bytes);
}
