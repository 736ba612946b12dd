/* SPDX-License-Identifier: MIT
 *
 * decode_png: PNG bytes to a uint8 image. The decoder in png/ does common files, libspng all others; the pixels
 * are the same. 16-bit images keep the high byte. Gray from colour is
 * Rec. 601 luma, (19595 R + 38470 G + 7471 B + 32768) >> 16.
 *
 * libspng's allocation hooks have no user pointer. So their scratch is a thread-local variable that is
 * set during one call. No libspng context outlives the call that made it. */
#include <stdbool.h>
#include <string.h>

#include <spng.h>

#include "base/scratch.h"
#include "decode.h"
#include "ops/image/color.h"
#include "ops/op_list.h"
#include "ops/png/png.h"

static const char *const channel_choices[] = { "0", "1", "3", "4", NULL };

static const leat_option options[] = {
    LEAT_OPTION_ENUM(leat_decode_options, channels, "3", channel_choices,
                     "3: RGB, 1: gray, 4: RGB and alpha, 0: as stored (a palette is RGB)"),
    LEAT_DECODE_MAX_PIXELS, LEAT_OPTION_END
};

/* --- memory ---------------------------------------------------------------------------------- */

enum { HEAD_BYTES = 64 }; /* before each block: its size, for realloc */

static _Thread_local leat_scratch *arena;
static _Thread_local bool arena_is_full; /* libspng does not always report out of memory */

static void *arena_malloc(size_t n)
{
    uint8_t *head = n <= SIZE_MAX - HEAD_BYTES ? leat_scratch_take(arena, n + HEAD_BYTES) : NULL;
    if (!head) {
        arena_is_full = true;
        return NULL;
    }
    memcpy(head, &n, sizeof n);
    return head + HEAD_BYTES;
}

static void *arena_calloc(size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n))
        return NULL;
    void *memory = arena_malloc(n);
    return memory ? memset(memory, 0, n) : NULL;
}

static void *arena_realloc(void *old, size_t n)
{
    void *memory = arena_malloc(n);
    if (memory && old) {
        size_t old_n;
        memcpy(&old_n, (uint8_t *)old - HEAD_BYTES, sizeof old_n);
        memcpy(memory, old, old_n < n ? old_n : n);
    }
    return memory;
}

static void arena_free(void *memory)
{
    (void)memory; /* the engine resets the whole scratch after each op */
}

/* --- the header ------------------------------------------------------------------------------ */

typedef struct png_header {
    uint32_t width, height;
    int bits, color; /* per sample; enum spng_color_type */
} png_header;

static int read_header(const leat_view *in, png_header *header, leat_error *err)
{
    static const uint8_t start[16] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n',
                                       0,    0,   0,   13,  'I',  'H',  'D',  'R' };
    const uint8_t *bytes = in->data;
    if (in->shape.dims[0] < 33 || memcmp(bytes, start, sizeof start))
        return leat_decode_fail_kind("decode_png", "PNG", "no signature and IHDR at its start",
                                     bytes, (size_t)in->shape.dims[0], err);
    *header =
        (png_header){ leat_png_u32(bytes + 16), leat_png_u32(bytes + 20), bytes[24], bytes[25] };
    if (!header->width || !header->height || header->width > INT32_MAX ||
        header->height > INT32_MAX)
        return leat_fail(err, LEAT_E_DATA, "decode_png: IHDR says %u x %u pixels", header->height,
                         header->width);
    return LEAT_OK;
}

static int64_t stored_channels(int color)
{
    switch (color) {
    case SPNG_COLOR_TYPE_GRAYSCALE:
        return 1;
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA:
        return 2;
    case SPNG_COLOR_TYPE_TRUECOLOR_ALPHA:
        return 4;
    default:
        return 3;
    }
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    return leat_decode_shape("decode_png", opts, in, out, err);
}

static int measure(const void *opts, const leat_view *in, leat_shape *out, leat_scratch *scratch,
                   leat_error *err)
{
    png_header header;
    (void)scratch;
    const int rc = read_header(in, &header, err);
    return rc == LEAT_OK ? leat_decode_size("decode_png", opts, header.height, header.width,
                                            stored_channels(header.color), out, err)
                         : rc;
}

/* --- pixels ---------------------------------------------------------------------------------- */

static void keep_gray(uint8_t *to, const uint8_t *rgb, size_t n_px, bool is_gray)
{
    for (size_t i = 0; i < n_px; i++, rgb += 3)
        to[i] = is_gray ? rgb[0] : leat_color_gray(rgb);
}

