/* SPDX-License-Identifier: MIT
 *
 * jpeg_eighth.c: decodes an image at an eighth of its size. DESIGN: a block becomes one sample, which is its DC
 * value, so all other symbols are skipped. The pixels are those of libjpeg-turbo at scale 1/8, but for chroma of half
 * the size in both directions: it is repeated, where libjpeg-turbo makes 2 × 2 samples of its blocks. */
#include "jpeg_impl.h"

enum { LARGEST = 2047 }; /* dequantised values; above it, libjpeg-turbo's samples wrap */

typedef struct picture {
    const leat_jpeg *jpeg;
    leat_jpeg_scan scans[2]; /* without an index only the first is used */
    uint8_t *out;
    int channels;
    /* One row of MCUs: h * v samples per MCU, of which those of chroma are repeated to the width of luma. */
    uint8_t *rows[3];
    ptrdiff_t stride;
    int n_planes;
} picture;

static uint8_t sample_of(int32_t dc)
{
    const int32_t value = ((dc + 4) >> 3) + 128;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* A row of n DC values as samples, each once or twice. Returns 0 if one is too large. */
static int put_dc(const int16_t *value, int32_t n, int32_t quant, uint8_t *out, int32_t times)
{
    uint32_t most = 0; /* of values from -LARGEST on */
    for (int32_t i = 0; i < n; i++, out += times) {
        const int32_t dc = value[i] * quant;
        const uint32_t up = (uint32_t)(dc + LARGEST);
        most = up > most ? up : most;
        out[0] = out[times - 1] = sample_of(dc);
    }
    return most <= 2 * LARGEST;
}

/* The samples of one row of MCUs, which `scan` has. */
static int put_plane(const picture *p, const leat_jpeg_scan *scan, int i)
{
    const leat_jpeg_component *c = &p->jpeg->component[i];
    int in_range = 1;
    for (int32_t y = 0; y < c->v; y++)
        in_range &= put_dc(scan->blocks[i] + (ptrdiff_t)y * c->n_across, p->jpeg->mcus_x * c->h,
                           c->quant[0], p->rows[i] + y * p->stride, i ? p->jpeg->chroma_h : 1);
    return in_range;
}

static void put_row(const picture *p, int32_t y, int32_t width, int channels, uint8_t *out)
{
    const uint8_t *luma = p->rows[0] + y * p->stride;
    if (p->n_planes == 3) {
        const ptrdiff_t chroma = y / p->jpeg->chroma_v * p->stride;
        p->jpeg->dsp->rgb(luma, p->rows[1] + chroma, p->rows[2] + chroma, out, width);
        return;
    }
    for (int32_t x = 0; x < width; x++)
        for (int c = 0; c < channels; c++)
            *out++ = luma[x];
}

/* The pixels of a row of MCUs. */
static int put_mcus(const picture *p, const leat_jpeg_scan *scan, int32_t row, leat_error *err)
{
    const int32_t height = (p->jpeg->height + 7) / 8, width = (p->jpeg->width + 7) / 8;
    const int32_t n_rows = p->jpeg->mcu_height_px / 8, first = row * n_rows;
    int in_range = 1;
    for (int i = 0; i < p->n_planes; i++)
        in_range &= put_plane(p, scan, i);
    if (!in_range)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "jpeg: coefficients out of range");
    for (int32_t y = 0; y < n_rows && first + y < height; y++)
        put_row(p, y, width, p->channels, p->out + (ptrdiff_t)(first + y) * width * p->channels);
    return LEAT_OK;
}

static int put_all(picture *p, leat_error *err)
{
    for (int32_t row = 0; row < p->jpeg->mcus_y; row++) {
        int rc = leat_jpeg_scan_row(p->scans, row, err);
        rc = rc ? rc : put_mcus(p, p->scans, row, err);
        if (rc)
            return rc;
    }
    return leat_jpeg_scan_finish(p->scans, err);
}

/* Two halves of the rows at the same time: that takes less than twice the time of one. */
static int put_halves(picture *p, leat_scratch *scratch, leat_error *err)
{
    const int32_t middle = p->jpeg->mcus_y / 2;
    int32_t row[] = { 0, middle };
    int which, rc = leat_jpeg_scan_halve(p->scans, middle, scratch, err);
    const leat_jpeg_scan start = p->scans[1];
    for (int32_t n = p->jpeg->mcus_y; n && !rc; n--) {
        rc = leat_jpeg_scan_either(p->scans, &which, err);
        rc = rc ? rc : put_mcus(p, &p->scans[which], row[which]++, err);
    }
    return rc ? rc : leat_jpeg_scan_meet(&p->scans[0], &start, err);
}

int leat_jpeg_decode_eighth(const leat_jpeg *jpeg, int channels, uint8_t *out,
                            leat_scratch *scratch, leat_error *err)
{
    picture p = { .jpeg = jpeg,
                  .out = out,
                  .channels = channels,
                  .n_planes = channels == 1 ? 1 : jpeg->n_components };
    const leat_jpeg_window whole = { .x1 = jpeg->mcus_x, .y1 = jpeg->mcus_y, .dc_only = 1 };
    const int rc = leat_jpeg_scan_open(p.scans, jpeg, &whole, scratch, err);
    if (rc)
        return rc;
    p.stride =
        jpeg->mcus_x * (ptrdiff_t)(jpeg->mcu_width_px / 8) + 64; /* kernels may read past it */
    for (int i = 0; i < p.n_planes; i++)
        if (!(p.rows[i] =
                  leat_scratch_take(scratch, (size_t)jpeg->component[i].v * (size_t)p.stride)))
            return leat_fail(err, LEAT_E_NOMEM, "jpeg: no memory for %d x %d pixels", jpeg->width,
                             jpeg->height);
    return jpeg->points && jpeg->mcus_y > 1 ? put_halves(&p, scratch, err) : put_all(&p, err);
}
