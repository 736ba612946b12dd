/* SPDX-License-Identifier: MIT
 *
 * jpeg_decode.c: a whole picture to gray or RGB. DESIGN: one row of MCUs goes from coefficients to
 * samples to pixels while it is in the cache. Where chroma has half the rows, the last row of
 * samples waits for the first one of the next row of MCUs, between which its pixels lie; it is
 * carried over as row 0 of the strip. */
#include "jpeg_impl.h"

#include <string.h>

enum { MAX_SHORT_CUT = 8191 }; /* larger: libjpeg-turbo's short cut gives other samples */

typedef struct strip {
    uint8_t *rows; /* the carried row, then 8v rows of the current row of MCUs */
    ptrdiff_t stride;
    int32_t first; /* which row of the plane rows[stride] is */
} strip;

typedef struct painter {
    const leat_jpeg *jpeg;
    leat_jpeg_scan scan;
    strip strip[3];
    uint8_t *chroma[2]; /* one row at full width */
    int n_planes;       /* that are wanted */
} painter;

static int take_memory(painter *p, leat_scratch *scratch)
{
    for (int i = 0; i < p->n_planes; i++) {
        const leat_jpeg_component *c = &p->jpeg->component[i];
        p->strip[i].stride = 8 * (ptrdiff_t)c->n_across + 64; /* kernels may read behind a row */
        p->strip[i].rows =
            leat_scratch_take(scratch, (size_t)p->strip[i].stride * (size_t)(8 * c->v + 1));
        if (!p->strip[i].rows)
            return -1;
    }
    for (int i = 0; i < 2 && p->n_planes == 3; i++) {
        p->chroma[i] = leat_scratch_take(scratch, (size_t)p->strip[0].stride + 64);
        if (!p->chroma[i])
            return -1;
    }
    return 0;
}

/* Row y of a plane; rows outside repeat the nearest one. */
static const uint8_t *row_of(const painter *p, int plane, int32_t y)
{
    const strip *s = &p->strip[plane];
    const int32_t last = p->jpeg->component[plane].height_px - 1;
    y = y < 0 ? 0 : y > last ? last : y;
    return s->rows + s->stride * (y - s->first + 1);
}

/* Two samples or fewer are too few for the filter, says libjpeg. */
static const uint8_t *double_row(const uint8_t *in, uint8_t *out, int n)
{
    for (int i = 0; i < n; i++)
        out[2 * i] = out[2 * i + 1] = in[i];
    return out;
}

/* Row y of a chroma plane at the picture's size; may use p->chroma. */
static const uint8_t *chroma_row(const painter *p, int plane, int32_t y)
{
    const leat_jpeg *jpeg = p->jpeg;
    const leat_jpeg_dsp *dsp = jpeg->dsp;
    const int n = jpeg->component[plane].width_px, is_wide = n > 2;
    uint8_t *out = p->chroma[plane - 1];
    const uint8_t *near = row_of(p, plane, y / jpeg->chroma_v);
    const uint8_t *far = row_of(p, plane, y / 2 + (y & 1 ? 1 : -1));
    switch (2 * (jpeg->chroma_v - 1) + jpeg->chroma_h - 1) {
    case 0:
        return near;
    case 1:
        if (!is_wide)
            return double_row(near, out, n);
        dsp->up_h2(near, out, n);
        return out;
    case 2:
        dsp->up_v2(near, far, out, n, y & 1 ? 2 : 1);
        return out;
    default:
        if (!is_wide)
            return double_row(near, out, n);
        dsp->up_h2v2(near, far, out, n);
        return out;
    }
}

static void paint_row(const painter *p, int32_t y, int channels, uint8_t *out)
{
    const leat_jpeg *jpeg = p->jpeg;
    const uint8_t *luma = row_of(p, 0, y);
    if (channels == 1)
        memcpy(out, luma, (size_t)jpeg->width);
    else if (jpeg->n_components == 1)
        for (int32_t x = 0; x < jpeg->width; x++)
            out[3 * x] = out[3 * x + 1] = out[3 * x + 2] = luma[x];
    else
        jpeg->dsp->rgb(luma, chroma_row(p, 1, y), chroma_row(p, 2, y), out, jpeg->width);
}

/* Coefficients of one row of MCUs to samples. Returns 0 if some are out of range. */
static int transform(painter *p, int32_t mcu_row)
{
    uint32_t largest = 0;
    for (int i = 0; i < p->n_planes; i++) {
        const leat_jpeg_component *c = &p->jpeg->component[i];
        strip *s = &p->strip[i];
        s->first = mcu_row * 8 * c->v;
        for (int32_t v = 0; v < c->v; v++) {
            const int16_t *blocks = p->scan.blocks[i] + 64 * (ptrdiff_t)c->n_across * v;
            const uint32_t peak = p->jpeg->dsp->idct(blocks, c->n_across, c->quant,
                                                     s->rows + s->stride * (8 * v + 1), s->stride);
            largest = peak > largest ? peak : largest;
        }
    }
    return largest <= MAX_SHORT_CUT;
}

static void carry_rows(painter *p)
{
    for (int i = 0; i < p->n_planes; i++) {
        strip *s = &p->strip[i];
        memcpy(s->rows, s->rows + s->stride * (8 * p->jpeg->component[i].v), (size_t)s->stride);
    }
}

static int paint(painter *p, int channels, uint8_t *out, leat_error *err)
{
    const leat_jpeg *jpeg = p->jpeg;
    const int32_t late = p->n_planes == 3 && jpeg->chroma_v == 2; /* rows that wait */
    int32_t y = 0;
    for (int32_t row = 0; row < jpeg->mcus_y; row++) {
        const int rc = leat_jpeg_scan_row(&p->scan, err);
        if (rc)
            return rc;
        if (!transform(p, row))
            return leat_fail(err, LEAT_E_UNSUPPORTED, "jpeg: coefficients out of range");
        const int32_t stop =
            row == jpeg->mcus_y - 1 ? jpeg->height : (row + 1) * jpeg->mcu_height_px - late;
        for (; y < stop; y++)
            paint_row(p, y, channels, out + (size_t)y * (size_t)jpeg->width * (size_t)channels);
        if (late)
            carry_rows(p);
    }
    return LEAT_OK;
}

int leat_jpeg_decode(const leat_jpeg *jpeg, int channels, uint8_t *out, leat_scratch *scratch,
                     leat_error *err)
{
    painter p = { .jpeg = jpeg, .n_planes = channels == 1 ? 1 : jpeg->n_components };
    const int rc = leat_jpeg_scan_open(&p.scan, jpeg, scratch, err);
    if (rc)
        return rc;
    if (take_memory(&p, scratch))
        return leat_fail(err, LEAT_E_NOMEM, "jpeg: no memory for %d x %d pixels", jpeg->width,
                         jpeg->height);
    return paint(&p, channels, out, err);
}
