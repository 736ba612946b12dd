/* SPDX-License-Identifier: MIT
 *
 * test_exif.c: finding and setting the orientation in Exif data, whole, cut and wrong. */
#include "fixtures/unit.h"
#include "formats/exif.h"

enum { AT_DIRECTORY = 10, N_BEFORE = 3, ENTRY = 12, SIZE = 14 + 2 + (N_BEFORE + 1) * ENTRY + 4 };

static void store(uint8_t *p, uint32_t value, int n, int is_big)
{
    for (int i = 0; i < n; i++)
        p[is_big ? n - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

/* Three other entries, then orientation. */
static void make(uint8_t *segment, int is_big, uint32_t orientation, uint32_t type, uint32_t count)
{
    memset(segment, 0, SIZE);
    memcpy(segment, is_big ? "Exif\0\0MM\0*" : "Exif\0\0II*", 10);
    store(segment + AT_DIRECTORY, 8, 4, is_big);
    store(segment + 14, N_BEFORE + 1, 2, is_big);
    for (uint32_t i = 0; i <= N_BEFORE; i++) {
        uint8_t *entry = segment + 16 + i * ENTRY;
        store(entry, i == N_BEFORE ? 0x112 : 0x100 + i, 2, is_big);
        store(entry + 2, type, 2, is_big);
        store(entry + 4, count, 4, is_big);
        store(entry + 8, i == N_BEFORE ? orientation : 2, type == 4 ? 4 : 2, is_big);
    }
}

TEST(every_orientation)
{
    uint8_t segment[SIZE];
    for (int is_big = 0; is_big < 2; is_big++)
        for (int i = 0; i < 2 * 12; i++) {
            const int value = i / 2, expected = value <= 8 ? value : 0;
            make(segment, is_big, (uint32_t)value, 3 + (uint32_t)i % 2,
                 1); /* short as Exif asks, long */
            assert_int_equal(leat_exif_orientation(segment, SIZE), expected);
            assert_int_equal(leat_exif_set_orientation(segment, SIZE, 1), expected);
            assert_int_equal(leat_exif_orientation(segment, SIZE), 1);
        }
}

/* Each length in memory of its own, so that a checker of addresses sees what is read too much. */
TEST(truncated_anywhere)
{
    uint8_t segment[SIZE];
    make(segment, 0, 6, 3, 1);
    for (size_t size = 0; size <= SIZE; size++) {
        uint8_t *copy = malloc(size + (size == 0));
        memcpy(copy, segment, size);
        assert_int_equal(leat_exif_orientation(copy, size), size >= SIZE - 4 ? 6 : 0);
        assert_int_equal(leat_exif_set_orientation(copy, size, 1), size >= SIZE - 4 ? 6 : 0);
        free(copy);
    }
}

TEST(what_is_no_orientation)
{
    uint8_t segment[SIZE];
    make(segment, 0, 6, 1, 1); /* a byte */
    assert_int_equal(leat_exif_orientation(segment, SIZE), 0);
    make(segment, 0, 6, 2, 1); /* a letter */
    assert_int_equal(leat_exif_orientation(segment, SIZE), 0);
    make(segment, 0, 6, 3, 2); /* two of them */
    assert_int_equal(leat_exif_orientation(segment, SIZE), 0);
    static const uint32_t places[] = { 0, 7, SIZE - 7, SIZE, 0x7fffffff, 0xffffffff };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        make(segment, 0, 6, 3, 1);
        store(segment + AT_DIRECTORY, places[i], 4, 0);
        assert_int_equal(leat_exif_orientation(segment, SIZE), 0);
    }
    make(segment, 0, 6, 3, 1);
    segment[0] = 'e';
    assert_int_equal(leat_exif_orientation(segment, SIZE), 0);
    make(segment, 0, 6, 3, 1);
    segment[6] = 'M';
    assert_int_equal(leat_exif_orientation(segment, SIZE), 0);
    assert_int_equal(leat_exif_orientation((const uint8_t *)"http://ns.adobe.com/xap/1.0/", 29), 0);
}
