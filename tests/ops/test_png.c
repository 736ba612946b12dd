/* SPDX-License-Identifier: MIT
 *
 * test_png.c: leat's own PNG decoder takes common files and gives libspng's pixels, at every CPU level, and
 * leaves odd and damaged files to libspng. */
#include "fixtures/op_test.h"

#include <stdbool.h>

#include <isa-l/crc.h>
#include <spng.h>

#include "base/cpu.h"
#include "ops/png/png.h"
#include "ops/png/png_unfilter.h"

static const uint8_t colors[] = { 0, 0, 4, 2, 6 }; /* of pixels of 1 … 4 bytes */

/* Neighbouring values are often alike, so that all branches of a filter matter. */
static uint8_t *noise(size_t n, uint64_t *seed)
{
    uint8_t *bytes = malloc(n);
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) {
        const uint64_t x = op_next(seed) >> 20;
        bytes[i] = (uint8_t)(x % 3 && i ? bytes[i - 1] + (int)(x % 5) - 2 : (int)(x >> 8));
    }
    return bytes;
}

/* n bytes of pixels; how: all but the size. */
static leat_view encode(const uint8_t *pixels, size_t n, uint32_t height, uint32_t width,
                        struct spng_ihdr how, int filters)
{
    const struct spng_trns transparent = { .red = 7 };
    struct spng_plte palette = { .n_entries = 256 };
    spng_ctx *ctx = spng_ctx_new(SPNG_CTX_ENCODER);
    size_t size;
    int rc;
    how.width = width;
    how.height = height;
    spng_set_option(ctx, SPNG_ENCODE_TO_BUFFER, 1);
    spng_set_option(ctx, SPNG_FILTER_CHOICE, filters & 0xff);
    assert_int_equal(spng_set_ihdr(ctx, &how), 0);
    if (how.color_type == 3)
        assert_int_equal(spng_set_plte(ctx, &palette), 0);
    if (filters & 0x100)
        assert_int_equal(spng_set_trns(ctx, (struct spng_trns *)(uintptr_t)&transparent), 0);
    assert_int_equal(spng_encode_image(ctx, pixels, n, SPNG_FMT_RAW, SPNG_ENCODE_FINALIZE), 0);
    void *bytes = spng_get_png_buffer(ctx, &size, &rc);
    const leat_view out = op_bytes(bytes, size);
    free(bytes);
    spng_ctx_free(ctx);
    return out;
}

static leat_view encode_rgb(uint32_t height, uint32_t width, uint8_t **pixels)
{
    uint64_t seed = width;
    const size_t n = (size_t)3 * height * width;
    *pixels = noise(n, &seed);
    return encode(*pixels, n, height, width, (struct spng_ihdr){ .bit_depth = 8, .color_type = 2 },
                  SPNG_FILTER_CHOICE_ALL);
}

static int decode(const leat_view *bytes, uint8_t *out)
{
    leat_png png;
    leat_scratch_reset(op_scratch);
    const int rc = leat_png_open(&png, bytes->data, (size_t)bytes->shape.dims[0]);
    return rc ? rc : leat_png_decode(&png, png.stored, out, op_scratch);
}

/* --- filters ----------------------------------------------------------------------------------- */

static void check_filters(size_t height, size_t width, size_t pixel, uint64_t *seed)
{
    enum { CANARY = 8 };
    const size_t n = width * pixel, bytes = height * n;
    uint8_t *in = noise(height * (n + 1) + LEAT_PNG_PAD, seed);
    uint8_t *zeros = calloc(1, n + LEAT_PNG_PAD);
    uint8_t *expected = calloc(1, bytes + CANARY), *got = calloc(1, bytes + CANARY);
    for (size_t y = 0; y < height; y++)
        in[y * (n + 1)] = (uint8_t)(op_next(seed) % LEAT_PNG_N_FILTERS);
    leat_png_unfilter_c(expected, in, height, n, pixel, zeros);
#if defined(__x86_64__)
    if (leat_cpu_best() >= LEAT_CPU_AVX2) {
        leat_png_unfilter_avx2(got, in, height, n, pixel, zeros);
        assert_memory_equal(got, expected, bytes + CANARY);
    }
#endif
    free(in);
    free(zeros);
    free(expected);
    free(got);
}

