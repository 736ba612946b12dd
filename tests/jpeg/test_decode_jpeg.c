/* SPDX-License-Identifier: MIT
 *
 * test_decode_jpeg.c: decode_jpeg gives what libjpeg-turbo gives when called plainly, for every
 * kind of JPEG; damaged bytes are an error; once warm it allocates nothing. */
#include "fixtures/op_test.h"

#include "fixtures/counting_malloc.h"

static void *rgb, *gray, *as_stored, *lenient; /* options */

static const leat_op *op(void)
{
    return leat_op_find("decode_jpeg");
}

static uint8_t *plain_decode(leat_view bytes, J_COLOR_SPACE space, int64_t *height, int64_t *width)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, bytes.data, (unsigned long)bytes.shape.dims[0]);
    jpeg_read_header(&cinfo, TRUE);
    cinfo.out_color_space = space;
    jpeg_start_decompress(&cinfo);
    const size_t stride = cinfo.output_width * (size_t)cinfo.output_components;
    uint8_t *pixels = malloc(stride * cinfo.output_height);
    assert_non_null(pixels);
    while (cinfo.output_scanline < cinfo.output_height) {
        JSAMPROW row = pixels + cinfo.output_scanline * stride;
        jpeg_read_scanlines(&cinfo, &row, 1);
    }
    *height = cinfo.output_height;
    *width = cinfo.output_width;
    jpeg_finish_decompress(&cinfo);
    jpeg_destroy_decompress(&cinfo);
    return pixels;
}

static void check_equals_plain(leat_view bytes, const void *options, J_COLOR_SPACE space,
                               int64_t channels)
{
    int64_t height, width;
    uint8_t *expected = plain_decode(bytes, space, &height, &width);
    op_result r = op_run(op(), options, bytes, 0);
    if (r.rc != LEAT_OK)
        fail_msg("%s", r.err.message);
    assert_int_equal(r.out.shape.dims[0], height);
    assert_int_equal(r.out.shape.dims[1], width);
    assert_int_equal(r.out.shape.dims[2], channels);
    assert_memory_equal(r.out.data, expected, (size_t)(height * width * channels));
    free(r.out.data);
    free(expected);
}

static const op_jpeg_how ways[] = {
    { .h = 1, .v = 1 },
    { .h = 2, .v = 1 },
    { .h = 2, .v = 2 },
    { .h = 1, .v = 2 },
    { .h = 4, .v = 1 },
    { .h = 2, .v = 2, .restart = 3 },
    { .h = 2, .v = 2, .progressive = 1 },
    { .h = 1, .v = 1, .progressive = 1, .quality = 30 },
    { .h = 2, .v = 2, .arithmetic = 1 },
    { .h = 2, .v = 2, .quality = 100 },
    { .stored = JCS_RGB },
};
#define N_WAYS (sizeof ways / sizeof *ways)

TEST(equals_libjpeg)
{
    static const int64_t sizes[][2] = { { 1, 1 }, { 8, 8 }, { 17, 33 }, { 64, 50 }, { 100, 259 } };
    for (size_t i = 0; i < N_WAYS; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            leat_view image = op_drawing(sizes[s][0], sizes[s][1], 3);
            leat_view bytes = op_jpeg(image, ways[i]);
            check_equals_plain(bytes, rgb, JCS_RGB, 3);
            check_equals_plain(bytes, as_stored, JCS_RGB, 3);
            check_equals_plain(bytes, gray, JCS_GRAYSCALE, 1);
            free(bytes.data);
            free(image.data);
        }
}

TEST(gray_is_read_as_asked)
{
    leat_view image = op_drawing(31, 45, 1);
    for (int progressive = 0; progressive < 2; progressive++) {
        leat_view bytes = op_jpeg(image, (op_jpeg_how){ .progressive = progressive });
        check_equals_plain(bytes, rgb, JCS_RGB, 3);
        check_equals_plain(bytes, gray, JCS_GRAYSCALE, 1);
        check_equals_plain(bytes, as_stored, JCS_GRAYSCALE, 1);
        free(bytes.data);
    }
    free(image.data);
}

