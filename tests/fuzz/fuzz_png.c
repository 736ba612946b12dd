/* SPDX-License-Identifier: MIT
 *
 * fuzz_png.c: decode_png against libspng: pixels and refusals must be the same, but for one kind of damage. The
 * first byte chooses: the rest is a PNG whose checksums are set right; or it is compressed data, around which a
 * PNG is built that fits what it inflates to. */
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <spng.h>
#include <string.h>
#include <zlib.h>

#include "fuzz_target.h"
#include "leat/op.h"

enum { MOST_BYTES = 1 << 16, HEAD_BYTES = 41 /* up to the data of IDAT */ };

static uint32_t read_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void write_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void set_checksums(uint8_t *png, size_t size)
{
    for (size_t at = 8; size >= 12 && at <= size - 12;) {
        const uint32_t n = read_u32(png + at);
        if (n > size - 12 - at)
            break;
        write_u32(png + at + 8 + n, crc32_gzip_refl(0, png + at + 4, n + 4));
        at += 12 + (size_t)n;
    }
}

/* Inflates; gives the bytes, or 0, and how much of the stream was used. */
static uint32_t inflate_all(const uint8_t *stream, size_t size, uint8_t *to, size_t *used)
{
    static struct inflate_state state;
    isal_inflate_init(&state);
    state.next_in = (uint8_t *)(uintptr_t)stream;
    state.avail_in = (uint32_t)size;
    state.next_out = to;
    state.avail_out = MOST_BYTES;
    if (isal_inflate(&state) != ISAL_DECOMP_OK || state.block_state != ISAL_BLOCK_FINISH)
        return 0;
    *used = size - state.avail_in - (size_t)(state.read_in_length / 8);
    return state.total_out;
}

static uint8_t *put_chunk(uint8_t *at, const char *kind, size_t n)
{
    write_u32(at, (uint32_t)n);
    memcpy(at + 4, kind, 4);
    return at + 12 + n;
}

/* A PNG around compressed data. `how`: zlib header, rows, and kind of pixels. Returns its size. */
static size_t build(uint8_t *png, const uint8_t *how, const uint8_t *stream, size_t size)
{
    static uint8_t rows[MOST_BYTES + 1024];
    static const uint8_t colors[4] = { 0, 2, 4, 6 }, pixels[4] = { 1, 3, 2, 4 };
    size_t used = size;
    const uint32_t n = inflate_all(stream, size, rows, &used);
    const uint32_t height = n % (1 + how[1] % 8u) ? 1 : 1 + how[1] % 8u;
    const uint32_t width = n ? (n / height - 1) / pixels[how[2] & 3] : 1;
    uint8_t *at = png + 8;
    memcpy(png, "\x89PNG\r\n\x1a\n", 8);
    at = put_chunk(at, "IHDR", 13);
    write_u32(png + 16, width);
    write_u32(png + 20, height);
    memcpy(png + 24, (const uint8_t[]){ 8, colors[how[2] & 3], 0, 0, 0 }, 5);
    at = put_chunk(at, "IDAT", 2 + used + 4);
    png[HEAD_BYTES] = (uint8_t)((how[0] & 0x70) | 8);
    png[HEAD_BYTES + 1] = (uint8_t)(31 - png[HEAD_BYTES] * 256 % 31);
    memcpy(png + HEAD_BYTES + 2, stream, used);
    write_u32(png + HEAD_BYTES + 2 + used, isal_adler32(1, rows, n));
    at = put_chunk(at, "IEND", 0);
    return (size_t)(at - png);
}

/* Reads a file as decode_png says it does. */
static int by_spng(const leat_view *in, const leat_view *out)
{
    const size_t n_px = (size_t)(out->shape.dims[0] * out->shape.dims[1]);
    const int is_alpha = out->shape.dims[2] == 4;
    spng_ctx *ctx = spng_ctx_new(0);
    int rc = spng_set_image_limits(ctx, (uint32_t)out->shape.dims[1], (uint32_t)out->shape.dims[0]);
    if (!rc)
        rc = spng_set_png_buffer(ctx, in->data, (size_t)in->shape.dims[0]);
    if (!rc)
        rc = spng_decode_image(ctx, out->data, n_px * (size_t)out->shape.dims[2],
                               is_alpha ? SPNG_FMT_RGBA8 : SPNG_FMT_RGB8,
                               is_alpha ? SPNG_DECODE_TRNS : 0);
    if (!rc)
        rc = spng_decode_chunks(ctx);
    spng_ctx_free(ctx);
    return rc;
}

/* Whether zlib refuses a set of codes that does not use up its room, in which case libspng refuses the file. ISA-L takes
 * such a set if no missing code comes up; the rows then have the right Adler-32. */
static int has_incomplete_codes(const leat_view *in)
{
    const uint8_t *at = (const uint8_t *)in->data + 8, *const end = at + in->shape.dims[0] - 8;
    static uint8_t rows[1 << 20];
    z_stream z = { .next_out = rows, .avail_out = sizeof rows };
    int rc = inflateInit(&z);
    for (uint32_t n; rc == Z_OK && end - at >= 12; at += 12 + (size_t)n) {
        n = read_u32(at);
        if (n > (size_t)(end - at) - 12)
            break;
        if (memcmp(at + 4, "IDAT", 4))
            continue;
        z.next_in = (uint8_t *)(uintptr_t)(at + 8);
        z.avail_in = n;
        rc = n ? inflate(&z, Z_NO_FLUSH) : Z_OK;
    }
    const size_t length = z.msg ? strlen(z.msg) : 0;
    const int is_set = rc == Z_DATA_ERROR && length > 4 && !strcmp(z.msg + length - 4, " set");
    inflateEnd(&z);
    return is_set;
}

static void compare(const leat_view *in, const char *channels)
{
    static leat_scratch *scratch;
    const leat_op *op = leat_op_find("decode_png");
    void *options = calloc(1, op->options_size);
    leat_view got = { 0 };
    leat_error err;
    if (!scratch)
        EXPECT(leat_scratch_open(&scratch, (size_t)1 << 28, NULL) == LEAT_OK);
    leat_option_init(op->options, options);
    leat_option_set(leat_option_find(op->options, "channels"), options, channels, NULL);
    leat_option_set(leat_option_find(op->options, "max_pixels"), options, "65536", NULL);
    leat_scratch_reset(scratch);
    if (op->shape(options, &in->shape, &got.shape, &err) == LEAT_OK &&
        op->measure(options, in, &got.shape, scratch, &err) == LEAT_OK) {
        const size_t n = (size_t)leat_shape_bytes(&got.shape);
        leat_view expected = { .shape = got.shape, .data = malloc(n) };
        got.data = malloc(n);
        const int rc = op->apply(options, NULL, in, &got, scratch, &err);
        const int rc_spng = by_spng(in, &expected);
        EXPECT((rc == LEAT_OK) == !rc_spng || (rc == LEAT_OK && has_incomplete_codes(in)));
        EXPECT(rc_spng || !memcmp(got.data, expected.data, n));
        free(expected.data);
        free(got.data);
    }
    free(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || size > MOST_BYTES)
        return 0;
    uint8_t *png = malloc(size + HEAD_BYTES + 64);
    size_t n = size - 1;
    if (data[0] & 1)
        n = build(png, data + 1, data + 4, size - 4);
    else
        memcpy(png, data + 1, n);
    set_checksums(png, n);
    const leat_view in = { { LEAT_U8, 1, { (int64_t)n } }, png, NULL };
    compare(&in, "3");
    compare(&in, "4");
    free(png);
    return 0;
}