TEST(filters_agree)
{
    uint64_t seed = 1;
    for (size_t width = 1; width < 40; width++)
        for (size_t pixel = 1; pixel <= 4; pixel++)
            for (size_t height = 1; height < 12; height++)
                check_filters(height, width, pixel, &seed);
}

/* --- whole files ------------------------------------------------------------------------------- */

static void check_file(uint32_t height, uint32_t width, size_t pixel, int filters)
{
    uint64_t seed = height + pixel;
    const size_t n = (size_t)height * width * pixel;
    const struct spng_ihdr how = { .bit_depth = 8, .color_type = colors[pixel] };
    uint8_t *pixels = noise(n, &seed), *got = malloc(n);
    leat_view bytes = encode(pixels, n, height, width, how, filters);
    for (int level = 0; level <= leat_cpu_best(); level++) {
        leat_cpu_use(level);
        memset(got, 0, n);
        assert_int_equal(decode(&bytes, got), LEAT_OK);
        assert_memory_equal(got, pixels, n);
    }
    leat_cpu_use(leat_cpu_best());
    free(pixels);
    free(got);
    free(bytes.data);
}

TEST(common_files)
{
    static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 7 }, { 9, 1 }, { 21, 33 }, { 250, 300 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t pixel = 1; pixel <= 4; pixel++) {
            for (int filters = SPNG_FILTER_CHOICE_NONE; filters <= SPNG_FILTER_CHOICE_PAETH;
                 filters *= 2)
                check_file(sizes[s][0], sizes[s][1], pixel, filters);
            check_file(sizes[s][0], sizes[s][1], pixel, SPNG_FILTER_CHOICE_ALL);
        }
}

TEST(odd_files)
{
    static const struct {
        struct spng_ihdr how;
        int flags;
        size_t pixel;
    } kinds[] = {
        { { .bit_depth = 16, .color_type = 2 }, SPNG_FILTER_CHOICE_ALL, 6 },
        { { .bit_depth = 8, .color_type = 3 }, SPNG_FILTER_CHOICE_ALL, 1 },
        { { .bit_depth = 8, .color_type = 2 }, SPNG_FILTER_CHOICE_ALL | 0x100, 3 },
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        uint64_t seed = 1;
        leat_png png;
        uint8_t *pixels = noise(9 * 8 * kinds[k].pixel, &seed);
        leat_view bytes =
            encode(pixels, 9 * 8 * kinds[k].pixel, 9, 8, kinds[k].how, kinds[k].flags);
        assert_int_equal(leat_png_open(&png, bytes.data, (size_t)bytes.shape.dims[0]),
                         LEAT_E_UNSUPPORTED);
        free(pixels);
        free(bytes.data);
    }
}

TEST(damaged_files)
{
    uint8_t *pixels, got[9 * 11 * 3];
    leat_view bytes = encode_rgb(9, 11, &pixels);
    const int64_t n = bytes.shape.dims[0];
    for (int64_t at = 0; at < n; at++) {
        leat_view bad = op_bytes(bytes.data, (size_t)at);
        assert_int_equal(decode(&bad, got), LEAT_E_UNSUPPORTED);
        free(bad.data);
        bad = op_bytes(bytes.data, (size_t)n);
        ((uint8_t *)bad.data)[at] ^= (uint8_t)(1 << at % 8);
        assert_int_equal(decode(&bad, got), LEAT_E_UNSUPPORTED);
        free(bad.data);
    }
    assert_int_equal(decode(&bytes, got), LEAT_OK);
    free(pixels);
    free(bytes.data);
}

/* --- chunks ------------------------------------------------------------------------------------ */

enum { IHDR_END = 33 };

