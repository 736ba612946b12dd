/* SPDX-License-Identifier: MIT
 *
 * jpeg_fixture.h: what the tests of the own JPEG decoder share: pictures, their bytes by libjpeg-turbo
 * (`expected`), and the comparison of wholes and of boxes at every CPU level. */
#ifndef JPEG_FIXTURE_H
#define JPEG_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/jpeg_reference.h"
#include "ops/jpeg/jpeg_impl.h"

enum { ROOM = 3 << 22, N_LEVELS = 3 };

static leat_scratch *scratch;
static uint8_t *expected, *got;

static inline int set_up(void **state)
{
    (void)state;
    expected = malloc(ROOM);
    got = malloc(ROOM);
    return !expected || !got || leat_scratch_open(&scratch, 1 << 28, NULL);
}

static inline int tear_down(void **state)
{
    (void)state;
    leat_scratch_close(&scratch);
    free(expected);
    free(got);
    return 0;
}

static inline int decode(const uint8_t *data, size_t size, int level, int channels, uint8_t *out,
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
static inline void assert_exact(const uint8_t *data, size_t size, const char *name)
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

static const uint8_t samplings[][2] = { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 2, 2 } };
#define N_SAMPLINGS (sizeof samplings / sizeof *samplings)

static inline unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* The box's pixels are the whole picture's, whatever is skipped around it. */
static inline void check_box(const uint8_t *data, size_t size, const leat_image_box *box,
                             int channels)
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

static inline void check_boxes(const uint8_t *data, size_t size, int n_boxes, unsigned seed)
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

static inline size_t small_file(int h, int v, int restart, uint8_t **data)
{
    const reference_picture p = {
        .width = 37, .height = 21, .channels = 3, .h = h, .v = v, .quality = 60, .restart = restart
    };
    return reference_encode(&p, 3, data);
}

/* Boxes by means of an index, at the best level; returns the first code that is not LEAT_OK. */
static inline int check_indexed(const uint8_t *data, size_t size, uint32_t every,
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

static inline leat_jpeg_mark *make_marks(const uint8_t *data, size_t size, uint32_t every,
                                         size_t *n)
{
    leat_jpeg jpeg;
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    *n = (size_t)leat_jpeg_count_marks(&jpeg, every);
    leat_jpeg_mark *marks = calloc(*n, sizeof *marks);
    leat_scratch_reset(scratch);
    assert_int_equal(leat_jpeg_make_marks(&jpeg, every, marks, scratch, NULL), LEAT_OK);
    return marks;
}

#endif
