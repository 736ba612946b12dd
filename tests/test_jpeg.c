/* SPDX-License-Identifier: MIT
 *
 * test_jpeg.c: the own JPEG decoder against libjpeg-turbo: the same coefficients and pixels at every
 * CPU level, on drawn pictures and, where there are any, on photos; and never "ok" for bytes on
 * which libjpeg-turbo fails or complains. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jpeg/jpeg_impl.h"
#include "jpeg_reference.h"
#include "resample.h"

enum { ROOM = 3 << 22, N_LEVELS = 3 };

static leat_scratch *scratch;
static uint8_t *expected, *got;

static int set_up(void **state)
{
    (void)state;
    expected = malloc(ROOM);
    got = malloc(ROOM);
    return !expected || !got || leat_scratch_open(&scratch, 1 << 28, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    leat_scratch_close(&scratch);
    free(expected);
    free(got);
    return 0;
}

static int decode(const uint8_t *data, size_t size, int level, int channels, uint8_t *out,
                  leat_error *err)
{
    leat_jpeg jpeg;
    int rc = leat_jpeg_open(&jpeg, data, size, err);
    if (rc)
        return rc;
    if ((size_t)jpeg.width * (size_t)jpeg.height * 3 > ROOM)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "too large for this test");
    jpeg.dsp = leat_jpeg_dsp_at(level);
    leat_scratch_reset(scratch);
    return leat_jpeg_decode(&jpeg, channels, out, scratch, err);
}

/* All levels and both channel counts give libjpeg-turbo's bytes. */
static void assert_exact(const uint8_t *data, size_t size, const char *name)
{
    for (int channels = 1; channels <= 3; channels += 2) {
        assert_int_equal(reference_decode(data, size, channels, expected, ROOM), 0);
        for (int level = 0; level < N_LEVELS; level++) {
            leat_error err = { 0 };
            leat_jpeg jpeg;
            if (!leat_jpeg_dsp_at(level))
                continue;
            if (decode(data, size, level, channels, got, &err))
                fail_msg("%s, level %d: %s", name, level, err.message);
            assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
            const size_t n = (size_t)jpeg.width * (size_t)jpeg.height * (size_t)channels;
            if (memcmp(expected, got, n))
                fail_msg("%s: level %d, %d channels: pixels differ", name, level, channels);
        }
    }
}

/* Whatever the bytes are: LEAT_OK only where libjpeg-turbo has no complaint, with its pixels; all
 * levels agree. Returns 1 if it was LEAT_OK. */
static int assert_honest(const uint8_t *data, size_t size)
{
    const int rc = decode(data, size, 0, 3, got, NULL);
    assert_true(rc == LEAT_OK || rc == LEAT_E_UNSUPPORTED);
    if (!rc)
        assert_exact(data, size, "mutated");
    for (int level = 1; level < N_LEVELS; level++)
        if (leat_jpeg_dsp_at(level))
            assert_int_equal(decode(data, size, level, 3, got, NULL), rc);
    return !rc;
}

static void compare_coefficients(const leat_jpeg *jpeg, leat_jpeg_scan *scan, int32_t row,
                                 j_decompress_ptr info, jvirt_barray_ptr *arrays)
{
    for (int i = 0; i < jpeg->n_components; i++) {
        const leat_jpeg_component *c = &jpeg->component[i];
        for (int32_t v = 0; v < c->v; v++) {
            const JDIMENSION y = (JDIMENSION)(row * c->v + v);
            if (y >= info->comp_info[i].height_in_blocks)
                continue;
            JBLOCKARRAY theirs =
                info->mem->access_virt_barray((j_common_ptr)info, arrays[i], y, 1, FALSE);
            const int16_t *ours = scan->blocks[i] + 64 * v * c->n_across;
            for (JDIMENSION x = 0; x < info->comp_info[i].width_in_blocks; x++, ours += 64)
                for (int k = 0; k < 64; k++)
                    assert_int_equal(leat_jpeg_coefficient(ours[k]),
                                     theirs[0][x][leat_jpeg_natural[k]]);
        }
    }
}

