/* SPDX-License-Identifier: MIT
 *
 * png.c: decodes common PNG files (png.h). DESIGN: all chunks are checked first, then ISA-L inflates the whole
 * stream, which must give exactly the rows of the picture and end with the right Adler-32. zlib refuses
 * matches that reach further back than the window that the stream declares, and ISA-L does not; so a window
 * smaller than both the data and 32 KiB is left to libspng. zlib also refuses a set of Huffman codes with unused room,
 * even if the rows have the right checksum; ISA-L does not, and such a file is taken. */
#include "png.h"

#include <string.h>

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include "base/cpu.h"
#include "ops/image/color.h"
#include "png_unfilter.h"

enum { SIGNATURE_BYTES = 8, IHDR_BYTES = 25, CHUNK_BYTES = 12 };
enum { FAST_ROOM = 512 }; /* ISA-L is slower near the end of its output */
enum { MOST_OTHERS = 100 };

/* --- chunks ---------------------------------------------------------------------------------- */

/* The end of a whole chunk with a right checksum, or NULL. */
static const uint8_t *chunk_end(const uint8_t *chunk, const uint8_t *end)
{
    if (end - chunk < CHUNK_BYTES)
        return NULL;
    const uint32_t n = leat_png_u32(chunk);
    if (n > INT32_MAX || n > (size_t)(end - chunk) - CHUNK_BYTES)
        return NULL;
    const uint32_t crc = crc32_gzip_refl(0, chunk + 4, n + 4);
    return crc == leat_png_u32(chunk + 8 + n) ? chunk + CHUNK_BYTES + n : NULL;
}

static int is_kind(const uint8_t *chunk, const char *kind)
{
    return !memcmp(chunk + 4, kind, 4);
}

/* Chunks that may change pixels, or must not be there. Others have a small first letter. */
static int is_odd(const uint8_t *chunk)
{
    return !(chunk[4] & 0x20) || is_kind(chunk, "tRNS");
}

/* Passes chunks that do not change pixels. libspng ignores what is wrong in them, but not a thousand of them.
 * Returns the first IDAT or IEND chunk, or NULL. */
static const uint8_t *pass_others(const uint8_t *chunk, const uint8_t *end)
{
    for (int n = 0; n <= MOST_OTHERS; n++) {
        const uint8_t *next = chunk_end(chunk, end);
        if (!next || is_kind(chunk, "IDAT") || is_kind(chunk, "IEND"))
            return next ? chunk : NULL;
        if (is_odd(chunk))
            return NULL;
        chunk = next;
    }
    return NULL;
}

/* Passes the IDAT chunks. Returns the first chunk after them, or NULL. */
static const uint8_t *pass_data(leat_png *png, const uint8_t *chunk, const uint8_t *end)
{
    size_t bytes = 0;
    png->first_data = chunk;
    while (chunk && end - chunk >= CHUNK_BYTES && is_kind(chunk, "IDAT")) {
        bytes += leat_png_u32(chunk);
        png->n_data++;
        chunk = chunk_end(chunk, end);
    }
    png->data_bytes = (uint32_t)bytes;
    return png->n_data && bytes <= UINT32_MAX ? chunk : NULL;
}

static int read_ihdr(leat_png *png, const uint8_t *data, size_t size)
{
    static const uint8_t signature[SIGNATURE_BYTES + 8] = { 0x89, 'P',  'N', 'G', '\r', '\n',
                                                            0x1a, '\n', 0,   0,   0,    13,
                                                            'I',  'H',  'D', 'R' };
    static const uint8_t stored[7] = { [0] = 1, [2] = 3, [4] = 2, [6] = 4 };
    if (size < SIGNATURE_BYTES + IHDR_BYTES || memcmp(data, signature, sizeof signature) ||
        !chunk_end(data + SIGNATURE_BYTES, data + size))
        return 0;
    const uint8_t *ihdr = data + SIGNATURE_BYTES + 8; /* … bits, colour, three methods */
    *png = (leat_png){ .width = leat_png_u32(ihdr), .height = leat_png_u32(ihdr + 4) };
    png->stored = ihdr[9] < sizeof stored ? stored[ihdr[9]] : 0;
    return ihdr[8] == 8 && png->stored && !ihdr[10] && !ihdr[11] && !ihdr[12] && png->width &&
           png->height && png->width <= INT32_MAX / 4 &&
           png->height <= (UINT32_MAX - FAST_ROOM) / (png->width * (uint64_t)png->stored + 1);
}

int leat_png_open(leat_png *png, const uint8_t *data, size_t size)
{
    const uint8_t *chunk, *end = data + size;
    if (!read_ihdr(png, data, size) ||
        !(chunk = pass_others(data + SIGNATURE_BYTES + IHDR_BYTES, end)) ||
        !(chunk = pass_data(png, chunk, end)) || !(chunk = pass_others(chunk, end)))
        return LEAT_E_UNSUPPORTED;
    return is_kind(chunk, "IEND") && !leat_png_u32(chunk) ? LEAT_OK : LEAT_E_UNSUPPORTED;
}

