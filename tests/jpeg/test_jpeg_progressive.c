/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_progressive.c: progressive files by leat's decoder: the pixels of libjpeg-turbo for any script of
 * scans, in parts too, and a refusal wherever libjpeg-turbo complains or smooths. */
#include "fixtures/jpeg_fixture.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* --- scripts ----------------------------------------------------------------------------------------- */

/* Bands only, DC by component, the chroma first. */
static const jpeg_scan_info by_band[] = {
    { 1, { 2 }, 0, 0, 0, 0 },   { 1, { 2 }, 1, 63, 0, 0 }, { 2, { 0, 1 }, 0, 0, 0, 0 },
    { 1, { 1 }, 1, 1, 0, 0 },   { 1, { 1 }, 2, 62, 0, 0 }, { 1, { 1 }, 63, 63, 0, 0 },
    { 1, { 0 }, 30, 63, 0, 0 }, { 1, { 0 }, 1, 29, 0, 0 },
};
/* Many bits one by one; bands of a refinement are others than those before. */
static const jpeg_scan_info by_bit[] = {
    { 3, { 0, 1, 2 }, 0, 0, 0, 3 }, { 1, { 0 }, 1, 63, 0, 4 },      { 1, { 1 }, 1, 63, 0, 2 },
    { 1, { 0 }, 1, 20, 4, 3 },      { 3, { 0, 1, 2 }, 0, 0, 3, 2 }, { 1, { 0 }, 21, 63, 4, 3 },
    { 1, { 0 }, 1, 63, 3, 2 },      { 1, { 2 }, 1, 63, 0, 0 },      { 1, { 1 }, 1, 63, 2, 1 },
    { 1, { 0 }, 1, 63, 2, 1 },      { 1, { 0 }, 0, 0, 2, 1 },       { 2, { 1, 2 }, 0, 0, 2, 1 },
    { 1, { 1 }, 1, 63, 1, 0 },      { 1, { 0 }, 1, 5, 1, 0 },       { 1, { 0 }, 6, 63, 1, 0 },
    { 3, { 0, 1, 2 }, 0, 0, 1, 0 },
};
/* Coefficients from 10 on are never exact: libjpeg-turbo does not look at them to decide about smoothing. */
static const jpeg_scan_info unfinished[] = {
    { 3, { 0, 1, 2 }, 0, 0, 0, 0 }, { 1, { 0 }, 1, 63, 0, 2 }, { 1, { 1 }, 1, 63, 0, 0 },
    { 1, { 2 }, 1, 9, 0, 0 },       { 1, { 0 }, 1, 9, 2, 1 },  { 1, { 0 }, 1, 9, 1, 0 },
};
/* The same with a coefficient less: smoothed. */
static const jpeg_scan_info smoothed[] = {
    { 3, { 0, 1, 2 }, 0, 0, 0, 0 }, { 1, { 0 }, 1, 63, 0, 2 }, { 1, { 1 }, 1, 63, 0, 0 },
    { 1, { 2 }, 1, 9, 0, 0 },       { 1, { 0 }, 1, 9, 2, 1 },  { 1, { 0 }, 1, 8, 1, 0 },
};
static const jpeg_scan_info only_dc[] = { { 3, { 0, 1, 2 }, 0, 0, 0, 0 } };

static const struct {
    const jpeg_scan_info *script;
    int n;
} scripts[] = { { NULL, 0 },
                { by_band, COUNT(by_band) },
                { by_bit, COUNT(by_bit) },
                { unfinished, COUNT(unfinished) } };

/* Each coefficient alone, with `bits` scans. Returns the number of scans. */
static int script_of_single_values(jpeg_scan_info *script, int bits)
{
    int n = 0;
    script[n++] = (jpeg_scan_info){ 3, { 0, 1, 2 }, 0, 0, 0, 0 };
    for (int bit = bits - 1; bit >= 0; bit--)
        for (int c = 0; c < 3; c++)
            for (int k = 1; k < 64; k++)
                script[n++] =
                    (jpeg_scan_info){ 1, { c }, k, k, bit == bits - 1 ? 0 : bit + 1, bit };
    return n;
}

static reference_picture picture_of(int width, int height, unsigned sampling, unsigned script)
{
    const uint8_t *s = samplings[sampling % N_SAMPLINGS];
    return (reference_picture){ REFERENCE_OF(width, height, 3, s[0], s[1], 90),
                                .chroma_h = s[2],
                                .chroma_v = s[3],
                                .is_progressive = 1,
                                .script = scripts[script % COUNT(scripts)].script,
                                .n_scans = scripts[script % COUNT(scripts)].n };
}

static void check_drawn(const reference_picture *p, unsigned seed, int n_boxes)
{
    char name[100];
    uint8_t *data;
    const size_t size = reference_encode(p, seed, &data);
    snprintf(name, sizeof name, "%d x %d, %d channels, %d x %d, restart %d, %d scans", p->width,
             p->height, p->channels, p->h, p->v, p->restart, p->n_scans);
    assert_exact(data, size, name);
    check_boxes(data, size, n_boxes, seed);
    free(data);
}

/* --- good files -------------------------------------------------------------------------------------- */

TEST(every_small_size)
{
    for (unsigned s = 0; s < N_SAMPLINGS; s++)
        for (int width = 1; width <= 35; width += width < 18 ? 1 : 5)
            for (int height = 1; height <= 35; height += height < 18 ? 2 : 5) {
                reference_picture p = picture_of(width, height, s, (unsigned)(width + height));
                p.restart = (width * height) % 4 ? 0 : 1 + (width + height) % 5;
                check_drawn(&p, s + (unsigned)width, 2);
            }
}