/* libjpeg writes an Adobe marker with CMYK, so 255 means no ink. */
TEST(cmyk_becomes_rgb)
{
    static const J_COLOR_SPACE stored[] = { JCS_CMYK, JCS_YCCK };
    leat_view image = op_drawing(20, 30, 4);
    for (int i = 0; i < 2; i++) {
        int64_t height, width;
        leat_view bytes = op_jpeg(image, (op_jpeg_how){ .stored = stored[i], .quality = 95 });
        uint8_t *cmyk = plain_decode(bytes, JCS_CMYK, &height, &width);
        op_result r = op_run(op(), rgb, bytes, 0);
        assert_int_equal(r.rc, LEAT_OK);
        for (int64_t p = 0; p < height * width; p++)
            for (int c = 0; c < 3; c++) {
                const double ink = cmyk[4 * p + c] * cmyk[4 * p + 3] / 255.0;
                assert_int_equal(((uint8_t *)r.out.data)[3 * p + c], (int)(ink + 0.5));
            }
        free(r.out.data);
        r = op_run(op(), gray, bytes, 0);
        assert_int_equal(r.rc, LEAT_E_DATA);
        assert_non_null(strstr(r.err.message, "CMYK"));
        free(cmyk);
        free(bytes.data);
    }
    free(image.data);
}

/* Without the marker 255 is full ink: the colours are those of the same file with all values the other way round. */
TEST(cmyk_without_an_adobe_marker_is_not_inverted)
{
    int64_t height, width;
    leat_view image = op_drawing(20, 30, 4);
    leat_view bytes = op_jpeg(image, (op_jpeg_how){ .stored = JCS_CMYK, .quality = 95 });
    uint8_t *const cmyk = plain_decode(bytes, JCS_CMYK, &height, &width);
    uint8_t *const at = bytes.data;
    size_t n = (size_t)leat_shape_bytes(&bytes.shape), marker = 2;
    while (at[marker + 1] != 0xee)
        marker += 2 + (size_t)(at[marker + 2] << 8 | at[marker + 3]);
    const size_t length = 2 + (size_t)(at[marker + 2] << 8 | at[marker + 3]);
    memmove(at + marker, at + marker + length, n - marker - length);
    bytes.shape.dims[0] -= (int64_t)length;
    op_result r = op_run(op(), rgb, bytes, 0);
    assert_int_equal(r.rc, LEAT_OK);
    for (int64_t p = 0; p < height * width; p++)
        for (int c = 0; c < 3; c++) {
            const double light = (255 - cmyk[4 * p + c]) * (255 - cmyk[4 * p + 3]) / 255.0;
            assert_int_equal(((uint8_t *)r.out.data)[3 * p + c], (int)(light + 0.5));
        }
    free(r.out.data);
    free(cmyk);
    free(bytes.data);
    free(image.data);
}

/* Every prefix is an error by default; leniently an error or pixels of the announced size. */
TEST(truncated_anywhere)
{
    leat_view image = op_drawing(20, 27, 3);
    for (int progressive = 0; progressive < 2; progressive++) {
        leat_view bytes = op_jpeg(image, (op_jpeg_how){ .progressive = progressive, .restart = 2 });
        int n_lenient = 0;
        for (int64_t n = 0; n < bytes.shape.dims[0]; n++) {
            leat_view part = op_bytes(bytes.data, (size_t)n);
            op_result r = op_run(op(), rgb, part, 0);
            assert_int_equal(r.rc, LEAT_E_DATA);
            assert_non_null(strstr(r.err.message, "decode_jpeg: "));
            r = op_run(op(), lenient, part, 0);
            n_lenient += r.rc == LEAT_OK;
            free(r.out.data);
            free(part.data);
        }
        assert_true(n_lenient > bytes.shape.dims[0] / 4);
        free(bytes.data);
    }
    free(image.data);
}

/* Any flipped byte: an error, or pixels, never a crash; and no trace in the next image. */
TEST(damaged_anywhere)
{
    leat_view image = op_drawing(20, 27, 3);
    leat_view good = op_jpeg(image, (op_jpeg_how){ 0 });
    void *small[2];
    for (int i = 0; i < 2; i++)
        small[i] = op_options(op(), "lenient", i ? "true" : "false", "max_pixels", "1000000", NULL);
    op_result expected = op_run(op(), rgb, good, 0);
    for (int64_t at = 0; at < good.shape.dims[0]; at++) {
        leat_view bad = op_bytes(good.data, (size_t)good.shape.dims[0]);
        ((uint8_t *)bad.data)[at] ^= (uint8_t)(1 + at % 255);
        op_result r = op_run(op(), small[at & 1], bad, 0);
        free(r.out.data);
        free(bad.data);
        if (at % 16 == 0) {
            r = op_run(op(), rgb, good, 0);
            assert_int_equal(r.rc, LEAT_OK);
            assert_memory_equal(r.out.data, expected.out.data,
                                (size_t)leat_shape_bytes(&r.out.shape));
            free(r.out.data);
        }
    }
    free(small[0]);
    free(small[1]);
    free(expected.out.data);
    free(good.data);
    free(image.data);
}