/* --- the compressed data ------------------------------------------------------------------------- */

/* The compressed bytes in one piece: in the file, or gathered from its chunks. NULL: no memory. */
static const uint8_t *gather(const leat_png *png, leat_scratch *scratch)
{
    const uint8_t *chunk = png->first_data;
    if (png->n_data == 1)
        return chunk + 8;
    uint8_t *all = leat_scratch_take(scratch, png->data_bytes), *to = all;
    for (uint32_t i = 0; all && i < png->n_data; i++) {
        const uint32_t n = leat_png_u32(chunk);
        memcpy(to, chunk + 8, n);
        to += n;
        chunk += CHUNK_BYTES + n;
    }
    return all;
}

static int has_whole_window(const uint8_t *stream, uint32_t n, size_t n_rows_bytes)
{
    if (n < 2)
        return 0;
    const int bits = 8 + (stream[0] >> 4);
    return bits == 15 || n_rows_bytes <= (size_t)1 << bits;
}

/* Inflates exactly n bytes. `rows` has FAST_ROOM bytes more. */
static int inflate_rows(const leat_png *png, uint8_t *rows, uint32_t n, leat_scratch *scratch)
{
    const uint8_t *stream = gather(png, scratch);
    struct inflate_state *state = leat_scratch_take(scratch, sizeof *state);
    if (!stream || !state)
        return LEAT_E_NOMEM;
    if (!has_whole_window(stream, png->data_bytes, n))
        return LEAT_E_UNSUPPORTED;
    isal_inflate_init(state);
    state->crc_flag = ISAL_ZLIB;
    state->next_in = (uint8_t *)(uintptr_t)stream;
    state->avail_in = png->data_bytes;
    state->next_out = rows;
    state->avail_out = n + FAST_ROOM;
    const int rc = isal_inflate(state);
    return rc == ISAL_DECOMP_OK && state->block_state == ISAL_BLOCK_FINISH &&
                   state->total_out == n && !state->avail_in
               ? LEAT_OK
               : LEAT_E_UNSUPPORTED;
}

/* --- pixels ---------------------------------------------------------------------------------- */

/* From `stored` to another number of channels. */
static void convert(uint8_t *to, int32_t channels, const uint8_t *from, int32_t stored, size_t n_px)
{
    for (; n_px; n_px--, from += stored, to += channels) {
        const uint8_t rgba[] = { from[0], from[stored >= 3], from[stored >= 3 ? 2 : 0],
                                 stored % 2 ? 255 : from[stored - 1] };
        if (channels == 1)
            to[0] = stored >= 3 ? leat_color_gray(rgba) : rgba[0];
        else
            memcpy(to, rgba, (size_t)channels);
    }
}

static leat_png_unfilter *unfilter(void)
{
#if defined(__x86_64__)
    if (leat_cpu_level() >= LEAT_CPU_AVX2)
        return leat_png_unfilter_avx2;
#endif
    return leat_png_unfilter_c;
}

static int has_known_filters(const uint8_t *rows, size_t height, size_t row_bytes)
{
    uint8_t most = 0;
    for (size_t y = 0; y < height; y++, rows += 1 + row_bytes)
        most = *rows > most ? *rows : most;
    return most < LEAT_PNG_N_FILTERS;
}

int leat_png_decode(const leat_png *png, int32_t channels, uint8_t *out, leat_scratch *scratch)
{
    const size_t n_px = (size_t)png->width * png->height, stored = (size_t)png->stored;
    const size_t row_bytes = png->width * stored, n = png->height * (1 + row_bytes);
    uint8_t *rows = leat_scratch_take(scratch, n + FAST_ROOM);
    uint8_t *zeros = leat_scratch_take(scratch, row_bytes + LEAT_PNG_PAD);
    uint8_t *pixels = channels == png->stored ? out : leat_scratch_take(scratch, n_px * stored);
    if (!rows || !zeros || !pixels)
        return LEAT_E_NOMEM;
    const int rc = inflate_rows(png, rows, (uint32_t)n, scratch);
    if (rc)
        return rc;
    if (!has_known_filters(rows, png->height, row_bytes))
        return LEAT_E_UNSUPPORTED;
    memset(zeros, 0, row_bytes + LEAT_PNG_PAD);
    memset(rows + n, 0, LEAT_PNG_PAD);
    unfilter()(pixels, rows, png->height, row_bytes, stored, zeros);
    if (pixels != out)
        convert(out, channels, pixels, png->stored, n_px);
    return LEAT_OK;
}
