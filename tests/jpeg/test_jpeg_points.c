/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_points.c: the tables that allow reading a part of a JPEG file: packing and unpacking gives the same
 * table, some files have none, and a table of any bytes is refused at worst. */
#include "fixtures/jpeg_fixture.h"

#include "leat/jpeg_probe.h"

/* Packs, unpacks and compares points of a picture of that many MCUs. */
static size_t check_packing(leat_jpeg jpeg, const leat_jpeg_point *points, uint64_t n,
                            uint32_t every)
{
    leat_error err = { 0 };
    uint8_t *room = malloc(leat_jpeg_table_most(n)), *table;
    const size_t size = leat_jpeg_pack_points(points, n, every, room);
    assert_in_range(size, 1, leat_jpeg_table_most(n));
    table = malloc(size); /* exact, so that over-reads are seen */
    memcpy(table, room, size);
    leat_scratch_reset(scratch);
    if (leat_jpeg_use_table(&jpeg, table, size, scratch, &err))
        fail_msg("%s", err.message);
    assert_int_equal(jpeg.point_mcus, every);
    assert_memory_equal(jpeg.points, points, n * sizeof *points);
    assert_int_equal(leat_jpeg_use_table(&jpeg, table, size - 1, scratch, &err), LEAT_E_ARGUMENT);
    free(table);
    free(room);
    return size;
}

static leat_jpeg picture_of(int32_t n_mcus)
{
    return (leat_jpeg){ .n_components = 3, .mcus_x = n_mcus, .mcus_y = 1 };
}

TEST(all_numbers)
{
    static const uint32_t most[] = { 0, 1, 255, 65536, 0xffffffff };
    static const int16_t lows[] = { 0, -1, -32768, 100 }, highs[] = { 0, 1, 32767, 100 };
    unsigned seed = 7;
    for (size_t m = 0; m < sizeof most / sizeof *most; m++)
        for (size_t d = 0; d < sizeof lows / sizeof *lows; d++)
            for (uint64_t n = 2; n < 40; n += n < 9 ? 1 : 15) {
                leat_jpeg_point points[40] = { { 0 } };
                for (uint64_t i = 1; i < n; i++) {
                    seed = seed * 1664525u + 1013904223u;
                    const uint32_t before = points[i - 1].byte, left = most[m] - before;
                    const uint32_t step = (uint32_t)(((uint64_t)left * (seed >> 8)) >> 26);
                    points[i].byte = i == n - 1 ? most[m] : before + step;
                    points[i].bit = (uint16_t)(i == n - 1 ? 7 : points[i - 1].bit);
                    for (int c = 0; c < 3; c++)
                        points[i].dc[c] = (seed >> (10 + c)) & 1 ? lows[d] : highs[d];
                }
                check_packing(picture_of((int32_t)n * 4), points, n, 4);
            }
}

TEST(of_pictures)
{
    static const uint32_t intervals[] = { 1, 3, 8, 40 };
    for (int s = 0; s < 4; s++)
        for (size_t k = 0; k < sizeof intervals / sizeof *intervals; k++) {
            const reference_picture p = { REFERENCE_OF(250, 190, 3, 1 + s % 2, 1 + s / 2, 85) };
            leat_jpeg jpeg;
            uint8_t *data;
            size_t n;
            const size_t size = reference_encode(&p, (unsigned)s, &data);
            leat_jpeg_point *points = make_marks(data, size, intervals[k], &n);
            assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
            /* half of what they take unpacked, or less */
            assert_true(check_packing(jpeg, points, n, intervals[k]) < 48 + 6 * n);
            free(points);
            free(data);
        }
}

static size_t table_of(const reference_picture *p, size_t cut, uint32_t every)
{
    const void *table;
    uint8_t *data;
    size_t n;
    leat_error err = { 0 };
    const size_t size = reference_encode(p, 5, &data);
    leat_scratch_reset(scratch);
    if (leat_jpeg_make_table(data, size - cut, every, scratch, &table, &n, &err))
        fail_msg("%s", err.message);
    if (n) {
        leat_jpeg jpeg;
        assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
        assert_int_equal(leat_jpeg_use_table(&jpeg, table, n, scratch, NULL), LEAT_OK);
        assert_int_equal(jpeg.point_mcus, every ? every : 64 / (uint32_t)jpeg.mcu_width_px);
    }
    free(data);
    return n;
}

TEST(for_which_files)
{
    reference_picture p = {
        .width = 200, .height = 100, .channels = 3, .h = 2, .v = 2, .quality = 80
    };
    assert_true(table_of(&p, 0, 0) > 0);
    assert_true(table_of(&p, 0, 1) > table_of(&p, 0, 0));
    assert_int_equal(table_of(&p, 0, 65535), 0); /* one point says nothing */
    assert_int_equal(table_of(&p, 1, 0), 0);     /* not whole */
    assert_int_equal(table_of(&p, 500, 0), 0);
    p.restart = 7;
    assert_int_equal(table_of(&p, 0, 0), 0); /* needs none */
    p.restart = 0;
    p.is_progressive = 1;
    assert_int_equal(table_of(&p, 0, 0), 0);
    p.is_progressive = 0;
    p.channels = 1;
    p.h = p.v = 1;
    assert_true(table_of(&p, 0, 0) > 0);
    p.width = p.height = 8;
    assert_int_equal(table_of(&p, 0, 0), 0);
}

/* Every bit of a table wrong, one after the other: decoded or refused. */
TEST(damaged_tables)
{
    const reference_picture p = {
        .width = 90, .height = 61, .channels = 3, .h = 2, .v = 1, .quality = 70
    };
    const void *made;
    uint8_t *data, *pixels = malloc(90 * 61 * 3);
    size_t n;
    int n_refused = 0;
    const size_t size = reference_encode(&p, 2, &data);
    leat_scratch_reset(scratch);
    assert_int_equal(leat_jpeg_make_table(data, size, 2, scratch, &made, &n, NULL), LEAT_OK);
    uint8_t *table = malloc(n);
    memcpy(table, made, n);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        const leat_image_box box = { (int32_t)(bit % 50), (int32_t)(bit % 70), 11, 20 };
        leat_jpeg jpeg;
        assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
        table[bit / 8] ^= (uint8_t)(1u << bit % 8);
        leat_scratch_reset(scratch);
        int rc = leat_jpeg_use_table(&jpeg, table, n, scratch, NULL);
        assert_true(rc == LEAT_OK || rc == LEAT_E_ARGUMENT);
        if (rc == LEAT_OK) {
            rc = leat_jpeg_decode_box(&jpeg, &box, 3, pixels, scratch, NULL);
            assert_true(rc == LEAT_OK || rc == LEAT_E_UNSUPPORTED);
            rc = leat_jpeg_decode(&jpeg, 3, pixels, scratch, NULL); /* comes by every point */
        }
        n_refused += rc != LEAT_OK;
        table[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(n_refused > (int)(7 * n)); /* all but those of bytes without a meaning */
    free(table);
    free(data);
    free(pixels);
}

SUITE_FIXTURE(set_up, tear_down)