/* `good` with n_added bytes put in, or n_removed taken out, at `at`. */
static leat_view spliced(leat_view good, size_t at, size_t n_removed, const char *added,
                         size_t n_added)
{
    const size_t n = (size_t)good.shape.dims[0];
    leat_view out = op_bytes(NULL, 0);
    out.shape.dims[0] = (int64_t)(n + n_added - n_removed);
    out.data = realloc(out.data, n + n_added - n_removed);
    assert_non_null(out.data);
    memcpy(out.data, good.data, at);
    memcpy((uint8_t *)out.data + at, added, n_added);
    memcpy((uint8_t *)out.data + at + n_added, (const uint8_t *)good.data + at + n_removed,
           n - at - n_removed);
    return out;
}

/* Where the marker FF `code` stands for the nth time (from 0). */
static size_t marker_at(leat_view bytes, uint8_t code, int nth)
{
    const uint8_t *b = bytes.data;
    size_t at = 0;
    for (; at + 1 < (size_t)bytes.shape.dims[0]; at++)
        if (b[at] == 0xff && b[at + 1] == code && nth-- == 0)
            return at;
    fail_msg("no marker %x", code);
    return at;
}

/* Expects the pixels of `good` (message NULL) or a data error with that message. */
static void expect(leat_view bytes, leat_view good, const char *message)
{
    op_result r = op_run(op(), rgb, bytes, 0), whole = op_run(op(), rgb, good, 0);
    if (message) {
        if (r.rc != LEAT_E_DATA || !strstr(r.err.message, message))
            fail_msg("got %d '%s' and not '%s'", r.rc, r.err.message, message);
    } else {
        if (r.rc != LEAT_OK)
            fail_msg("%s", r.err.message);
        assert_memory_equal(r.out.data, whole.out.data, (size_t)leat_shape_bytes(&r.out.shape));
    }
    free(r.out.data);
    free(whole.out.data);
    free(bytes.data);
}

TEST(warnings_that_cost_no_pixel)
{
    leat_view image = op_drawing(40, 40, 3);
    leat_view good = op_jpeg(image, (op_jpeg_how){ .restart = 2 });
    const size_t end = (size_t)good.shape.dims[0] - 2, tables = marker_at(good, 0xdb, 0);
    const size_t scan = marker_at(good, 0xda, 0), restart = marker_at(good, 0xd1, 0);
    expect(spliced(good, end, 0, "left over", 9), good, NULL);
    expect(spliced(good, tables, 0, "\x00\x00\x01", 3), good, NULL);
    expect(spliced(good, 11, 1, "\x09", 1), good, NULL);        /* JFIF 9.x */
    expect(spliced(good, scan + 12, 1, "\x3e", 1), good, NULL); /* a spectral end of 62 */
    /* after the image: nobody looks there */
    expect(spliced(good, end + 2, 0, "\x00\x01", 2), good, NULL);
    /* those that cost pixels */
    expect(spliced(good, end, 2, "", 0), good, "Premature end of JPEG file");
    expect(spliced(good, restart, 0, "\x11\x22", 2), good, "2 extraneous bytes before marker 0xd1");
    expect(spliced(good, restart, 2, "\xff\xd5", 2), good, "found marker 0xd5 instead of RST1");
    expect(spliced(good, end - 4, 4, "", 0), good, "premature end of data segment");
    expect(spliced(good, restart + 2, 4, "\xff\x00\xff\x00", 4), good, "bad Huffman code");
    free(good.data);
    free(image.data);
}