static size_t put_chunk(uint8_t *to, const char *kind, const void *data, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(n >> (24 - 8 * i));
    memcpy(to + 4, kind, 4);
    if (n)
        memcpy(to + 8, data, n);
    const uint32_t crc = crc32_gzip_refl(0, to + 4, n + 4);
    for (int i = 0; i < 4; i++)
        to[8 + n + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    return n + 12;
}

/* The compressed data of all IDAT chunks, which follow IHDR. */
static uint8_t *gather(const leat_view *png, uint32_t *n_data)
{
    const uint8_t *at = (const uint8_t *)png->data + IHDR_END;
    uint8_t *data = malloc((size_t)png->shape.dims[0]);
    assert_non_null(data);
    for (*n_data = 0; !memcmp(at + 4, "IDAT", 4);) {
        const uint32_t n =
            (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
        memcpy(data + *n_data, at + 8, n);
        *n_data += n;
        at += 12 + n;
    }
    return data;
}

/* The file with other chunks after IHDR and before IEND, and its data in pieces of n bytes. */
static leat_view rebuild(const leat_view *png, const char *before, const char *after, uint32_t n,
                         bool is_damaged)
{
    static uint8_t to[1 << 20];
    uint32_t n_data;
    uint8_t *data = gather(png, &n_data);
    size_t at = IHDR_END;
    if (is_damaged)
        data[n_data - 1] ^= 1; /* in the Adler-32 */
    memcpy(to, png->data, IHDR_END);
    for (; *before; before += 4)
        at += put_chunk(to + at, before, "\0\0\xb1\x8f", 4);
    for (uint32_t i = 0; i < n_data; i += n)
        at += put_chunk(to + at, "IDAT", data + i, n_data - i < n ? n_data - i : n);
    for (; *after; after += 4)
        at += put_chunk(to + at, after, "Title\0x", 7);
    at += put_chunk(to + at, "IEND", NULL, 0);
    free(data);
    return op_bytes(to, at);
}

TEST(other_chunks)
{
    static const struct {
        const char *before, *after;
        uint32_t piece;
        int rc, rc_op; /* of the own decoder alone, and of the op */
    } cases[] = {
        { "", "", 1 << 20, LEAT_OK, LEAT_OK },
        { "", "", 100, LEAT_OK, LEAT_OK },
        { "gAMA", "tEXttEXt", 1000, LEAT_OK, LEAT_OK },
        { "gAMAgAMA", "", 1000, LEAT_OK, LEAT_OK }, /* wrong, but libspng does not mind */
        { "abCd", "", 1000, LEAT_OK, LEAT_OK },
        { "ABCD", "", 1000, LEAT_E_UNSUPPORTED, LEAT_E_DATA },
        { "", "IDAT", 1000, LEAT_E_UNSUPPORTED, LEAT_OK },
    };
    uint8_t *pixels, *got = malloc(3 * 56 * 70);
    leat_view bytes = encode_rgb(56, 70, &pixels);
    void *options = op_options(leat_op_find("decode_png"), NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_view file = rebuild(&bytes, cases[i].before, cases[i].after, cases[i].piece, false);
        assert_int_equal(decode(&file, got), cases[i].rc);
        op_result r = op_run(leat_op_find("decode_png"), options, file, 0);
        if (r.rc != cases[i].rc_op)
            fail_msg("case %zu: %d %s", i, r.rc, r.err.message);
        if (r.rc == LEAT_OK)
            assert_memory_equal(r.out.data, pixels, 3 * 56 * 70);
        free(r.out.data);
        free(file.data);
    }
    free(options);
    free(pixels);
    free(got);
    free(bytes.data);
}

TEST(wrong_adler)
{
    uint8_t *pixels, got[9 * 11 * 3];
    leat_view bytes = encode_rgb(9, 11, &pixels);
    leat_view file = rebuild(&bytes, "", "", 1 << 20, true);
    assert_int_equal(decode(&file, got), LEAT_E_UNSUPPORTED);
    free(pixels);
    free(bytes.data);
    free(file.data);
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
