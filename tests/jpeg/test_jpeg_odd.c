/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_odd.c: unusual JPEG files from practice: the result for each, and whether leat's decoder or
 * libjpeg-turbo reads it. Pixels are those of libjpeg-turbo, for the whole picture and for parts. The table
 * in docs/jpeg.md has a row for each. Every file is generated and then changed. */
#include "fixtures/op_test.h"

#include "base/cpu.h"
#include "fixtures/format_test.h"
#include "fixtures/jpeg_odd.h"
#include "ops/jpeg/jpeg.h"
#include "ops/jpeg/jpeg_turbo.h"

enum { ROOM = 1 << 20 };

/* --- what becomes of a file ------------------------------------------------------------------------ */

static uint8_t *expected, *got;
static void *strict, *lenient; /* options */

static int set_up(void **state)
{
    expected = malloc(ROOM);
    got = malloc(ROOM);
    strict = op_options(leat_op_find("decode_jpeg"), NULL);
    lenient = op_options(leat_op_find("decode_jpeg"), "lenient", "true", NULL);
    return !expected || !got || op_test_setup(state);
}

static int tear_down(void **state)
{
    free(expected);
    free(got);
    free(strict);
    free(lenient);
    return op_test_teardown(state);
}

static int is_own(const jpeg_odd_file *f)
{
    leat_jpeg jpeg;
    leat_scratch_reset(op_scratch);
    return leat_jpeg_open(&jpeg, f->data, f->size, NULL) == LEAT_OK &&
           leat_jpeg_decode(&jpeg, 3, got, op_scratch, NULL) == LEAT_OK;
}

static void outcome_of(const jpeg_odd_file *f, const op_result *r, char *text, size_t size)
{
    if (r->rc == LEAT_OK)
        snprintf(text, size, "%s", is_own(f) ? JPEG_ODD_OWN : JPEG_ODD_TURBO);
    else
        snprintf(text, size, "error: %s", r->err.message + strlen("decode_jpeg: "));
}

/* The page says of each file what is in the table above. */
static void assert_documented(const char *page, const jpeg_odd *odd)
{
    char row[400];
    snprintf(row, sizeof row, "\n| %s | %s | %s |", odd->name, odd->outcome, odd->parts);
    if (!strstr(page, row))
        fail_msg("docs/jpeg.md lacks the row%s", row);
}

static void each_as_documented(void **state)
{
    size_t size = 0;
    uint8_t *bytes = read_whole(SOURCE_DIR "/docs/jpeg.md", &size);
    char *page = strndup((char *)bytes, size);
    (void)state;
    for (int i = 0; i < n_jpeg_odds; i++) {
        const jpeg_odd_file f = jpeg_odd_make(&jpeg_odds[i]);
        const leat_view in = { { LEAT_U8, 1, { (int64_t)f.size } }, f.data, NULL };
        op_result r = op_run(leat_op_find("decode_jpeg"), strict, in, 0);
        char outcome[300];
        outcome_of(&f, &r, outcome, sizeof outcome);
        if (strcmp(outcome, jpeg_odds[i].outcome) != 0)
            fail_msg("%s: %s, expected %s", jpeg_odds[i].name, outcome, jpeg_odds[i].outcome);
        assert_documented(page, &jpeg_odds[i]);
        free(r.out.data);
        free(f.data);
    }
    free(page);
    free(bytes);
}

/* Where libjpeg-turbo called plainly gives pixels, so does the op with `lenient`, the same ones; without
 * it the same or none. */
static void check_pixels(const jpeg_odd *odd, const jpeg_odd_file *f, const void *options)
{
    const leat_view in = { { LEAT_U8, 1, { (int64_t)f->size } }, f->data, NULL };
    const long warnings = reference_decode(f->data, f->size, 3, expected, ROOM);
    op_result r = op_run(leat_op_find("decode_jpeg"), options, in, 0);
    if (r.rc != LEAT_OK && options == lenient && warnings >= 0)
        fail_msg("%s: no pixels: %s", odd->name, r.err.message);
    if (r.rc == LEAT_OK) {
        assert_true(warnings >= 0);
        if (memcmp(r.out.data, expected, (size_t)leat_shape_bytes(&r.out.shape)) != 0)
            fail_msg("%s: other pixels than libjpeg-turbo's", odd->name);
    }
    free(r.out.data);
}

static void pixels_of_libjpeg_turbo(void **state)
{
    (void)state;
    for (int i = 0; i < n_jpeg_odds; i++) {
        const jpeg_odd_file f = jpeg_odd_make(&jpeg_odds[i]);
        for (int level = 0; level <= leat_cpu_best() && jpeg_odds[i].picture.channels == 3;
             level++) {
            leat_cpu_use(level);
            check_pixels(&jpeg_odds[i], &f, strict);
            check_pixels(&jpeg_odds[i], &f, lenient);
        }
        leat_cpu_use(leat_cpu_best());
        free(f.data);
    }
}