/* A stream without tables must not be decoded with those of the image before. */
TEST(tables_do_not_leak)
{
    leat_view image = op_drawing(16, 16, 1);
    leat_view good = op_jpeg(image, (op_jpeg_how){ 0 });
    op_result r = op_run(op(), rgb, good, 0);
    assert_int_equal(r.rc, LEAT_OK);
    free(r.out.data);
    uint8_t *bytes = good.data;
    const size_t n = (size_t)good.shape.dims[0];
    size_t at = 2;
    while (bytes[at + 1] != 0xdb) /* the quantisation table becomes a comment */
        at += 2 + ((size_t)bytes[at + 2] << 8 | bytes[at + 3]);
    assert_true(at < n);
    bytes[at + 1] = 0xfe;
    r = op_run(op(), rgb, good, 0);
    assert_int_equal(r.rc, LEAT_E_DATA);
    assert_non_null(strstr(r.err.message, "Quantization table"));
    free(good.data);
    free(image.data);
}

TEST(limits_and_wrong_bytes)
{
    void *small = op_options(op(), "max_pixels", "99", NULL);
    leat_view image = op_drawing(10, 10, 3);
    leat_view bytes = op_jpeg(image, (op_jpeg_how){ 0 });
    op_result r = op_run(op(), small, bytes, 0);
    free(small);
    assert_int_equal(r.rc, LEAT_E_DATA);
    assert_non_null(strstr(r.err.message, "10 x 10 pixels are more than max_pixels (99)"));
    free(bytes.data);
    bytes = op_bytes("\x89PNG\r\n", 6);
    r = op_run(op(), rgb, bytes, 0);
    assert_int_equal(r.rc, LEAT_E_DATA);
    assert_non_null(strstr(r.err.message, "not a JPEG"));
    free(bytes.data);
    r = op_run(op(), rgb, image, 0);
    assert_int_equal(r.rc, LEAT_E_CONFIG);
    assert_string_equal(r.err.message,
                        "decode_jpeg expects bytes (uint8[n]), got uint8[10, 10, 3]");
    free(image.data);
}

TEST(too_little_scratch)
{
    leat_scratch *usual = op_scratch;
    leat_view image = op_drawing(200, 200, 3);
    leat_view bytes = op_jpeg(image, (op_jpeg_how){ .progressive = 1 });
    assert_int_equal(leat_scratch_open(&op_scratch, 32768, NULL), LEAT_OK);
    op_result r = op_run(op(), rgb, bytes, 0);
    assert_int_equal(r.rc, LEAT_E_NOMEM);
    leat_scratch_close(&op_scratch);
    op_scratch = usual;
    free(bytes.data);
    free(image.data);
}

TEST(allocates_nothing_once_warm)
{
#ifdef COUNTING_MALLOC
    static uint8_t pixels[256 * 256 * 3];
    leat_view bytes[100];
    for (int i = 0; i < 100; i++) {
        leat_view image = op_drawing(20 + 2 * i, 219 - i, 3);
        bytes[i] = op_jpeg(image, ways[(size_t)i % N_WAYS]);
        free(image.data);
    }
    struct jpeg_decompress_struct cinfo = { 0 };
    struct jpeg_error_mgr errors;
    size_t before = counting_malloc_n;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    assert_true(counting_malloc_n > before); /* those of libjpeg are counted */
    jpeg_destroy_decompress(&cinfo);
    free(op_run(op(), rgb, bytes[0], 0).out.data);
    before = counting_malloc_n;
    for (int i = 0; i < 100; i++) {
        leat_view out = { .data = pixels };
        leat_scratch_reset(op_scratch);
        assert_int_equal(op()->measure(rgb, &bytes[i], &out.shape, op_scratch, NULL), LEAT_OK);
        assert_int_equal(op()->apply(rgb, NULL, &bytes[i], &out, op_scratch, NULL), LEAT_OK);
    }
    const size_t n = counting_malloc_n - before;
    for (int i = 0; i < 100; i++)
        free(bytes[i].data);
    assert_int_equal(n, 0);
#else
    skip();
#endif
}

static int setup(void **state)
{
    rgb = op_options(op(), NULL);
    gray = op_options(op(), "channels", "1", NULL);
    as_stored = op_options(op(), "channels", "0", NULL);
    lenient = op_options(op(), "lenient", "true", NULL);
    return op_test_setup(state);
}

static int teardown(void **state)
{
    free(rgb);
    free(gray);
    free(as_stored);
    free(lenient);
    return op_test_teardown(state);
}

SUITE_FIXTURE(setup, teardown)