static void assert_coefficients(const uint8_t *data, size_t size, int level)
{
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    leat_jpeg jpeg;
    leat_jpeg_scan scan;
    info.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, data, size);
    jpeg_read_header(&info, TRUE);
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(&info);
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    jpeg.dsp = leat_jpeg_dsp_at(level);
    const leat_jpeg_window whole = { 0, jpeg.mcus_x, 0, jpeg.mcus_y };
    leat_scratch_reset(scratch);
    assert_int_equal(leat_jpeg_scan_open(&scan, &jpeg, &whole, scratch, NULL), LEAT_OK);
    for (int32_t row = 0; row < jpeg.mcus_y; row++) {
        assert_int_equal(leat_jpeg_scan_row(&scan, row, NULL), LEAT_OK);
        compare_coefficients(&jpeg, &scan, row, &info, arrays);
    }
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
}

static const uint8_t samplings[][2] = { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 2, 2 } };
#define N_SAMPLINGS (sizeof samplings / sizeof *samplings)

static void check_drawn(reference_picture p, unsigned seed)
{
    char name[100];
    uint8_t *data;
    const size_t size = reference_encode(&p, seed, &data);
    snprintf(name, sizeof name, "%d x %d, %d channels, %d x %d, quality %d, restart %d", p.width,
             p.height, p.channels, p.h, p.v, p.quality, p.restart);
    assert_exact(data, size, name);
    for (int level = 0; level < N_LEVELS; level++)
        if (leat_jpeg_dsp_at(level))
            assert_coefficients(data, size, level);
    free(data);
}

static void every_small_size(void **state)
{
    (void)state;
    for (unsigned s = 0; s < N_SAMPLINGS; s++)
        for (int width = 1; width <= 35; width++)
            for (int height = 1; height <= 35; height += height < 19 ? 1 : 5)
                check_drawn((reference_picture){ .width = width,
                                                 .height = height,
                                                 .channels = 3,
                                                 .h = samplings[s][0],
                                                 .v = samplings[s][1],
                                                 .quality = 90 },
                            s + (unsigned)width);
}

static void every_kind(void **state)
{
    static const int qualities[] = { 1, 30, 75, 95, 100 }, restarts[] = { 0, 1, 2, 4, 7, 8, 50 };
    (void)state;
    for (unsigned s = 0; s < N_SAMPLINGS * 2; s++)
        for (unsigned q = 0; q < sizeof qualities / sizeof *qualities; q++)
            for (unsigned r = 0; r < sizeof restarts / sizeof *restarts; r++)
                check_drawn((reference_picture){ .width = 131,
                                                 .height = 77,
                                                 .channels = s < N_SAMPLINGS ? 3 : 1,
                                                 .h = samplings[s % N_SAMPLINGS][0],
                                                 .v = samplings[s % N_SAMPLINGS][1],
                                                 .quality = qualities[q],
                                                 .restart = restarts[r],
                                                 .is_optimized = (int)(q + r) % 2 },
                            s + q + r);
}

static void every_width_of_vectors(void **state)
{
    (void)state;
    for (unsigned s = 0; s < N_SAMPLINGS; s++)
        for (int width = 36; width < 300; width += 7)
            check_drawn((reference_picture){ .width = width,
                                             .height = 33,
                                             .channels = 3,
                                             .h = samplings[s][0],
                                             .v = samplings[s][1],
                                             .quality = 85 },
                        (unsigned)width);
}

/* The box's pixels are the whole picture's, whatever is skipped around it. */
static void check_box(const uint8_t *data, size_t size, const leat_image_box *box, int channels)
{
    for (int level = 0; level < N_LEVELS; level++) {
        leat_jpeg jpeg;
        leat_error err = { 0 };
        assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
        if (!(jpeg.dsp = leat_jpeg_dsp_at(level)))
            continue;
        leat_scratch_reset(scratch);
        if (leat_jpeg_decode_box(&jpeg, box, channels, got, scratch, &err))
            fail_msg("%s", err.message);
        const size_t n = (size_t)box->width * (size_t)channels;
        for (int32_t y = 0; y < box->height; y++)
            if (memcmp(got + (size_t)y * n,
                       expected + ((size_t)(box->y + y) * (size_t)jpeg.width + (size_t)box->x) *
                                      (size_t)channels,
                       n))
                fail_msg("level %d: row %d of %d x %d at (%d, %d) differs", level, y, box->width,
                         box->height, box->x, box->y);
    }
}