static void keep_gray_alpha(uint8_t *to, const uint8_t *rgba, size_t n_px)
{
    for (size_t i = 0; i < n_px; i++) {
        to[2 * i] = rgba[4 * i];
        to[2 * i + 1] = rgba[4 * i + 3];
    }
}

/* libspng decodes to one channel only up to 8 bits. Otherwise one and two channels are picked from RGB
 * or RGBA. */
static int decode_image(spng_ctx *ctx, const png_header *header, const leat_view *out)
{
    const size_t n_px = (size_t)header->width * header->height;
    const int64_t channels = out->shape.dims[2];
    const int format = channels == 3 || channels == 1 ? SPNG_FMT_RGB8 : SPNG_FMT_RGBA8;
    if (channels >= 3)
        return spng_decode_image(ctx, out->data, n_px * (size_t)channels, format,
                                 channels == 4 ? SPNG_DECODE_TRNS : 0);
    const bool is_gray = header->color == SPNG_COLOR_TYPE_GRAYSCALE ||
                         header->color == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
    if (channels == 1 && header->color == SPNG_COLOR_TYPE_GRAYSCALE && header->bits <= 8)
        return spng_decode_image(ctx, out->data, n_px, SPNG_FMT_G8, 0);
    const size_t bytes = n_px * (channels == 1 ? 3 : 4);
    uint8_t *wide = leat_scratch_take(arena, bytes);
    if (!wide)
        return SPNG_EMEM;
    const int rc = spng_decode_image(ctx, wide, bytes, format, 0);
    if (!rc && channels == 1)
        keep_gray(out->data, wide, n_px, is_gray);
    else if (!rc)
        keep_gray_alpha(out->data, wide, n_px);
    return rc;
}

static int decode_by_spng(const leat_view *in, const png_header *header, const leat_view *out)
{
    static struct spng_alloc hooks = { arena_malloc, arena_realloc, arena_calloc, arena_free };
    spng_ctx *ctx = spng_ctx_new2(&hooks, 0);
    if (!ctx)
        return SPNG_EMEM;
    int rc;
    if ((rc = spng_set_image_limits(ctx, header->width, header->height)) ||
        (rc = spng_set_png_buffer(ctx, in->data, (size_t)in->shape.dims[0])) ||
        (rc = decode_image(ctx, header, out)))
        goto done;
    rc = spng_decode_chunks(ctx); /* reads to the end, to notice a truncated file */
done:
    spng_ctx_free(ctx);
    return rc;
}

/* By the decoder in png/. */
static int decode_common(const leat_view *in, const leat_view *out, leat_scratch *scratch)
{
    leat_png png;
    const int rc = leat_png_open(&png, in->data, (size_t)in->shape.dims[0]);
    return rc ? rc : leat_png_decode(&png, (int32_t)out->shape.dims[2], out->data, scratch);
}

/* Returns a code of libspng. */
static int decode(const leat_view *in, const png_header *header, const leat_view *out,
                  leat_scratch *scratch)
{
    const size_t mark = leat_scratch_mark(scratch);
    const int rc = decode_common(in, out, scratch);
    if (rc != LEAT_E_UNSUPPORTED)
        return rc == LEAT_E_NOMEM ? SPNG_EMEM : rc;
    leat_scratch_rewind(scratch, mark);
    arena_is_full = false;
    return decode_by_spng(in, header, out);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    png_header header;
    (void)opts;
    (void)draw;
    int rc = read_header(in, &header, err);
    if (rc != LEAT_OK)
        return rc;
    arena = scratch;
    arena_is_full = false;
    rc = decode(in, &header, out, scratch);
    arena = NULL;
    if (rc == SPNG_EMEM || (rc && arena_is_full))
        return leat_fail(err, LEAT_E_NOMEM, "decode_png: not enough scratch memory");
    return rc ? leat_fail(err, LEAT_E_DATA, "decode_png: %s", spng_strerror(rc)) : LEAT_OK;
}

const leat_op leat_op_decode_png = {
    .name = "decode_png",
    .help = "decode PNG bytes to an uint8 image [height, width, channels]",
    .options_size = sizeof(leat_decode_options),
    .options = options,
    .flags = LEAT_OP_DECODE | LEAT_OP_IMAGE,
    .shape = shape,
    .measure = measure,
    .apply = apply,
};