TEST(every_script_restart_and_quality)
{
    static const int restarts[] = { 0, 1, 7, 40, 65535 }, qualities[] = { 5, 50, 100 };
    for (unsigned i = 0; i < 5 * 3 * 4 * N_SAMPLINGS; i += 2) {
        reference_picture p = picture_of(157, 93, i / 60, i / 15);
        p.restart = restarts[i % 5];
        p.quality = qualities[i / 5 % 3];
        check_drawn(&p, i, 4);
    }
}

TEST(gray)
{
    for (int restart = 0; restart < 12; restart += 3) {
        const reference_picture p = { REFERENCE_OF(83, 61, 1, 1 + restart / 3 % 2, 1 + restart / 6,
                                                   85),
                                      .restart = restart, .is_progressive = 1 };
        check_drawn(&p, 3, 10);
    }
}

/* 35,000 blocks whose bands are empty: longer than the longest run of blocks. */
TEST(long_runs)
{
    const reference_picture p = { REFERENCE_OF(1600, 1400, 1, 1, 1, 1), .is_progressive = 1 };
    check_drawn(&p, 0, 1);
}

/* --- files that are left to libjpeg-turbo ------------------------------------------------------------- */

static void assert_refused(const reference_picture *p, const char *why)
{
    uint8_t *data;
    leat_error err = { 0 };
    const size_t size = reference_encode(p, 1, &data);
    assert_int_equal(decode_at_level(data, size, 0, 3, got, &err), LEAT_E_UNSUPPORTED);
    assert_string_equal(err.message, why);
    free(data);
}

TEST(too_many_scans)
{
    enum { PER_BIT = 3 * 63 };
    static jpeg_scan_info script[1 + 3 * PER_BIT];
    reference_picture p = picture_of(40, 30, 0, 0);
    p.script = script;
    p.n_scans = script_of_single_values(script, 2);
    check_drawn(&p, 1, 3);
    p.n_scans = script_of_single_values(script, 3);
    assert_refused(&p, "jpeg: too many scans");
}

TEST(inexact_files)
{
    reference_picture p = picture_of(40, 30, 3, 0);
    p.script = smoothed;
    p.n_scans = COUNT(smoothed);
    assert_refused(&p, "jpeg: progressive without its last scans");
    p.script = only_dc;
    p.n_scans = 1;
    assert_refused(&p, "jpeg: progressive without its last scans");
}

/* --- damage ------------------------------------------------------------------------------------------- */

/* Whatever the bytes are: LEAT_OK only where libjpeg-turbo has no complaint, with its pixels; all levels
 * agree. A box may be decoded though the file has errors elsewhere, and has the pixels of that place. Returns
 * 1 if the whole was LEAT_OK. */
static int assert_honest(const uint8_t *data, size_t size, unsigned seed)
{
    leat_jpeg jpeg;
    const int rc = decode_at_level(data, size, 0, 3, got, NULL);
    assert_true(rc == LEAT_OK || rc == LEAT_E_UNSUPPORTED);
    if (!rc)
        assert_exact(data, size, "changed");
    for (int level = 1; level < N_LEVELS; level++)
        if (leat_jpeg_dsp_at(level))
            assert_int_equal(decode_at_level(data, size, level, 3, got, NULL), rc);
    if (leat_jpeg_open(&jpeg, data, size, NULL) || jpeg.width * jpeg.height > ROOM / 3)
        return !rc;
    const leat_image_box box = { 0, 0, 1 + (int32_t)draw(&seed, (unsigned)jpeg.height),
                                 1 + (int32_t)draw(&seed, (unsigned)jpeg.width) };
    leat_scratch_reset(scratch);
    if (!leat_jpeg_decode_box(&jpeg, &box, 3, got, scratch, NULL)) {
        assert_true(reference_decode(data, size, 3, expected, ROOM) >= 0);
        check_box(data, size, &box, 3);
    }
    return !rc;
}

TEST(truncated_anywhere)
{
    for (unsigned i = 0; i < 3; i++) {
        reference_picture p = picture_of(29, 17, i + 1, i);
        uint8_t *data;
        p.restart = (int)(2 * i);
        const size_t size = reference_encode(&p, 3, &data);
        for (size_t n = 0; n < size; n++) {
            uint8_t *copy = malloc(n ? n : 1); /* exact size, so that over-reads are seen */
            memcpy(copy, data, n);
            assert_int_equal(assert_honest(copy, n, (unsigned)n), 0);
            free(copy);
        }
        free(data);
    }
}

TEST(changed_anywhere)
{
    static const uint8_t changes[] = { 0x01, 0x18, 0xff };
    int n_ok = 0, n_refused = 0;
    for (unsigned i = 0; i < 3; i++) {
        reference_picture p = picture_of(29, 17, i + 1, i);
        uint8_t *data;
        p.restart = (int)(2 * i);
        const size_t size = reference_encode(&p, 3, &data);
        for (size_t at = 0; at < size; at++)
            for (size_t c = 0; c < sizeof changes; c++) {
                data[at] ^= changes[c];
                if (assert_honest(data, size, (unsigned)at))
                    n_ok++;
                else
                    n_refused++;
                data[at] ^= changes[c];
            }
        free(data);
    }
    assert_true(n_ok > 300 && n_refused > 300); /* both ways were gone */
}

TEST(little_memory)
{
    const reference_picture p = picture_of(200, 150, 3, 0);
    uint8_t *data;
    const size_t size = reference_encode(&p, 3, &data);
    assert_true(count_out_of_memory(data, size) > 10);
    free(data);
}

SUITE_FIXTURE(set_up, tear_down)
