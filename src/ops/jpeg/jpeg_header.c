/* SPDX-License-Identifier: MIT
 *
 * jpeg_header.c: parses the markers before a scan. DESIGN: anything that libjpeg-turbo would refuse, warn
 * about or treat specially is LEAT_E_UNSUPPORTED here (see CONTRACT in jpeg.h). So the parser accepts only
 * regular files and repairs nothing. */
#include "base/cpu.h"
#include "jpeg_impl.h"

#include <string.h>

const uint8_t leat_jpeg_natural[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

enum { MAX_DIMENSION = 65500, MAX_BLOCKS_PER_MCU = 10 }; /* the limits of libjpeg */

typedef leat_jpeg_header header;

static int refuse(const header *h, const char *why)
{
    return leat_fail(h->err, LEAT_E_UNSUPPORTED, "jpeg: %s", why);
}

static int read_app(header *h, int marker, const uint8_t *p, size_t n)
{
    if (marker == 0xe0 && n >= 14 && !memcmp(p, "JFIF", 5)) {
        if (p[5] != 1)
            return refuse(h, "unknown JFIF version");
        h->is_jfif = 1;
    } else if (marker == 0xee && n >= 12 && !memcmp(p, "Adobe", 5)) {
        if (p[11] > 2)
            return refuse(h, "unknown Adobe transform");
        h->adobe = (uint8_t)(1 + p[11]);
    }
    return LEAT_OK;
}

static int read_quant(header *h, const uint8_t *p, size_t n)
{
    if (h->scan)
        return refuse(h, "quantisation table between scans");
    while (n) {
        const size_t size = p[0] >> 4 ? 129 : 65;
        if (n < size || (p[0] & 15) > 3)
            return refuse(h, "bad quantisation table");
        h->quant[p[0] & 15] = p;
        p += size;
        n -= size;
    }
    return LEAT_OK;
}

static int read_huffman(header *h, const uint8_t *p, size_t n)
{
    while (n) {
        size_t count = 0;
        if (n < 17 || p[0] & 0xec)
            return refuse(h, "bad Huffman table");
        for (int i = 1; i <= 16; i++)
            count += p[i];
        if (count > 256 || n < 17 + count)
            return refuse(h, "bad Huffman table");
        h->huffman[p[0] >> 4][p[0] & 3] = p + 1;
        p += 17 + count;
        n -= 17 + count;
    }
    return LEAT_OK;
}

/* Accepts gray, or two chroma planes with full or half the size of luma in each direction. */
static int check_sampling(header *h)
{
    leat_jpeg *jpeg = h->jpeg;
    leat_jpeg_component *c = jpeg->component;
    if (jpeg->n_components == 1)
        c[0].h = c[0].v = 1; /* in a scan of one component an MCU is one block */
    h->h_max = (uint8_t)c[0].h;
    h->v_max = (uint8_t)c[0].v;
    jpeg->blocks_per_mcu = c[0].h * c[0].v;
    jpeg->chroma_h = jpeg->chroma_v = 1;
    if (jpeg->n_components == 3) {
        if (c[1].h != c[2].h || c[1].v != c[2].v)
            return refuse(h, "chroma planes of different size");
        jpeg->chroma_h = c[0].h / c[1].h;
        jpeg->chroma_v = c[0].v / c[1].v;
        if (c[0].h != jpeg->chroma_h * c[1].h || c[0].v != jpeg->chroma_v * c[1].v ||
            jpeg->chroma_h > 2 || jpeg->chroma_v > 2)
            return refuse(h, "unusual sampling");
        jpeg->blocks_per_mcu += 2 * c[1].h * c[1].v;
    }
    return jpeg->blocks_per_mcu > MAX_BLOCKS_PER_MCU ? refuse(h, "MCU too large") : LEAT_OK;
}

static int32_t divide_up(int32_t a, int32_t b)
{
    return (a + b - 1) / b;
}

static void set_sizes(header *h)
{
    leat_jpeg *jpeg = h->jpeg;
    jpeg->mcu_width_px = 8 * h->h_max;
    jpeg->mcu_height_px = 8 * h->v_max;
    jpeg->mcus_x = divide_up(jpeg->width, jpeg->mcu_width_px);
    jpeg->mcus_y = divide_up(jpeg->height, jpeg->mcu_height_px);
    for (int i = 0; i < jpeg->n_components; i++) {
        leat_jpeg_component *c = &jpeg->component[i];
        c->width_px = divide_up(jpeg->width * c->h, h->h_max);
        c->height_px = divide_up(jpeg->height * c->v, h->v_max);
        c->n_across = (jpeg->mcus_x * c->h + 3) & ~3;
    }
}

static int read_frame(header *h, const uint8_t *p, size_t n)
{
    leat_jpeg *jpeg = h->jpeg;
    if (jpeg->n_components || n < 6 || p[0] != 8 || (p[5] != 1 && p[5] != 3) ||
        n != 6 + 3 * (size_t)p[5])
        return refuse(h, "not one frame of 8 bits with 1 or 3 components");
    jpeg->height = p[1] << 8 | p[2];
    jpeg->width = p[3] << 8 | p[4];
    if (jpeg->height < 1 || jpeg->width < 1 || jpeg->height > MAX_DIMENSION ||
        jpeg->width > MAX_DIMENSION)
        return refuse(h, "width or height is 0 or too large");
    jpeg->n_components = p[5];
    for (int i = 0; i < jpeg->n_components; i++) {
        const uint8_t *c = p + 6 + 3 * i;
        h->id[i] = c[0];
        h->quant_index[i] = c[2];
        jpeg->component[i].h = c[1] >> 4;
        jpeg->component[i].v = c[1] & 15;
        if (c[1] >> 4 < 1 || c[1] >> 4 > 4 || (c[1] & 15) < 1 || (c[1] & 15) > 4 || c[2] > 3)
            return refuse(h, "bad component");
        for (int other = 0; other < i; other++)
            if (h->id[other] == c[0])
                return refuse(h, "two components of one name");
    }
    const int rc = check_sampling(h);
    if (!rc)
        set_sizes(h);
    return rc;
}

/* Guesses the colour space as libjpeg-turbo does, and accepts only YCbCr. */
static int check_colour(const header *h)
{
    if (h->jpeg->n_components == 1 || h->is_jfif)
        return LEAT_OK;
    if (h->adobe)
        return h->adobe == 2 ? LEAT_OK : refuse(h, "not YCbCr");
    if (h->id[0] == 'R' && h->id[1] == 'G' && h->id[2] == 'B')
        return refuse(h, "not YCbCr");
    return LEAT_OK;
}

static void set_quant(leat_jpeg_component *c, const uint8_t *spec)
{
    for (int i = 0; i < 64; i++) {
        const int value = spec[0] >> 4 ? spec[1 + 2 * i] << 8 | spec[2 + 2 * i] : spec[1 + i];
        c->quant[leat_jpeg_natural[i]] = (int16_t)(uint16_t)value;
    }
}

static int read_scan(header *h)
{
    leat_jpeg *jpeg = h->jpeg;
    const uint8_t *p = h->scan;
    const size_t n_components = (size_t)jpeg->n_components;
    if (!n_components || h->n_scan != 4 + 2 * n_components || p[0] != n_components)
        return refuse(h, "not one scan of all components");
    for (size_t i = 0; i < n_components; i++) {
        leat_jpeg_component *c = &jpeg->component[i];
        const uint8_t *spec = p + 1 + 2 * i;
        if (spec[0] != h->id[i] || spec[1] & 0xcc)
            return refuse(h, "bad scan header");
        c->dc = h->huffman[0][spec[1] >> 4];
        c->ac = h->huffman[1][spec[1] & 3];
        if (!c->dc || !c->ac)
            return refuse(h, "table missing");
    }
    p += 1 + 2 * n_components;
    return p[0] != 0 || p[1] != 63 || p[2] != 0 ? refuse(h, "not sequential") : LEAT_OK;
}

static int read_segment(header *h, int marker, const uint8_t *p, size_t n)
{
    if ((marker >= 0xe0 && marker <= 0xef) || marker == 0xfe)
        return read_app(h, marker, p, n);
    switch (marker) {
    case 0xc0:
    case 0xc1:
    case 0xc2:
        h->jpeg->is_baseline = marker == 0xc0;
        h->jpeg->is_progressive = marker == 0xc2;
        return read_frame(h, p, n);
    case 0xc4:
        return read_huffman(h, p, n);
    case 0xda:
        h->scan = p;
        h->n_scan = n;
        return LEAT_OK;
    case 0xdb:
        return read_quant(h, p, n);
    case 0xdd:
        if (n != 2)
            return refuse(h, "bad restart interval");
        h->jpeg->restart_mcus = (uint32_t)(p[0] << 8 | p[1]);
        return LEAT_OK;
    default:
        return refuse(h, "unusual marker");
    }
}

int leat_jpeg_header_open(leat_jpeg_header *h, leat_jpeg *jpeg, const uint8_t *data, size_t size,
                          leat_error *err)
{
    *h = (header){ .jpeg = jpeg, .err = err };
    memset(jpeg, 0, sizeof *jpeg);
    if (size < 4 || data[0] != 0xff || data[1] != 0xd8)
        return refuse(h, "does not start as a JPEG file");
    h->at = data + 2;
    h->end = data + size;
    return LEAT_OK;
}

int leat_jpeg_header_next(leat_jpeg_header *h)
{
    for (h->marker = 0; h->marker != 0xda;) {
        const uint8_t *p = h->at;
        if (p >= h->end || *p != 0xff)
            return refuse(h, "no marker where one is due");
        while (p < h->end && *p == 0xff) /* skip fill bytes */
            p++;
        if (h->scan && p < h->end && *p == 0xd9) {
            h->marker = *p;
            return LEAT_OK;
        }
        if (h->end - p < 3)
            return refuse(h, "ends in its header");
        const size_t n = (size_t)(p[1] << 8 | p[2]);
        if (n < 2 || n > (size_t)(h->end - p) - 1)
            return refuse(h, "ends in its header");
        h->marker = *p;
        h->at = p + 1 + n;
        const int rc = read_segment(h, h->marker, p + 3, n - 2);
        if (rc)
            return rc;
    }
    return LEAT_OK;
}

static int set_quants(header *h)
{
    for (int i = 0; i < h->jpeg->n_components; i++) {
        const uint8_t *const spec = h->quant[h->quant_index[i]];
        if (!spec)
            return refuse(h, "table missing");
        set_quant(&h->jpeg->component[i], spec);
    }
    return LEAT_OK;
}

int leat_jpeg_open(leat_jpeg *jpeg, const uint8_t *data, size_t size, leat_error *err)
{
    header h;
    int rc = leat_jpeg_header_open(&h, jpeg, data, size, err);
    if (!rc)
        rc = leat_jpeg_header_next(&h);
    if (!rc && !jpeg->is_progressive)
        rc = read_scan(&h);
    if (!rc)
        rc = set_quants(&h);
    if (!rc)
        rc = check_colour(&h);
    if (rc)
        return rc;
    jpeg->scan = jpeg->is_progressive ? data : h.at;
    jpeg->end = data + size;
    jpeg->dsp = leat_jpeg_dsp_use(leat_cpu_level());
    return LEAT_OK;
}

bool leat_jpeg_is_plain(const uint8_t *data, size_t size)
{
    leat_jpeg jpeg;
    return leat_jpeg_open(&jpeg, data, size, NULL) == LEAT_OK && jpeg.is_baseline;
}