static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static void check_boxes(const uint8_t *data, size_t size, int n_boxes, unsigned seed)
{
    leat_jpeg jpeg;
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    const int channels = seed % 5 ? 3 : 1;
    assert_int_equal(reference_decode(data, size, channels, expected, ROOM), 0);
    for (int i = 0; i < n_boxes; i++) {
        leat_image_box box;
        box.x = (int32_t)draw(&seed, (unsigned)jpeg.width);
        box.y = (int32_t)draw(&seed, (unsigned)jpeg.height);
        box.width = 1 + (int32_t)draw(&seed, (unsigned)(jpeg.width - box.x));
        box.height = 1 + (int32_t)draw(&seed, (unsigned)(jpeg.height - box.y));
        check_box(data, size, &box, channels);
    }
}

static void boxes(void **state)
{
    static const int restarts[] = { 0, 1, 3, 4, 8, 16, 100 }, widths[] = { 200, 333, 128, 40, 3 };
    (void)state;
    for (unsigned s = 0; s < N_SAMPLINGS; s++)
        for (unsigned r = 0; r < sizeof restarts / sizeof *restarts; r++)
            for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++) {
                const reference_picture p = { .width = widths[w],
                                              .height = 150 - 20 * (int)s,
                                              .channels = 3,
                                              .h = samplings[s][0],
                                              .v = samplings[s][1],
                                              .quality = 40 + 10 * (int)w,
                                              .is_optimized = (int)r % 2,
                                              .restart = restarts[r] };
                uint8_t *data;
                const size_t size = reference_encode(&p, s + w, &data);
                check_boxes(data, size, 12, s + 4 * r + w);
                free(data);
            }
}

static size_t small_file(int h, int v, int restart, uint8_t **data)
{
    const reference_picture p = {
        .width = 37, .height = 21, .channels = 3, .h = h, .v = v, .quality = 60, .restart = restart
    };
    return reference_encode(&p, 3, data);
}

/* Boxes by means of an index, at the best level; returns the first code that is not LEAT_OK. */
static int check_indexed(const uint8_t *data, size_t size, uint32_t every,
                         const leat_jpeg_mark *marks, int n_boxes, unsigned seed)
{
    leat_jpeg jpeg;
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    const uint64_t n_marks = leat_jpeg_count_marks(&jpeg, every);
    assert_int_equal(leat_jpeg_use_marks(&jpeg, every, marks, n_marks, NULL), LEAT_OK);
    for (int i = 0; i < n_boxes; i++) {
        leat_image_box box = { (int32_t)draw(&seed, (unsigned)jpeg.height),
                               (int32_t)draw(&seed, (unsigned)jpeg.width), 0, 0 };
        box.height = 1 + (int32_t)draw(&seed, (unsigned)(jpeg.height - box.y));
        box.width = 1 + (int32_t)draw(&seed, (unsigned)(jpeg.width - box.x));
        leat_scratch_reset(scratch);
        const int rc = leat_jpeg_decode_box(&jpeg, &box, 3, got, scratch, NULL);
        if (rc)
            return rc;
        const size_t n = 3 * (size_t)box.width;
        for (int32_t y = 0; y < box.height; y++)
            assert_memory_equal(
                got + (size_t)y * n,
                expected + 3 * ((size_t)(box.y + y) * (size_t)jpeg.width + (size_t)box.x), n);
    }
    leat_scratch_reset(scratch);
    return leat_jpeg_decode(&jpeg, 3, got, scratch, NULL);
}

