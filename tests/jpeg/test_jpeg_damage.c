/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_damage.c: whatever is done to a JPEG file, the own decoder never says "ok" where
 * libjpeg-turbo fails or complains, and gives its pixels where it does not. */
#include "fixtures/jpeg_fixture.h"

/* Whatever the bytes are: LEAT_OK only where libjpeg-turbo has no complaint, with its pixels; all
 * levels agree. Returns 1 if it was LEAT_OK. */
static int assert_honest(const uint8_t *data, size_t size)
{
    const int rc = decode_at_level(data, size, 0, 3, got, NULL);
    assert_true(rc == LEAT_OK || rc == LEAT_E_UNSUPPORTED);
    if (!rc)
        assert_exact(data, size, "mutated");
    for (int level = 1; level < N_LEVELS; level++)
        if (leat_jpeg_dsp_at(level))
            assert_int_equal(decode_at_level(data, size, level, 3, got, NULL), rc);
    return !rc;
}

TEST(unusual_files_are_refused)
{
    const reference_picture plain = {
        .width = 40, .height = 30, .channels = 3, .h = 1, .v = 1, .quality = 80
    };
    reference_picture kinds[5];
    for (int i = 0; i < 5; i++)
        kinds[i] = plain;
    kinds[0].h = 4;
    kinds[1].is_arithmetic = 1;
    kinds[2].is_rgb = 1;
    kinds[3].is_split = 1;
    kinds[4].channels = 4;
    for (int i = 0; i < 5; i++) {
        uint8_t *data;
        leat_error err = { 0 };
        const size_t size = reference_encode(&kinds[i], 1, &data);
        assert_int_equal(reference_decode(data, size, 3, expected, ROOM) == 0, i != 4);
        assert_int_equal(decode_at_level(data, size, 0, 3, got, &err), LEAT_E_UNSUPPORTED);
        assert_true(!strncmp(err.message, "jpeg: ", 6) && strlen(err.message) > 8);
        free(data);
    }
}

static void assert_no_index(const uint8_t *data, size_t size)
{
    static leat_jpeg_point points[1000];
    leat_jpeg jpeg;
    leat_scratch_reset(scratch);
    if (!leat_jpeg_open(&jpeg, data, size, NULL) && leat_jpeg_count_points(&jpeg, 1) <= 1000)
        assert_int_equal(leat_jpeg_make_points(&jpeg, 1, points, scratch, NULL),
                         LEAT_E_UNSUPPORTED);
}

TEST(truncated_anywhere)
{
    for (int restart = 0; restart < 3; restart++) {
        uint8_t *data;
        const size_t size = small_file(2, 1 + restart % 2, restart, &data);
        for (size_t n = 0; n < size; n++) {
            uint8_t *copy = malloc(n ? n : 1); /* exact size, so that over-reads are seen */
            memcpy(copy, data, n);
            assert_int_equal(assert_honest(copy, n), 0);
            assert_no_index(copy, n);
            free(copy);
        }
        free(data);
    }
}

TEST(changed_anywhere)
{
    static const uint8_t changes[] = { 0x01, 0x08, 0x80, 0xff, 0x11 };
    int n_ok = 0, n_refused = 0;
    for (int restart = 0; restart < 3; restart++) {
        uint8_t *data;
        const size_t size = small_file(1 + restart % 2, 2, restart, &data);
        for (size_t i = 0; i < size; i++)
            for (size_t c = 0; c < sizeof changes; c++) {
                data[i] ^= changes[c];
                if (assert_honest(data, size))
                    n_ok++;
                else
                    n_refused++;
                data[i] ^= changes[c];
            }
        free(data);
    }
    assert_true(n_ok > 500 && n_refused > 500); /* both ways were gone */
}

/* Puts `n` bytes in at a place; the picture must then be refused, or not. */
static void insert(const uint8_t *data, size_t size, size_t at, const char *bytes, size_t n,
                   int is_fine)
{
    uint8_t *copy = malloc(size + n);
    memcpy(copy, data, at);
    memcpy(copy + at, bytes, n);
    memcpy(copy + at + n, data + at, size - at);
    assert_int_equal(assert_honest(copy, size + n), is_fine);
    free(copy);
}

TEST(odd_but_real)
{
    uint8_t *data;
    const size_t size = small_file(2, 2, 2, &data);
    size_t marker = 0;
    for (size_t i = 0; i + 1 < size && !marker; i++)
        if (data[i] == 0xff && data[i + 1] == 0xd0)
            marker = i;
    assert_true(marker);
    insert(data, size, size, "garbage behind the end", 22, 1);
    insert(data, size, size - 2, "\xff\xff\xff", 3, 1); /* fill bytes before a marker */
    insert(data, size, marker, "\xff", 1, 1);
    insert(data, size, 2, "\xff\xff", 2, 1);
    insert(data, size, size - 2, "\0\0", 2, 0); /* bytes between scan and end */
    insert(data, size, marker, "\x55", 1, 0);
    insert(data, size, 2, "\0", 1, 0);
    insert(data, size, marker, "\xff\xd5", 2, 0); /* a marker too many */
    data[marker + 1] = 0xd3;                      /* a marker out of order */
    assert_false(assert_honest(data, size));
    free(data);
}

TEST(little_memory)
{
    const reference_picture p = {
        .width = 37, .height = 21, .channels = 3, .h = 2, .v = 2, .quality = 60, .is_optimized = 1
    }; /* tables of its own take memory too */
    uint8_t *data;
    const size_t size = reference_encode(&p, 3, &data);
    assert_true(count_out_of_memory(data, size) > 3);
    free(data);
}

SUITE_FIXTURE(set_up, tear_down)
