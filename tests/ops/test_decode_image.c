/* SPDX-License-Identifier: MIT
 *
 * test_decode_image.c: every kind of file is recognised and decoded as its own op does; WebP, BMP,
 * PGM and PPM give the pixels that were written; damaged and cut files are errors. */
#include "fixtures/image_bytes.h"

#include "ops/fused.h"

enum { H = 19, W = 23, N = H * W };

static int gray_of(const uint8_t *rgb)
{
    return (int)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

/* Decodes `bytes` with `name` and expects the image (3 channels from 1 are equal, 1 from 3 luma). */
static void expect_image(const char *name, const char *channels, leat_view bytes, leat_view image,
                         int64_t expected_channels)
{
    void *options = op_options_of(name, "channels", channels);
    op_result r = op_run_ok(name, options, bytes, 0);
    const int64_t stored = image.shape.dims[2], n = r.out.shape.dims[2];
    assert_int_equal(r.out.shape.dims[0], H);
    assert_int_equal(r.out.shape.dims[1], W);
    assert_int_equal(n, expected_channels);
    for (int i = 0; i < N; i++) {
        const uint8_t *from = op_u8(image) + i * stored;
        for (int64_t c = 0; c < n; c++)
            assert_int_equal(op_u8(r.out)[i * n + c], n == 1 && stored >= 3 ? gray_of(from)
                                                      : stored == 1         ? *from
                                                      : c < stored          ? from[c]
                                                                            : 255);
    }
    free(r.out.data);
    free(options);
}

static void expect_in_all_channels(const char *name, leat_view bytes, leat_view image,
                                   int64_t as_stored)
{
    expect_image(name, "0", bytes, image, as_stored);
    expect_image(name, "1", bytes, image, 1);
    expect_image(name, "3", bytes, image, 3);
    if (strcmp(name, "decode_image") != 0)
        expect_in_all_channels("decode_image", bytes, image, as_stored);
}

TEST(bmp_pixels)
{
    for (int64_t channels = 1; channels <= 4; channels += channels == 1 ? 2 : 1)
        for (int from_above = 0; from_above < 2; from_above++) {
            leat_view image = op_noise(LEAT_U8, H, W, channels, 3);
            leat_view bytes = op_bmp(image, from_above);
            expect_in_all_channels("decode_bmp", bytes, image, 3);
            free(bytes.data);
            free(image.data);
        }
}

TEST(pnm_pixels)
{
    static const uint32_t maxvals[] = { 255, 65535, 510, 1000 };
    for (int64_t channels = 1; channels <= 3; channels += 2)
        for (size_t i = 0; i < sizeof maxvals / sizeof *maxvals; i++) {
            leat_view image = op_noise(LEAT_U8, H, W, channels, 3);
            leat_view bytes = op_pnm(image, maxvals[i]);
            expect_in_all_channels("decode_pnm", bytes, image, channels);
            free(bytes.data);
            free(image.data);
        }
    leat_view bytes = op_bytes("P5 3 1 1\n\x00\x01\x07", 12); /* two values, and one too large */
    void *options = op_options_of("decode_pnm", "channels", "0");
    op_result r = op_run_ok("decode_pnm", options, bytes, 0);
    assert_memory_equal(r.out.data, "\x00\xff\xff", 3);
    free(r.out.data);
    free(options);
    free(bytes.data);
}

TEST(webp_pixels)
{
    for (int64_t channels = 3; channels <= 4; channels++) {
        leat_view image = op_noise(LEAT_U8, H, W, channels, 3);
        for (int i = 0; i < N && channels == 4; i++) /* an encoder may forget what is invisible */
            ((uint8_t *)image.data)[4 * i + 3] |= 1;
        leat_view bytes = op_webp(image, 0);
        expect_image("decode_webp", "0", bytes, image, channels);
        expect_image("decode_webp", "1", bytes, image, 1);
        expect_image("decode_webp", "3", bytes, image, 3);
        expect_image("decode_webp", "4", bytes, image, 4);
        expect_image("decode_image", "0", bytes, image, channels);
        free(bytes.data);
        free(image.data);
    }
    leat_view image = op_drawing(H, W, 3), bytes = op_webp(image, 95);
    void *options = op_options(leat_op_find("decode_webp"), NULL);
    op_result r = op_run_ok("decode_webp", options, bytes, 0);
    double off = 0;
    for (int i = 0; i < N * 3; i++)
        off += abs(op_u8(r.out)[i] - op_u8(image)[i]) / (N * 3.0);
    assert_true(off > 0 && off < 12);
    free(r.out.data);
    free(options);
    free(bytes.data);
    free(image.data);
}

/* --- all kinds ------------------------------------------------------------------------------- */

enum { N_KINDS = 6 };
static const char *const kind_ops[N_KINDS] = { "decode_jpeg", "decode_png", "decode_webp",
                                               "decode_webp", "decode_bmp", "decode_pnm" };

static leat_view kind_bytes(int kind, leat_view image)
{
    switch (kind) {
    case 0:
        return op_jpeg(image, (op_jpeg_how){ 0 });
    case 1:
        return op_png(image);
    case 2:
        return op_webp(image, 0);
    case 3:
        return op_webp(image, 80);
    case 4:
        return op_bmp(image, 0);
    default:
        return op_pnm(image, 255);
    }
}

TEST(equals_the_op_of_its_kind)
{
    static const char *const channels[] = { "0", "1", "3" };
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int i = 0; i < 3; i++) {
            leat_view image = op_drawing(H, W, 3), bytes = kind_bytes(kind, image);
            void *any = op_options_of("decode_image", "channels", channels[i]);
            void *own = op_options_of(kind_ops[kind], "channels", channels[i]);
            op_result r = op_run_ok("decode_image", any, bytes, 0);
            op_result expected = op_run_ok(kind_ops[kind], own, bytes, 0);
            assert_true(leat_shape_equal(&r.out.shape, &expected.out.shape));
            assert_memory_equal(r.out.data, expected.out.data,
                                (size_t)leat_shape_bytes(&r.out.shape));
            free(expected.out.data);
            free(r.out.data);
            free(own);
            free(any);
            free(bytes.data);
            free(image.data);
        }
}