/* A box of the picture by leat's decoder: 1: the pixels that `expected` has at that place, 0: none. */
static int check_box(const char *name, const leat_jpeg *jpeg, const leat_image_box *box)
{
    const size_t n = 3 * (size_t)box->width;
    leat_scratch_reset(op_scratch);
    const int rc = leat_jpeg_decode_box(jpeg, box, 3, got, op_scratch, NULL);
    assert_true(rc == LEAT_OK || rc == LEAT_E_UNSUPPORTED);
    for (int32_t y = 0; y < box->height && rc == LEAT_OK; y++)
        if (memcmp(got + (size_t)y * n,
                   expected + 3 * ((size_t)(box->y + y) * (size_t)jpeg->width + (size_t)box->x),
                   n) != 0)
            fail_msg("%s: row %d of %d x %d at (%d, %d) differs", name, y, box->width, box->height,
                     box->x, box->y);
    return rc == LEAT_OK;
}

static leat_image_box draw_box(const leat_jpeg *jpeg)
{
    leat_image_box box = { (int32_t)random_below((uint64_t)jpeg->height),
                           (int32_t)random_below((uint64_t)jpeg->width), 0, 0 };
    box.height = 1 + (int32_t)random_below((uint64_t)(jpeg->height - box.y));
    box.width = 1 + (int32_t)random_below((uint64_t)(jpeg->width - box.x));
    return box;
}

/* Parts: of a good file all, with its pixels. What marks a file as odd (no end, markers that are not as
 * they should be) is noticed from any part of it; wrong bits are, or are decoded as libjpeg-turbo does. */
static void parts(void **state)
{
    enum { N_BOXES = 60 };
    (void)state;
    for (int i = 0; i < n_jpeg_odds; i++) {
        const jpeg_odd_file f = jpeg_odd_make(&jpeg_odds[i]);
        leat_jpeg jpeg;
        int n_ok = 0;
        if (leat_jpeg_open(&jpeg, f.data, f.size, NULL) == LEAT_OK) {
            const long warnings = reference_decode(f.data, f.size, 3, expected, ROOM);
            for (int b = 0; b < N_BOXES; b++) {
                const leat_image_box box = draw_box(&jpeg);
                n_ok += check_box(jpeg_odds[i].name, &jpeg, &box);
            }
            assert_true(!n_ok || warnings >= 0);
        }
        const char *const parts_text = n_ok == N_BOXES ? "all" : n_ok ? "some" : "none";
        if (strcmp(parts_text, jpeg_odds[i].parts) != 0)
            fail_msg("%s: %s of the parts by leat's decoder, expected %s", jpeg_odds[i].name,
                     parts_text, jpeg_odds[i].parts);
        free(f.data);
    }
}

/* Any byte of a scan changed, seen from parts of the picture: refused, or libjpeg-turbo's pixels. */
static void damage_beside_a_box(void **state)
{
    static const uint8_t changes[] = { 0x01, 0x10, 0x80, 0xff };
    int n_ok = 0, n_refused = 0;
    (void)state;
    for (int interval = 0; interval <= 4; interval += 2) {
        const reference_picture picture = { .width = 61,
                                            .height = 45,
                                            .channels = 3,
                                            .h = 2,
                                            .v = 2,
                                            .quality = 60,
                                            .restart = interval };
        jpeg_odd_file f = { 0 };
        f.size = reference_encode(&picture, 3, &f.data);
        const size_t first = jpeg_odd_scan(&f);
        for (size_t at = first; at < f.size; at++)
            for (size_t c = 0; c < sizeof changes; c++) {
                leat_jpeg jpeg;
                f.data[at] ^= changes[c];
                assert_int_equal(leat_jpeg_open(&jpeg, f.data, f.size, NULL), LEAT_OK);
                const long warnings = reference_decode(f.data, f.size, 3, expected, ROOM);
                for (int b = 0; b < 4; b++) {
                    const leat_image_box box = draw_box(&jpeg);
                    const int is_ok = check_box("changed", &jpeg, &box);
                    assert_true(!is_ok || warnings >= 0);
                    n_ok += is_ok;
                    n_refused += !is_ok;
                }
                f.data[at] ^= changes[c];
            }
        free(f.data);
    }
    assert_true(n_ok > 1000 && n_refused > 1000); /* both ways were gone */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_as_documented),
        cmocka_unit_test(pixels_of_libjpeg_turbo),
        cmocka_unit_test(parts),
        cmocka_unit_test(damage_beside_a_box),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
