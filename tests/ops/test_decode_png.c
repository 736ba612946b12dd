/* SPDX-License-Identifier: MIT
 *
 * test_decode_png.c: every kind of PNG to every number of channels; damaged bytes are an error;
 * nothing is allocated on the heap. */
#include "fixtures/op_test.h"

#include <spng.h>

#include "fixtures/counting_malloc.h"

static const leat_op *op(void)
{
    return leat_op_find("decode_png");
}

typedef struct png_kind {
    uint8_t color, bits;
    int64_t stored; /* channels */
} png_kind;

static const png_kind kinds[] = {
    { SPNG_COLOR_TYPE_GRAYSCALE, 1, 1 },        { SPNG_COLOR_TYPE_GRAYSCALE, 2, 1 },
    { SPNG_COLOR_TYPE_GRAYSCALE, 4, 1 },        { SPNG_COLOR_TYPE_GRAYSCALE, 8, 1 },
    { SPNG_COLOR_TYPE_GRAYSCALE, 16, 1 },       { SPNG_COLOR_TYPE_GRAYSCALE_ALPHA, 8, 2 },
    { SPNG_COLOR_TYPE_GRAYSCALE_ALPHA, 16, 2 }, { SPNG_COLOR_TYPE_TRUECOLOR, 8, 3 },
    { SPNG_COLOR_TYPE_TRUECOLOR, 16, 3 },       { SPNG_COLOR_TYPE_TRUECOLOR_ALPHA, 8, 4 },
    { SPNG_COLOR_TYPE_TRUECOLOR_ALPHA, 16, 4 }, { SPNG_COLOR_TYPE_INDEXED, 1, 3 },
    { SPNG_COLOR_TYPE_INDEXED, 4, 3 },          { SPNG_COLOR_TYPE_INDEXED, 8, 3 },
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

static uint8_t palette_value(unsigned i, unsigned c)
{
    return (uint8_t)(i * (c + 3) * 37 + 11 * c);
}

static size_t samples_of(const png_kind *kind)
{
    return kind->color == SPNG_COLOR_TYPE_INDEXED ? 1 : (size_t)kind->stored;
}

/* Stored samples: rows of bytes as PNG packs them. */
static uint8_t *draw_rows(const png_kind *kind, size_t height, size_t width, size_t *row_bytes)
{
    uint64_t seed = kind->color * 100u + kind->bits + width;
    *row_bytes = (width * samples_of(kind) * kind->bits + 7) / 8;
    uint8_t *rows = malloc(height * *row_bytes);
    assert_non_null(rows);
    for (size_t i = 0; i < height * *row_bytes; i++)
        rows[i] = (uint8_t)(op_next(&seed) >> 30);
    return rows;
}

static leat_view encode(const png_kind *kind, const uint8_t *rows, size_t height, size_t width,
                        size_t row_bytes)
{
    struct spng_ihdr ihdr = { (uint32_t)width, (uint32_t)height, kind->bits, kind->color, 0, 0, 0 };
    struct spng_plte palette = { .n_entries = 1u << (kind->bits & 15) };
    spng_ctx *ctx = spng_ctx_new(SPNG_CTX_ENCODER);
    size_t n = 0;
    int rc = 0;
    spng_set_option(ctx, SPNG_ENCODE_TO_BUFFER, 1);
    assert_int_equal(spng_set_ihdr(ctx, &ihdr), 0);
    for (unsigned i = 0; i < 256; i++)
        palette.entries[i] = (struct spng_plte_entry){ palette_value(i, 0), palette_value(i, 1),
                                                       palette_value(i, 2), 0 };
    if (kind->color == SPNG_COLOR_TYPE_INDEXED)
        assert_int_equal(spng_set_plte(ctx, &palette), 0);
    /* SPNG_FMT_RAW: big-endian, as stored */
    rc = spng_encode_image(ctx, rows, height * row_bytes, SPNG_FMT_RAW, SPNG_ENCODE_FINALIZE);
    assert_int_equal(rc, 0);
    void *bytes = spng_get_png_buffer(ctx, &n, &rc);
    const leat_view out = op_bytes(bytes, n);
    free(bytes);
    spng_ctx_free(ctx);
    return out;
}

/* Sample as 8 bits: low depths are stretched to 0 … 255, 16 bits lose the low byte. */
static unsigned sample_at(const png_kind *kind, const uint8_t *row, size_t i)
{
    if (kind->bits == 16)
        return row[2 * i];
    if (kind->bits == 8)
        return row[i];
    const unsigned most = (1u << kind->bits) - 1;
    const size_t bit = i * kind->bits;
    const unsigned value = (row[bit / 8] >> (8 - kind->bits - bit % 8)) & most;
    return kind->color == SPNG_COLOR_TYPE_INDEXED ? value : value * 255 / most;
}

static void pixel_of(const png_kind *kind, const uint8_t *row, size_t x, uint8_t rgba[4])
{
    const size_t n = samples_of(kind);
    rgba[3] = 255;
    for (unsigned c = 0; c < 3; c++) {
        const unsigned value = sample_at(kind, row, x * n + (n >= 3 ? c : 0));
        rgba[c] = kind->color == SPNG_COLOR_TYPE_INDEXED ? palette_value(value, c) : (uint8_t)value;
    }
    if (n == 2 || n == 4)
        rgba[3] = (uint8_t)sample_at(kind, row, x * n + n - 1);
}

static uint8_t expected_value(const png_kind *kind, const uint8_t rgba[4], int64_t channels,
                              int64_t c)
{
    if (channels == 1 && kind->stored >= 3)
        return (uint8_t)((19595 * rgba[0] + 38470 * rgba[1] + 7471 * rgba[2] + 32768) >> 16);
    return channels == 2 && c == 1 ? rgba[3] : rgba[c];
}

TEST(every_kind_to_all_channels)
{
    static const char *const channels[] = { "0", "1", "3", "4" };
    for (size_t k = 0; k < N_KINDS; k++)
        for (size_t i = 0; i < 4; i++)
            for (size_t width = 1; width < 40; width += 6) {
                const size_t height = 5;
                size_t row_bytes;
                uint8_t *rows = draw_rows(&kinds[k], height, width, &row_bytes);
                leat_view bytes = encode(&kinds[k], rows, height, width, row_bytes);
                void *options = op_options(op(), "channels", channels[i], NULL);
                op_result r = op_run(op(), options, bytes, 0);
                if (r.rc != LEAT_OK)
                    fail_msg("%s", r.err.message);
                const int64_t n = i ? atoi(channels[i]) : kinds[k].stored;
                assert_int_equal(r.out.shape.dims[0], height);
                assert_int_equal(r.out.shape.dims[1], width);
                assert_int_equal(r.out.shape.dims[2], n);
                const uint8_t *got = r.out.data;
                for (size_t p = 0; p < height * width; p++)
                    for (int64_t c = 0; c < n; c++) {
                        uint8_t rgba[4];
                        pixel_of(&kinds[k], rows + p / width * row_bytes, p % width, rgba);
                        assert_int_equal(*got++, expected_value(&kinds[k], rgba, n, c));
                    }
                free(r.out.data);
                free(options);
                free(bytes.data);
                free(rows);
            }
}

static leat_view sample_png(size_t k, size_t height, size_t width)
{
    size_t row_bytes;
    uint8_t *rows = draw_rows(&kinds[k], height, width, &row_bytes);
    leat_view bytes = encode(&kinds[k], rows, height, width, row_bytes);
    free(rows);
    return bytes;
}

/* Only the checksum of the end mark is not missed. */
TEST(truncated_anywhere)
{
    void *options = op_options(op(), NULL);
    for (size_t k = 0; k < N_KINDS; k++) {
        leat_view bytes = sample_png(k, 9, 11);
        for (int64_t n = 0; n < bytes.shape.dims[0] - 4; n++) {
            leat_view part = op_bytes(bytes.data, (size_t)n);
            op_result r = op_run(op(), options, part, 0);
            assert_int_equal(r.rc, LEAT_E_DATA);
            assert_non_null(strstr(r.err.message, "decode_png: "));
            free(part.data);
        }
        free(bytes.data);
    }
    free(options);
}

/* PNG has checksums: a flipped bit is an error, wherever it is. */
TEST(flipped_anywhere)
{
    void *options = op_options(op(), "max_pixels", "100000", NULL);
    leat_view bytes = sample_png(7, 9, 11);
    for (int64_t at = 0; at < bytes.shape.dims[0]; at++)
        for (int bit = 0; bit < 8; bit += 3) {
            leat_view bad = op_bytes(bytes.data, (size_t)bytes.shape.dims[0]);
            ((uint8_t *)bad.data)[at] ^= (uint8_t)(1 << bit);
            op_result r = op_run(op(), options, bad, 0);
            assert_int_equal(r.rc, LEAT_E_DATA);
            free(bad.data);
        }
    free(bytes.data);
    free(options);
}

TEST(limits_and_wrong_bytes)
{
    void *options = op_options(op(), "max_pixels", "98", NULL);
    leat_view bytes = sample_png(7, 9, 11);
    op_result r = op_run(op(), options, bytes, 0);
    assert_int_equal(r.rc, LEAT_E_DATA);
    assert_non_null(strstr(r.err.message, "9 x 11 pixels are more than max_pixels (98)"));
    free(bytes.data);
    bytes = op_bytes("\xff\xd8\xff\xe0 not a PNG but long enough to hold a header", 48);
    r = op_run(op(), options, bytes, 0);
    assert_int_equal(r.rc, LEAT_E_DATA);
    assert_non_null(strstr(r.err.message, "not a PNG"));
    free(bytes.data);
    free(options);
}

TEST(too_little_scratch)
{
    leat_scratch *usual = op_scratch;
    void *options = op_options(op(), NULL);
    leat_view bytes = sample_png(7, 90, 110);
    int rc = LEAT_E_NOMEM;
    for (size_t limit = 4096; rc != LEAT_OK; limit += 4096) { /* each allocation is the last one */
        assert_true(limit < 1 << 20);
        assert_int_equal(leat_scratch_open(&op_scratch, limit, NULL), LEAT_OK);
        op_result r = op_run(op(), options, bytes, 0);
        rc = r.rc;
        assert_true(rc == LEAT_OK || rc == LEAT_E_NOMEM);
        free(r.out.data);
        leat_scratch_close(&op_scratch);
    }
    op_scratch = usual;
    free(bytes.data);
    free(options);
}

TEST(allocates_nothing)
{
#ifdef COUNTING_MALLOC
    static uint8_t pixels[64 * 64 * 4];
    leat_view bytes[N_KINDS];
    void *options = op_options(op(), NULL);
    for (size_t k = 0; k < N_KINDS; k++)
        bytes[k] = sample_png(k, 10 + 3 * k, 60 - 2 * k);
    size_t before = counting_malloc_n;
    spng_ctx *ctx = spng_ctx_new(0);
    assert_true(counting_malloc_n > before); /* those of libspng are counted */
    spng_ctx_free(ctx);
    before = counting_malloc_n;
    for (size_t i = 0; i < 100; i++) {
        const leat_view *in = &bytes[i % N_KINDS];
        leat_view out = { .data = pixels };
        leat_scratch_reset(op_scratch);
        assert_int_equal(op()->measure(options, in, &out.shape, op_scratch, NULL), LEAT_OK);
        assert_int_equal(op()->apply(options, NULL, in, &out, op_scratch, NULL), LEAT_OK);
    }
    assert_int_equal(counting_malloc_n - before, 0);
    for (size_t k = 0; k < N_KINDS; k++)
        free(bytes[k].data);
    free(options);
#else
    skip();
#endif
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