/* Every prefix is an error that names the kind; every changed byte an error or an image. */
TEST(cut_and_damaged_anywhere)
{
    void *options = op_options(leat_op_find("decode_image"), "max_pixels", "1000000", NULL);
    for (int kind = 0; kind < N_KINDS; kind++) {
        leat_view image = op_drawing(H, W, 3), good = kind_bytes(kind, image);
        /* the last checksum of a PNG is of nothing, and nobody reads it */
        const int64_t n_needed = good.shape.dims[0] - (kind == 1 ? 4 : 0);
        for (int64_t n = 0; n < n_needed; n++) {
            leat_view part = op_bytes(good.data, (size_t)n);
            op_result r = op_run(leat_op_find("decode_image"), options, part, 0);
            if (r.rc != LEAT_E_DATA)
                fail_msg("%s: %d of %d bytes gave %d", kind_ops[kind], (int)n,
                         (int)good.shape.dims[0], r.rc);
            assert_int_equal(strncmp(r.err.message, "decode_image: ", 14), 0);
            if (n >= 18) /* LEAT_IMAGE_FORMAT_BYTES */
                assert_non_null(strstr(r.err.message, kind_ops[kind]));
            free(part.data);
            part = op_bytes(good.data, (size_t)good.shape.dims[0]);
            ((uint8_t *)part.data)[n] ^= (uint8_t)(1 + n % 255);
            r = op_run(leat_op_find("decode_image"), options, part, 0);
            assert_true(r.rc == LEAT_OK || r.rc == LEAT_E_DATA);
            free(r.out.data);
            free(part.data);
        }
        free(good.data);
        free(image.data);
    }
    free(options);
}

static void expect_error(const char *name, const void *bytes, size_t n, const char *message)
{
    void *options = op_options_of(name, "max_pixels", "1000");
    leat_view view = op_bytes(bytes, n);
    op_result r = op_run(leat_op_find(name), options, view, 0);
    assert_int_equal(r.rc, LEAT_E_DATA);
    assert_string_equal(r.err.message, message);
    free(view.data);
    free(options);
}