static leat_jpeg_mark *make_marks(const uint8_t *data, size_t size, uint32_t every, size_t *n)
{
    leat_jpeg jpeg;
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    *n = (size_t)leat_jpeg_count_marks(&jpeg, every);
    leat_jpeg_mark *marks = calloc(*n, sizeof *marks);
    leat_scratch_reset(scratch);
    assert_int_equal(leat_jpeg_make_marks(&jpeg, every, marks, scratch, NULL), LEAT_OK);
    return marks;
}

static void indexed(void **state)
{
    static const uint32_t intervals[] = { 1, 3, 8, 16, 17, 40, 100000 };
    (void)state;
    for (unsigned s = 0; s < N_SAMPLINGS; s++)
        for (unsigned k = 0; k < sizeof intervals / sizeof *intervals; k++) {
            const reference_picture p = { .width = 210,
                                          .height = 99,
                                          .channels = 3,
                                          .h = samplings[s][0],
                                          .v = samplings[s][1],
                                          .quality = 30 + 10 * (int)k,
                                          .has_long_codes = k == 2 };
            uint8_t *data;
            size_t n;
            const size_t size = reference_encode(&p, s, &data);
            leat_jpeg_mark *marks = make_marks(data, size, intervals[k], &n);
            assert_int_equal(reference_decode(data, size, 3, expected, ROOM), 0);
            assert_int_equal(check_indexed(data, size, intervals[k], marks, 20, s + k), LEAT_OK);
            free(marks);
            free(data);
        }
}

