/* SPDX-License-Identifier: MIT
 *
 * test_convert_turn.c: `leat convert images --jpeg` turns what Exif says is to be turned, where that
 * loses nothing. libjpeg decodes both sides. */
#include "fixtures/convert_jpeg_fixture.h"

/* --- turning -----------------------------------------------------------------------------------*/

/* Where the pixel (x, y) of the upright picture is in the stored one, from Exif's own words: row 0
 * and column 0 of the stored picture are, of the upright one, ... */
static size_t stored_at(int orientation, int x, int y, int width, int height)
{
    const int right = width - 1 - x, below = height - 1 - y; /* of the upright picture */
    switch (orientation) {
    case 2: /* top and right */
        return (size_t)(y * width + right);
    case 3: /* bottom and right */
        return (size_t)(below * width + right);
    case 4: /* bottom and left */
        return (size_t)(below * width + x);
    case 5: /* left and top */
        return (size_t)(x * height + y);
    case 6: /* right and top */
        return (size_t)(right * height + y);
    case 7: /* right and bottom */
        return (size_t)(right * height + below);
    case 8: /* left and bottom */
        return (size_t)(x * height + below);
    default:
        return (size_t)(y * width + x);
    }
}

/* The transform of a turned block rounds otherwise, and so does the upsampling of chroma. */
static void expect_turned(const record *r, int orientation)
{
    const pixels before = decode(files[r->number].data, files[r->number].size);
    const pixels after = decode(r->image.data, r->image.size);
    const int is_across = orientation >= 5, n = before.channels;
    double sum = 0;
    assert_non_null(after.data);
    assert_int_equal(after.width, is_across ? before.height : before.width);
    assert_int_equal(after.height, is_across ? before.width : before.height);
    assert_int_equal(r->width, after.width);
    assert_int_equal(r->height, after.height);
    for (int y = 0; y < after.height; y++)
        for (int x = 0; x < after.width; x++)
            for (int c = 0; c < n; c++) {
                const size_t from = stored_at(orientation, x, y, after.width, after.height);
                const int a = after.data[(y * after.width + x) * n + c];
                const int b = before.data[from * (size_t)n + (size_t)c];
                assert_in_range(a - b + 4, 0, 8);
                sum += abs(a - b);
            }
    assert_true(sum / (after.width * after.height * n) < 0.5);
    free(before.data);
    free(after.data);
}

/* The edges that an orientation moves to the left or to the top, where an MCU must not be cut. */
static int is_turnable(int orientation, int is_whole_x, int is_whole_y)
{
    const int moves_right = orientation == 2 || orientation == 3 || orientation >= 7;
    const int moves_bottom =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    return (!moves_right || is_whole_x) && (!moves_bottom || is_whole_y);
}

static const struct {
    int channels, h, v, width, height, is_whole_x, is_whole_y, is_progressive;
} turned[] = {
    { 1, 1, 1, 48, 16, 1, 1, 0 }, { 1, 2, 2, 24, 40, 1, 1, 0 }, { 1, 1, 1, 19, 16, 0, 1, 1 },
    { 3, 1, 1, 24, 40, 1, 1, 0 }, { 3, 2, 2, 48, 32, 1, 1, 1 }, { 3, 2, 2, 48, 40, 1, 0, 0 },
    { 3, 2, 2, 40, 32, 0, 1, 0 }, { 3, 2, 1, 48, 24, 1, 1, 0 }, { 3, 2, 1, 56, 24, 0, 1, 0 },
    { 3, 1, 2, 24, 48, 1, 1, 0 }, { 3, 2, 2, 45, 37, 0, 0, 0 }, { 4, 1, 1, 16, 24, 1, 1, 0 },
};
enum { N_TURNED = sizeof turned / sizeof *turned };

static void add_turned(void)
{
    for (int i = 0; i < N_TURNED * 8; i++) {
        const int k = i / 8;
        bytes file = encode(
            (reference_picture){ REFERENCE_OF(turned[k].width, turned[k].height, turned[k].channels,
                                              turned[k].h, turned[k].v, 0),
                                 .is_progressive = turned[k].is_progressive },
            (unsigned)k * 4);
        insert_exif(&file, 1 + i % 8, k % 2);
        add_file(file.data, file.size);
    }
}

TEST(pictures_are_turned_upright)
{
    int n_turned = 0, n_left = 0;
    add_turned();
    expect_success(shell("$L convert images in -o x --json -q --jpeg restart=2"));
    record *records = read_records("x", n_files);
    for (int i = 0; i < n_files; i++) {
        const record *r = &records[i];
        const int k = r->number / 8, orientation = 1 + r->number % 8;
        const int is_turned = is_turnable(orientation, turned[k].is_whole_x, turned[k].is_whole_y);
        expect_turned(r, is_turned ? orientation : 1);
        assert_int_equal(r->orientation, is_turned ? 0 : orientation);
        assert_int_equal(count_restarts(&r->image), (count_mcus(&r->image) - 1) / 2);
        n_turned += is_turned && orientation > 1;
        n_left += !is_turned;
    }
    assert_in_range(n_left, 10, n_turned);
    assert_int_equal(jpeg_number("turned"), n_turned);
    assert_int_equal(jpeg_number("not_turned"), n_left);
    assert_int_equal(jpeg_number("transcoded"), n_files);
    free_records(records, n_files);
}

/* A viewer that reads Exif must not turn what is upright already. */
TEST(kept_exif_says_what_is_stored)
{
    add_turned();
    expect_success(shell("$L convert images in -o x -q --jpeg restart --keep-metadata"));
    record *records = read_records("x", n_files);
    for (int i = 0; i < n_files; i++) {
        const bytes *image = &records[i].image;
        const size_t at = find_segment(image, 0xe1);
        assert_int_not_equal(at, 0);
        const int says = leat_exif_orientation(image->data + at + 4, image->size - at - 4);
        assert_int_equal(says, records[i].orientation ? records[i].orientation : 1);
    }
    free_records(records, n_files);
}

TEST_FIXTURE(NULL, forget_files)
SUITE_FIXTURE(command_make_folder, command_remove_folder)