TEST(errors_say_what)
{
    expect_error(
        "decode_image", "GIF89a", 6,
        "decode_image: not JPEG, PNG, WebP, BMP, binary PGM or PPM: 6 bytes that start with "
        "47 49 46 38");
    expect_error("decode_image", "P3 1 1 255\n1 2 3\n", 17,
                 "decode_image: not JPEG, PNG, WebP, BMP, binary PGM or PPM: 17 bytes that start "
                 "with 50 33 20 31");
    expect_error("decode_image", "", 0, "decode_image: the file is empty");
    expect_error("decode_png", "", 0, "decode_png: not a PNG: the file is empty");
    expect_error("decode_image", "P6 50 50 255\n", 13,
                 "decode_image: decode_pnm: it ends before its last row");
    expect_error("decode_pnm", "P4 1 1\n\x01", 8,
                 "decode_pnm: not a binary PGM or PPM: it does not start with P5 or P6");
    expect_error("decode_pnm", "P5 3000000000 1 255\n\x01", 21,
                 "decode_pnm: the header is not a width, a height and a maximum of 1 to 65535");
    uint8_t pixels[1100] = "P5 50 21 255\n";
    expect_error("decode_pnm", pixels, sizeof pixels,
                 "decode_pnm: 21 x 50 pixels are more than max_pixels (1000)");
    leat_view image = op_noise(LEAT_U8, 2, 2, 1, 0), bytes = op_bmp(image, 0);
    uint8_t *b = bytes.data;
    const size_t n = (size_t)bytes.shape.dims[0];
    b[46] = 200; /* colours; the pixels are what the palette makes of them */
    memset(b + 54 + 800, 0, 224);
    b[n - 1] = b[n - 2] = b[n - 3] = b[n - 4] = b[n - 5] = b[n - 6] = b[n - 7] = b[n - 8] = 200;
    expect_error("decode_bmp", b, n, "decode_bmp: a pixel beyond the palette");
    b[28] = 4;
    expect_error("decode_bmp", b, n,
                 "decode_bmp: 4 bits with compression 0; only 8, 24 and 32 bits without are read");
    free(bytes.data);
    free(image.data);
}

TEST(too_little_scratch)
{
    leat_scratch *usual = op_scratch;
    leat_view image = op_drawing(H, W, 3), bytes = op_webp(image, 0);
    void *options = op_options_of("decode_webp", "channels", "1");
    assert_int_equal(leat_scratch_open(&op_scratch, 1, NULL), LEAT_OK);
    assert_non_null(leat_scratch_take(op_scratch, 4000)); /* 1311 are needed */
    leat_view out = op_image(LEAT_U8, H, W, 1);
    leat_error err;
    assert_int_equal(
        leat_op_find("decode_webp")->apply(options, NULL, &bytes, &out, op_scratch, &err),
        LEAT_E_NOMEM);
    assert_string_equal(err.message, "decode_webp: not enough scratch memory");
    leat_scratch_close(&op_scratch);
    op_scratch = usual;
    free(out.data);
    free(options);
    free(bytes.data);
    free(image.data);
}

/* With the ops that often follow, a JPEG is decoded by parts: to the same bits. Other kinds are not
 * for that way. */
static void runs_in_one_go(const char *const *names, int n, leat_dtype dtype)
{
    leat_fused_op ops[4] = { { NULL, NULL } };
    for (int i = 0; i < n; i++)
        ops[i] = (leat_fused_op){ leat_op_find(names[i]),
                                  i == 1 ? op_options_of(names[i], "size", "[8, 9]")
                                         : op_options(leat_op_find(names[i]), NULL) };
    int n_taken = 0;
    const leat_fused *fused = leat_fused_find(ops, n, &n_taken);
    assert_non_null(fused);
    assert_int_equal(n_taken, n);
    leat_view image = op_drawing(H, W, 3);
    for (int kind = 0; kind < N_KINDS; kind++) {
        leat_view bytes = kind_bytes(kind, image), at = bytes;
        leat_draw draws[4];
        leat_error err;
        for (int i = 0; i < n; i++) {
            op_result r = op_run_ok(names[i], ops[i].options, at, 3);
            draws[i] = r.draw;
            if (i > 0)
                free(at.data);
            at = r.out;
        }
        leat_view out = op_image(dtype, 8, 9, 3);
        leat_scratch_reset(op_scratch);
        const int rc = fused->apply(ops, n, draws, &bytes, &out, false, op_scratch, &err);
        assert_int_equal(rc, kind == 0 ? LEAT_OK : LEAT_E_UNSUPPORTED);
        if (rc == LEAT_OK)
            assert_memory_equal(out.data, at.data, (size_t)leat_shape_bytes(&at.shape));
        free(out.data);
        free(at.data);
        free(bytes.data);
    }
    for (int i = 0; i < n; i++)
        free((void *)(uintptr_t)ops[i].options);
    free(image.data);
}

TEST(runs_in_one_go_with_a_crop)
{
    static const char *const resized[] = { "decode_image", "random_resized_crop", "random_flip",
                                           "normalize" };
    static const char *const plain[][2] = { { "decode_image", "random_crop" },
                                            { "decode_image", "center_crop" } };
    runs_in_one_go(resized, 4, LEAT_F32);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        runs_in_one_go(plain[i], 2, LEAT_U8);
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