/* Any change of an index is found out when the whole is read. */
static void wrong_index(void **state)
{
    uint8_t *data, *other;
    size_t n;
    leat_jpeg jpeg;
    const size_t size = small_file(2, 2, 0, &data), size_marked = small_file(2, 2, 3, &other);
    leat_jpeg_mark *marks = make_marks(data, size, 2, &n);
    (void)state;
    assert_int_equal(reference_decode(data, size, 3, expected, ROOM), 0);
    assert_int_equal(check_indexed(data, size, 2, marks, 9, 1), LEAT_OK);
    for (size_t i = 0; i < n; i++)
        for (int change = 0; change < 8; change++) {
            const leat_jpeg_mark kept = marks[i];
            marks[i].byte += change == 0   ? 1u
                             : change == 1 ? 0xffffffffu
                             : change == 2 ? 99999u
                                           : 0u;
            marks[i].bit = (uint16_t)(marks[i].bit ^ (change == 3 ? 1 : change == 4 ? 256 : 0));
            if (change >= 5)
                marks[i].dc[change - 5]++;
            assert_int_equal(check_indexed(data, size, 2, marks, 0, 1), LEAT_E_UNSUPPORTED);
            marks[i] = kept;
        }
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    assert_int_equal(leat_jpeg_use_marks(&jpeg, 2, marks, n - 1, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_jpeg_use_marks(&jpeg, 0, marks, 0, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_jpeg_open(&jpeg, other, size_marked, NULL), LEAT_OK);
    assert_int_equal(leat_jpeg_use_marks(&jpeg, 2, marks, n, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_jpeg_make_marks(&jpeg, 2, marks, scratch, NULL), LEAT_E_UNSUPPORTED);
    free(marks);
    free(data);
    free(other);
}

/* Codes that no look-up finds, also where blocks are skipped and their memory is not cleared. */
static void long_codes(void **state)
{
    (void)state;
    for (int quality = 1; quality <= 61; quality += 12) {
        reference_picture p = { .width = 150,
                                .height = 130,
                                .channels = 3,
                                .h = 1 + quality % 2,
                                .v = 1,
                                .quality = quality,
                                .has_long_codes = 1 };
        uint8_t *data;
        const size_t size = reference_encode(&p, (unsigned)quality, &data);
        assert_exact(data, size, "long codes");
        check_boxes(data, size, 25, (unsigned)quality);
        free(data);
    }
}

static void boxes_outside(void **state)
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
    (void)state;
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(leat_jpeg_decode_box(&jpeg, &wrong[i], 3, got, scratch, NULL),
                         LEAT_E_ARGUMENT);
    free(data);
}

/* The ops one after the other, from the whole picture in `expected`. */
static void by_steps(const leat_jpeg *jpeg, const leat_image_box *box, const leat_jpeg_target *t,
                     uint8_t *small)
{
    const int64_t c = t->channels;
    const leat_view whole = { leat_shape_make(LEAT_U8, 3,
                                              (const int64_t[]){ jpeg->height, jpeg->width, c }),
                              expected, NULL };
    const leat_view out = {
        leat_shape_make(LEAT_U8, 3, (const int64_t[]){ t->height, t->width, c }), small, NULL
    };
    const size_t row = (size_t)t->width * (size_t)c;
    leat_scratch_reset(scratch);
    assert_int_equal(leat_resample(&whole, box, &out, scratch, NULL), LEAT_OK);
    for (int32_t y = 0; t->is_mirrored && y < t->height; y++)
        leat_dsp()->mirror_row(small + (size_t)y * row, small + (size_t)y * row, (size_t)t->width,
                               (size_t)c);
}

static void check_resized(const uint8_t *data, size_t size, const leat_image_box *box,
                          leat_jpeg_target t)
{
    leat_jpeg jpeg;
    const size_t n = (size_t)t.height * (size_t)t.width * (size_t)t.channels;
    uint8_t *small = malloc(n);
    float *floats = malloc(n * sizeof *floats);
    leat_affine affine = { .n_channels = 1, .scale = { 0.017f }, .shift = { -2.1f } };
    leat_dsp_affine_fill(&affine);
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    by_steps(&jpeg, box, &t, small);
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

static void resized(void **state)
{
    unsigned seed = 5;
    (void)state;
    for (int i = 0; i < 120; i++) {
        const unsigned s = draw(&seed, N_SAMPLINGS);
        const reference_picture p = { .width = 1 + (int)draw(&seed, 300),
                                      .height = 1 + (int)draw(&seed, 200),
                                      .channels = 3,
                                      .h = samplings[s][0],
                                      .v = samplings[s][1],
                                      .quality = 80 };
        uint8_t *data;
        const size_t size = reference_encode(&p, (unsigned)i, &data);
        leat_image_box box = { (int32_t)draw(&seed, (unsigned)p.height),
                               (int32_t)draw(&seed, (unsigned)p.width), 0, 0 };
        box.height = 1 + (int32_t)draw(&seed, (unsigned)(p.height - box.y));
        box.width = 1 + (int32_t)draw(&seed, (unsigned)(p.width - box.x));
        const leat_jpeg_target t = { .height = 1 + (int32_t)draw(&seed, 100),
                                     .width = 1 + (int32_t)draw(&seed, i % 2 ? 300 : 40),
                                     .channels = i % 7 ? 3 : 1,
                                     .is_mirrored = i % 2 };
        assert_int_equal(reference_decode(data, size, t.channels, expected, ROOM), 0);
        check_resized(data, size, &box, t);
        free(data);
    }
}

static void unusual_files_are_refused(void **state)
{
    const reference_picture plain = {
        .width = 40, .height = 30, .channels = 3, .h = 1, .v = 1, .quality = 80
    };
    reference_picture kinds[6];
    (void)state;
    for (int i = 0; i < 6; i++)
        kinds[i] = plain;
    kinds[0].is_progressive = 1;
    kinds[1].is_arithmetic = 1;
    kinds[2].is_rgb = 1;
    kinds[3].is_split = 1;
    kinds[4].channels = 4;
    kinds[5].h = 4;
    for (int i = 0; i < 6; i++) {
        uint8_t *data;
        leat_error err = { 0 };
        const size_t size = reference_encode(&kinds[i], 1, &data);
        assert_int_equal(reference_decode(data, size, 3, expected, ROOM) == 0, i != 4);
        assert_int_equal(decode(data, size, 0, 3, got, &err), LEAT_E_UNSUPPORTED);
        assert_true(!strncmp(err.message, "jpeg: ", 6) && strlen(err.message) > 8);
        free(data);
    }
}

static void assert_no_index(const uint8_t *data, size_t size)
{
    static leat_jpeg_mark marks[1000];
    leat_jpeg jpeg;
    leat_scratch_reset(scratch);
    if (!leat_jpeg_open(&jpeg, data, size, NULL) && leat_jpeg_count_marks(&jpeg, 1) <= 1000)
        assert_int_equal(leat_jpeg_make_marks(&jpeg, 1, marks, scratch, NULL), LEAT_E_UNSUPPORTED);
}

static void truncated_anywhere(void **state)
{
    (void)state;
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

static void changed_anywhere(void **state)
{
    static const uint8_t changes[] = { 0x01, 0x08, 0x80, 0xff, 0x11 };
    int n_ok = 0, n_refused = 0;
    (void)state;
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

static void odd_but_real(void **state)
{
    uint8_t *data;
    const size_t size = small_file(2, 2, 2, &data);
    size_t marker = 0;
    (void)state;
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

static void little_memory(void **state)
{
    leat_scratch *small;
    leat_jpeg jpeg;
    uint8_t *data;
    const size_t size = small_file(2, 2, 0, &data);
    int n_failed = 0, rc = LEAT_E_NOMEM;
    (void)state;
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    for (size_t limit = 4096; rc; limit += 4096, n_failed++) {
        assert_int_equal(leat_scratch_open(&small, limit, NULL), LEAT_OK);
        rc = leat_jpeg_decode(&jpeg, 3, got, small, NULL);
        assert_true(rc == LEAT_OK || rc == LEAT_E_NOMEM);
        leat_scratch_close(&small);
    }
    assert_true(n_failed > 3);
    free(data);
}

static void check_photo_index(const uint8_t *data, size_t size)
{
    leat_jpeg jpeg;
    size_t n;
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    if (jpeg.restart_mcus)
        return;
    leat_jpeg_mark *marks = make_marks(data, size, 8, &n);
    assert_int_equal(reference_decode(data, size, 3, expected, ROOM), 0);
    assert_int_equal(check_indexed(data, size, 8, marks, 2, (unsigned)size), LEAT_OK);
    free(marks);
}

static int is_photo(const uint8_t *data, size_t size)
{
    leat_jpeg jpeg;
    return !leat_jpeg_open(&jpeg, data, size, NULL) &&
           (size_t)jpeg.width * (size_t)jpeg.height * 3 <= ROOM;
}

static void photos(void **state)
{
    const char *folder = getenv("LEAT_TEST_PHOTOS");
    char path[4096];
    int n_photos = 0, n_others = 0;
    (void)state;
    DIR *dir = opendir(folder ? folder : SOURCE_DIR "/../shared/data/photos");
    if (!dir) {
        print_message("skipped: no photos (set LEAT_TEST_PHOTOS to a folder of JPEG files)\n");
        skip();
    }
    for (struct dirent *entry; (entry = readdir(dir)) && n_photos < 150;) {
        snprintf(path, sizeof path, "%s/%s", folder ? folder : SOURCE_DIR "/../shared/data/photos",
                 entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!file)
            continue;
        uint8_t *data = malloc(ROOM);
        const size_t size = fread(data, 1, ROOM, file);
        fclose(file);
        if (is_photo(data, size)) {
            assert_exact(data, size, path);
            assert_coefficients(data, size, n_photos % N_LEVELS);
            check_boxes(data, size, 2, (unsigned)n_photos);
            check_photo_index(data, size);
            n_photos++;
        } else {
            n_others++;
        }
        free(data);
    }
    closedir(dir);
    print_message("%d photos, %d files of other kinds\n", n_photos, n_others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_size),
        cmocka_unit_test(every_kind),
        cmocka_unit_test(every_width_of_vectors),
        cmocka_unit_test(boxes),
        cmocka_unit_test(long_codes),
        cmocka_unit_test(boxes_outside),
        cmocka_unit_test(indexed),
        cmocka_unit_test(wrong_index),
        cmocka_unit_test(resized),
        cmocka_unit_test(unusual_files_are_refused),
        cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(changed_anywhere),
        cmocka_unit_test(odd_but_real),
        cmocka_unit_test(little_memory),
        cmocka_unit_test(photos),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
